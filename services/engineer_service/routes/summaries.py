"""Summaries: the evidence of a stage, one per campaign and stage."""

from fastapi import APIRouter, Response

from engineer_service import summary
from engineer_service.context import ContextDep
from engineer_service.routes.common import CONFLICT, NOT_FOUND, UNAVAILABLE
from trainee2trainer.contracts.engineer import StageSummary, SummaryRequest
from trainee2trainer.web.idempotency import IdempotentRoute

router = APIRouter(prefix="/v1/summaries", tags=["summaries"], route_class=IdempotentRoute)


@router.post(
    "",
    status_code=201,
    responses=NOT_FOUND | CONFLICT | UNAVAILABLE | {200: {"description": "It was there already."}},
)
async def create_summary(request: SummaryRequest, response: Response, context: ContextDep) -> StageSummary:
    """Puts together what a stage showed. Asked again, the same summary comes back."""
    found, new = await summary.summarise(context, request)
    response.headers["Location"] = f"{router.prefix}/{found.id}"
    if not new:
        response.status_code = 200
    return found


@router.get("/{summary_id}", responses=NOT_FOUND)
async def get_summary(summary_id: str, context: ContextDep) -> StageSummary:
    """A summary that was made before."""
    return await summary.find(context.store, summary_id)
