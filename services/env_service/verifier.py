"""From an answer to its outcome: read, executed, compared with what is optimal, rewarded."""

from collections.abc import Sequence
from typing import NamedTuple

from env_service.boards import Task
from env_service.grid import ACTIONS, cells_of, to_cell
from env_service.plan_reader import read_plan
from env_service.rules import Broken, ExecuteAll, Execution, Plan, execute_all
from env_service.solver.certificate import Optima
from trainee2trainer.contracts.environment import FailureCategory, Outcome, RewardWeights, Violation

MAX_REPORTED_STEPS = 1_000
"""Plans are judged in full, but reported only so far: an endless answer must not become an endless reply."""


def read(task: Task, answer: str) -> Plan | None:
    """The plan in an answer, or None."""
    return read_plan(answer, len(task.starts))


class Item(NamedTuple):
    """One plan to be judged. `optima` may be None for a plan that fails, since nothing then depends on it."""

    task: Task
    optima: Optima | None
    plan: Plan | None
    instance_id: str | None = None


def judge(item: Item, rewards: RewardWeights) -> Outcome:
    """The verdict on one plan, see `judge_all`."""
    return judge_all([item], rewards, execute_all)[0]


def judge_all(items: Sequence[Item], rewards: RewardWeights, run_all: ExecuteAll) -> list[Outcome]:
    """The verdicts on many plans; None, or a plan for another number of agents, is a parse error.

    A valid plan without optima comes back with `scored` false and no reward: we failed, not the plan.
    """
    plans = [item.plan if item.plan and len(item.plan) == len(item.task.starts) else None for item in items]
    pairs = [(item.task, plan) for item, plan in zip(items, plans, strict=True) if plan is not None]
    runs = iter(run_all(pairs, MAX_REPORTED_STEPS))
    return [
        _unreadable(rewards, item.instance_id) if plan is None else _outcome(item, plan, next(runs), rewards)
        for item, plan in zip(items, plans, strict=True)
    ]


def _outcome(item: Item, plan: Plan, run: Execution, rewards: RewardWeights) -> Outcome:
    optima = item.optima
    optimal = run.valid and optima is not None and run.makespan == optima.makespan
    scored = not run.valid or optima is not None
    cells = cells_of(item.task.size)
    # What we made ourselves is not validated again: that took twice as long as everything else.
    return Outcome.model_construct(
        instance_id=item.instance_id,
        scored=scored,
        valid=run.valid,
        optimal=optimal,
        soc_optimal=run.valid and optima is not None and run.sum_of_costs == optima.sum_of_costs,
        reward=_reward(rewards, run, optimal) if scored else None,
        failure=run.first.category if run.first else None,
        flags=[category for category in FailureCategory if category in run.flags] if run.flags else [],
        violation=_violation(item.task.size, run.first) if run.first else None,
        makespan=run.makespan,
        sum_of_costs=run.sum_of_costs,
        plan=[[ACTIONS[action] for action in lane[:MAX_REPORTED_STEPS]] for lane in plan],
        trajectory=[[cells[cell] for cell in step] for step in run.trajectory],
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
