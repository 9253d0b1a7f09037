"""From what was read to a configuration: it keeps every rule whatever was asked, and says what was moved."""

import math
from typing import Any

import pytest
from engineer_world import CONFIGURATION, FAMILY, knobs
from hypothesis import given
from hypothesis import strategies as st

from engineer_service.reading import Answer
from engineer_service.validation import Checked, Unusable, changes, check
from trainee2trainer.contracts.engineer import Change, Clamp
from trainee2trainer.contracts.environment import EnvironmentConfig

BOUNDS = {knob.name: (knob.minimum, knob.maximum) for knob in FAMILY.knobs}


def checked(sizes: dict[str, dict[str, Any]]) -> Checked:
    return check(Answer(sizes, None), CONFIGURATION, FAMILY)


def full(data: Any, hole: Any = 0.1, wait: Any = 0.2) -> dict[str, Any]:
    return {"data_ratio": data, "hole_ratio": hole, "wait_ratio": wait}


def test_an_answer_within_the_rules_is_used_as_it_is() -> None:
    found = checked({"3": full(0.2, 0.5, 1.0), "4": full(0.3, 0.0, 0.0), "5": full(0.5)})
    assert found.configuration == EnvironmentConfig(
        sizes={3: knobs(0.2, 0.5, 1.0), 4: knobs(0.3, 0.0, 0.0), 5: knobs(0.5)}
    )
    assert found.clamps == []


def test_a_value_out_of_bounds_is_moved_and_that_is_recorded() -> None:
    found = checked({"3": full(0.5, 0.9, -1), "4": full(-0.5), "5": full(0.5)})
    assert found.configuration.sizes[3] == knobs(0.5, 0.5, 0.0)
    assert found.configuration.sizes[4].data_ratio == 0
    assert found.clamps == [
        Clamp(size=3, knob="hole_ratio", asked=0.9, used=0.5, rule="at most 0.5"),
        Clamp(size=3, knob="wait_ratio", asked=-1, used=0, rule="at least 0"),
        Clamp(size=4, knob="data_ratio", asked=-0.5, used=0, rule="at least 0"),
    ]


@pytest.mark.parametrize(
    "shares", [(0.4, 0.4, 0.2), (40, 40, 20), (2e307, 2e307, 1e307), (4e-300, 4e-300, 2e-300)]
)
def test_data_ratios_are_shares_whatever_they_sum_to(shares: tuple[float, float, float]) -> None:
    found = checked({str(size): full(share) for size, share in zip((3, 4, 5), shares, strict=True)})
    data = [one.data_ratio for one in found.configuration.sizes.values()]
    assert data == pytest.approx([0.4, 0.4, 0.2])
    assert found.clamps == []


def test_what_is_left_out_stays_as_it_was() -> None:
    found = checked({"4": {"wait_ratio": 0.5}, "5": {"wait_ratio": None, "data_ratio": 0.2}})
    assert found.configuration == EnvironmentConfig(sizes=CONFIGURATION.sizes | {4: knobs(0.3, 0.2, 0.5)})


def test_a_new_size_starts_at_the_defaults_and_without_data() -> None:
    default = {knob.name: knob.default for knob in FAMILY.knobs}
    assert checked({"6": {}}).configuration.sizes[6].data_ratio == 0
    found = checked({"6": {"data_ratio": 1}}).configuration
    assert found.sizes[6] == knobs(0.5, default["hole_ratio"], default["wait_ratio"])
    assert found.sizes[3].data_ratio == pytest.approx(0.25)


def test_a_size_is_left_out_by_giving_it_no_data() -> None:
    found = checked({"3": {"data_ratio": 0}}).configuration
    assert found.sizes[3] == knobs(0, 0.1, 0.2)
    assert found.sizes[4].data_ratio == pytest.approx(0.6)


@pytest.mark.parametrize("name", ["hole_ratio", "hole", "holes", "Hole-Ratio", "hole ratio", " HOLES "])
def test_spellings_of_a_knob(name: str) -> None:
    assert checked({"3x3": {name: "0.4"}}).configuration.sizes[3].hole_ratio == 0.4


@pytest.mark.parametrize(("value", "number"), [("0.35", 0.35), (" 35 % ", 0.35), (1, 1.0), ("1e-1", 0.1)])
def test_spellings_of_a_number(value: Any, number: float) -> None:
    assert checked({"3": {"wait_ratio": value}}).configuration.sizes[3].wait_ratio == number


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"11": full(1)}, "'11' is not a map size (3 to 10)"),
        ({"huge": full(1)}, "'huge' is not a map size (3 to 10)"),
        ({"3": full(1), "3x3": full(1)}, "size 3 is there twice"),
        ({"3": {"reward": 5}}, "size 3: 'reward' is not a knob (data_ratio, hole_ratio, wait_ratio)"),
        ({"3": full(0), "4": full(0), "5": full(-1)}, "no size has a data_ratio above 0"),
    ]
    + [
        ({"3": {"hole_ratio": value}}, "size 3: hole_ratio is not a finite number")
        for value in (
            math.nan,
            math.inf,
            -math.inf,
            "much",
            "",
            "nan",
            "0,5",
            True,
            [0.1],
            {"value": 1},
            10**400,
        )
    ],
)
def test_what_cannot_be_mended_is_unusable(sizes: dict[str, dict[str, Any]], said: str) -> None:
    with pytest.raises(Unusable) as caught:
        checked(sizes)
    assert str(caught.value).startswith(said)


def test_the_reason_why_is_short_however_long_the_answer() -> None:
    for sizes in ({"x" * 10_000: {}}, {"3": {"x" * 10_000: 1}}, {"3": {"hole_ratio": "x" * 10_000}}):
        with pytest.raises(Unusable) as caught:
            checked(sizes)
        assert len(str(caught.value)) < 200


# --- any numbers ----------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False)
answers = st.dictionaries(
    st.sampled_from([str(size) for size in FAMILY.sizes]),
    st.dictionaries(st.sampled_from(list(BOUNDS)), st.one_of(finite, st.floats(-0.5, 1.5))),
)


@given(answers)
def test_the_result_keeps_every_rule_and_clamps_are_exact(sizes: dict[str, dict[str, float]]) -> None:
    try:
        found = checked(sizes)
    except Unusable as error:
        assert str(error) == "no size has a data_ratio above 0"
        return
    configuration = found.configuration
    assert EnvironmentConfig.model_validate(configuration.model_dump()) == configuration
    assert sum(one.data_ratio for one in configuration.sizes.values()) == pytest.approx(1)
    for one in configuration.sizes.values():
        for knob, (low, high) in BOUNDS.items():
            assert low <= getattr(one, knob) <= high
    assert {(clamp.size, clamp.knob): clamp.asked for clamp in found.clamps} == {
        (int(size), knob): value
        for size, asked in sizes.items()
        for knob, value in asked.items()
        if value < BOUNDS[knob][0] or (value > BOUNDS[knob][1] and knob != "data_ratio")
    }
    for clamp in found.clamps:
        assert clamp.used in BOUNDS[clamp.knob]
    for size, asked in sizes.items():
        for knob in ("hole_ratio", "wait_ratio"):
            if knob in asked:
                low, high = BOUNDS[knob]
                assert getattr(configuration.sizes[int(size)], knob) == min(max(asked[knob], low), high)


@given(answers)
def test_checking_its_own_result_changes_nothing(sizes: dict[str, dict[str, float]]) -> None:
    try:
        once = checked(sizes).configuration
    except Unusable:
        return
    again = checked({str(size): one.model_dump() for size, one in once.sizes.items()})
    assert changes(once, again.configuration) == []
    assert again.clamps == []


# --- changes --------------------------------------------------------------------------------------


def test_changes_name_each_knob_that_differs() -> None:
    after = EnvironmentConfig(sizes={3: knobs(0.5), 4: knobs(0.5, 0.3, 0.0), 6: knobs(0.0)})
    assert changes(
        EnvironmentConfig(sizes={3: knobs(0.5), 4: knobs(0.5, 0.2, 0.0), 5: knobs(0.0)}), after
    ) == [
        Change(size=4, knob="hole_ratio", before=0.2, after=0.3),
        *(
            Change(size=5, knob=knob, before=value, after=None)
            for knob, value in knobs(0.0).model_dump().items()
        ),
        *(
            Change(size=6, knob=knob, before=None, after=value)
            for knob, value in knobs(0.0).model_dump().items()
        ),
    ]


def test_a_configuration_does_not_differ_from_itself() -> None:
    third = EnvironmentConfig(sizes={3: knobs(1 / 3), 4: knobs(1 / 3), 5: knobs(1 / 3)})
    assert changes(third, EnvironmentConfig(sizes={3: knobs(1), 4: knobs(1), 5: knobs(1)})) == []
