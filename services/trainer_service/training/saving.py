"""When a training leaves a checkpoint to go on from: every so many steps, and when it is told to end."""

import signal
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from trainer_service.training import progress
from trainer_service.training.lines import Lines
from trainer_service.training.spec import Position, TrainingSpec

_NEVER_READ = "training_args.bin"
"""A pickle that the library leaves beside its checkpoints and never loads."""


class Saver(TrainerCallback):  # type: ignore[misc]
    """Takes over the library's checkpoints. From its making on, SIGTERM ends training after the present step."""

    accelerator: Accelerator
    """The trainer's own, to be set before training starts: all processes must stop at the same step."""

    def __init__(self, spec: TrainingSpec, metrics: Lines, rollouts: Lines) -> None:
        self.spec = spec
        self.metrics = metrics
        self.rollouts = rollouts
        self.drained = False
        self._told_to_end = False
        signal.signal(signal.SIGTERM, self._end)

    def _end(self, *_: Any) -> None:
        self._told_to_end = True

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._told_to_end:
            self.accelerator.set_trigger()
        told_to_end = self.accelerator.check_trigger()
        if state.global_step >= state.max_steps:
            return  # the stage is done: what comes now is its result
        self.drained = told_to_end
        if told_to_end or state.global_step % self.spec.save_steps == 0:
            control.should_save = True
        if told_to_end:
            control.should_training_stop = True

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        # Each process writes its own random state.
        self.accelerator.wait_for_everyone()
        if not state.is_world_process_zero:
            return
        draft = Path(args.output_dir) / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}"
        (draft / _NEVER_READ).unlink(missing_ok=True)
        position = Position(
            step=state.global_step,
            identity=self.spec.identity,
            metrics=self.metrics.mark(),
            rollouts=self.rollouts.mark(),
        )
        progress.bring_in(draft, self.spec.folder, position)
