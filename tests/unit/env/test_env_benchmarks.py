"""Benchmark sets: the same bytes everywhere, held out, and a table that counts right."""

from collections import Counter

import pytest

from env_service import candidates
from env_service.benchmarks.building import BuiltSet, build
from env_service.benchmarks.definitions import DEFINITIONS
from env_service.benchmarks.scoring import table
from env_service.compiled import core
from env_service.compiled.executing import execute_all
from env_service.prompts import TEMPLATES
from env_service.rendering import render
from trainee2trainer.contracts.benchmark import Completion
from trainee2trainer.contracts.environment import FailureCategory, Instance

PLAIN = TEMPLATES["plain-v1"]


@pytest.fixture(scope="module")
def small() -> BuiltSet:
    return build(DEFINITIONS["small"], core.find, render)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_set_has_the_bytes_it_always_had(name: str) -> None:
    """On whatever machine this runs: the hash is committed."""
    built = build(DEFINITIONS[name], core.find, render)
    assert built.sha256 == DEFINITIONS[name].sha256
    assert len(built.rows) == len(built.boards) == DEFINITIONS[name].count


def test_plain_python_makes_the_same_bytes() -> None:
    assert build(DEFINITIONS["small"], candidates.find, render).sha256 == DEFINITIONS["small"].sha256


def test_all_instances_are_held_out_and_certified(small: BuiltSet) -> None:
    instances = [Instance.model_validate_json(row.content) for row in small.rows]
    assert {instance.split for instance in instances} == {"held_out"}
    counted = Counter((len(instance.agents), instance.size) for instance in instances)
    assert counted == {(agents, size): 50 for agents in (2, 3) for size in (3, 4, 5)}


def test_the_paper_s_evaluation_is_matched_in_size() -> None:
    parts = {
        part.configuration.agents: (part.count, [*part.configuration.sizes])
        for part in DEFINITIONS["published-like"].parts
    }
    assert parts == {
        3: (1_200, [*range(3, 11)]),
        4: (1_050, [*range(4, 11)]),
        5: (900, [*range(5, 11)]),
    }


def test_the_wait_sets_differ_in_nothing_but_the_wait_ratio() -> None:
    for percent in (0, 25, 50, 75, 100):
        (part,) = DEFINITIONS[f"wr{percent}"].parts
        plain = {
            size: knobs.model_copy(update={"wait_ratio": 0.0})
            for size, knobs in part.configuration.sizes.items()
        }
        assert {knobs.wait_ratio for knobs in part.configuration.sizes.values()} == {percent / 100}
        assert plain == DEFINITIONS["wr0"].parts[0].configuration.sizes


def answers(built: BuiltSet, ids: list[str], repeat: int = 1) -> list[Completion]:
    made = [one.candidate for _, part in built.parts for one in part]
    plans = {row.id: one.certificate.plan for row, one in zip(built.rows, made, strict=True)}
    return [
        Completion(instance_id=id_, answer=PLAIN.answer(built.boards[id_].task, plans[id_]))
        for id_ in ids
        for _ in range(repeat)
    ]


def test_reference_plans_are_all_valid_and_cheapest(small: BuiltSet) -> None:
    rows = table(small.boards, answers(small, [*small.boards], repeat=2), execute_all)
    assert [(row.agents, row.size) for row in rows] == [
        *((2, size) for size in (3, 4, 5, None)),
        *((3, size) for size in (3, 4, 5, None)),
    ]
    for row in rows:
        assert (row.valid, row.soc_optimal, row.missing, row.failures) == (1.0, 1.0, 0, {})
        assert row.answers == 2 * row.instances == (300 if row.size is None else 100)


def test_what_was_not_answered_is_missing_and_what_failed_is_counted(small: BuiltSet) -> None:
    ids = [id_ for id_, known in small.boards.items() if known.task.size == 3 and len(known.task.starts) == 2]
    nonsense = [Completion(instance_id=id_, answer="no idea") for id_ in ids[:10]]
    rows = table(small.boards, answers(small, ids[:30]) + nonsense, execute_all)
    first, total = rows[0], rows[3]
    assert (first.instances, first.missing, first.answers) == (50, 20, 40)
    assert first.valid == 0.75
    assert first.failures == {FailureCategory.PARSE_ERROR: 10}
    assert (total.missing, total.answers) == (120, 40)
    assert (rows[1].answers, rows[1].valid) == (0, None)
