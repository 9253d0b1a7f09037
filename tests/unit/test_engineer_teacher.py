"""The teacher's rule, one thing at a time, and the exchanges made with it."""

from itertools import pairwise
from random import Random

import pytest
from engineer_world import numbers
from hypothesis import given
from hypothesis import strategies as st

from engineer_service.exchanges import exchange, invent, lines
from engineer_service.numbers import SizeNumbers
from engineer_service.prompts.compact import compact_prompt
from engineer_service.teacher import DATA_STEP, MAX_WAITS, MIN_WAITS, WAIT_STEP, decide, shares
from trainee2trainer.contracts.engineer import Exchange
from trainee2trainer.contracts.environment import SizeKnobs

STEP = 0.05 + 1e-9


def decided(one: SizeNumbers) -> SizeKnobs:
    return decide([one]).sizes[one.size]


# --- the rule -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "waits", "now", "wanted"),
    [
        (0.9, 0.1, 0.0, 0.3),  # as far as one stage may go
        (0.9, 0.1, 0.4, 0.6),
        (0.7, 0.4, 0.2, 0.35),
        (0.7, 0.65, 0.6, 0.3),  # the gap is closed
        (0.1, 0.0, 0.5, 0.2),  # first they have to walk at all
        (0.6, 0.5, 0.4, 0.4),
    ],
)
def test_waits_follow_the_gap_between_plain_boards_and_those_that_need_one(
    plain: float, waits: float, now: float, wanted: float
) -> None:
    assert decided(numbers(plain=plain, waits=waits, wait=now)).wait_ratio == pytest.approx(wanted)


def test_holes_fall_where_they_are_the_main_failure_and_rise_where_they_are_none() -> None:
    bumping, solved = (0.0, 0.2, 0.3, 0.1, 0.0), (0.0, 0.0, 0.05, 0.2, 0.0)
    assert decided(numbers(hole=0.3, failures=bumping)).hole_ratio == pytest.approx(0.2)
    assert decided(numbers(hole=0.1, valid=0.75, failures=solved)).hole_ratio == pytest.approx(0.15)
    assert decided(numbers(hole=0.1, valid=0.4, failures=solved)).hole_ratio == pytest.approx(0.1)


def test_data_goes_where_something_is_to_be_learned() -> None:
    easy, right, hopeless = numbers(3, valid=1.0), numbers(4, valid=0.5), numbers(5, valid=0.0, dead=1.0)
    sizes = decide([easy, right, hopeless]).sizes
    assert sizes[4].data_ratio > sizes[5].data_ratio >= sizes[3].data_ratio > 0


def test_what_gets_better_is_left_alone() -> None:
    sizes = [
        numbers(3, data=0.5, trend="up", wait=0.3, plain=0.6, waits=0.4),
        numbers(4, data=0.5, trend="up"),
    ]
    decision = decide(sizes)
    assert decision.reason == "keep"
    assert [knobs.data_ratio for knobs in decision.sizes.values()] == [0.5, 0.5]


def test_the_reason_tells_the_largest_change() -> None:
    assert decide([numbers(5, data=1.0, plain=0.9, waits=0.1, wait=0.0)]).reason == "more waits on 5"
    assert (
        decide([numbers(6, data=1.0, hole=0.4, failures=(0.0, 0.3, 0.3, 0.0, 0.0))]).reason
        == "fewer holes on 6"
    )
    new = numbers(7, data=0.0, valid=0.5, trend=None)
    assert decide([numbers(4, data=1.0, valid=0.9), new]).reason == "less data on 4"


@given(st.integers(0, 2**32), st.booleans())
def test_bounds_hold_on_any_evidence(seed: int, noisy: bool) -> None:
    random = Random(seed)
    sizes = invent(random, range(3, 11))
    decision = decide(sizes, random if noisy else None)
    assert list(decision.sizes) == [one.size for one in sizes]
    assert sum(knobs.data_ratio for knobs in decision.sizes.values()) == pytest.approx(1.0)
    for one in sizes:
        knobs = decision.sizes[one.size]
        assert knobs.data_ratio >= 0.05
        assert MIN_WAITS <= knobs.wait_ratio <= MAX_WAITS
        assert 0.0 <= knobs.hole_ratio <= 0.35
        for value in (knobs.data_ratio, knobs.hole_ratio, knobs.wait_ratio):
            assert value * 20 == pytest.approx(round(value * 20))
        if one.wait is not None and MIN_WAITS <= one.wait <= MAX_WAITS:
            assert abs(knobs.wait_ratio - one.wait) <= WAIT_STEP + STEP


def test_no_size_gets_much_more_or_less_data_in_one_stage() -> None:
    sizes = [numbers(3, data=0.8, valid=1.0), numbers(4, data=0.2, valid=0.5)]
    assert decide(sizes).sizes[3].data_ratio >= 0.8 - DATA_STEP - STEP


def test_without_noise_the_rule_is_a_function_of_the_numbers() -> None:
    sizes = invent(Random(3), [3, 4, 5])
    assert decide(sizes) == decide(sizes)


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=8))
def test_shares_sum_to_one_in_twentieths_and_leave_nobody_out(weights: list[float]) -> None:
    found = shares(weights)
    assert sum(round(share * 20) for share in found) == 20
    assert min(found) >= 0.05
    # Whoever weighs more never gets less.
    by_weight = [share for _, share in sorted(zip(weights, found, strict=True))]
    assert all(later >= earlier - STEP for earlier, later in pairwise(by_weight))


# --- exchanges ------------------------------------------------------------------------------------


def test_an_exchange_hangs_on_seed_index_and_sizes_alone() -> None:
    assert lines(7, 0, 20, [3, 4, 5]) == lines(7, 0, 12, [5, 4, 3, 3]) + lines(7, 12, 20, [3, 4, 5])
    assert lines(7, 0, 20, [3, 4, 5]) != lines(8, 0, 20, [3, 4, 5])
    assert len({exchange(7, index, [3, 4, 5]).model_dump_json() for index in range(200)}) == 200


def test_lines_are_exchanges() -> None:
    rows = lines(1, 0, 5, [3, 4]).splitlines()
    assert [Exchange.model_validate_json(row) for row in rows] == [
        exchange(1, index, [3, 4]) for index in range(5)
    ]


@given(st.integers(0, 2**32))
def test_invented_evidence_hangs_together(seed: int) -> None:
    sizes = invent(Random(seed), [3, 4, 5])
    assert sizes == invent(Random(seed), [3, 4, 5])
    assert sum(one.data for one in sizes) <= 1.0 + 1e-9
    for one in sizes:
        assert (
            one.valid is not None
            and one.plain is not None
            and one.waits is not None
            and one.optimal is not None
        )
        assert min(one.plain, one.waits) - STEP <= one.valid <= max(one.plain, one.waits) + STEP
        assert one.optimal <= one.valid + STEP
        assert sum(one.failures) == pytest.approx(1 - one.valid, abs=0.15)  # five roundings
    assert compact_prompt(sizes)


def test_evidence_covers_what_can_happen() -> None:
    seen = [one for seed in range(400) for one in invent(Random(seed), [3, 4, 5])]
    assert {one.size for one in seen} == {3, 4, 5}
    assert {one.trend for one in seen} == {"up", "same", "down", None}
    assert any(one.hole is None for one in seen)
    assert {one.valid for one in seen} >= {0.0, 0.25, 0.5, 0.75, 1.0}
    assert any(one.plain and one.plain >= 0.7 and one.waits is not None and one.waits <= 0.1 for one in seen)
