"""Training jobs: created, listed, paused, resumed, cancelled."""

from fastapi import APIRouter, Response

from trainee2trainer.contracts.campaign import (
    CampaignStatus,
    TrainingJob,
    TrainingJobCreate,
    TrainingJobPage,
)
from trainee2trainer.jobs import SubjectKind
from trainee2trainer.web.idempotency import IdempotentRoute
from trainer_service import profiles, rules
from trainer_service.context import Context, ContextDep
from trainer_service.lifecycle import wish
from trainer_service.paging import Cursor, PageSize
from trainer_service.routes.answers import CREATING, IN_THE_WAY, NOT_FOUND, JobId, accepted
from trainer_service.training_jobs import records

router = APIRouter(prefix="/v1/training-jobs", tags=["training-jobs"], route_class=IdempotentRoute)


@router.post("", status_code=202, responses=CREATING)
async def create(request: TrainingJobCreate, context: ContextDep, response: Response) -> TrainingJob:
    """Accepts one stage of training by itself; its result is a checkpoint."""
    request = profiles.filled(request)
    rules.budget(request.training)
    async with context.store.session() as session:
        start = await rules.starting_checkpoint(session, request.profile, request.checkpoint, "checkpoint")
    await rules.training_boards(context.env, request)
    async with context.store.session() as session:
        job_id = await records.create(session, request.model_copy(update={"checkpoint": start.id}))
        job = await records.get(session, job_id)
    await context.queue.enqueue(SubjectKind.TRAINING_JOB, job_id)
    accepted(response, f"/v1/training-jobs/{job_id}")
    return job


@router.get("")
async def list_jobs(context: ContextDep, cursor: Cursor = None, size: PageSize = 50) -> TrainingJobPage:
    """Training jobs, the newest first."""
    async with context.store.session() as session:
        return await records.page(session, cursor, size)


@router.get("/{job_id}", responses=NOT_FOUND)
async def get(job_id: JobId, context: ContextDep) -> TrainingJob:
    async with context.store.session() as session:
        return await records.get(session, job_id)


@router.post("/{job_id}:pause", responses=IN_THE_WAY)
async def pause(job_id: JobId, context: ContextDep) -> TrainingJob:
    """Stops its training process and keeps the checkpoints it goes on from. Once more does nothing."""
    return await _wish(job_id, CampaignStatus.PAUSED, context)


@router.post("/{job_id}:resume", responses=IN_THE_WAY)
async def resume(job_id: JobId, context: ContextDep) -> TrainingJob:
    """Goes on from the last checkpoint left. Once more does nothing."""
    job = await _wish(job_id, CampaignStatus.QUEUED, context)
    await context.queue.enqueue(SubjectKind.TRAINING_JOB, job_id)
    return job


@router.post("/{job_id}:cancel", responses=IN_THE_WAY)
async def cancel(job_id: JobId, context: ContextDep) -> TrainingJob:
    """Ends it for good. Once more does nothing."""
    return await _wish(job_id, CampaignStatus.CANCELLED, context)


async def _wish(job_id: str, to: CampaignStatus, context: Context) -> TrainingJob:
    await wish(context.store, SubjectKind.TRAINING_JOB, job_id, to)
    async with context.store.session() as session:
        return await records.get(session, job_id)
