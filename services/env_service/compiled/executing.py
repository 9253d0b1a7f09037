"""Executing plans as Python calls it: the same answers as `rules.execute`, many at once."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain

import numpy as np

from env_service.boards import Task
from env_service.compiled import plans as compiled_plans
from env_service.compiled.board import AGENTS, Array
from env_service.compiled.plans import AWAY, EDGE, HOLE, ILLEGAL, VERTEX, Plans, Runs, make_runs
from env_service.grid import moves
from env_service.rules import Broken, Execution, Plan
from trainee2trainer.contracts.environment import MAX_SIZE, ConflictKind, FailureCategory

_CATEGORIES = {
    ILLEGAL: FailureCategory.ILLEGAL_MOVE,
    HOLE: FailureCategory.HOLE_COLLISION,
    VERTEX: FailureCategory.AGENT_CONFLICT,
    EDGE: FailureCategory.AGENT_CONFLICT,
    AWAY: FailureCategory.GOAL_NOT_REACHED,
}
_CONFLICTS = {VERTEX: ConflictKind.VERTEX, EDGE: ConflictKind.EDGE}
_WORD = (1 << 64) - 1
_NOBODY = [0] * AGENTS


@lru_cache(maxsize=1)
def _moves() -> Array:
    """The cell each action leads to, by size and cell."""
    table = np.zeros((MAX_SIZE + 1, MAX_SIZE**2, 5), np.int64)
    for size in range(1, MAX_SIZE + 1):
        table[size, : size * size] = moves(size)
    return table


@lru_cache(maxsize=64)
def _flags(bits: int) -> frozenset[FailureCategory]:
    return frozenset(category for rule, category in _CATEGORIES.items() if bits >> rule & 1)


def execute_all(pairs: Sequence[tuple[Task, Plan]], keep: int) -> list[Execution]:
    """Executes each plan on its board; of a trajectory at most `keep` steps are kept."""
    if not pairs:
        return []
    tasks = [task for task, _ in pairs]
    lengths = [[len(lane) for lane in plan] for _, plan in pairs]
    plans = _plans(tasks, [plan for _, plan in pairs], lengths)
    room = np.array([min(max(lengths_, default=0), keep) for lengths_ in lengths], np.int64)
    runs = make_runs(room)
    compiled_plans.execute(plans, room, runs, *(np.zeros(AGENTS, np.int64) for _ in range(3)))
    return _executions(tasks, runs)


def _plans(tasks: list[Task], plans: list[Plan], lengths: list[list[int]]) -> Plans:
    ends = list(accumulate(chain.from_iterable(lengths), initial=0))
    lanes, place = [], 0
    for plan in plans:
        agents = len(plan)
        lanes.append(ends[place : place + agents + 1] + _NOBODY[agents:])
        place += agents
    actions = bytes(chain.from_iterable(chain.from_iterable(plans)))
    return Plans(
        size=np.array([task.size for task in tasks], np.int64),
        agents=np.array([len(task.starts) for task in tasks], np.int64),
        holes=np.array([(task.holes & _WORD, task.holes >> 64) for task in tasks], np.uint64),
        starts=np.array([[*task.starts, *_NOBODY[len(task.starts) :]] for task in tasks], np.int64),
        goals=np.array([[*task.goals, *_NOBODY[len(task.goals) :]] for task in tasks], np.int64),
        lanes=np.array(lanes, np.int64),
        actions=np.frombuffer(actions or b"\0", np.uint8).copy(),
        moves=_moves(),
    )


def _executions(tasks: list[Task], runs: Runs) -> list[Execution]:
    broken, flags, summary = runs.broken.tolist(), runs.flags.tolist(), runs.summary.tolist()
    final, first, rows, trail = (
        runs.final.tolist(),
        runs.row.tolist(),
        runs.rows.tolist(),
        runs.trail.tolist(),
    )
    result = []
    for number, task in enumerate(tasks):
        agents, start = len(task.starts), first[number]
        trajectory = [tuple(cells[:agents]) for cells in trail[start : start + rows[number]]]
        steps, makespan, cost = summary[number]
        if not flags[number]:
            result.append(Execution(trajectory, None, set(), makespan, cost))
            continue
        rule = broken[number][0]
        fault = _away(task, final[number], steps) if rule == AWAY else _broken(rule, broken[number])
        result.append(Execution(trajectory, fault, set(_flags(flags[number]))))
    return result


def _broken(rule: int, row: list[int]) -> Broken:
    _, step, first, second, cell, other = row
    return Broken(
        _CATEGORIES[rule],
        step,
        (first,) if first == second else (first, second),
        (cell, other) if rule == EDGE else (cell,),
        _CONFLICTS.get(rule),
    )


def _away(task: Task, final: list[int], steps: int) -> Broken:
    away = tuple(agent for agent, goal in enumerate(task.goals) if final[agent] != goal)
    cells = tuple(final[agent] for agent in away)
    return Broken(FailureCategory.GOAL_NOT_REACHED, steps, away, cells)
