"""The stage's training, in a child process; what comes out is a published checkpoint."""

import time
from typing import Any

from sqlalchemy import insert

from trainee2trainer.contracts.campaign import EventKind, StageStep
from trainee2trainer.store.tables import RolloutRecord
from trainer_service import checkpoints, events, training_run
from trainer_service.campaigns.position import Position, finish
from trainer_service.campaigns.steps import generate
from trainer_service.training.spec import StepMetrics
from trainer_service.training_run import Order
from trainer_service.work import Work


async def run(work: Work, position: Position) -> None:
    started = time.perf_counter()
    settings, attempt = work.tools.settings, position.attempts + 1
    if not position.instances(settings).exists():
        await generate.make(work, position)

    async def tell(new: list[StepMetrics]) -> None:
        told: list[dict[str, Any]] = [
            {"stage": position.index, "attempt": attempt, **metrics.model_dump(mode="json")}
            for metrics in new
        ]
        await work.tell_all(EventKind.TRAIN_STEP, told)

    order = Order(
        folder=position.folder(settings) / f"attempt-{work.lease.token}-{attempt}",
        instances=position.instances(settings),
        start=await checkpoints.find(work.tools.store, settings.home, position.start),
        settings=position.settings.training,
        seed=position.seed("train"),
    )
    trained = await training_run.train(order, settings, tell)
    name = checkpoints.name(work.id, position.index)
    checkpoint = await checkpoints.bring_in(settings.home, trained.checkpoint, name, work.lease.token)
    seconds = time.perf_counter() - started
    rows = [training_run.rollout_row(rollout, work.id, position.index) for rollout in trained.rollouts]
    async with work.effect() as session:
        await checkpoints.register(
            session,
            checkpoint,
            profile=position.settings.profile,
            parent_id=position.start,
            campaign_id=work.id,
            stage_index=position.index,
        )
        if rows:
            await session.execute(insert(RolloutRecord), rows)
        await finish(
            session,
            position,
            StageStep.VALIDATE,
            seconds,
            checkpoint_id=checkpoint.id,
            reward_curve=trained.rewards,
        )
        await events.append(
            session,
            work.id,
            EventKind.TRAIN_DONE,
            stage=position.index,
            checkpoint=checkpoint.id,
            manifest_sha256=checkpoint.manifest_sha256,
            seconds=seconds,
        )
