"""What a summary counts, against a slow count of the same rows; which failures it picks; how it reads as text."""

from collections.abc import AsyncIterator
from itertools import product
from random import Random
from typing import Any

import pytest
from engineer_world import CONFIGURATION, FAMILY, knobs, size_summary, stage_summary
from sqlalchemy import insert

from engineer_service import counting, failure_cases
from engineer_service.counting import Count
from engineer_service.prompts.plain import plain_prompt
from engineer_service.reading import read_answer
from trainee2trainer.contracts.engineer import FailureCase, PastStage, Rates
from trainee2trainer.contracts.environment import (
    AgentTask,
    ConflictKind,
    FailureCategory,
    Instance,
    Split,
    Violation,
    WaitProof,
)
from trainee2trainer.store import Store
from trainee2trainer.store.tables import Base, RolloutRecord

CAMPAIGN = "campaign-1"


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Any) -> AsyncIterator[Store]:
    sqlite = f"sqlite+aiosqlite:///{tmp_path / 'store.db'}"
    store = Store(request.getfixturevalue("postgres_url") if request.param == "postgresql" else sqlite)
    async with store.engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield store
    await store.close()


def rollouts(seed: int, stage: int, subject: str = CAMPAIGN) -> list[dict[str, Any]]:
    """Random judged answers: 3 training steps of 4 groups of 4, and 12 validated boards of 4 samples, per size."""
    random = Random(seed)
    rows = []
    for size, phase in product((3, 4, 5), ("train", "validation")):
        steps = (1, 2, 3) if phase == "train" else (0,)
        groups = 4 if phase == "train" else 12
        for step, group in product(steps, range(groups)):
            skill, needs_wait = random.choice([0.0, 0.3, 1.0]), random.random() < 0.4
            rows += [
                _row(random, skill, phase=phase, size=size, step=step, group=group, needs_wait=needs_wait)
                | {"subject_id": subject, "stage_index": stage}
                for _ in range(4)
            ]
    return rows


def _row(random: Random, skill: float, **given: Any) -> dict[str, Any]:
    valid = random.random() < skill
    optimal = valid and random.random() < 0.5
    scored = random.random() > 0.1
    return given | {
        "instance_id": "2agents_3x3_0123456789ab",
        "valid": valid,
        "optimal": optimal,
        "failure": None if valid else random.choice(list(FailureCategory)).value,
        "reward": (1.0 if optimal else 0.7 if valid else 0.0) if scored else None,
        "makespan": random.randrange(2, 9) if valid else None,
        "tokens": 9,
        "answer": "an answer",
    }


def slow_rates(rows: list[dict[str, Any]]) -> Rates:
    return Rates(
        samples=len(rows),
        valid=sum(row["valid"] for row in rows) / len(rows) if rows else 0,
        optimal=sum(row["optimal"] for row in rows) / len(rows) if rows else 0,
    )


async def test_the_store_counts_what_a_slow_count_counts(store: Store) -> None:
    rows = rollouts(1, stage=2)
    others = rollouts(2, stage=1) + rollouts(3, stage=2, subject="another")
    async with store.session() as session:
        await session.execute(insert(RolloutRecord), [*others, *rows])
    async with store.session() as session:
        counts = await counting.count(session, CAMPAIGN, 2)
        dead = await counting.dead_groups(session, CAMPAIGN, 2)
    judged = [row for row in rows if row["reward"] is not None]
    summaries = counting.size_summaries(counts, dead, CONFIGURATION)
    assert [summary.size for summary in summaries] == [3, 4, 5]
    for summary in summaries:
        own = [row for row in judged if row["size"] == summary.size]
        validated = [row for row in own if row["phase"] == "validation"]
        lengths = [row["makespan"] for row in validated if row["valid"]]
        groups: dict[Any, set[float]] = {}
        for row in own:
            if row["phase"] == "train":
                groups.setdefault((row["step"], row["group"]), set()).add(row["reward"])
        assert summary.configured == CONFIGURATION.sizes[summary.size]
        assert summary.validation == slow_rates(validated)
        assert summary.validation_wait == slow_rates([row for row in validated if row["needs_wait"]])
        assert summary.validation_plain == slow_rates([row for row in validated if not row["needs_wait"]])
        assert summary.training == slow_rates([row for row in own if row["phase"] == "train"])
        assert summary.failures == {
            category: amount
            for category in FailureCategory
            if (amount := sum(row["failure"] == category.value for row in validated))
        }
        assert summary.dead_group_share == sum(len(one) == 1 for one in groups.values()) / len(groups)
        assert summary.mean_plan_length == pytest.approx(sum(lengths) / len(lengths))
    assert counting.rates(one for one in counts if one.phase == "validation") == slow_rates(
        [row for row in judged if row["phase"] == "validation"]
    )


async def test_sizes_without_an_answer_or_without_a_configuration_are_there(store: Store) -> None:
    rows = [row for row in rollouts(1, stage=0) if row["size"] == 4 and row["phase"] == "validation"]
    async with store.session() as session:
        await session.execute(insert(RolloutRecord), rows)
    async with store.session() as session:
        counts = await counting.count(session, CAMPAIGN, 0)
        assert await counting.dead_groups(session, CAMPAIGN, 0) == {}
    only_three = CONFIGURATION.model_copy(update={"sizes": {3: knobs(1.0)}})
    three, four = counting.size_summaries(counts, {}, only_three)
    assert three.validation.samples == 0 and three.mean_plan_length is None and three.failures == {}
    assert four.configured is None and four.training is None and four.dead_group_share is None


# --- failure cases --------------------------------------------------------------------------------


def kind(
    size: int, failure: FailureCategory | None, samples: int, first: int, phase: str = "validation"
) -> Count:
    return Count(phase, size, False, failure, samples, 0, 0, 0, first)


def test_failures_are_picked_over_sizes_and_kinds() -> None:
    conflict, hole, illegal = (
        FailureCategory.AGENT_CONFLICT,
        FailureCategory.HOLE_COLLISION,
        FailureCategory.ILLEGAL_MOVE,
    )
    counts = [
        kind(3, conflict, 50, 1),
        kind(3, hole, 40, 2),
        kind(4, conflict, 30, 3),
        kind(4, illegal, 1, 4),
        kind(5, hole, 20, 5),
        kind(5, None, 99, 6),
        kind(5, conflict, 99, 7, phase="train"),
    ]
    assert failure_cases.choose(counts, 3) == [1, 4, 5]
    assert failure_cases.choose(counts, 99) == [1, 2, 3, 4, 5]
    assert failure_cases.choose(counts, 0) == []


# --- plain language -------------------------------------------------------------------------------

BOARD = Instance(
    id="2agents_3x3_0123456789ab",
    size=3,
    holes=[(1, 1)],
    agents=[AgentTask(start=(0, 0), goal=(0, 2)), AgentTask(start=(0, 1), goal=(2, 0))],
    optimal_makespan=4,
    optimal_sum_of_costs=6,
    reference_plan=[[], []],
    needs_wait=True,
    wait_proof=WaitProof.PARITY,
    plan_has_wait=True,
    split=Split.HELD_OUT,
)
CONFLICT = FailureCase(
    instance=BOARD,
    answer="Agent 0: RIGHT\nAgent 1: WAIT",
    failure=FailureCategory.AGENT_CONFLICT,
    violation=Violation(
        category=FailureCategory.AGENT_CONFLICT,
        step=1,
        agents=[0, 1],
        cells=[(0, 1)],
        conflict=ConflictKind.VERTEX,
    ),
    trajectory=[[(0, 0), (0, 1)], [(0, 0), (0, 1)]],
)
UNREAD = CONFLICT.model_copy(
    update={
        "answer": "No idea.\n" * 500,
        "failure": FailureCategory.PARSE_ERROR,
        "violation": None,
        "trajectory": [],
    }
)


def plain(**parts: Any) -> str:
    [message] = plain_prompt(stage_summary(**parts), FAMILY)
    return message.content


def test_the_evidence_is_told_in_tables() -> None:
    text = plain()
    assert "of 600 plans 50% were valid and 38% optimal" in text
    assert "\n3x3 | 0.50 | 0.10 | 0.20 | 50% | 63% | 20% | 38% | 3.2 | 61% | 28%\n" in text
    assert "size | parse_error | illegal_move | hole_collision | agent_conflict | goal_not_reached\n" in text
    assert "\n3x3 | 15% | 0% | 0% | 35% | 0%\n" in text
    assert "Some failures" not in text


def test_what_was_not_measured_is_a_dash() -> None:
    nothing = Rates(samples=0, valid=0, optimal=0)
    size = size_summary(
        7, None, validation=nothing, validation_plain=nothing, validation_wait=nothing, failures={},
        training=None, dead_group_share=None, mean_plan_length=None,
    )  # fmt: skip
    assert "\n7x7 | - | - | - | - | - | - | - | - | - | -\n" in plain(sizes=[size])


def test_a_failure_is_drawn_with_the_plan_and_the_broken_rule() -> None:
    text = plain(cases=[CONFLICT, UNREAD])
    assert (
        "3x3, every cheapest plan has a wait, optimal in 4 steps:\n"
        "S s G\n"
        "F H F\n"
        "g F F\n"
        "Agent 0 went: WAIT\n"
        "Agent 1 went: WAIT\n"
        "Failure: agent_conflict in step 2, agent 0 and 1 at (0, 1), two agents on one cell\n"
    ) in text
    assert "The answer could not be read as a plan: 'No idea. No idea." in text
    assert len(text) < 8_000


def test_long_curves_and_histories_stay_short() -> None:
    past = PastStage(
        stage_index=0, configuration=CONFIGURATION, valid=0.4, optimal=0.3, sizes={3: 0.5, 4: 0.25}
    )
    start = past.model_copy(update={"stage_index": -1, "configuration": None})
    text = plain(rewards=[step / 1_000 for step in range(1_000)], history=[start, past])
    assert "Mean training reward over the stage: 0.05, 0.15, 0.25, 0.35" in text
    assert "Before training: 40% valid (3x3 50%, 4x4 25%)\nStage 1: 40% valid" in text
    assert "4x4 data 0.30 hole 0.20 wait 0.00" in text
    assert len(plain(history=[past] * 100)) < len(plain(history=[past] * 8)) + 10


def test_the_form_shown_is_one_that_is_read() -> None:
    form = plain().splitlines()[-1]
    answer = read_answer(form.replace("...", "0.5"))
    assert answer is not None
    assert {size: set(given) for size, given in answer.sizes.items()} == {
        str(size): {knob.name for knob in FAMILY.knobs} for size in CONFIGURATION.sizes
    }
    for knob in FAMILY.knobs:
        assert f"- {knob.name}, {knob.minimum:g} to {knob.maximum:g}." in plain()
