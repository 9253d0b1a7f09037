"""Training jobs: created, listed, cancelled."""

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
from trainer_service.context import ContextDep
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


@router.post("/{job_id}:cancel", responses=IN_THE_WAY)
async def cancel(job_id: JobId, context: ContextDep) -> TrainingJob:
    """Ends it for good. Once more does nothing."""
    await wish(context.store, SubjectKind.TRAINING_JOB, job_id, CampaignStatus.CANCELLED)
    async with context.store.session() as session:
        return await records.get(session, job_id)
