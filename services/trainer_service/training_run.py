"""One training run in a child process, followed while it goes on."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer_service import disk
from trainer_service.children import child, how_it_ended
from trainer_service.failures import StepFailed
from trainer_service.settings import TrainerSettings
from trainer_service.training import lines
from trainer_service.training import spec as names
from trainer_service.training.progress import Found
from trainer_service.training.spec import Identity, Run, StepMetrics, TrainedRollout, TrainingSpec

MODULE = "trainer_service.training"
LAUNCHER = "trainer_service.training.launcher"
LOG = "child.log"
SPEC = "spec.json"
PHASE = "train"
LOOK_SECONDS = 0.3

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
}
"""For glibc: a step's tensors come and go by the megabyte; giving them back to the system each time took a
quarter of the training time. Unknown to other C libraries, and harmless there."""

Tell = Callable[[list[StepMetrics]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Order:
    """What to train. `folder` is this attempt's own and new, so that no other attempt can write into it.

    `name` is the stage's, for whoever keeps its curves; `resume` what an earlier attempt left to go on from.
    """

    folder: Path
    instances: Path
    start: Path
    identity: Identity
    name: str
    resume: Found | None = None


@dataclass(frozen=True, slots=True)
class Trained:
    """What a finished run left behind."""

    checkpoint: Path
    rewards: list[float]
    rollouts: list[TrainedRollout]


@dataclass(slots=True)
class _Follower:
    """Reads a file of lines while it grows; a line without its end is left for the next time."""

    path: Path
    offset: int = 0
    metrics: list[StepMetrics] = field(default_factory=list)

    def read(self) -> list[StepMetrics]:
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self.offset)
            complete, end, _ = file.read().rpartition(b"\n")
        self.offset += len(complete) + len(end)
        new = [StepMetrics.model_validate_json(line) for line in complete.splitlines()]
        self.metrics += new
        return new


async def train(order: Order, settings: TrainerSettings, tell: Tell, module: str | None = None) -> Trained:
    """Runs the child to its end, calling `tell` with new steps. Raises StepFailed or DiskFull when it does
    not get there.

    Whatever ends this coroutine, the child is gone afterwards. `module`: what it runs, if not the real thing.
    """
    await asyncio.to_thread(_prepare, order, settings)
    log = order.folder / LOG
    follower = _Follower(order.folder / names.METRICS)
    if order.resume:
        follower.read()  # steps that were told by the attempt that made them
    environment = {"OMP_NUM_THREADS": str(settings.training_threads), **KEEP_MEMORY}
    command = _command(settings, module or MODULE, str(order.folder / SPEC))
    grace = settings.training_grace_seconds
    async with child(*command, log=log, environment=environment, grace_seconds=grace) as process:
        await _follow(process, follower, tell, settings.training_silence_seconds)
    if process.returncode != 0 or not (order.folder / names.DONE).exists():
        ended = f"The training process {how_it_ended(process, log)}"
        # A launcher of several processes has an exit code of its own; then the log tells.
        if process.returncode == names.EXIT_DISK_FULL or disk.tells_of_it(ended):
            raise disk.DiskFull(ended)
        raise StepFailed(ended)
    return Trained(
        checkpoint=order.folder / names.CHECKPOINT,
        rewards=[metrics.reward for metrics in follower.metrics],
        rollouts=await asyncio.to_thread(_rollouts, order.folder / names.ROLLOUTS),
    )


def _command(settings: TrainerSettings, module: str, spec: str) -> list[str]:
    """Interpreter, module and arguments: the module itself, or accelerate, which starts it several times."""
    python, config = str(settings.training_python or sys.executable), settings.training_accelerate_config
    if settings.training_processes == 1 and config is None:
        return [python, module, spec]
    configured = ["--config_file", str(config)] if config else []
    processes = ["--num_processes", str(settings.training_processes)]
    return [python, LAUNCHER, *configured, *processes, "--module", module, spec]


def _prepare(order: Order, settings: TrainerSettings) -> None:
    order.folder.mkdir(parents=True)
    shutil.copyfile(order.instances, order.folder / names.INSTANCES)
    if order.resume:
        position, earlier = order.resume.position, order.resume.attempt
        for name, mark in ((names.METRICS, position.metrics), (names.ROLLOUTS, position.rollouts)):
            lines.copy(earlier / name, mark, order.folder / name)
    spec = TrainingSpec(
        folder=order.folder,
        start=order.start,
        identity=order.identity,
        resume=order.resume and order.resume.folder,
        save_steps=settings.training_save_steps,
        sinks=settings.training_sinks,
        run=Run(
            name=order.name,
            folder=settings.curves_dir,
            after=order.resume.position.step if order.resume else 0,
        ),
        env_url=settings.url("env"),
        vllm_url=settings.training_vllm_url,
        threads=settings.training_threads,
    )
    (order.folder / SPEC).write_text(spec.model_dump_json(indent=2) + os.linesep, encoding="utf-8")


async def _follow(
    process: asyncio.subprocess.Process, follower: _Follower, tell: Tell, silence_seconds: float
) -> None:
    heard = time.monotonic()
    while True:
        ended = process.returncode is not None
        if new := follower.read():
            heard = time.monotonic()
            await tell(new)
        if ended:
            return
        if time.monotonic() - heard > silence_seconds:
            raise StepFailed(
                f"The training process reported nothing for {silence_seconds:.0f} s and was stopped."
            )
        await asyncio.sleep(LOOK_SECONDS)


def _rollouts(path: Path) -> list[TrainedRollout]:
    with path.open(encoding="utf-8") as file:
        return [TrainedRollout.model_validate_json(line) for line in file]


def rollout_row(rollout: TrainedRollout, subject_id: str, stage: int) -> dict[str, Any]:
    """The row of the store's `rollouts` table. Answers are not kept: too many, and nobody reads them."""
    values = rollout.model_dump(mode="json")
    return values | {"subject_id": subject_id, "stage_index": stage, "phase": PHASE, "answer": None}
