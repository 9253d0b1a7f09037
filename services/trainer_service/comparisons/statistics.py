"""Paired differences with bootstrap intervals (Efron 1979), resampling seeds and, within each, boards."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 4_000
LEVEL = 0.95
_SEED = 0
"""Of the resampling alone: the same results give the same intervals."""

Rates = Mapping[str, float]
"""Share of valid answers by board."""


@dataclass(frozen=True, slots=True)
class Interval:
    mean: float
    low: float
    high: float
    seeds: int
    boards: int


def paired(ours: Mapping[int, Rates], theirs: Mapping[int, Rates]) -> Interval | None:
    """The mean of ours minus theirs over the seeds and boards that both have; None without any.

    With one seed the interval speaks of boards alone: how far another seed would differ, it cannot know.
    """
    differences = []
    for seed in sorted(ours.keys() & theirs.keys()):
        boards = sorted(ours[seed].keys() & theirs[seed].keys())
        if boards:
            differences.append(np.array([ours[seed][board] - theirs[seed][board] for board in boards]))
    if not differences:
        return None
    means = _resampled(differences)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(
        mean=float(np.mean([values.mean() for values in differences])),
        low=float(low),
        high=float(high),
        seeds=len(differences),
        boards=len(differences[0]),
    )


def _resampled(differences: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """(RESAMPLES,) means, each of as many seeds drawn anew, each with its boards drawn anew."""
    random = np.random.default_rng(_SEED)
    # A board's draws within a seed do not depend on which seeds are drawn: made once per seed and resample.
    within = np.stack(
        [
            values[random.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
            for values in differences
        ],
        axis=1,
    )
    chosen = random.integers(len(differences), size=(RESAMPLES, len(differences)))
    return np.asarray(np.take_along_axis(within, chosen, axis=1).mean(axis=1))
