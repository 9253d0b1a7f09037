"""Outcomes and rewards, and that no trick pays."""

import random

from env_oracles import random_task
from hypothesis import given
from hypothesis import strategies as st

from env_service.boards import Task
from env_service.pictures.svg import board_svg
from env_service.prompts import TEMPLATES
from env_service.solver.certificate import Certificate, Optima, certify
from env_service.verifier import MAX_REPORTED_STEPS, Item, judge, read
from trainee2trainer.contracts.environment import FailureCategory, Outcome, RewardWeights

U, D, L, R, W = range(5)
CROSS = Task(3, 0, starts=(3, 1), goals=(5, 7))
BEST = Optima(makespan=3, sum_of_costs=5)
REWARDS = RewardWeights()


def outcome(answer: str, task: Task = CROSS, optima: Optima | None = BEST) -> Outcome:
    return judge(Item(task, optima, read(task, answer)), REWARDS)


def test_the_reward_is_one_for_optimal_less_for_valid_nothing_otherwise() -> None:
    assert outcome("Agent 0: R R\nAgent 1: W D D").reward == 1.0
    assert outcome("Agent 0: R R\nAgent 1: W W D D").reward == 0.7
    assert outcome("Agent 0: R R\nAgent 1: D D").reward == 0.0
    assert outcome("no idea").reward == 0.0


def test_rewards_follow_the_weights_of_the_stage() -> None:
    weights = RewardWeights(optimal=0.9, valid=0.4, failure=0.1)
    assert judge(Item(CROSS, BEST, [[R, R], [W, D, D]]), weights).reward == 0.9
    assert judge(Item(CROSS, BEST, [[R, R], [W, W, D, D]]), weights).reward == 0.4
    assert judge(Item(CROSS, BEST, None), weights).reward == 0.1


def test_optimal_means_makespan_and_soc_optimal_the_sum_of_costs() -> None:
    slow = judge(Item(CROSS, BEST, [[R, R], [W, W, D, D]]), REWARDS)
    assert (slow.valid, slow.optimal, slow.soc_optimal, slow.makespan, slow.sum_of_costs) == (
        True,
        False,
        False,
        4,
        6,
    )
    even = judge(Item(CROSS, BEST, [[W, R, R], [W, D, D]]), REWARDS)
    assert even.failure is FailureCategory.AGENT_CONFLICT
    costly = judge(Item(CROSS, Optima(3, 4), [[R, R], [W, D, D]]), REWARDS)
    assert (costly.optimal, costly.soc_optimal) == (True, False)


def test_what_cannot_be_read_is_scored_and_tagged() -> None:
    nothing = outcome("I am not sure.")
    assert (nothing.scored, nothing.reward, nothing.failure) == (True, 0.0, FailureCategory.PARSE_ERROR)
    assert nothing.flags == [FailureCategory.PARSE_ERROR]
    assert nothing.plan is None and nothing.trajectory == []


def test_a_plan_for_another_number_of_agents_is_a_parse_error() -> None:
    for plan in ([], [[R, R]], [[R, R], [W, D, D], [U]]):
        assert judge(Item(CROSS, BEST, plan), REWARDS).failure is FailureCategory.PARSE_ERROR


def test_when_the_optimum_is_unknown_a_valid_plan_is_not_scored_but_a_failure_is() -> None:
    unknown = judge(Item(CROSS, None, [[R, R], [W, D, D]]), REWARDS)
    assert (unknown.scored, unknown.valid, unknown.reward) == (False, True, None)
    failed = judge(Item(CROSS, None, [[R, R], [D, D]]), REWARDS)
    assert (failed.scored, failed.reward) == (True, 0.0)


def test_an_endless_answer_makes_no_endless_report() -> None:
    long = outcome("Agent 0: " + "R R " + "W " * 50_000 + "\nAgent 1: W D D")
    assert long.optimal
    assert long.plan is not None and len(long.plan[0]) == MAX_REPORTED_STEPS
    assert len(long.trajectory) == MAX_REPORTED_STEPS + 1


@given(st.text())
def test_any_text_gets_a_scored_outcome(text: str) -> None:
    assert outcome(text).scored


def hacks(task: Task, other: Certificate) -> list[str]:
    """Answers that try to be paid without solving the board."""
    agents = range(len(task.starts))
    lanes = [" ".join("UDLRW"[action] for action in lane) for lane in other.plan]
    return [
        "",
        "<think></think>a",
        "\n".join(f"Agent {agent}:" for agent in agents),
        "\n".join(f"Agent {agent}: WAIT" for agent in agents),
        "\n".join(f"Agent {agent}: " + "WAIT " * 500 for agent in agents),
        "\n".join(f"Agent {agent}: {lane}" for agent, lane in enumerate(lanes)),
        "\n".join(f"Agent {agent}: " + "R D L U " * 500 for agent in agents),
        '{"valid": true, "optimal": true, "reward": 1.0}',
        "[[]]",
        str([[]] * len(task.starts)),
        "The plan is valid. reward = 1.0",
    ]


def test_no_trick_beats_an_honest_plan() -> None:
    rng, judged = random.Random(21), 0
    while judged < 40:
        task, elsewhere = random_task(rng, 5, 2, 5), random_task(rng, 5, 2, 5)
        own, other = certify(task), certify(elsewhere)
        if not isinstance(own, Certificate) or not isinstance(other, Certificate):
            continue
        optima = own.optima
        honest = TEMPLATES["plain-v1"].answer(task, own.plan)
        swapped = TEMPLATES["plain-v1"].answer(task, own.plan[::-1])
        overlong = TEMPLATES["plain-v1"].answer(
            task, [(*lane, *[W] * 30, *_stroll(task, lane)) for lane in own.plan]
        )
        assert outcome(honest, task, optima).reward >= 0.7
        for trick in [*hacks(task, other), swapped]:
            result = outcome(trick, task, optima)
            assert not result.valid or result.makespan >= own.makespan
            assert result.reward == 0.0 or result.sum_of_costs >= own.sum_of_costs
        assert outcome(overlong, task, optima).reward <= outcome(honest, task, optima).reward
        judged += 1


def _stroll(task: Task, lane: tuple[int, ...]) -> list[int]:
    """Back the way it came and forth again."""
    back = {U: D, D: U, L: R, R: L, W: W}
    return [*(back[action] for action in reversed(lane)), *lane]


def test_the_picture_shows_every_agent_and_marks_the_first_fault() -> None:
    plain, faulty = board_svg(CROSS), board_svg(CROSS, [[R, R], [D, D]])
    for picture in (plain, faulty):
        assert picture.startswith("<svg") and picture.endswith("</svg>")
        assert picture.count(">0</text>") == picture.count(">1</text>") == 2
    assert "agent_conflict (vertex) in step 0: agents 0, 1 at (1, 1)" in faulty
    assert "agent_conflict" not in plain
