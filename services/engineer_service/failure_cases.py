"""A few failures to look at: of different sizes and kinds, the same ones whenever they are asked for."""

from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from engineer_service.counting import VALIDATION, Count
from trainee2trainer.client import EnvClient
from trainee2trainer.contracts.engineer import FailureCase
from trainee2trainer.contracts.environment import Instance, VerifyBatchRequest, VerifyItem
from trainee2trainer.store.tables import InstanceRecord, RolloutRecord

MAX_ANSWER_CHARS = 2_000
"""Of a failed answer that goes into a summary; an endless one must not fill it."""

Failed = tuple[Instance, str]
"""A board and the answer that failed on it."""


def choose(counts: Iterable[Count], most: int) -> list[int]:
    """Row ids of at most `most` failed validation answers, one of each kind, the kinds as mixed as can be."""
    kinds = [one for one in counts if one.phase == VALIDATION and one.failure is not None]
    chosen: list[Count] = []
    sizes, categories = Counter[int](), Counter[str]()
    while kinds and len(chosen) < most:
        # A size and a category not seen yet come first; among equals, what happens most.
        best = min(
            kinds,
            key=lambda kind: (sizes[kind.size] + categories[kind.failure or ""], -kind.samples, kind.first),
        )
        kinds.remove(best)
        chosen.append(best)
        sizes[best.size] += 1
        categories[best.failure or ""] += 1
    return [one.first for one in sorted(chosen, key=lambda one: (one.size, one.first))]


async def load(session: AsyncSession, rows: Sequence[int]) -> list[Failed]:
    """The boards and answers of these rollouts, in their order; what has lost its board is left out."""
    query = (
        select(RolloutRecord.id, RolloutRecord.answer, InstanceRecord.content)
        .join(InstanceRecord, InstanceRecord.id == RolloutRecord.instance_id)
        .where(RolloutRecord.id.in_(rows))
    )
    found = {row: (content, answer or "") for row, answer, content in await session.execute(query)}
    return [(Instance.model_validate(found[row][0]), found[row][1]) for row in rows if row in found]


async def judge(env: EnvClient, failed: Sequence[Failed]) -> list[FailureCase]:
    """The cases with what went wrong first, as env_service sees it."""
    if not failed:
        return []
    items = [VerifyItem(instance_id=instance.id, answer=answer) for instance, answer in failed]
    verdicts = await env.verify_batch(VerifyBatchRequest(items=items))
    return [
        FailureCase(
            instance=instance,
            answer=answer[:MAX_ANSWER_CHARS],
            failure=outcome.failure,
            violation=outcome.violation,
            trajectory=outcome.trajectory,
        )
        for (instance, answer), outcome in zip(failed, verdicts.outcomes, strict=True)
        if outcome.failure is not None
    ]
