"""Campaigns: created, listed, paused, resumed, cancelled."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from trainee2trainer.contracts.campaign import Campaign, CampaignCreate, CampaignPage, CampaignStatus
from trainee2trainer.jobs import SubjectKind
from trainee2trainer.web.idempotency import IdempotentRoute
from trainer_service import profiles, rules
from trainer_service.campaigns import records
from trainer_service.context import Context, ContextDep
from trainer_service.lifecycle import wish
from trainer_service.paging import Cursor, PageSize
from trainer_service.routes.answers import CREATING, IN_THE_WAY, NOT_FOUND, CampaignId, accepted

router = APIRouter(prefix="/v1/campaigns", tags=["campaigns"], route_class=IdempotentRoute)


@router.post("", status_code=202, responses=CREATING)
async def create(request: CampaignCreate, context: ContextDep, response: Response) -> Campaign:
    """Accepts a campaign: what was answered with 202 will end, whatever is restarted in between."""
    request = profiles.filled(request)
    rules.budget(request.training)
    rules.validation_sets(request)
    async with context.store.session() as session:
        base = await rules.starting_checkpoint(
            session, request.profile, request.base_checkpoint, "base_checkpoint"
        )
    await rules.campaign_boards(context.env, request)
    async with context.store.session() as session:
        campaign_id = await records.create(session, request, base.id)
        campaign = await records.get(session, campaign_id)
    await context.queue.enqueue(SubjectKind.CAMPAIGN, campaign_id)
    accepted(response, f"/v1/campaigns/{campaign_id}")
    return campaign


@router.get("")
async def list_campaigns(
    context: ContextDep,
    cursor: Cursor = None,
    size: PageSize = 50,
    status: Annotated[CampaignStatus | None, Query(description="Only those in this state.")] = None,
) -> CampaignPage:
    """Campaigns, the newest first."""
    async with context.store.session() as session:
        return await records.page(session, cursor, size, status)


@router.get("/{campaign_id}", responses=NOT_FOUND)
async def get(campaign_id: CampaignId, context: ContextDep) -> Campaign:
    async with context.store.session() as session:
        return await records.get(session, campaign_id)


@router.post("/{campaign_id}:pause", responses=IN_THE_WAY)
async def pause(campaign_id: CampaignId, context: ContextDep) -> Campaign:
    """Stops its training process and keeps every finished step. Once more does nothing."""
    return await _wish(campaign_id, CampaignStatus.PAUSED, context)


@router.post("/{campaign_id}:resume", responses=IN_THE_WAY)
async def resume(campaign_id: CampaignId, context: ContextDep) -> Campaign:
    """Goes on from the last finished step. Once more does nothing."""
    campaign = await _wish(campaign_id, CampaignStatus.QUEUED, context)
    await context.queue.enqueue(SubjectKind.CAMPAIGN, campaign_id)
    return campaign


@router.post("/{campaign_id}:cancel", responses=IN_THE_WAY)
async def cancel(campaign_id: CampaignId, context: ContextDep) -> Campaign:
    """Ends it for good. Once more does nothing."""
    return await _wish(campaign_id, CampaignStatus.CANCELLED, context)


async def _wish(campaign_id: str, to: CampaignStatus, context: Context) -> Campaign:
    await wish(context.store, SubjectKind.CAMPAIGN, campaign_id, to)
    async with context.store.session() as session:
        return await records.get(session, campaign_id)
