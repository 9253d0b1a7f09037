"""The sinks that there are. Each library is imported when its sink is opened, and none is needed by ours."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from trainer_service.settings import SinkName
from trainer_service.training.spec import Run

PROJECT = "trainee2trainer"


class Sink(Protocol):
    def log(self, step: int, figures: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class TensorBoard:
    """Event files in `tensorboard/<run>`."""

    def __init__(self, run: Run) -> None:
        from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415

        # What a killed attempt wrote after the step that is gone on from did not happen.
        self._writer = SummaryWriter(str(run.folder / "tensorboard" / run.name), purge_step=run.after + 1)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class Wandb:
    """Weights & Biases. Offline, to be sent by `wandb sync`, unless WANDB_MODE says otherwise."""

    def __init__(self, run: Run) -> None:
        import wandb  # noqa: PLC0415

        run.folder.mkdir(parents=True, exist_ok=True)
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        self._run = wandb.init(project=PROJECT, id=run.name, dir=run.folder, mode=mode, resume="allow")

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self._run.log(dict(figures), step=step)

    def close(self) -> None:
        self._run.finish()


class Trackio:
    """Trackio's local database; where it lies says TRACKIO_DIR."""

    def __init__(self, run: Run) -> None:
        os.environ.setdefault("TRACKIO_DIR", str(run.folder / "trackio"))
        import trackio  # noqa: PLC0415

        self._trackio = trackio
        trackio.init(project=PROJECT, name=run.name, resume="allow", embed=False)

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self._trackio.log(dict(figures), step=step)

    def close(self) -> None:
        self._trackio.finish()


SINKS: dict[SinkName, Callable[[Run], Sink]] = {
    "tensorboard": TensorBoard,
    "wandb": Wandb,
    "trackio": Trackio,
}
