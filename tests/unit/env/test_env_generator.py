"""Batches: exact quotas, purity, splits, duplicates, and what is said when a quota cannot be met."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from env_service import generator
from env_service.boards import form, split_of
from env_service.candidates import find
from env_service.compiled import core
from env_service.drawing import Recipe, draw, stream_key
from env_service.generator import Batch, Made, OutOfReach, draw_one
from env_service.quotas import (
    Impossible,
    configuration_id,
    hole_count,
    index_of,
    largest_remainder,
    order,
    quotas,
    recipe_at,
)
from env_service.records import to_instance
from env_service.rules import execute
from env_service.solver.certificate import Certificate
from trainee2trainer.contracts.environment import EnvironmentConfig, Sampler, SizeKnobs, Split


def config(agents: int = 2, **sizes: tuple[float, float, float]) -> EnvironmentConfig:
    """`s4=(data, holes, wait)` is a 4x4 board."""
    return EnvironmentConfig(
        agents=agents,
        sizes={
            int(name[1:]): SizeKnobs(data_ratio=data, hole_ratio=holes, wait_ratio=wait)
            for name, (data, holes, wait) in sizes.items()
        },
    )


MIXED = config(s3=(1, 0.2, 0.3), s4=(2, 0.2, 0.5), s6=(1, 0.1, 0.0))


def rows(
    configuration: EnvironmentConfig, count: int, seed: int = 3, split: Split = Split.TRAIN
) -> list[Made]:
    batch = Batch(configuration, seed, count, split=split, find=find)
    return [made for chunk in batch.chunks() for made in chunk]


# --- quotas -----------------------------------------------------------------------------------------


@given(st.lists(st.fractions(0, 5), min_size=1, max_size=8).filter(any), st.integers(0, 10_000))
def test_largest_remainder_is_exact_and_never_off_by_one(shares: list[Fraction], count: int) -> None:
    whole = largest_remainder(dict(enumerate(shares)), count)
    assert sum(whole.values()) == count
    for key, share in enumerate(shares):
        assert abs(whole[key] - share * count / sum(shares)) < 1


def test_ratios_are_meant_as_they_are_written() -> None:
    assert hole_count(10, 2, 0.29) == 29
    assert hole_count(5, 2, 0.28) == 7
    assert hole_count(3, 2, 0.1) == 0
    assert hole_count(3, 4, 0.5) == 1  # eight of nine cells are starts and goals
    assert quotas(config(s4=(1, 0.2, 0.3)), 10) == {Recipe(4, 2, 3, True): 3, Recipe(4, 2, 3, False): 7}


def test_scaled_shares_are_the_same_configuration() -> None:
    assert configuration_id(config(s3=(1, 0.1, 0), s4=(3, 0.1, 0))) == configuration_id(
        config(s3=(0.25, 0.1, 0), s4=(0.75, 0.1, 0))
    )


def test_classes_are_spread_evenly_over_a_batch() -> None:
    shares = {Recipe(3, 2, 0, False): 30, Recipe(4, 2, 0, False): 10}
    first_half = Counter(recipe.size for recipe, _ in islice(order(shares), 20))
    assert first_half == {3: 15, 4: 5}


def test_an_index_is_an_address() -> None:
    for recipe in quotas(MIXED, 100):
        for ordinal in (0, 1, 77):
            index = index_of(recipe, ordinal)
            assert recipe_at(MIXED, index) == recipe
    assert len({index_of(recipe, ordinal) for recipe in quotas(MIXED, 100) for ordinal in range(50)}) == 250


def test_agents_without_room_are_an_error_that_names_the_size() -> None:
    with pytest.raises(Impossible) as error:
        Batch(config(agents=5, s3=(1, 0, 0), s4=(1, 0, 0)), 0, 10, split=Split.TRAIN, find=find)
    assert error.value.size == 3


# --- batches ----------------------------------------------------------------------------------------


def test_a_batch_meets_every_quota_exactly() -> None:
    made = rows(MIXED, 101)
    assert len(made) == 101
    found = Counter((m.candidate.task.size, m.candidate.certificate.needs_wait) for m in made)
    assert found == {(r.size, r.needs_wait): quota for r, quota in quotas(MIXED, 101).items()}
    for m in made:
        task = m.candidate.task
        assert task.holes.bit_count() == hole_count(task.size, 2, MIXED.sizes[task.size].hole_ratio)
        cells = [*task.starts, *task.goals]
        assert len(set(cells)) == 4
        assert not any(task.holes >> cell & 1 for cell in cells)
        assert execute(task, m.candidate.certificate.plan).valid


@pytest.mark.parametrize("split", list(Split))
def test_a_split_never_holds_a_form_of_the_other(split: Split) -> None:
    made = rows(config(s3=(1, 0.2, 0.2), s5=(1, 0.2, 0.2)), 60, split=split)
    assert {split_of(form(m.candidate.task)) for m in made} == {split}


def test_no_form_occurs_twice_where_there_are_enough() -> None:
    made = rows(config(s4=(1, 0.2, 0.3)), 300)
    assert len({form(m.candidate.task) for m in made}) == 300


def test_where_forms_are_too_few_they_repeat_evenly_and_are_counted() -> None:
    batch = Batch(config(s3=(1, 0, 1.0)), 3, 60, split=Split.TRAIN, find=find)
    counts = Counter(m.candidate.form for chunk in batch.chunks() for m in chunk)
    realised = batch.realised().sizes[3]
    assert realised.made == 60
    assert realised.repeated == 60 - len(counts)
    assert max(counts.values()) - min(counts.values()) <= 60 // len(counts)


def test_a_smaller_batch_holds_the_same_instances() -> None:
    large = {m.address: m for m in rows(MIXED, 120)}
    for m in rows(MIXED, 40):
        assert large[m.address] == m


def test_the_way_the_work_is_cut_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = rows(MIXED, 90)
    monkeypatch.setattr(generator, "CHUNK", 7)
    reordered = Batch(MIXED, 3, 90, split=Split.TRAIN, find=lambda r: find(r[::-1])[::-1])
    assert [m for chunk in reordered.chunks() for m in chunk] == expected


def test_another_seed_or_configuration_gives_other_instances() -> None:
    one = {m.candidate.form for m in rows(config(s6=(1, 0.2, 0.2)), 40, seed=1)}
    assert not one & {m.candidate.form for m in rows(config(s6=(1, 0.2, 0.2)), 40, seed=2)}
    assert not one & {m.candidate.form for m in rows(config(s6=(1, 0.2, 0.25)), 40, seed=1)}


def test_an_instance_is_rebuilt_from_its_provenance_alone() -> None:
    for m in rows(MIXED, 30):
        origin = to_instance(m, configuration_id(MIXED), 3).provenance
        assert origin is not None
        key = stream_key(origin.configuration_id, origin.seed, origin.index)
        assert draw(recipe_at(MIXED, origin.index), key, origin.draw) == m.candidate.task


def test_draws_and_rejections_add_up() -> None:
    batch = Batch(MIXED, 3, 80, split=Split.TRAIN, find=find)
    list(batch.chunks())
    for size in batch.realised().sizes.values():
        assert size.draws == size.made + sum(size.rejected.values())
        assert (size.made, size.made_wait) == (size.asked, size.asked_wait)


DIGEST = """
import hashlib
from env_service.candidates import find
from env_service.compiled import core
from env_service.generator import Batch
from env_service.records import to_instance
from trainee2trainer.contracts.environment import EnvironmentConfig, Split
configuration = EnvironmentConfig.model_validate_json('''{configuration}''')
batch = Batch(configuration, 3, 60, split=Split.TRAIN, find=find)
made = [m for chunk in batch.chunks() for m in chunk]
rows = [to_instance(m, batch.configuration_id, 3).model_dump_json() for m in made]
print(hashlib.sha256("".join(rows).encode()).hexdigest())
"""


def test_the_bytes_are_the_same_under_any_hash_seed() -> None:
    code = DIGEST.replace("{configuration}", json.dumps(MIXED.model_dump(mode="json")))
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "random")
    }
    assert digests == {FROZEN_BYTES}


# Whoever changes this changes GENERATOR_VERSION too.
FROZEN_BYTES = "57d27a8025fd5e03c860d9f55d768f445a1772b2a77120ec3c3ab9f154e934fb"


# --- out of reach -----------------------------------------------------------------------------------


def test_a_quota_out_of_reach_names_size_knob_rate_and_tries() -> None:
    batch = Batch(config(s3=(1, 0, 0), s9=(1, 0, 0.9)), 3, 20, split=Split.TRAIN, find=find, max_draws=200)
    with pytest.raises(
        OutOfReach, match=r"size 9: wait_ratio is out of reach. Of \d+ uniform boards"
    ) as error:
        list(batch.chunks())
    assert (error.value.size, error.value.knob) == (9, "wait_ratio")


def test_best_effort_says_how_far_it_got() -> None:
    batch = Batch(config(s7=(1, 0, 0.5)), 3, 40, split=Split.TRAIN, find=find, best_effort=True, max_draws=60)
    made = [m for chunk in batch.chunks() for m in chunk]
    realised = batch.realised().sizes[7]
    assert (realised.asked, realised.asked_wait) == (40, 20)
    assert len(made) == realised.made == 20 + realised.made_wait
    assert realised.made_wait < 20
    assert realised.rejected["wait_class"] >= 30


def test_streams_are_keyed_by_everything_they_depend_on() -> None:
    keys = {stream_key(c, s, i) for c in ("a", "b") for s in (1, 12) for i in (1, 2, 21)}
    assert len(keys) == 12
    assert hashlib.sha256(b"1|a|1|2").digest()[:8] == stream_key("a", 1, 2).to_bytes(8, "big")


def test_draws_fill_the_board_evenly() -> None:
    recipe, counts = Recipe(4, 2, 3, False), Counter()
    for number in range(4_000):
        task = draw(recipe, 99, number)
        counts.update(("start", cell) for cell in task.starts)
        counts.update(("hole", cell) for cell in range(16) if task.holes >> cell & 1)
    for cell in range(16):
        assert abs(counts["start", cell] - 500) < 100
        assert abs(counts["hole", cell] - 750) < 120


# --- boards on which agents meet --------------------------------------------------------------------


def wait_share(sampler: Sampler) -> float:
    recipe, certified, waits = Recipe(10, 2, 10, False, sampler), 0, 0
    for number in range(2_000):
        found = core.certify(draw(recipe, 7, number))
        if isinstance(found, Certificate):
            certified += 1
            waits += found.needs_wait
    return waits / certified


def test_conflict_seeded_boards_need_a_wait_many_times_as_often() -> None:
    assert wait_share(Sampler.CONFLICT_SEEDED) > 5 * wait_share(Sampler.UNIFORM)


def test_conflict_seeded_boards_reach_a_quota_that_uniform_ones_do_not() -> None:
    asked = config(s9=(1, 0, 0.9))
    with pytest.raises(OutOfReach, match="Change wait_ratio"):
        list(Batch(asked, 3, 20, split=Split.TRAIN, find=find, max_draws=150).chunks())
    seeded = Batch(asked, 3, 20, split=Split.TRAIN, find=find, max_draws=150, sampler=Sampler.CONFLICT_SEEDED)
    made = [m for chunk in seeded.chunks() for m in chunk]
    assert sum(m.candidate.certificate.needs_wait for m in made) == 18
    assert all(execute(m.candidate.task, m.candidate.certificate.plan).valid for m in made)


def test_the_samplers_have_streams_of_their_own() -> None:
    assert stream_key("a", 1, 2, Sampler.CONFLICT_SEEDED) != stream_key("a", 1, 2)


@given(st.integers(0, 2**64 - 1), st.integers(3, 10), st.integers(2, 5), st.floats(0, 0.5))
def test_conflict_seeded_draws_obey_the_recipe(key: int, size: int, agents: int, ratio: float) -> None:
    agents = min(agents, size * size // 2)
    holes = hole_count(size, agents, ratio)
    task = draw(Recipe(size, agents, holes, True, Sampler.CONFLICT_SEEDED), key, 0)
    cells = [*task.starts, *task.goals]
    assert len(task.starts) == len(task.goals) == agents
    assert len(set(cells)) == 2 * agents
    assert task.holes.bit_count() == holes
    assert all(task.free >> cell & 1 for cell in cells)


def test_one_instance_by_seed_is_as_likely_as_the_configuration_has_it() -> None:
    kinds = Counter()
    for seed in range(400):
        made = draw_one(MIXED, seed, split=Split.TRAIN, find=core.find)
        kinds[made.candidate.task.size, made.candidate.certificate.needs_wait] += 1
    assert set(kinds) == {(3, False), (3, True), (4, False), (4, True), (6, False)}
    assert 160 < kinds[4, False] + kinds[4, True] < 240
    assert draw_one(MIXED, 7, split=Split.TRAIN, find=core.find) == draw_one(
        MIXED, 7, split=Split.TRAIN, find=find
    )
