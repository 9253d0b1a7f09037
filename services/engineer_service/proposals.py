"""Proposals: an engineer's answer read, validated, tried, and recorded with everything that led to it."""

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from engineer_service import summary as summaries
from engineer_service.context import Context
from engineer_service.engineers import ENGINEERS, Engineer, Question
from engineer_service.neighbours import needed
from engineer_service.reading import Answer, read_answer
from engineer_service.trial import try_out
from engineer_service.validation import Checked, Unusable, changes, check
from trainee2trainer.contracts.engineer import Attempt, Proposal, ProposalRequest, ProposalStatus
from trainee2trainer.store import Store, new_id, utcnow
from trainee2trainer.store.tables import CheckpointRecord, ProposalRecord
from trainee2trainer.web import problems


async def find(store: Store, proposal_id: str) -> Proposal:
    """Raises the problem `not found`."""
    async with store.session() as session:
        record = await session.get(ProposalRecord, proposal_id)
    if record is None:
        raise problems.not_found("proposal", proposal_id)
    return Proposal.model_validate(record.content)


async def of_campaign(store: Store, campaign_id: str) -> list[Proposal]:
    """All of a campaign's, oldest first."""
    query = (
        select(ProposalRecord.content)
        .where(ProposalRecord.campaign_id == campaign_id)
        .order_by(ProposalRecord.stage_index, ProposalRecord.created_at, ProposalRecord.id)
    )
    async with store.session() as session:
        return [Proposal.model_validate(content) for content in await session.scalars(query)]


async def propose(context: Context, request: ProposalRequest) -> tuple[Proposal, bool]:
    """The one proposal for this summary, engineer and seed, and whether it is new.

    Raises problems: 404 without such a summary, 422 without a checkpoint that is needed, 503 when env or
    policy fails: then nothing is recorded, for it says nothing about the engineer.
    """
    if earlier := await _earlier(context.store, request):
        return earlier, False
    proposal = await _make(context, request)
    try:
        async with context.store.session() as session:
            session.add(_record(proposal))
    except IntegrityError:
        # Somebody else asked the same, and was faster.
        earlier = await _earlier(context.store, request)
        assert earlier is not None
        return earlier, False
    return proposal, True


async def _earlier(store: Store, request: ProposalRequest) -> Proposal | None:
    query = select(ProposalRecord.content).where(
        ProposalRecord.summary_id == request.summary_id,
        ProposalRecord.engineer == request.engineer.value,
        ProposalRecord.seed == request.seed,
    )
    async with store.session() as session:
        content = await session.scalar(query)
    return None if content is None else Proposal.model_validate(content)


def _record(proposal: Proposal) -> ProposalRecord:
    return ProposalRecord(
        id=proposal.id,
        campaign_id=proposal.campaign_id,
        stage_index=proposal.stage_index,
        summary_id=proposal.summary_id,
        engineer=proposal.engineer.value,
        seed=proposal.seed,
        status=proposal.status.value,
        content=proposal.model_dump(mode="json"),
        created_at=proposal.created_at,
    )


async def _make(context: Context, request: ProposalRequest) -> Proposal:
    engineer = ENGINEERS[request.engineer]
    question = await _question(context, request, engineer)
    attempts: list[Attempt] = []
    used: tuple[Answer, Checked] | None = None
    for attempt in range(context.settings.engineer_attempts if engineer.attempts else 1):
        text = ""
        try:
            text = await engineer.answer(context, question, attempt)
            used = await _usable(context, question, text)
        except Unusable as error:
            attempts.append(Attempt(answer=text, error=str(error)))
        else:
            attempts.append(Attempt(answer=text, error=None))
            break
    return _proposal(request, question, engineer, attempts, used)


async def _question(context: Context, request: ProposalRequest, engineer: Engineer) -> Question:
    summary = await summaries.find(context.store, request.summary_id)
    profile = None
    if engineer.card.needs_policy:
        profile = await _profile(context.store, request)
    with needed("env"):
        family = (await context.env.environments())[0]
    return Question(summary, family, request.checkpoint, profile, request.seed)


async def _profile(store: Store, request: ProposalRequest) -> str:
    if request.checkpoint is None:
        raise problems.invalid(["body", "checkpoint"], f"the engineer {request.engineer.value} needs one")
    async with store.session() as session:
        record = await session.get(CheckpointRecord, request.checkpoint)
    if record is None:
        raise problems.invalid(["body", "checkpoint"], f"there is no checkpoint {request.checkpoint!r}")
    return record.profile


async def _usable(context: Context, question: Question, text: str) -> tuple[Answer, Checked]:
    """Reads, validates and tries an answer. Raises Unusable."""
    answer = read_answer(text)
    if answer is None:
        raise Unusable("no configuration could be read from the answer")
    checked = check(answer, question.summary.configuration, question.family)
    await try_out(context, checked.configuration, question.seed)
    return answer, checked


def _proposal(
    request: ProposalRequest,
    question: Question,
    engineer: Engineer,
    attempts: list[Attempt],
    used: tuple[Answer, Checked] | None,
) -> Proposal:
    before = question.summary.configuration
    after = used[1].configuration if used else before
    status = ProposalStatus.ACCEPTED if used else ProposalStatus.FALLBACK
    return Proposal(
        id=new_id("proposal"),
        campaign_id=question.summary.campaign_id,
        stage_index=question.summary.stage_index,
        engineer=request.engineer,
        checkpoint=request.checkpoint,
        status=ProposalStatus.PENDING_APPROVAL if request.approval else status,
        configuration=after,
        reason=used[0].reason if used else None,
        fallback_reason=None if used else _why_not(attempts),
        prompt=engineer.prompt(question),
        attempts=attempts,
        clamps=used[1].clamps if used else [],
        changes=changes(before, after),
        summary_id=request.summary_id,
        seed=request.seed,
        created_at=utcnow(),
    )


def _why_not(attempts: list[Attempt]) -> str:
    return f"none of {len(attempts)} answers could be used; the last: {attempts[-1].error}"
