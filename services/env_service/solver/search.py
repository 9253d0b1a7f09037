"""Conflict-Based Search: plan each agent alone, take a conflict, forbid it to one agent or to the other,
repeat.

A conflict is *cardinal* when every cheapest path of both agents runs into it; cardinal conflicts are split
first. A conflict at a goal whose owner has arrived is split by time (target reasoning, Li et al. 2021):
either the owner arrives later, or everybody else keeps off that cell from then on. Nodes come in the order of
cost, then number of conflicts, then newest first; no order is left to chance, so that any implementation
returns the same plan.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import combinations

from env_service.boards import Task
from env_service.solver.paths import UNBOUNDED, Demands, Lane, Mode, TooLong, plan_lane


class Verdict(Enum):
    """How a search ended: with a plan, with the proof that there is none, or at its limit."""

    FOUND = auto()
    NONE = auto()
    LIMIT = auto()


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict and, when found, one path of cells per agent, each up to its arrival."""

    verdict: Verdict
    paths: tuple[tuple[int, ...], ...] = ()


class _Kind(Enum):
    VERTEX = auto()
    EDGE = auto()
    LATER = auto()  # the agent arrives after `time`
    CLEAR = auto()  # the agent arrives by `time`, and all others keep off its goal from `time` on


@dataclass(frozen=True, slots=True)
class _Constraint:
    kind: _Kind
    agent: int
    time: int
    cell: int = 0
    source: int = 0
    parent: "_Constraint | None" = None


@dataclass(frozen=True, slots=True)
class _Conflict:
    first: int
    second: int
    time: int
    edge: bool


@dataclass(slots=True)
class _Node:
    lanes: list[Lane]
    cost: int
    constraints: _Constraint | None
    conflicts: int
    worst: _Conflict | None


def search(task: Task, mode: Mode, node_limit: int, cost_limit: int = UNBOUNDED) -> Result:
    """A plan of the least sum of costs up to `cost_limit`; in a mode with a horizon, any within it."""
    try:
        return _search(task, mode, node_limit, cost_limit)
    except TooLong:
        return Result(Verdict.LIMIT)


def _search(task: Task, mode: Mode, node_limit: int, cost_limit: int) -> Result:
    root = _root(task, mode)
    if root is None or root.cost > cost_limit:
        return Result(Verdict.NONE)
    queue, made = [_entry(root, 0)], 1
    for _ in range(node_limit):
        if not queue:
            return Result(Verdict.NONE)
        node = heapq.heappop(queue)[-1]
        if node.worst is None:
            return Result(Verdict.FOUND, tuple(lane.path for lane in node.lanes))
        for constraint in _split(task, node, node.worst, mode):
            child = _child(task, mode, node, constraint)
            if child is not None and child.cost <= cost_limit:
                heapq.heappush(queue, _entry(child, made))
                made += 1
    return Result(Verdict.LIMIT)


def _entry(node: _Node, number: int) -> tuple[int, int, int, _Node]:
    return node.cost, node.conflicts, -number, node


def _root(task: Task, mode: Mode) -> _Node | None:
    lanes: list[Lane] = []
    for agent in range(len(task.starts)):
        lane = plan_lane(task, agent, Demands(), mode, lanes)
        if lane is None:
            return None
        lanes.append(lane)
    return _node(lanes, None, mode)


def _node(lanes: list[Lane], constraints: _Constraint | None, mode: Mode) -> _Node:
    count, worst = _conflicts(lanes)
    cost = sum(lane.arrival for lane in lanes) if mode.horizon is None else 0
    return _Node(lanes, cost, constraints, count, worst)


def _child(task: Task, mode: Mode, node: _Node, constraint: _Constraint) -> _Node | None:
    """The node with one more constraint: whoever breaks it is planned anew."""
    lanes = list(node.lanes)
    for agent in range(len(lanes)):
        if _breaks(lanes[agent], agent, constraint):
            others = lanes[:agent] + lanes[agent + 1 :]
            lane = plan_lane(task, agent, _demands(task, agent, constraint), mode, others)
            if lane is None:
                return None
            lanes[agent] = lane
    return _node(lanes, constraint, mode)


def _breaks(lane: Lane, agent: int, constraint: _Constraint) -> bool:
    if constraint.kind is _Kind.CLEAR:
        times = range(constraint.time, max(constraint.time, lane.arrival) + 1)
        return agent != constraint.agent and any(lane.at(time) == constraint.cell for time in times)
    return agent == constraint.agent


def _demands(task: Task, agent: int, constraint: _Constraint | None) -> Demands:
    """All that the chain of constraints asks of `agent`."""
    demands = Demands()
    while constraint is not None:
        _add(demands, task, agent, constraint)
        constraint = constraint.parent
    return demands


def _add(demands: Demands, task: Task, agent: int, constraint: _Constraint) -> None:
    time = constraint.time
    if constraint.kind is _Kind.CLEAR:
        if agent == constraint.agent:
            demands.latest = min(demands.latest, time)
        else:
            demands.cleared.append((constraint.cell, time))
            demands.last = max(demands.last, time)
        return
    if agent != constraint.agent:
        return
    demands.last = max(demands.last, time)
    if constraint.kind is _Kind.EDGE:
        demands.edges.setdefault(time, []).append((constraint.source, constraint.cell))
        return
    if constraint.kind is _Kind.VERTEX:
        demands.blocked[time] = demands.blocked.get(time, 0) | 1 << constraint.cell
    if constraint.kind is _Kind.LATER or constraint.cell == task.goals[agent]:
        demands.earliest = max(demands.earliest, time + 1)


def _conflicts(lanes: Sequence[Lane]) -> tuple[int, _Conflict | None]:
    """How many conflicts there are, and the first among those that the most agents are forced into."""
    count, worst, most = 0, None, -1
    for time in range(1, max(lane.arrival for lane in lanes) + 1):
        for i, j in combinations(range(len(lanes)), 2):
            a, b = lanes[i], lanes[j]
            vertex = a.at(time) == b.at(time)
            edge = not vertex and a.at(time) == b.at(time - 1) and a.at(time - 1) == b.at(time)
            if not vertex and not edge:
                continue
            count += 1
            forced = sum(lane.forced_at(time) and (vertex or lane.forced_at(time - 1)) for lane in (a, b))
            if forced > most:
                worst, most = _Conflict(i, j, time, edge), forced
    return count, worst


def _split(task: Task, node: _Node, conflict: _Conflict, mode: Mode) -> list[_Constraint]:
    """Two constraints: every plan without the conflict obeys at least one of them."""
    first, second, time = conflict.first, conflict.second, conflict.time
    a, b = node.lanes[first], node.lanes[second]
    chain = node.constraints
    if conflict.edge:
        return [
            _Constraint(_Kind.EDGE, first, time, cell=a.at(time), source=a.at(time - 1), parent=chain),
            _Constraint(_Kind.EDGE, second, time, cell=b.at(time), source=b.at(time - 1), parent=chain),
        ]
    if mode.horizon is None:
        for agent, lane in ((first, a), (second, b)):
            if time >= lane.arrival:
                return [
                    _Constraint(_Kind.LATER, agent, time, parent=chain),
                    _Constraint(_Kind.CLEAR, agent, time, cell=task.goals[agent], parent=chain),
                ]
    cell = a.at(time)
    return [_Constraint(_Kind.VERTEX, agent, time, cell=cell, parent=chain) for agent in (first, second)]
