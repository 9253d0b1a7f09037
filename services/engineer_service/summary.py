"""Summaries of stages: put together once from what the store holds, then kept."""

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from engineer_service import counting, failure_cases
from engineer_service.context import Context
from engineer_service.counting import VALIDATION, Count
from engineer_service.failure_cases import Failed
from engineer_service.neighbours import needed
from trainee2trainer.contracts.campaign import BASELINE_STAGE, ValidationResult
from trainee2trainer.contracts.engineer import PastStage, StageSummary, SummaryRequest
from trainee2trainer.contracts.environment import EnvironmentConfig
from trainee2trainer.store import Store, new_id, utcnow
from trainee2trainer.store.tables import CampaignRecord, StageRecord, SummaryRecord
from trainee2trainer.web import problems


async def find(store: Store, summary_id: str) -> StageSummary:
    """Raises the problem `not found`."""
    async with store.session() as session:
        record = await session.get(SummaryRecord, summary_id)
    if record is None:
        raise problems.not_found("summary", summary_id)
    return StageSummary.model_validate(record.content)


async def summarise(context: Context, request: SummaryRequest) -> tuple[StageSummary, bool]:
    """The stage's one summary, and whether it is new.

    Raises problems: 404 without such a stage, 409 before it is validated, 503 without env_service.
    """
    if earlier := await _of_stage(context.store, request):
        return earlier, False
    summary = await _make(context, request)
    record = SummaryRecord(
        id=summary.id,
        campaign_id=summary.campaign_id,
        stage_index=summary.stage_index,
        content=summary.model_dump(mode="json"),
        created_at=summary.created_at,
    )
    try:
        async with context.store.session() as session:
            session.add(record)
    except IntegrityError:
        # Somebody else was asked the same, and was faster.
        earlier = await _of_stage(context.store, request)
        assert earlier is not None
        return earlier, False
    return summary, True


async def _of_stage(store: Store, request: SummaryRequest) -> StageSummary | None:
    query = select(SummaryRecord.content).where(
        SummaryRecord.campaign_id == request.campaign_id, SummaryRecord.stage_index == request.stage_index
    )
    async with store.session() as session:
        content = await session.scalar(query)
    return None if content is None else StageSummary.model_validate(content)


async def _make(context: Context, request: SummaryRequest) -> StageSummary:
    campaign_id, index = request.campaign_id, request.stage_index
    async with context.store.session() as session:
        stage = await _stage(session, campaign_id, index)
        counts = await counting.count(session, campaign_id, index)
        validated = [one for one in counts if one.phase == VALIDATION]
        if stage.checkpoint_id is None or not validated:
            raise problems.conflict(f"Stage {index} of {campaign_id} is not validated yet.")
        dead = await counting.dead_groups(session, campaign_id, index)
        history = await _history(session, campaign_id, index)
        failed = await _failed(session, counts, context.settings.engineer_failure_cases)
    with needed("env"):
        cases = await failure_cases.judge(context.env, failed)
    configuration = EnvironmentConfig.model_validate(stage.configuration)
    return StageSummary(
        id=new_id("summary"),
        campaign_id=campaign_id,
        stage_index=index,
        checkpoint=stage.checkpoint_id,
        configuration=configuration,
        overall=counting.rates(validated),
        sizes=counting.size_summaries(counts, dead, configuration),
        reward_curve=stage.reward_curve or [],
        failure_cases=cases,
        history=history,
        created_at=utcnow(),
    )


async def _stage(session: AsyncSession, campaign_id: str, index: int) -> StageRecord:
    if await session.get(CampaignRecord, campaign_id) is None:
        raise problems.not_found("campaign", campaign_id)
    stage = await session.get(StageRecord, (campaign_id, index))
    if stage is None:
        raise problems.not_found("stage", f"{campaign_id}/{index}")
    return stage


async def _failed(session: AsyncSession, counts: list[Count], most: int) -> list[Failed]:
    return await failure_cases.load(session, failure_cases.choose(counts, most))


async def _history(session: AsyncSession, campaign_id: str, index: int) -> list[PastStage]:
    """What was measured before, oldest first; where it begins, the starting checkpoint."""
    campaign = await session.get_one(CampaignRecord, campaign_id)
    query = (
        select(StageRecord.index, StageRecord.configuration, StageRecord.validation)
        .where(StageRecord.campaign_id == campaign_id, StageRecord.index < index)
        .order_by(StageRecord.index)
    )
    stages = [(BASELINE_STAGE, None, campaign.baseline), *(await session.execute(query)).tuples()]
    return [
        _past(number, configuration, ValidationResult.model_validate(validation))
        for number, configuration, validation in stages
        if validation
    ]


def _past(index: int, configuration: object, result: ValidationResult) -> PastStage:
    return PastStage(
        stage_index=index,
        configuration=EnvironmentConfig.model_validate(configuration) if configuration else None,
        valid=result.overall.valid,
        optimal=result.overall.optimal,
        sizes={size.size: size.validation.valid for size in result.sizes},
    )
