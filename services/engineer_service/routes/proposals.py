"""Proposals: asked for, looked up, and decided on where a person has the last word."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from engineer_service import decisions, proposals
from engineer_service.context import ContextDep
from engineer_service.routes.common import CONFLICT, NOT_FOUND, UNAVAILABLE
from trainee2trainer.contracts.engineer import (
    DecisionRequest,
    Proposal,
    ProposalList,
    ProposalRequest,
    ProposalStatus,
)
from trainee2trainer.web.idempotency import IdempotentRoute

router = APIRouter(prefix="/v1/proposals", tags=["proposals"], route_class=IdempotentRoute)


@router.post(
    "", status_code=201, responses=NOT_FOUND | UNAVAILABLE | {200: {"description": "It was there already."}}
)
async def create_proposal(request: ProposalRequest, response: Response, context: ContextDep) -> Proposal:
    """Asks an engineer for the next stage's configuration. Asked again, the same proposal comes back."""
    proposal, new = await proposals.propose(context, request)
    response.headers["Location"] = f"{router.prefix}/{proposal.id}"
    if not new:
        response.status_code = 200
    return proposal


@router.get("")
async def list_proposals(
    campaign_id: Annotated[str, Query(min_length=1, max_length=64)], context: ContextDep
) -> ProposalList:
    """A campaign's proposals, oldest first."""
    return ProposalList(items=await proposals.of_campaign(context.store, campaign_id))


@router.get("/{proposal_id}", responses=NOT_FOUND)
async def get_proposal(proposal_id: str, context: ContextDep) -> Proposal:
    """With everything that led to it: prompt, raw answers, corrections."""
    return await proposals.find(context.store, proposal_id)


@router.post("/{proposal_id}:approve", responses=NOT_FOUND | CONFLICT | UNAVAILABLE)
async def approve_proposal(proposal_id: str, decision: DecisionRequest, context: ContextDep) -> Proposal:
    """Uses it, or the configuration given instead. Once more does nothing."""
    return await decisions.decide(context, proposal_id, ProposalStatus.ACCEPTED, decision)


@router.post("/{proposal_id}:reject", responses=NOT_FOUND | CONFLICT | UNAVAILABLE)
async def reject_proposal(proposal_id: str, decision: DecisionRequest, context: ContextDep) -> Proposal:
    """Keeps the configuration as it was, or uses the one given instead. Once more does nothing."""
    return await decisions.decide(context, proposal_id, ProposalStatus.REJECTED, decision)
