"""Validation answers with their boards and verdicts: the raw material of the replays on the report page."""

from collections.abc import Sequence

from sqlalchemy import select

from trainee2trainer.client import EnvClient
from trainee2trainer.contracts.campaign import BASELINE_STAGE
from trainee2trainer.contracts.environment import (
    MAX_VERIFY_BATCH,
    Instance,
    RewardWeights,
    VerifyBatchRequest,
    VerifyItem,
)
from trainee2trainer.store import Store
from trainee2trainer.store.tables import InstanceRecord, RolloutRecord
from trainer_service.report.replay import JudgedAnswer
from trainer_service.validation import PHASE

_IDS_PER_QUERY = 500


async def judged_answers(
    store: Store, env: EnvClient, campaign_id: str, last_stage: int, rewards: RewardWeights
) -> list[JudgedAnswer]:
    """The answers of the starting checkpoint and of `last_stage`'s, judged again: verdicts are not kept."""
    rows = await _answers(store, campaign_id, [BASELINE_STAGE, last_stage])
    instances = await _instances(store, sorted({row.instance_id for row in rows}))
    rows = [row for row in rows if row.instance_id in instances]
    judged: list[JudgedAnswer] = []
    for start in range(0, len(rows), MAX_VERIFY_BATCH):
        some = rows[start : start + MAX_VERIFY_BATCH]
        items = [VerifyItem(instance_id=row.instance_id, answer=row.answer or "") for row in some]
        verdicts = await env.verify_batch(VerifyBatchRequest(items=items, rewards=rewards))
        judged += [
            JudgedAnswer(row.stage_index, instances[row.instance_id], row.answer or "", outcome)
            for row, outcome in zip(some, verdicts.outcomes, strict=True)
        ]
    return judged


async def _answers(store: Store, campaign_id: str, stages: list[int]) -> Sequence[RolloutRecord]:
    query = (
        select(RolloutRecord)
        .where(
            RolloutRecord.subject_id == campaign_id,
            RolloutRecord.phase == PHASE,
            RolloutRecord.stage_index.in_(stages),
            RolloutRecord.reward.is_not(None),  # null: sampling or scoring failed on our side
        )
        .order_by(RolloutRecord.id)
    )
    async with store.session() as session:
        return (await session.scalars(query)).all()


async def _instances(store: Store, ids: list[str]) -> dict[str, Instance]:
    found: dict[str, Instance] = {}
    for start in range(0, len(ids), _IDS_PER_QUERY):
        query = select(InstanceRecord).where(InstanceRecord.id.in_(ids[start : start + _IDS_PER_QUERY]))
        async with store.session() as session:
            records = await session.scalars(query)
            found |= {record.id: Instance.model_validate(record.content) for record in records}
    return found
