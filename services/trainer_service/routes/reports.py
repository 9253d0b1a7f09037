"""What came of a campaign, for machines and for people."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from trainee2trainer.contracts.campaign import CampaignReport
from trainee2trainer.contracts.environment import RewardWeights
from trainer_service.campaigns.answers import judged_answers
from trainer_service.campaigns.reporting import report
from trainer_service.context import Context, ContextDep
from trainer_service.report.page import render
from trainer_service.report.replay import Replay, choose_replays
from trainer_service.routes.answers import NOT_FOUND, CampaignId

router = APIRouter(prefix="/v1/campaigns", tags=["reports"])


@router.get("/{campaign_id}/report", responses=NOT_FOUND)
async def get_report(campaign_id: CampaignId, context: ContextDep) -> CampaignReport:
    """Figures of every stage validated so far, and of the starting checkpoint."""
    async with context.store.session() as session:
        return await report(session, campaign_id)


@router.get("/{campaign_id}/report.html", response_class=HTMLResponse, responses=NOT_FOUND)
async def get_report_page(campaign_id: CampaignId, context: ContextDep) -> HTMLResponse:
    """The same for people: one page with curves and boards to step through, complete in itself."""
    figures = await get_report(campaign_id, context)
    replays = await _replays(figures, context)
    return HTMLResponse(await asyncio.to_thread(render, figures, replays))


async def _replays(figures: CampaignReport, context: Context) -> list[Replay]:
    if not figures.stages:
        return []
    last = figures.stages[-1].index
    answers = await judged_answers(context.store, context.env, figures.campaign_id, last, RewardWeights())
    return await asyncio.to_thread(choose_replays, answers)
