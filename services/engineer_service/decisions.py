"""A person's word on a proposal that waits for it."""

from sqlalchemy import update

from engineer_service import proposals, summary
from engineer_service.context import Context
from engineer_service.trial import try_out
from engineer_service.validation import Unusable, changes
from trainee2trainer.contracts.engineer import DecisionRequest, Proposal, ProposalStatus
from trainee2trainer.store.tables import ProposalRecord
from trainee2trainer.web import problems

_REJECTED = "rejected by a person"


async def decide(
    context: Context, proposal_id: str, status: ProposalStatus, decision: DecisionRequest
) -> Proposal:
    """Approves or rejects; where a configuration is given, that one is used. The same again does nothing.

    Raises problems: 404, 409 when it was decided otherwise, 422 for boards that cannot be made.
    """
    proposal = await proposals.find(context.store, proposal_id)
    if proposal.status is status and decision.configuration in (None, proposal.configuration):
        return proposal
    if proposal.status is not ProposalStatus.PENDING_APPROVAL:
        raise problems.conflict(f"The proposal is {proposal.status.value} already.")
    if decision.configuration is not None:
        try:
            await try_out(context, decision.configuration, proposal.seed)
        except Unusable as error:
            raise problems.invalid(["body", "configuration"], str(error)) from error
    decided = await _decided(context, proposal, status, decision)
    query = (
        update(ProposalRecord)
        .where(ProposalRecord.id == proposal_id, ProposalRecord.status == proposal.status.value)
        .values(status=status.value, content=decided.model_dump(mode="json"))
        .returning(ProposalRecord.id)
    )
    async with context.store.session() as session:
        changed = await session.scalar(query)
    if changed is None:
        raise problems.conflict("Somebody else has just decided.")
    return decided


async def _decided(
    context: Context, proposal: Proposal, status: ProposalStatus, decision: DecisionRequest
) -> Proposal:
    before = (await summary.find(context.store, proposal.summary_id)).configuration
    rejected = status is ProposalStatus.REJECTED
    after = decision.configuration or (before if rejected else proposal.configuration)
    return proposal.model_copy(
        update={
            "status": status,
            "configuration": after,
            "changes": changes(before, after),
            "fallback_reason": (decision.reason or _REJECTED) if rejected else proposal.fallback_reason,
        }
    )
