"""Comparisons: intervals that hold what they promise, and words that claim no more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainee2trainer.contracts.comparison import Verdict
from trainer_service.comparisons.reporting import in_words
from trainer_service.comparisons.statistics import Interval, paired

RATES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1), min_size=1)


@given(rates=st.dictionaries(st.integers(0, 3), RATES, min_size=1))
def test_against_itself_nothing_differs(rates: dict[int, dict[str, float]]) -> None:
    interval = paired(rates, rates)
    assert interval is not None
    assert (interval.mean, interval.low, interval.high) == (0, 0, 0)


@given(ours=st.dictionaries(st.integers(0, 3), RATES), theirs=st.dictionaries(st.integers(0, 3), RATES))
def test_the_other_way_round_the_mean_has_the_other_sign(
    ours: dict[int, dict[str, float]], theirs: dict[int, dict[str, float]]
) -> None:
    there, back = paired(ours, theirs), paired(theirs, ours)
    assert (there is None) == (back is None)
    if there and back:
        assert there.mean == pytest.approx(-back.mean)
        assert there.low - 1e-9 <= there.high


def test_only_what_both_have_is_compared() -> None:
    interval = paired({0: {"a": 1.0, "b": 0.0}, 7: {"a": 0.0}}, {0: {"a": 0.5, "c": 0.0}, 8: {"a": 1.0}})
    assert interval is not None
    assert (interval.mean, interval.seeds, interval.boards) == (0.5, 1, 1)
    assert paired({0: {"a": 1.0}}, {1: {"a": 1.0}}) is None


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says() -> None:
    random, covered, rounds = np.random.default_rng(1), 0, 60
    for _ in range(rounds):
        ours, theirs = {}, {}
        for seed in range(8):
            drift = random.normal(0.05, 0.03)
            base = random.uniform(0.2, 0.7, size=150)
            theirs[seed] = {str(n): float(rate) for n, rate in enumerate(base + random.normal(0, 0.2, 150))}
            ours[seed] = {
                str(n): float(rate) for n, rate in enumerate(base + drift + random.normal(0, 0.2, 150))
            }
        interval = paired(ours, theirs)
        assert interval is not None
        covered += interval.low <= 0.05 <= interval.high
    assert covered >= 0.8 * rounds


def test_words_claim_no_more_than_the_interval() -> None:
    interval = Interval(mean=0.021, low=-0.004, high=0.05, seeds=3, boards=600)
    assert in_words("self", "random", interval, Verdict.NOT_SHOWN) == (
        "no difference between self and random shown: +2.1 points [-0.4, +5.0] over 3 seeds"
    )
    better = Interval(mean=0.021, low=0.004, high=0.05, seeds=1, boards=600)
    assert in_words("self", "fixed", better, Verdict.BETTER) == (
        "self beats fixed by +2.1 points [+0.4, +5.0] over 1 seed"
    )
