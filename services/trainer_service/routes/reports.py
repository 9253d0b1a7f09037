"""What came of a campaign, for machines and for people."""

from fastapi import APIRouter

from trainee2trainer.contracts.campaign import CampaignReport
from trainer_service.campaigns.reporting import report
from trainer_service.context import ContextDep
from trainer_service.routes.answers import NOT_FOUND, CampaignId

router = APIRouter(prefix="/v1/campaigns", tags=["reports"])


@router.get("/{campaign_id}/report", responses=NOT_FOUND)
async def get_report(campaign_id: CampaignId, context: ContextDep) -> CampaignReport:
    """Figures of every stage validated so far, and of the starting checkpoint."""
    async with context.store.session() as session:
        return await report(session, campaign_id)
