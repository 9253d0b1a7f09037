"""Progress as server-sent events: numbered, resumed after `Last-Event-ID`, ended with their subject."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import CampaignStatus, Event
from trainee2trainer.jobs import LeasedRecord, SubjectKind
from trainee2trainer.web import problems
from trainer_service import events
from trainer_service.context import Context, ContextDep
from trainer_service.lifecycle import noun
from trainer_service.routes.answers import NOT_FOUND, CampaignId, JobId

router = APIRouter(prefix="/v1", tags=["events"])

After = Annotated[
    int, Header(alias="Last-Event-ID", ge=0, lt=2**31, description="Only events after this number.")
]


async def _campaign(campaign_id: CampaignId, context: ContextDep) -> str:
    return await _existing(context, SubjectKind.CAMPAIGN, campaign_id)


async def _job(job_id: JobId, context: ContextDep) -> str:
    return await _existing(context, SubjectKind.TRAINING_JOB, job_id)


@router.get("/campaigns/{campaign_id}/events", response_class=EventSourceResponse, responses=NOT_FOUND)
async def of_campaign(
    subject_id: Annotated[str, Depends(_campaign)], context: ContextDep, after: After = 0
) -> AsyncIterator[ServerSentEvent]:
    """Every event of a campaign, past and coming; the stream ends when the campaign has ended."""
    async for event in _stream(context, SubjectKind.CAMPAIGN, subject_id, after):
        yield ServerSentEvent(id=str(event.id), event=event.kind, data=event)


@router.get("/training-jobs/{job_id}/events", response_class=EventSourceResponse, responses=NOT_FOUND)
async def of_training_job(
    subject_id: Annotated[str, Depends(_job)], context: ContextDep, after: After = 0
) -> AsyncIterator[ServerSentEvent]:
    """Every event of a training job, past and coming; the stream ends when the job has ended."""
    async for event in _stream(context, SubjectKind.TRAINING_JOB, subject_id, after):
        yield ServerSentEvent(id=str(event.id), event=event.kind, data=event)


async def _existing(context: Context, kind: SubjectKind, subject_id: str) -> str:
    # Before the stream begins: a missing subject is a 404, not an empty stream.
    async with context.store.session() as session:
        status = await _status(session, kind, subject_id)
    if status is None:
        raise problems.not_found(noun(kind), subject_id)
    return subject_id


async def _stream(context: Context, kind: SubjectKind, subject_id: str, number: int) -> AsyncIterator[Event]:
    """Looks into the table now and then. Nothing of the store is held while waiting or sending."""
    while True:
        async with context.store.session() as session:
            status = await _status(session, kind, subject_id)
            found = await events.after(session, subject_id, number)
        for event in found:
            number = event.id
            yield event
        if found:
            continue
        # The status was read first: of a subject that had ended by then, everything has been sent.
        if status is None or status.terminal:
            return
        await asyncio.sleep(context.settings.event_poll_seconds)


async def _status(session: AsyncSession, kind: SubjectKind, subject_id: str) -> CampaignStatus | None:
    table: type[LeasedRecord] = kind.table
    status = await session.scalar(select(table.status).where(table.id == subject_id))
    return None if status is None else CampaignStatus(status)
