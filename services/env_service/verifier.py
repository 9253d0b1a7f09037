"""From an answer to its outcome: read, executed, compared with what is optimal, rewarded."""

from dataclasses import dataclass

from env_service.boards import Task
from env_service.grid import ACTIONS, to_cell
from env_service.plan_reader import read_plan
from env_service.rules import Broken, Execution, Plan, execute
from trainee2trainer.contracts.environment import FailureCategory, Outcome, RewardWeights, Violation

MAX_REPORTED_STEPS = 1_000
"""Plans are judged in full, but reported only so far: an endless answer must not become an endless reply."""


@dataclass(frozen=True, slots=True)
class Optima:
    """What is optimal on a board."""

    makespan: int
    sum_of_costs: int


def read(task: Task, answer: str) -> Plan | None:
    """The plan in an answer, or None."""
    return read_plan(answer, len(task.starts))


def judge(
    task: Task,
    optima: Optima | None,
    plan: Plan | None,
    rewards: RewardWeights,
    instance_id: str | None = None,
) -> Outcome:
    """The verdict on a plan; None, or a plan for another number of agents, is a parse error.

    `optima` may be None for a plan that fails, since nothing then depends on it. A valid plan without optima
    comes back with `scored` false and no reward: we failed, not the plan.
    """
    if plan is None or len(plan) != len(task.starts):
        return _unreadable(rewards, instance_id)
    run = execute(task, plan)
    optimal = run.valid and optima is not None and run.makespan == optima.makespan
    scored = not run.valid or optima is not None
    return Outcome(
        instance_id=instance_id,
        scored=scored,
        valid=run.valid,
        optimal=optimal,
        soc_optimal=run.valid and optima is not None and run.sum_of_costs == optima.sum_of_costs,
        reward=_reward(rewards, run, optimal) if scored else None,
        failure=run.first.category if run.first else None,
        flags=[category for category in FailureCategory if category in run.flags],
        violation=_violation(task.size, run.first) if run.first else None,
        makespan=run.makespan,
        sum_of_costs=run.sum_of_costs,
        plan=[[ACTIONS[action] for action in lane[:MAX_REPORTED_STEPS]] for lane in plan],
        trajectory=[
            [to_cell(task.size, cell) for cell in cells] for cells in run.trajectory[: MAX_REPORTED_STEPS + 1]
        ],
    )


def _reward(rewards: RewardWeights, run: Execution, optimal: bool) -> float:
    if not run.valid:
        return rewards.failure
    return rewards.optimal if optimal else rewards.valid


def _unreadable(rewards: RewardWeights, instance_id: str | None) -> Outcome:
    return Outcome(
        instance_id=instance_id,
        valid=False,
        optimal=False,
        soc_optimal=False,
        reward=rewards.failure,
        failure=FailureCategory.PARSE_ERROR,
        flags=[FailureCategory.PARSE_ERROR],
        violation=None,
        makespan=None,
        sum_of_costs=None,
        plan=None,
        trajectory=[],
    )


def _violation(size: int, broken: Broken) -> Violation:
    return Violation(
        category=broken.category,
        step=broken.step,
        agents=list(broken.agents),
        cells=[to_cell(size, cell) for cell in broken.cells],
        conflict=broken.conflict,
    )
