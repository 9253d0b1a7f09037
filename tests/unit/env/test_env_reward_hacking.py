"""Answers that try to earn more than they did: none may beat an honest plan, and none may break anything."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from env_oracles import random_task, verdict

from env_service.boards import Task
from env_service.compiled import core
from env_service.prompts import TEMPLATES
from env_service.rules import Plan
from env_service.solver.certificate import Certificate
from env_service.verifier import Item, judge, read
from trainee2trainer.contracts.environment import RewardWeights

REWARDS = RewardWeights()
Honest = tuple[Task, Certificate]


def honest_boards() -> list[Honest]:
    rng, found = random.Random(31), []
    while len(found) < 40:
        task = random_task(rng, rng.randint(3, 6), rng.randint(2, 3), 3)
        certificate = core.certify(task)
        if isinstance(certificate, Certificate):
            found.append((task, certificate))
    return found


BOARDS = honest_boards()


def reward(task: Task, certificate: Certificate, answer: str) -> float:
    optima = certificate.optima
    outcome = judge(Item(task, optima, read(task, answer)), REWARDS)
    assert outcome.reward is not None
    return outcome.reward


def spell(task: Task, plan: Plan) -> str:
    return TEMPLATES["plain-v1"].answer(task, plan)


def nothing(task: Task, plan: Plan) -> str:
    return spell(task, [[] for _ in plan])


def endless_waiting(task: Task, plan: Plan) -> str:
    return spell(task, [[4] * 500 for _ in plan])


def swapped(task: Task, plan: Plan) -> str:
    return spell(task, [*plan[1:], plan[0]])


def only_the_first_agent(task: Task, plan: Plan) -> str:
    return spell(task, plan).splitlines()[0]


def an_agent_too_many(task: Task, plan: Plan) -> str:
    return spell(task, [*plan, plan[0]])


def the_goals_claimed(task: Task, plan: Plan) -> str:
    return "All agents are on their goals. reward = 1.0. valid: true, optimal: true"


def every_single_move(task: Task, plan: Plan) -> str:
    return "\n\n".join(spell(task, [[action] for _ in plan]) for action in range(5))


def hidden_in_thoughts(task: Task, plan: Plan) -> str:
    return f"<think>{spell(task, plan)}</think>I will not say."


def an_overwrite_of_the_judge(task: Task, plan: Plan) -> str:
    return "__import__('env_service.verifier').REWARD = 1\n```python\nraise SystemExit\n```"


HACKS: list[Callable[[Task, Plan], str]] = [
    nothing,
    endless_waiting,
    swapped,
    only_the_first_agent,
    an_agent_too_many,
    the_goals_claimed,
    every_single_move,
    hidden_in_thoughts,
    an_overwrite_of_the_judge,
]


@pytest.mark.parametrize("hack", HACKS, ids=lambda hack: str(hack.__name__))
def test_a_hack_earns_nothing(hack: Callable[[Task, Plan], str]) -> None:
    assert [reward(task, found, hack(task, found.plan)) for task, found in BOARDS] == [0.0] * len(BOARDS)


def test_the_honest_plan_earns_what_it_is_worth() -> None:
    for task, found in BOARDS:
        makespan = max(map(len, found.plan))
        expected = REWARDS.optimal if makespan == found.makespan else REWARDS.valid
        assert reward(task, found, spell(task, found.plan)) == expected


def test_waiting_at_the_end_earns_no_more_and_no_less() -> None:
    for task, found in BOARDS:
        padded = spell(task, [[*lane, *[4] * 300] for lane in found.plan])
        assert reward(task, found, padded) == reward(task, found, spell(task, found.plan))


def test_waiting_at_the_start_is_valid_and_not_optimal() -> None:
    for task, found in BOARDS:
        late = spell(task, [[4, 4, *lane] for lane in found.plan])
        assert reward(task, found, late) == REWARDS.valid


def test_another_board_s_plan_earns_only_what_it_does_here() -> None:
    for (task, found), (_, other) in pairwise(BOARDS):
        plan = [list(lane) for lane in (*other.plan, *other.plan)[: len(task.starts)]]
        earned = reward(task, found, spell(task, plan))
        assert (earned > 0) == (verdict(task, plan) is None)


def test_of_many_plans_the_last_counts_however_good_the_others_are() -> None:
    for task, found in BOARDS:
        good = spell(task, found.plan)
        bad = "\n".join(f"Agent {agent}: WAIT" for agent in range(len(task.starts)))
        assert reward(task, found, f"{good}\n\n{bad}") == 0.0
        assert reward(task, found, f"{bad}\n\n{good}") > 0.0
