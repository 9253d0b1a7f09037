"""The rules: what happens when a joint plan is executed, and which rule it breaks first.

All agents move at once. A move off the board is an illegal move, a move into a hole a hole collision, two
agents on one cell a vertex conflict, two agents changing places an edge conflict; following is allowed. An
agent whose list has ended waits and still fills its cell. When several rules break in one step, the first in
that order counts, and within a rule the agents with the lowest numbers.

After the first violation the execution goes on only to find the other failures: an agent whose move is
illegal or leads into a hole stays where it is, agents in conflict move on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, zip_longest

from env_service.boards import Task
from env_service.grid import OFF_BOARD, WAIT, moves
from trainee2trainer.contracts.environment import ConflictKind, FailureCategory

Plan = Sequence[Sequence[int]]
"""One list of action numbers per agent."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken rule: in which step (0 is the first move), by which agents, at which cells."""

    category: FailureCategory
    step: int
    agents: tuple[int, ...]
    cells: tuple[int, ...]
    conflict: ConflictKind | None = None


@dataclass(slots=True)
class Execution:
    """What a plan did. `trajectory[t]` holds each agent's cell after t steps, up to the first violation.

    Makespan and sum of costs count the steps until agents arrive for good (Stern et al. 2019); both are None
    unless the plan is valid.
    """

    trajectory: list[tuple[int, ...]]
    first: Broken | None = None
    flags: set[FailureCategory] = field(default_factory=set)
    makespan: int | None = None
    sum_of_costs: int | None = None

    @property
    def valid(self) -> bool:
        return self.first is None


ExecuteAll = Callable[[Sequence[tuple[Task, Plan]], int], list[Execution]]


def execute_all(pairs: Sequence[tuple[Task, Plan]], keep: int) -> list[Execution]:
    """Executes each plan on its board; of a trajectory at most `keep` steps are kept."""
    runs = [execute(task, plan) for task, plan in pairs]
    for run in runs:
        del run.trajectory[keep + 1 :]
    return runs


def execute(task: Task, plan: Plan) -> Execution:
    """Execute `plan`, which has one list of actions per agent. Linear in the length of the plan."""
    cells = task.starts
    run = Execution(trajectory=[cells])
    # Starts and goals are distinct, so no agent has arrived at time 0.
    arrivals, steps = [1] * len(cells), 0
    for step, actions in enumerate(zip_longest(*plan, fillvalue=WAIT)):
        broken: list[Broken] = []
        after = _move(task, cells, actions, step, broken)
        broken += _conflicts(cells, after, step)
        _note(run, broken)
        cells, steps = after, step + 1
        if run.valid:
            run.trajectory.append(cells)
        for agent, goal in enumerate(task.goals):
            if cells[agent] != goal:
                arrivals[agent] = steps + 1
    _finish(run, task, cells, steps, arrivals)
    return run


def _move(
    task: Task, cells: tuple[int, ...], actions: tuple[int, ...], step: int, broken: list[Broken]
) -> tuple[int, ...]:
    table = moves(task.size)
    after = list(cells)
    holes: list[Broken] = []
    for agent, action in enumerate(actions):
        target = table[cells[agent]][action]
        if target == OFF_BOARD:
            broken.append(Broken(FailureCategory.ILLEGAL_MOVE, step, (agent,), (cells[agent],)))
        elif task.holes >> target & 1:
            holes.append(Broken(FailureCategory.HOLE_COLLISION, step, (agent,), (target,)))
        else:
            after[agent] = target
    broken += holes
    return tuple(after)


def _conflicts(before: tuple[int, ...], after: tuple[int, ...], step: int) -> list[Broken]:
    if len(set(after)) == len(after) and not set(before) & set(after):
        return []
    category = FailureCategory.AGENT_CONFLICT
    pairs = list(combinations(range(len(after)), 2))
    vertex = [
        Broken(category, step, (i, j), (after[i],), ConflictKind.VERTEX)
        for i, j in pairs
        if after[i] == after[j]
    ]
    edge = [
        Broken(category, step, (i, j), (before[i], before[j]), ConflictKind.EDGE)
        for i, j in pairs
        if before[i] != after[i] and before[i] == after[j] and before[j] == after[i]
    ]
    return vertex + edge


def _note(run: Execution, broken: list[Broken]) -> None:
    if broken:
        run.first = run.first or broken[0]
        run.flags.update(rule.category for rule in broken)


def _finish(run: Execution, task: Task, cells: tuple[int, ...], steps: int, arrivals: list[int]) -> None:
    away = tuple(agent for agent, goal in enumerate(task.goals) if cells[agent] != goal)
    if away:
        missed = Broken(FailureCategory.GOAL_NOT_REACHED, steps, away, tuple(cells[agent] for agent in away))
        _note(run, [missed])
    if run.valid:
        run.makespan, run.sum_of_costs = max(arrivals), sum(arrivals)
