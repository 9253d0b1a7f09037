"""What a stage's judged answers add up to. The store counts: an answer is never loaded to be counted."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import case, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.elements import ColumnElement

from trainee2trainer.contracts.engineer import Rates, SizeSummary
from trainee2trainer.contracts.environment import EnvironmentConfig, FailureCategory
from trainee2trainer.store.tables import RolloutRecord as Rollout

TRAIN, VALIDATION = "train", "validation"


@dataclass(frozen=True, slots=True)
class Count:
    """Answers that are alike. `steps`: summed makespans of the valid ones; `first`: the lowest row id."""

    phase: str
    size: int
    needs_wait: bool
    failure: FailureCategory | None
    samples: int
    valid: int
    optimal: int
    steps: int
    first: int


async def count(session: AsyncSession, subject_id: str, stage: int) -> list[Count]:
    """All judged answers of a stage by phase, size, wait class and failure, in that order."""
    alike = (Rollout.phase, Rollout.size, Rollout.needs_wait, Rollout.failure)
    query = (
        select(
            *alike,
            func.count(),
            func.sum(case((Rollout.valid, 1), else_=0)),
            func.sum(case((Rollout.optimal, 1), else_=0)),
            func.sum(case((Rollout.valid, func.coalesce(Rollout.makespan, 0)), else_=0)),
            func.min(Rollout.id),
        )
        .where(*_judged(subject_id, stage))
        .group_by(*alike)
    )
    counts = [
        Count(phase, size, needs_wait, None if failure is None else FailureCategory(failure), *sums)
        for phase, size, needs_wait, failure, *sums in await session.execute(query)
    ]
    return sorted(counts, key=lambda count: (count.phase, count.size, count.needs_wait, count.failure or ""))


async def dead_groups(session: AsyncSession, subject_id: str, stage: int) -> dict[int, float]:
    """By size, the share of training groups (samples of one prompt) whose rewards were all equal."""
    groups = (
        select(Rollout.size, func.min(Rollout.reward).label("low"), func.max(Rollout.reward).label("high"))
        .where(*_judged(subject_id, stage), Rollout.phase == TRAIN)
        .group_by(Rollout.size, Rollout.step, Rollout.group)
        .subquery()
    )
    dead = func.sum(case((groups.c.low == groups.c.high, 1), else_=0))
    query = select(groups.c.size, dead, func.count()).group_by(groups.c.size)
    return {size: int(dead) / total for size, dead, total in await session.execute(query)}


def _judged(subject_id: str, stage: int) -> tuple[ColumnElement[bool], ...]:
    # Without a reward it was we who failed: that says nothing about the policy.
    return (Rollout.subject_id == subject_id, Rollout.stage_index == stage, Rollout.reward.is_not(None))


def size_summaries(
    counts: Iterable[Count], dead: dict[int, float], configuration: EnvironmentConfig
) -> list[SizeSummary]:
    """One summary per size that was validated or configured, in rising order."""
    by_size: dict[int, list[Count]] = {size: [] for size in configuration.sizes}
    for one in counts:
        by_size.setdefault(one.size, []).append(one)
    return [_size(size, by_size[size], dead.get(size), configuration) for size in sorted(by_size)]


def _size(
    size: int, counts: list[Count], dead: float | None, configuration: EnvironmentConfig
) -> SizeSummary:
    validated = [one for one in counts if one.phase == VALIDATION]
    trained = [one for one in counts if one.phase == TRAIN]
    valid = sum(one.valid for one in validated)
    failures = {
        category: sum(one.samples for one in validated if one.failure == category)
        for category in FailureCategory
    }
    return SizeSummary(
        size=size,
        configured=configuration.sizes.get(size),
        validation=rates(validated),
        validation_wait=rates(one for one in validated if one.needs_wait),
        validation_plain=rates(one for one in validated if not one.needs_wait),
        failures={category: number for category, number in failures.items() if number},
        training=rates(trained) if trained else None,
        dead_group_share=dead,
        mean_plan_length=sum(one.steps for one in validated) / valid if valid else None,
    )


def rates(counts: Iterable[Count]) -> Rates:
    """Of all these answers together; zero of zero is zero."""
    some = list(counts)
    samples = sum(one.samples for one in some)
    return Rates(
        samples=samples,
        valid=sum(one.valid for one in some) / max(samples, 1),
        optimal=sum(one.optimal for one in some) / max(samples, 1),
    )
