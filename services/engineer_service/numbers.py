"""A summary in a few rounded numbers per map size: what the compact prompt says and the teacher looks at."""

from dataclasses import dataclass
from typing import Literal

from trainee2trainer.contracts.engineer import Rates, SizeSummary, StageSummary
from trainee2trainer.contracts.environment import FailureCategory

STEPS = 20
"""Rates are rounded to the nearest 1/20: few enough different numbers to be words of a small vocabulary."""

NOTICED = 0.02
"""A valid rate that moved by less counts as the same: no more than the noise of sampling."""

Trend = Literal["up", "down", "same"]


@dataclass(frozen=True, slots=True)
class SizeNumbers:
    """One map size. Rates in [0, 1]; None: there was nothing to measure, or nothing configured."""

    size: int
    data: float
    hole: float | None
    wait: float | None
    valid: float | None
    plain: float | None
    waits: float | None
    optimal: float | None
    train: float | None
    dead: float | None
    failures: tuple[float, ...]  # shares of the samples, in the order of FailureCategory
    trend: Trend | None  # of the valid rate, against the stage before


def on_grid(value: float) -> float:
    """The nearest multiple of 0.05; halves go up."""
    return int(value * STEPS + 0.5) / STEPS


def size_numbers(summary: StageSummary) -> list[SizeNumbers]:
    """The numbers of every size in the summary, in rising order, all of them on the grid."""
    before = summary.history[-1].sizes if summary.history else {}
    return [_numbers(size, before.get(size.size)) for size in summary.sizes]


def _numbers(summary: SizeSummary, before: float | None) -> SizeNumbers:
    knobs, samples = summary.configured, summary.validation.samples
    valid = summary.validation.valid if samples else None
    return SizeNumbers(
        size=summary.size,
        data=on_grid(knobs.data_ratio) if knobs else 0.0,
        hole=on_grid(knobs.hole_ratio) if knobs else None,
        wait=on_grid(knobs.wait_ratio) if knobs else None,
        valid=_valid(summary.validation),
        plain=_valid(summary.validation_plain),
        waits=_valid(summary.validation_wait),
        optimal=on_grid(summary.validation.optimal) if samples else None,
        train=_valid(summary.training),
        dead=None if summary.dead_group_share is None else on_grid(summary.dead_group_share),
        failures=tuple(
            on_grid(summary.failures.get(category, 0) / samples) if samples else 0.0
            for category in FailureCategory
        ),
        trend=None if valid is None or before is None else trend_of(valid - before),
    )


def _valid(rates: Rates | None) -> float | None:
    return on_grid(rates.valid) if rates and rates.samples else None


def trend_of(gain: float) -> Trend:
    """What to call a change of the valid rate."""
    return "up" if gain > NOTICED else "down" if gain < -NOTICED else "same"
