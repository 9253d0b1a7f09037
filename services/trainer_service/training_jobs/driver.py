"""Takes a training job to its end: boards, training, a published checkpoint."""

import asyncio
import time
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import CampaignStatus, EventKind, JobStatus, TrainingJob
from trainee2trainer.jobs import StaleLease
from trainee2trainer.store.tables import TrainingJobRecord
from trainer_service import boards, checkpoints, disk, events, lifecycle, stage_training
from trainer_service.failures import hopeless, in_words, no_room
from trainer_service.seeds import derive
from trainer_service.stage_training import Stint
from trainer_service.training_jobs import records
from trainer_service.work import Work

log = structlog.get_logger()

STAGE = 0
"""A job has one stage: rollouts and events say so where a campaign's say which."""


async def drive(work: Work) -> None:
    """Trains until it succeeds or is given up."""
    async with work.effect() as session:
        await lifecycle.move(session, work.lease.kind, work.id, CampaignStatus.RUNNING)
    while True:
        async with work.tools.store.session() as session:
            job = await records.get(session, work.id)
        if job.status is not JobStatus.RUNNING:
            return
        try:
            await _train(work, job)
        except StaleLease:
            raise
        except Exception as error:  # whatever it died of must not end the worker, nor be tried for ever
            log.warning("job.attempt_failed", job=work.id, exc_info=error)
            await (_pause if disk.is_full(error) else _failed)(work, job, error)


async def _train(work: Work, job: TrainingJob) -> None:
    settings, request = work.tools.settings, job.settings
    assert request.checkpoint is not None
    folder = settings.runs_dir / job.id
    stint = Stint(
        stage=STAGE,
        attempt=job.attempts + 1,
        folder=folder,
        instances=await _boards(work, job, folder),
        parent_id=request.checkpoint,
        checkpoint_id=checkpoints.name(job.id),
        profile=request.profile,
        settings=request.training,
        seed=derive(request.seed, STAGE, "train"),
    )
    made = await stage_training.train(work, stint)
    result = {"checkpoint": made.checkpoint.id, "manifest_sha256": made.checkpoint.manifest_sha256}
    async with work.effect() as session:
        await stage_training.keep(session, job.id, stint, made)
        await _note(session, job.id, checkpoint_id=made.checkpoint.id)
        await lifecycle.move(session, work.lease.kind, job.id, CampaignStatus.SUCCEEDED, **result)
    await stage_training.tidy(stint)


async def _boards(work: Work, job: TrainingJob, folder: Path) -> Path:
    request, path, started = job.settings, folder / "instances.jsonl", time.perf_counter()
    wanted = boards.training_request(
        request.configuration, request.training, derive(request.seed, STAGE, "generate"), request.template
    )
    realised = await boards.make(work.tools.env, wanted, path)
    await work.tell(
        EventKind.GENERATE_DONE,
        stage=STAGE,
        asked=wanted.count,
        realised=realised.model_dump(mode="json"),
        seconds=time.perf_counter() - started,
    )
    return path


async def _pause(work: Work, job: TrainingJob, error: Exception) -> None:
    """Nothing can be written until a person has made room; training goes on when resumed."""
    async with work.effect() as session:
        told = {"reason": no_room(error), "stage": STAGE}
        await lifecycle.move(session, work.lease.kind, job.id, CampaignStatus.PAUSED, **told)


async def _failed(work: Work, job: TrainingJob, error: Exception) -> None:
    settings, attempt, words = work.tools.settings, job.attempts + 1, in_words(error)
    given_up = hopeless(error) or attempt >= settings.step_attempts
    async with work.effect() as session:
        await _note(session, job.id, attempts=attempt)
        told = {"stage": STAGE, "step": "train", "attempt": attempt}
        await events.append(session, job.id, EventKind.STEP_FAILED, error=words, **told)
        if given_up:
            await lifecycle.move(session, work.lease.kind, job.id, CampaignStatus.FAILED, error=words)
    if not given_up:
        await asyncio.sleep(settings.retry_seconds * 2 ** (attempt - 1))


async def _note(session: AsyncSession, job_id: str, **values: Any) -> None:
    await session.execute(
        update(TrainingJobRecord).where(TrainingJobRecord.id == job_id).values(**values),
        execution_options={"synchronize_session": False},
    )
