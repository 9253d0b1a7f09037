"""Conflict-Based Search: mirrors `solver.search`."""

from typing import NamedTuple

import numpy as np

from env_service.compiled.bits import high_bit, low_bit
from env_service.compiled.board import Array, Ground, Tables
from env_service.compiled.cache import compiled
from env_service.compiled.lanes import FOUND as LANE_FOUND
from env_service.compiled.lanes import (
    NO_PATH,
    TOO_LONG,
    Demands,
    Lanes,
    clear_demands,
    make_demands,
    make_lanes,
    plan_lane,
)

FOUND, NONE, LIMIT = 0, 1, 2
_NO_CONSTRAINT, _VERTEX, _EDGE, _LATER, _CLEAR = range(5)
_FIRST, _SECOND, _TIME, _IS_EDGE = range(4)


class Nodes(NamedTuple):
    """Search nodes by number: the lane of each agent, cost, conflicts, the worst of them, the node's constraint.

    `next_lane` holds the number of the next free lane; `heap` the open nodes.
    """

    lanes: Array
    cost: Array
    conflicts: Array
    worst: Array
    kind: Array
    agent: Array
    time: Array
    cell: Array
    source: Array
    parent: Array
    heap: Array
    next_lane: Array


class Work(NamedTuple):
    """The memory of a search."""

    nodes: Nodes
    lanes: Lanes
    demands: Demands


def make_work(node_limit: int, agents: int) -> Work:
    """Memory for searches of up to `node_limit` nodes."""
    count = 2 * node_limit + 2
    columns = [np.zeros(count, np.int64) for _ in range(2)]
    constraint = [np.zeros(count, np.int64) for _ in range(7)]
    nodes = Nodes(
        np.zeros((count, agents), np.int64),
        *columns,
        np.zeros((count, 4), np.int64),
        *constraint,
        np.zeros(1, np.int64),
    )
    return Work(nodes, make_lanes(count * (agents - 1) + agents, agents), make_demands())


@compiled
def search(
    ground: Ground,
    tables: Tables,
    work: Work,
    starts: Array,
    goals: Array,
    waits: bool,
    horizon: int,
    node_limit: int,
    cost_limit: int,
) -> int:
    """FOUND, with the lanes in `work.lanes.current`; NONE; or LIMIT. A negative horizon is none."""
    nodes, lanes, agents = work.nodes, work.lanes, len(starts)
    status = _root(ground, tables, work, starts, goals, waits, horizon)
    if status != LANE_FOUND:
        return NONE if status == NO_PATH else LIMIT
    if nodes.cost[0] > cost_limit:
        return NONE
    nodes.heap[0] = 0
    size, made = 1, 1
    for _ in range(node_limit):
        if size == 0:
            return NONE
        node = nodes.heap[0]
        size = _pop(nodes, size)
        if nodes.worst[node, _TIME] < 0:
            for agent in range(agents):
                lanes.current[agent] = nodes.lanes[node, agent]
            return FOUND
        for side in range(2):
            _constrain(nodes, lanes, node, made, goals, side, horizon)
            status = _child(ground, tables, work, node, made, starts, goals, waits, horizon)
            if status == TOO_LONG:
                return LIMIT
            if status == LANE_FOUND and nodes.cost[made] <= cost_limit:
                size = _push(nodes, size, made)
                made += 1
    return LIMIT


@compiled
def _root(
    ground: Ground,
    tables: Tables,
    work: Work,
    starts: Array,
    goals: Array,
    waits: bool,
    horizon: int,
) -> int:
    nodes, lanes = work.nodes, work.lanes
    clear_demands(work.demands)
    nodes.kind[0] = _NO_CONSTRAINT
    nodes.next_lane[0] = len(starts)
    lanes.current[:] = -1
    for agent in range(len(starts)):
        status = plan_lane(
            ground, tables, work.demands, lanes, agent, starts[agent], goals[agent], waits, horizon, agent
        )
        if status != LANE_FOUND:
            return status
        lanes.current[agent] = agent
    _finish(nodes, lanes, 0, horizon)
    return LANE_FOUND


@compiled
def _child(
    ground: Ground,
    tables: Tables,
    work: Work,
    node: int,
    child: int,
    starts: Array,
    goals: Array,
    waits: bool,
    horizon: int,
) -> int:
    """Plans anew whoever breaks the constraint of `child`."""
    nodes, lanes = work.nodes, work.lanes
    first_lane = nodes.next_lane[0]
    for agent in range(len(starts)):
        lanes.current[agent] = nodes.lanes[node, agent]
    for agent in range(len(starts)):
        if _breaks(nodes, lanes, child, agent):
            _collect(nodes, work.demands, child, agent, goals[agent])
            slot = nodes.next_lane[0]
            status = plan_lane(
                ground, tables, work.demands, lanes, agent, starts[agent], goals[agent], waits, horizon, slot
            )
            if status != LANE_FOUND:
                nodes.next_lane[0] = first_lane
                return status
            lanes.current[agent] = slot
            nodes.next_lane[0] = slot + 1
    _finish(nodes, lanes, child, horizon)
    return LANE_FOUND


@compiled
def _finish(nodes: Nodes, lanes: Lanes, node: int, horizon: int) -> None:
    """Fills in lanes, cost and conflicts of a node from the current lanes."""
    cost = 0
    for agent in range(lanes.current.shape[0]):
        lane = lanes.current[agent]
        nodes.lanes[node, agent] = lane
        cost += lanes.arrival[lane]
    nodes.cost[node] = cost if horizon < 0 else 0
    _conflicts(nodes, lanes, node)


@compiled
def _conflicts(nodes: Nodes, lanes: Lanes, node: int) -> None:
    agents, end = lanes.current.shape[0], 0
    for agent in range(agents):
        end = max(end, lanes.arrival[lanes.current[agent]])
    count, most = 0, -1
    nodes.worst[node, _TIME] = -1
    path, forced = lanes.path, lanes.forced
    for time in range(1, end + 1):
        for i in range(agents):
            a = lanes.current[i]
            for j in range(i + 1, agents):
                b = lanes.current[j]
                vertex = path[a, time] == path[b, time]
                edge = path[a, time] == path[b, time - 1] and path[a, time - 1] == path[b, time]
                if not vertex and not edge:
                    continue
                count += 1
                sides = 0
                if forced[a, time] and (vertex or forced[a, time - 1]):
                    sides += 1
                if forced[b, time] and (vertex or forced[b, time - 1]):
                    sides += 1
                if sides > most:
                    most = sides
                    nodes.worst[node, _FIRST] = i
                    nodes.worst[node, _SECOND] = j
                    nodes.worst[node, _TIME] = time
                    nodes.worst[node, _IS_EDGE] = 0 if vertex else 1
    nodes.conflicts[node] = count


@compiled
def _constrain(
    nodes: Nodes, lanes: Lanes, node: int, child: int, goals: Array, side: int, horizon: int
) -> None:
    """Writes one of the two constraints that the node's worst conflict splits into."""
    time = nodes.worst[node, _TIME]
    agents = (nodes.worst[node, _FIRST], nodes.worst[node, _SECOND])
    agent = agents[0] if side == 0 else agents[1]
    lane = nodes.lanes[node, agent]
    nodes.parent[child] = node
    nodes.time[child] = time
    nodes.agent[child] = agent
    nodes.cell[child] = lanes.path[lane, time]
    if nodes.worst[node, _IS_EDGE] == 1:
        nodes.kind[child] = _EDGE
        nodes.source[child] = lanes.path[lane, time - 1]
        return
    nodes.kind[child] = _VERTEX
    if horizon >= 0:
        return
    for owner in agents:
        if time >= lanes.arrival[nodes.lanes[node, owner]]:
            nodes.kind[child] = _LATER if side == 0 else _CLEAR
            nodes.agent[child] = owner
            nodes.cell[child] = goals[owner]
            return


@compiled
def _breaks(nodes: Nodes, lanes: Lanes, child: int, agent: int) -> bool:
    if nodes.kind[child] != _CLEAR:
        return agent == nodes.agent[child]
    if agent == nodes.agent[child]:
        return False
    lane = lanes.current[agent]
    since = nodes.time[child]
    for time in range(since, max(since, lanes.arrival[lane]) + 1):
        if lanes.path[lane, time] == nodes.cell[child]:
            return True
    return False


@compiled
def _collect(nodes: Nodes, demands: Demands, node: int, agent: int, goal: int) -> None:
    """All that the constraints from `node` up to the root ask of `agent`."""
    clear_demands(demands)
    while nodes.kind[node] != _NO_CONSTRAINT:
        _add(nodes, demands, node, agent, goal)
        node = nodes.parent[node]


@compiled
def _add(nodes: Nodes, demands: Demands, node: int, agent: int, goal: int) -> None:
    kind, time, cell = nodes.kind[node], nodes.time[node], nodes.cell[node]
    mine = agent == nodes.agent[node]
    if kind == _CLEAR:
        if mine:
            demands.times[1] = min(demands.times[1], time)
        else:
            demands.clear_cell[demands.size[1]] = cell
            demands.clear_since[demands.size[1]] = time
            demands.size[1] += 1
            demands.times[2] = max(demands.times[2], time)
        return
    if not mine:
        return
    demands.times[2] = max(demands.times[2], time)
    if kind == _EDGE:
        demands.edges_at[time] += 1
        demands.edge_time[demands.size[0]] = time
        demands.edge_from[demands.size[0]] = nodes.source[node]
        demands.edge_to[demands.size[0]] = cell
        demands.size[0] += 1
        return
    if kind == _VERTEX:
        demands.block_low[time] |= low_bit(cell)
        demands.block_high[time] |= high_bit(cell)
    if kind == _LATER or cell == goal:
        demands.times[0] = max(demands.times[0], time + 1)


@compiled
def _before(nodes: Nodes, a: int, b: int) -> bool:
    """Whether node a is to be opened before node b."""
    if nodes.cost[a] != nodes.cost[b]:
        return nodes.cost[a] < nodes.cost[b]
    if nodes.conflicts[a] != nodes.conflicts[b]:
        return nodes.conflicts[a] < nodes.conflicts[b]
    return a > b


@compiled
def _push(nodes: Nodes, size: int, node: int) -> int:
    heap, at = nodes.heap, size
    heap[at] = node
    while at > 0 and _before(nodes, heap[at], heap[(at - 1) // 2]):
        up = (at - 1) // 2
        heap[at], heap[up] = heap[up], heap[at]
        at = up
    return size + 1


@compiled
def _pop(nodes: Nodes, size: int) -> int:
    heap, at = nodes.heap, 0
    size -= 1
    heap[0] = heap[size]
    while 2 * at + 1 < size:
        down = 2 * at + 1
        if down + 1 < size and _before(nodes, heap[down + 1], heap[down]):
            down += 1
        if not _before(nodes, heap[down], heap[at]):
            break
        heap[at], heap[down] = heap[down], heap[at]
        at = down
    return size
