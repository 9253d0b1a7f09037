"""What follows from a comparison: means per engineer, paired differences, a verdict in words."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import CampaignReport, CampaignStatus, StageReport
from trainee2trainer.contracts.comparison import (
    Arm,
    Comparison,
    ComparisonReport,
    Difference,
    EngineerResult,
    SizeRates,
    Verdict,
)
from trainee2trainer.contracts.engineer import EngineerName, ProposalStatus
from trainee2trainer.store.tables import RolloutRecord
from trainer_service.campaigns import reporting
from trainer_service.comparisons.statistics import Interval, Rates, paired
from trainer_service.validation import PHASE

BySeed = dict[int, Rates]


async def report(session: AsyncSession, comparison: Comparison) -> ComparisonReport:
    """Of the campaigns that have succeeded; the others are counted, and otherwise left out."""
    settings = comparison.settings
    done = [arm for arm in comparison.arms if arm.status is CampaignStatus.SUCCEEDED]
    reports: dict[EngineerName, list[CampaignReport]] = defaultdict(list)
    rates: dict[EngineerName, BySeed] = defaultdict(dict)
    for arm in done:
        reports[arm.engineer].append(await reporting.report(session, arm.campaign_id))
        rates[arm.engineer][arm.seed] = await _by_board(session, arm, settings.campaign.stages - 1)
    results = [_result(engineer, reports[engineer]) for engineer in settings.engineers]
    return ComparisonReport(
        id=comparison.id,
        name=settings.name,
        campaigns=len(comparison.arms),
        finished=len(done),
        rollouts=settings.campaign.stages * settings.campaign.training.rollouts,
        versions=reporting.versions(),
        results=results,
        differences=await asyncio.to_thread(_differences, settings.engineers, rates),
    )


async def _by_board(session: AsyncSession, arm: Arm, stage: int) -> Rates:
    query = (
        select(RolloutRecord.instance_id, RolloutRecord.valid, func.count())
        .where(
            RolloutRecord.subject_id == arm.campaign_id,
            RolloutRecord.stage_index == stage,
            RolloutRecord.phase == PHASE,
            RolloutRecord.reward.is_not(None),  # null: we failed, which says nothing of the policy
        )
        .group_by(RolloutRecord.instance_id, RolloutRecord.valid)
    )
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for board, valid, count in (await session.execute(query)).tuples():
        counts[board][bool(valid)] += count
    return {board: valid / (valid + invalid) for board, (invalid, valid) in counts.items()}


def _result(engineer: EngineerName, campaigns: Sequence[CampaignReport]) -> EngineerResult:
    last = [campaign.stages[-1] for campaign in campaigns]
    baselines = [campaign.baseline.valid_rate for campaign in campaigns if campaign.baseline]
    curves = [[stage.valid_rate for stage in campaign.stages] for campaign in campaigns]
    return EngineerResult(
        engineer=engineer,
        seeds=len(campaigns),
        baseline=fmean(baselines) if baselines else None,
        valid=fmean(stage.valid_rate for stage in last) if last else None,
        optimal=fmean(stage.optimal_rate for stage in last) if last else None,
        waits=fmean(one.wait_valid_rate for stage in last for one in stage.per_size) if last else None,
        per_size=_sizes(last),
        curve=[
            *([fmean(baselines)] if baselines else []),
            *(fmean(rates) for rates in zip(*curves, strict=True)),
        ],
        fallbacks=sum(
            stage.proposal is not None and stage.proposal.status == ProposalStatus.FALLBACK
            for campaign in campaigns
            for stage in campaign.stages
        ),
    )


def _sizes(stages: Sequence[StageReport]) -> list[SizeRates]:
    by_size: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for stage in stages:
        for one in stage.per_size:
            by_size[one.size].append((one.valid_rate, one.optimal_rate))
    return [
        SizeRates(size=size, valid=fmean(v for v, _ in rates), optimal=fmean(o for _, o in rates))
        for size, rates in sorted(by_size.items())
    ]


def _differences(engineers: Sequence[EngineerName], rates: dict[EngineerName, BySeed]) -> list[Difference]:
    first, *others = engineers
    found = []
    for other in others:
        interval = paired(rates[first], rates[other])
        if interval is not None:
            found.append(_difference(first, other, interval, _ratio(rates[first], rates[other])))
    return found


def _ratio(ours: BySeed, theirs: BySeed) -> float | None:
    seeds = ours.keys() & theirs.keys()
    mine = fmean(rate for seed in seeds for rate in ours[seed].values())
    other = fmean(rate for seed in seeds for rate in theirs[seed].values())
    return mine / other if other else None


def _difference(
    first: EngineerName, other: EngineerName, interval: Interval, ratio: float | None
) -> Difference:
    verdict = (
        Verdict.BETTER if interval.low > 0 else Verdict.WORSE if interval.high < 0 else Verdict.NOT_SHOWN
    )
    return Difference(
        against=other,
        seeds=interval.seeds,
        boards=interval.boards,
        mean=interval.mean,
        low=interval.low,
        high=interval.high,
        ratio=ratio,
        verdict=verdict,
        words=in_words(first.value, other.value, interval, verdict),
    )


def in_words(first: str, other: str, interval: Interval, verdict: Verdict) -> str:
    """A sentence that claims no more than the interval does."""
    mean, low, high = (f"{100 * value:+.1f}" for value in (interval.mean, interval.low, interval.high))
    bounds = f"{mean} points [{low}, {high}]"
    over = f"{interval.seeds} seed{'' if interval.seeds == 1 else 's'}"
    match verdict:
        case Verdict.BETTER:
            return f"{first} beats {other} by {bounds} over {over}"
        case Verdict.WORSE:
            return f"{first} loses to {other}: {bounds} over {over}"
        case Verdict.NOT_SHOWN:
            return f"no difference between {first} and {other} shown: {bounds} over {over}"
