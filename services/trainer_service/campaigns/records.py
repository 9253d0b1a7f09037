"""Campaigns and stages as rows: made, found, listed, and read as their contracts."""

from datetime import datetime

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import (
    Campaign,
    CampaignCreate,
    CampaignPage,
    CampaignStatus,
    EventKind,
    Stage,
    StagePage,
    StageStep,
    ValidationResult,
)
from trainee2trainer.contracts.environment import EnvironmentConfig
from trainee2trainer.store import new_id, utcnow
from trainee2trainer.store.tables import CampaignRecord, StageRecord
from trainee2trainer.web import problems
from trainer_service import events, paging
from trainer_service.campaigns.position import open_stage


async def create(session: AsyncSession, request: CampaignCreate, base_checkpoint: str) -> str:
    """Adds a campaign with its first stage; its id."""
    campaign = CampaignRecord(
        id=new_id("campaign"),
        status=CampaignStatus.QUEUED.value,
        settings=request.model_dump(mode="json"),
        base_checkpoint=base_checkpoint,
        created_at=utcnow(),
    )
    session.add(campaign)
    await session.flush()
    told = request.model_dump(mode="json", include={"name", "stages", "engineer", "seed"})
    await events.append(session, campaign.id, EventKind.CAMPAIGN_CREATED, **told)
    await open_stage(session, campaign.id, 0, request.configuration)
    return campaign.id


async def get(session: AsyncSession, campaign_id: str) -> Campaign:
    """Raises the problem `not found`."""
    query = _with_step().where(CampaignRecord.id == campaign_id)
    found = (await session.execute(query)).one_or_none()
    if found is None:
        raise problems.not_found("campaign", campaign_id)
    return _to_campaign(*found)


async def page(
    session: AsyncSession, cursor: str | None, size: int, status: CampaignStatus | None
) -> CampaignPage:
    """The newest first."""
    query = _with_step().order_by(CampaignRecord.created_at.desc(), CampaignRecord.id.desc()).limit(size + 1)
    if status is not None:
        query = query.where(CampaignRecord.status == status.value)
    if cursor is not None:
        at, id_ = paging.place_in_time(cursor)
        created = CampaignRecord.created_at
        query = query.where(or_(created < at, and_(created == at, CampaignRecord.id < id_)))
    found = (await session.execute(query)).all()
    items = [_to_campaign(*row) for row in found[:size]]
    more = len(found) > size
    return CampaignPage(items=items, next_page=_cursor(items[-1].created_at, items[-1].id) if more else None)


def _cursor(at: datetime, id_: str) -> str:
    return paging.encode(at.isoformat(), id_)


def _with_step() -> Select[CampaignRecord, str]:
    present = and_(
        StageRecord.campaign_id == CampaignRecord.id, StageRecord.index == CampaignRecord.stage_index
    )
    return select(CampaignRecord, StageRecord.step).join(StageRecord, present)


def _to_campaign(record: CampaignRecord, step: str) -> Campaign:
    return Campaign(
        id=record.id,
        status=CampaignStatus(record.status),
        settings=CampaignCreate.model_validate(record.settings),
        stage_index=record.stage_index,
        # Before the baseline is there, no stage's step has begun.
        step=StageStep(step) if record.baseline is not None else None,
        base_checkpoint=record.base_checkpoint,
        error=record.error,
        created_at=record.created_at,
        finished_at=record.finished_at,
    )


async def stages(session: AsyncSession, campaign_id: str | None, cursor: str | None, size: int) -> StagePage:
    """By campaign, then by index."""
    query = select(StageRecord).order_by(StageRecord.campaign_id, StageRecord.index).limit(size + 1)
    if campaign_id is not None:
        query = query.where(StageRecord.campaign_id == campaign_id)
    if cursor is not None:
        of, index = paging.decode(cursor, str, int)
        later = and_(StageRecord.campaign_id == of, StageRecord.index > int(index))
        query = query.where(or_(StageRecord.campaign_id > of, later))
    found = (await session.scalars(query)).all()
    items = [to_stage(record) for record in found[:size]]
    more = len(found) > size
    return StagePage(
        items=items, next_page=paging.encode(items[-1].campaign_id, items[-1].index) if more else None
    )


def to_stage(record: StageRecord) -> Stage:
    return Stage(
        campaign_id=record.campaign_id,
        index=record.index,
        step=StageStep(record.step),
        configuration=EnvironmentConfig.model_validate(record.configuration),
        checkpoint=record.checkpoint_id,
        validation=ValidationResult.model_validate(record.validation) if record.validation else None,
        summary_id=record.summary_id,
        proposal_id=record.proposal_id,
        seconds=record.seconds,
    )
