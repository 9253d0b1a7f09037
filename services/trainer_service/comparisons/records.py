"""Comparisons as rows: made with all their campaigns in one transaction, found, listed."""

from sqlalchemy import and_, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import CampaignStatus
from trainee2trainer.contracts.comparison import Arm, Comparison, ComparisonCreate, ComparisonPage
from trainee2trainer.contracts.engineer import EngineerName
from trainee2trainer.store import new_id, utcnow
from trainee2trainer.store.tables import CampaignRecord, ComparisonRecord
from trainee2trainer.web import problems
from trainer_service import paging
from trainer_service.campaigns import records as campaigns


async def create(session: AsyncSession, request: ComparisonCreate, base_checkpoint: str) -> str:
    """Adds the comparison and its campaigns: seed by seed, so that pairs are complete early. Its id."""
    arms = []
    for seed in request.seeds:
        for engineer in request.engineers:
            settings = request.campaign.model_copy(
                update={
                    "engineer": engineer,
                    "seed": seed,
                    "name": f"{request.name} {engineer.value} {seed}"[:100],
                }
            )
            arms.append((engineer.value, seed, await campaigns.create(session, settings, base_checkpoint)))
    record = ComparisonRecord(
        id=new_id("comparison"), settings=request.model_dump(mode="json"), arms=arms, created_at=utcnow()
    )
    session.add(record)
    return record.id


async def get(session: AsyncSession, comparison_id: str) -> Comparison:
    """Raises the problem `not found`."""
    record = await session.get(ComparisonRecord, comparison_id)
    if record is None:
        raise problems.not_found("comparison", comparison_id)
    return (await _told(session, [record]))[0]


async def page(session: AsyncSession, cursor: str | None, size: int) -> ComparisonPage:
    """The newest first."""
    created = ComparisonRecord.created_at
    query = select(ComparisonRecord).order_by(created.desc(), ComparisonRecord.id.desc()).limit(size + 1)
    if cursor is not None:
        at, id_ = paging.place_in_time(cursor)
        query = query.where(or_(created < at, and_(created == at, ComparisonRecord.id < id_)))
    found = (await session.scalars(query)).all()
    items = await _told(session, list(found[:size]))
    more = len(found) > size
    last = paging.encode(items[-1].created_at.isoformat(), items[-1].id) if more else None
    return ComparisonPage(items=items, next_page=last)


async def _told(session: AsyncSession, records: list[ComparisonRecord]) -> list[Comparison]:
    ids = [campaign_id for record in records for _, _, campaign_id in record.arms]
    query = select(CampaignRecord.id, CampaignRecord.status, CampaignRecord.stage_index)
    found = (await session.execute(query.where(CampaignRecord.id.in_(ids)))).tuples()
    states = {id_: (CampaignStatus(status), stage) for id_, status, stage in found}
    return [
        Comparison(
            id=record.id,
            settings=ComparisonCreate.model_validate(record.settings),
            arms=[
                Arm(
                    engineer=EngineerName(engineer),
                    seed=seed,
                    campaign_id=id_,
                    status=states[id_][0],
                    stage_index=states[id_][1],
                )
                for engineer, seed, id_ in record.arms
            ],
            created_at=record.created_at,
        )
        for record in records
    ]
