"""Training jobs as rows: made, found, listed, and read as their contract."""

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import (
    EventKind,
    JobStatus,
    TrainingJob,
    TrainingJobCreate,
    TrainingJobPage,
)
from trainee2trainer.store import new_id, utcnow
from trainee2trainer.store.tables import TrainingJobRecord
from trainee2trainer.web import problems
from trainer_service import events, paging


async def create(session: AsyncSession, request: TrainingJobCreate) -> str:
    """Adds a job; its id. The request names its checkpoint."""
    job = TrainingJobRecord(
        id=new_id("job"),
        status=JobStatus.QUEUED.value,
        settings=request.model_dump(mode="json"),
        created_at=utcnow(),
    )
    session.add(job)
    await session.flush()
    await events.append(session, job.id, EventKind.JOB_CREATED, name=request.name, seed=request.seed)
    return job.id


async def get(session: AsyncSession, job_id: str) -> TrainingJob:
    """Raises the problem `not found`."""
    record = await session.get(TrainingJobRecord, job_id)
    if record is None:
        raise problems.not_found("training-job", job_id)
    return _to_job(record)


async def page(session: AsyncSession, cursor: str | None, size: int) -> TrainingJobPage:
    """The newest first."""
    created = TrainingJobRecord.created_at
    query = select(TrainingJobRecord).order_by(created.desc(), TrainingJobRecord.id.desc()).limit(size + 1)
    if cursor is not None:
        at, id_ = paging.place_in_time(cursor)
        query = query.where(or_(created < at, and_(created == at, TrainingJobRecord.id < id_)))
    found = (await session.scalars(query)).all()
    items = [_to_job(record) for record in found[:size]]
    more = len(found) > size
    last = items[-1] if more else None
    return TrainingJobPage(
        items=items, next_page=last and paging.encode(last.created_at.isoformat(), last.id)
    )


def _to_job(record: TrainingJobRecord) -> TrainingJob:
    return TrainingJob(
        id=record.id,
        status=JobStatus(record.status),
        settings=TrainingJobCreate.model_validate(record.settings),
        attempts=record.attempts,
        checkpoint=record.checkpoint_id,
        error=record.error,
        created_at=record.created_at,
        finished_at=record.finished_at,
    )
