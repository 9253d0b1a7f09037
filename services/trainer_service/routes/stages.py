"""The stages of campaigns."""

from typing import Annotated

from fastapi import APIRouter, Query

from trainee2trainer.contracts.campaign import StagePage
from trainer_service.campaigns import records
from trainer_service.context import ContextDep
from trainer_service.paging import Cursor, PageSize
from trainer_service.routes.answers import NOT_FOUND, CampaignId

router = APIRouter(prefix="/v1", tags=["stages"])


@router.get("/stages")
async def list_stages(
    context: ContextDep,
    campaign_id: Annotated[
        str | None, Query(max_length=64, description="Only those of one campaign.")
    ] = None,
    cursor: Cursor = None,
    size: PageSize = 50,
) -> StagePage:
    """Stages, by campaign and index."""
    async with context.store.session() as session:
        if campaign_id is not None:
            await records.get(session, campaign_id)
        return await records.stages(session, campaign_id, cursor, size)


@router.get("/campaigns/{campaign_id}/stages", responses=NOT_FOUND)
async def list_of_campaign(
    campaign_id: CampaignId, context: ContextDep, cursor: Cursor = None, size: PageSize = 100
) -> StagePage:
    """The stages of one campaign so far, by index."""
    async with context.store.session() as session:
        await records.get(session, campaign_id)
        return await records.stages(session, campaign_id, cursor, size)
