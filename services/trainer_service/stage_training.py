"""One stage of training as a worker does it, for campaigns and for training jobs alike."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import EventKind, TrainingSettings
from trainee2trainer.store.tables import RolloutRecord
from trainer_service import checkpoints, events, resumption, training_run
from trainer_service.checkpoints import Published
from trainer_service.training import progress
from trainer_service.training.spec import StepMetrics, TrainedRollout
from trainer_service.training_run import Order
from trainer_service.work import Work


@dataclass(frozen=True, slots=True)
class Stint:
    """What to train, and under which names. `folder` takes one folder per attempt."""

    stage: int
    attempt: int
    folder: Path
    instances: Path
    parent_id: str
    checkpoint_id: str
    profile: str
    settings: TrainingSettings
    seed: int

    @property
    def attempts(self) -> list[Path]:
        """The folders of all attempts so far."""
        return sorted(self.folder.glob("attempt-*"))


@dataclass(frozen=True, slots=True)
class Made:
    """What came of it: published, but without effect until `keep`."""

    checkpoint: Published
    rewards: list[float]
    rollouts: list[TrainedRollout]
    seconds: float


async def train(work: Work, stint: Stint) -> Made:
    """Trains in a child process, telling each step; publishes the checkpoint. Raises StepFailed, DiskFull, Hopeless.

    What an earlier attempt left to go on from is gone on from.
    """
    started, settings = time.perf_counter(), work.tools.settings

    async def tell(new: list[StepMetrics]) -> None:
        told: list[dict[str, Any]] = [
            {"stage": stint.stage, "attempt": stint.attempt, **metrics.model_dump(mode="json")}
            for metrics in new
        ]
        await work.tell_all(EventKind.TRAIN_STEP, told)

    start = await checkpoints.find(work.tools.store, settings.home, stint.parent_id)
    identity = await asyncio.to_thread(
        resumption.identity, stint.settings, stint.seed, stint.instances, start
    )
    back = await asyncio.to_thread(resumption.look_back, stint.attempts, identity, settings.training_afresh)
    if back.found or back.refused:
        step = back.found.position.step if back.found else 0
        told_back = {"attempt": stint.attempt, "step": step, "refused": back.refused}
        await work.tell(EventKind.TRAIN_RESUMED, stage=stint.stage, **told_back)
    order = Order(
        # A folder per claim and attempt: a worker taken for dead cannot write into its successor's.
        folder=stint.folder / f"attempt-{work.lease.token}-{stint.attempt}",
        instances=stint.instances,
        start=start,
        identity=identity,
        name=stint.checkpoint_id,
        resume=back.found,
    )
    try:
        trained = await training_run.train(order, settings, tell)
        checkpoint = await checkpoints.bring_in(
            settings.home, trained.checkpoint, stint.checkpoint_id, work.lease.token
        )
    except Exception:
        await asyncio.to_thread(progress.discard, order.folder)
        raise
    return Made(checkpoint, trained.rewards, trained.rollouts, time.perf_counter() - started)


async def keep(
    session: AsyncSession, subject_id: str, stint: Stint, made: Made, campaign_id: str | None = None
) -> None:
    """Adds checkpoint, rollouts and event, in the transaction that ends the step."""
    await checkpoints.register(
        session,
        made.checkpoint,
        profile=stint.profile,
        parent_id=stint.parent_id,
        campaign_id=campaign_id,
        stage_index=None if campaign_id is None else stint.stage,
    )
    if made.rollouts:
        rows = [training_run.rollout_row(rollout, subject_id, stint.stage) for rollout in made.rollouts]
        await session.execute(insert(RolloutRecord), rows)
    await events.append(
        session,
        subject_id,
        EventKind.TRAIN_DONE,
        stage=stint.stage,
        checkpoint=made.checkpoint.id,
        manifest_sha256=made.checkpoint.manifest_sha256,
        seconds=made.seconds,
    )


async def tidy(stint: Stint) -> None:
    """Removes what was there to go on from, once the stage's checkpoint is committed."""
    await asyncio.to_thread(progress.clear, stint.attempts)
