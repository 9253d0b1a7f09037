"""The engineer writes the next stage's configuration; with manual approval a person has the last word."""

import time

from trainee2trainer.contracts.campaign import EventKind, StageStep
from trainee2trainer.contracts.engineer import EngineerName, Proposal, ProposalRequest, ProposalStatus
from trainer_service import events
from trainer_service.campaigns.position import Position, finish, note, open_stage
from trainer_service.failures import Undecided
from trainer_service.work import Work


async def run(work: Work, position: Position) -> None:
    """Asks the engineer and uses its answer. Raises Undecided while the answer is a person's to approve."""
    started = time.perf_counter()
    engineer = work.tools.engineer
    if position.proposal_id is None:
        # One proposal per summary, engineer and seed: asking again gives the same one.
        proposal = await engineer.propose(_request(position))
    else:
        proposal = await engineer.proposal(position.proposal_id)
    if proposal.status is not ProposalStatus.PENDING_APPROVAL:
        await _use(work, position, proposal, time.perf_counter() - started)
        return
    if position.proposal_id is None:
        await _wait(work, position, proposal)
    raise Undecided


def _request(position: Position) -> ProposalRequest:
    assert position.summary_id is not None
    return ProposalRequest(
        summary_id=position.summary_id,
        engineer=position.settings.engineer,
        checkpoint=_who_answers(position),
        seed=position.seed("propose"),
        approval=position.settings.approval == "manual",
    )


def _who_answers(position: Position) -> str | None:
    """The checkpoint that is asked, for engineers that are one."""
    match position.settings.engineer:
        case EngineerName.SELF:
            return position.checkpoint
        case EngineerName.BASE:
            return position.base_checkpoint
        case _:
            return None


async def _wait(work: Work, position: Position, proposal: Proposal) -> None:
    async with work.effect() as session:
        await note(session, position, proposal_id=proposal.id)
        await events.append(
            session, work.id, EventKind.PROPOSE_WAITING, stage=position.index, proposal_id=proposal.id
        )


async def _use(work: Work, position: Position, proposal: Proposal, seconds: float) -> None:
    async with work.effect() as session:
        await finish(session, position, StageStep.DONE, seconds, proposal_id=proposal.id)
        content = proposal.model_dump(
            mode="json", include={"status", "reason", "fallback_reason", "changes", "clamps"}
        )
        await events.append(
            session,
            work.id,
            EventKind.PROPOSE_DONE,
            stage=position.index,
            proposal_id=proposal.id,
            seconds=seconds,
            **content,
        )
        await open_stage(session, work.id, position.index + 1, proposal.configuration)
