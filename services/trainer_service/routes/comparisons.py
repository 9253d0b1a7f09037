"""Comparisons: created, listed, followed, reported, cancelled."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import HTMLResponse

from trainee2trainer.contracts.campaign import CampaignStatus
from trainee2trainer.contracts.comparison import (
    Comparison,
    ComparisonCreate,
    ComparisonPage,
    ComparisonReport,
)
from trainee2trainer.jobs import SubjectKind
from trainee2trainer.web.idempotency import IdempotentRoute
from trainer_service import profiles, rules
from trainer_service.comparisons import records
from trainer_service.comparisons.reporting import report
from trainer_service.context import ContextDep
from trainer_service.lifecycle import wish
from trainer_service.paging import Cursor, PageSize
from trainer_service.report.comparison_page import render
from trainer_service.routes.answers import CREATING, NOT_FOUND, accepted

router = APIRouter(prefix="/v1/comparisons", tags=["comparisons"], route_class=IdempotentRoute)

ComparisonId = Annotated[str, Path(pattern=r"^comparison-[0-9a-f]{16}$", max_length=64)]


@router.post("", status_code=202, responses=CREATING)
async def create(request: ComparisonCreate, context: ContextDep, response: Response) -> Comparison:
    """Accepts a campaign for every engineer with every seed; they run as any campaigns do."""
    campaign = profiles.filled(request.campaign)
    request = request.model_copy(update={"campaign": campaign})
    rules.budget(campaign.training, ["body", "campaign"])
    rules.validation_sets(campaign, ["body", "campaign"])
    async with context.store.session() as session:
        base = await rules.starting_checkpoint(
            session, campaign.profile, campaign.base_checkpoint, "base_checkpoint", ["body", "campaign"]
        )
    await rules.campaign_boards(context.env, campaign, ["body", "campaign"])
    async with context.store.session() as session:
        comparison_id = await records.create(session, request, base.id)
        comparison = await records.get(session, comparison_id)
    for arm in comparison.arms:
        await context.queue.enqueue(SubjectKind.CAMPAIGN, arm.campaign_id)
    accepted(response, f"/v1/comparisons/{comparison_id}")
    return comparison


@router.get("")
async def list_comparisons(context: ContextDep, cursor: Cursor = None, size: PageSize = 50) -> ComparisonPage:
    """Comparisons, the newest first."""
    async with context.store.session() as session:
        return await records.page(session, cursor, size)


@router.get("/{comparison_id}", responses=NOT_FOUND)
async def get(comparison_id: ComparisonId, context: ContextDep) -> Comparison:
    """How far its campaigns are."""
    async with context.store.session() as session:
        return await records.get(session, comparison_id)


@router.post("/{comparison_id}:cancel", responses=NOT_FOUND)
async def cancel(comparison_id: ComparisonId, context: ContextDep) -> Comparison:
    """Cancels those of its campaigns that have not ended. Once more does nothing."""
    comparison = await get(comparison_id, context)
    for arm in comparison.arms:
        if not arm.status.terminal:
            await wish(context.store, SubjectKind.CAMPAIGN, arm.campaign_id, CampaignStatus.CANCELLED)
    return await get(comparison_id, context)


@router.get("/{comparison_id}/report", responses=NOT_FOUND)
async def get_report(comparison_id: ComparisonId, context: ContextDep) -> ComparisonReport:
    """Means, paired differences with intervals, and what they say, of the campaigns that have succeeded."""
    async with context.store.session() as session:
        return await report(session, await records.get(session, comparison_id))


@router.get("/{comparison_id}/report.html", response_class=HTMLResponse, responses=NOT_FOUND)
async def get_report_page(comparison_id: ComparisonId, context: ContextDep) -> HTMLResponse:
    """The same for people, complete in itself."""
    return HTMLResponse(render(await get_report(comparison_id, context)))
