"""What came of a campaign, for machines and for people."""

import asyncio
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from trainee2trainer.client import ClientError
from trainee2trainer.contracts.base import Problem
from trainee2trainer.contracts.campaign import CampaignReport
from trainee2trainer.web import problems
from trainer_service.campaigns import records
from trainer_service.campaigns.answers import judged_answers
from trainer_service.campaigns.reporting import report
from trainer_service.context import Context, ContextDep
from trainer_service.report.page import render
from trainer_service.report.replay import JudgedAnswer, choose_replays
from trainer_service.routes.answers import NOT_FOUND, CampaignId

router = APIRouter(prefix="/v1/campaigns", tags=["reports"])

_PAGE: dict[int | str, dict[str, Any]] = NOT_FOUND | {
    503: {"model": Problem, "description": "env_service does not answer: the replays cannot be judged."}
}


@router.get("/{campaign_id}/report", responses=NOT_FOUND)
async def get_report(campaign_id: CampaignId, context: ContextDep) -> CampaignReport:
    """Figures of every stage validated so far, and of the starting checkpoint."""
    async with context.store.session() as session:
        return await report(session, campaign_id)


@router.get("/{campaign_id}/report.html", response_class=HTMLResponse, responses=_PAGE)
async def get_report_page(campaign_id: CampaignId, context: ContextDep) -> HTMLResponse:
    """The report as one page that needs nothing else: curves, table, replays of a few boards."""
    told = await get_report(campaign_id, context)
    answers = await _answers(context, told) if told.stages else []
    return HTMLResponse(await asyncio.to_thread(_page, told, answers))


async def _answers(context: Context, told: CampaignReport) -> list[JudgedAnswer]:
    async with context.store.session() as session:
        rewards = (await records.get(session, told.campaign_id)).settings.training.rewards
    try:
        return await judged_answers(
            context.store, context.env, told.campaign_id, told.stages[-1].index, rewards
        )
    except ClientError as error:
        raise problems.unavailable("env_service could not judge the answers to be replayed.") from error


def _page(told: CampaignReport, answers: list[JudgedAnswer]) -> str:
    return render(told, choose_replays(answers))
