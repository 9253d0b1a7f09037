"""The cheapest path of one agent under constraints: mirrors `solver.paths`."""

from typing import NamedTuple

import numpy as np

from env_service.compiled.bits import ONE, ZERO, Word, first, has, high_bit, is_single, low_bit, spread
from env_service.compiled.board import CELLS, Array, Ground, Tables
from env_service.compiled.cache import compiled
from env_service.grid import OFF_BOARD, WAIT
from env_service.solver.paths import CONFLICT_WEIGHT, MAX_TIME, UNBOUNDED

TIMES = MAX_TIME + 1
FOUND, NO_PATH, TOO_LONG = 0, 1, 2
_MAX_CONSTRAINTS = 1 << 13
_DEAR = 1 << 40


class Demands(NamedTuple):
    """What a search node asks of one agent.

    `size` counts edges and cleared cells; `times` are earliest, latest, last.
    """

    block_low: Array
    block_high: Array
    edges_at: Array
    edge_time: Array
    edge_from: Array
    edge_to: Array
    clear_cell: Array
    clear_since: Array
    size: Array
    times: Array


class Lanes(NamedTuple):
    """Paths by number: the cell at each time, whether every cheapest path shares it, the arrival.

    `current` holds the lane numbers of the agents of the node being made, -1 for none yet; the rest is memory for
    one path: its layers, the prices of the step before and after, and where each cell leads.
    """

    path: Array
    forced: Array
    arrival: Array
    current: Array
    low: Array
    high: Array
    price: Array
    follow: Array


def make_demands() -> Demands:
    counts = [np.zeros(_MAX_CONSTRAINTS, np.int64) for _ in range(5)]
    blocked = [np.zeros(TIMES, np.uint64) for _ in range(2)]
    return Demands(*blocked, np.zeros(TIMES, np.int64), *counts, np.zeros(2, np.int64), np.zeros(3, np.int64))


def make_lanes(count: int, agents: int) -> Lanes:
    """Room for `count` paths."""
    return Lanes(
        path=np.zeros((count, TIMES), np.uint8),
        forced=np.zeros((count, TIMES), np.bool_),
        arrival=np.zeros(count, np.int64),
        current=np.zeros(agents, np.int64),
        low=np.zeros(TIMES, np.uint64),
        high=np.zeros(TIMES, np.uint64),
        price=np.zeros((2, CELLS), np.int64),
        follow=np.zeros((TIMES, CELLS), np.uint8),
    )


@compiled
def clear_demands(demands: Demands) -> None:
    """Asks nothing."""
    demands.block_low[:] = ZERO
    demands.block_high[:] = ZERO
    demands.edges_at[:] = 0
    demands.size[:] = 0
    demands.times[0] = 0
    demands.times[1] = UNBOUNDED
    demands.times[2] = 0


@compiled
def plan_lane(
    ground: Ground,
    tables: Tables,
    demands: Demands,
    lanes: Lanes,
    agent: int,
    start: int,
    goal: int,
    waits: bool,
    horizon: int,
    slot: int,
) -> int:
    """Plans into the lane `slot`. A negative horizon is none. FOUND, NO_PATH or TOO_LONG."""
    arrival = _forward(ground, tables, demands, lanes, start, goal, waits, horizon)
    if arrival < 0:
        return NO_PATH if arrival == -1 else TOO_LONG
    if horizon < 0:
        lanes.low[arrival - 1] &= ~low_bit(goal)
        lanes.high[arrival - 1] &= ~high_bit(goal)
    lanes.low[arrival] = low_bit(goal)
    lanes.high[arrival] = high_bit(goal)
    wide = _backward(ground, demands, lanes, waits, arrival)
    if wide and not _direct(tables, demands, lanes, agent, start, arrival, horizon):
        _price(tables, demands, lanes, agent, waits, arrival, horizon)
    _walk(lanes, start, goal, arrival, wide, slot)
    return FOUND


@compiled
def _direct(
    tables: Tables, demands: Demands, lanes: Lanes, agent: int, start: int, arrival: int, horizon: int
) -> bool:
    """Fills `follow` along the first path in the order of actions if that costs nothing."""
    cell, actions = start, WAIT if horizon < 0 else WAIT + 1
    for time in range(arrival):
        after_low, after_high = lanes.low[time + 1], lanes.high[time + 1]
        banned = demands.edges_at[time + 1] != 0
        follow = OFF_BOARD
        for action in range(actions):
            target = tables.moves[cell, action]
            if target == OFF_BOARD or not has(after_low, after_high, target):
                continue
            if banned and _is_banned(demands, cell, target, time + 1):
                continue
            follow = target
            break
        if follow == OFF_BOARD or _meetings(lanes, agent, cell, follow, time) > 0:
            return False
        lanes.follow[time, cell] = follow
        cell = follow
    return True


@compiled
def _forward(
    ground: Ground,
    tables: Tables,
    demands: Demands,
    lanes: Lanes,
    start: int,
    goal: int,
    waits: bool,
    horizon: int,
) -> int:
    """Fills the layers; the arrival, or -1 without a path, or -2 when it would be too long."""
    earliest, latest, last = demands.times[0], demands.times[1], demands.times[2]
    end = max(last, earliest) + tables.size * tables.size + 1 if horizon < 0 else horizon
    end = min(end, latest)
    goal_low, goal_high = low_bit(goal), high_bit(goal)
    low, high = low_bit(start), high_bit(start)
    lanes.low[0], lanes.high[0] = low, high
    for time in range(1, min(end, MAX_TIME) + 1):
        before_low, before_high = low, high
        low, high = _arrive(ground, demands, before_low, before_high, waits, time)
        if low == ZERO and high == ZERO:
            return -1
        if horizon < 0 and time >= earliest and (low & goal_low != ZERO or high & goal_high != ZERO):
            if before_low & goal_low != ZERO or before_high & goal_high != ZERO:
                new_low, new_high = _arrive(
                    ground, demands, before_low & ~goal_low, before_high & ~goal_high, waits, time
                )
            else:
                new_low, new_high = low, high
            if new_low & goal_low != ZERO or new_high & goal_high != ZERO:
                return time
        lanes.low[time], lanes.high[time] = low, high
    if end > MAX_TIME:
        return -2
    if horizon < 0 or not has(low, high, goal):
        return -1
    return horizon


@compiled
def _step(ground: Ground, low: Word, high: Word, waits: bool) -> tuple[Word, Word]:
    new_low, new_high = spread(ground, low, high)
    if waits:
        return new_low | low, new_high | high
    return new_low, new_high


@compiled
def _arrive(
    ground: Ground, demands: Demands, before_low: Word, before_high: Word, waits: bool, time: int
) -> tuple[Word, Word]:
    low, high = _step(ground, before_low, before_high, waits)
    low &= ~demands.block_low[time]
    high &= ~demands.block_high[time]
    for place in range(demands.size[1]):
        if time >= demands.clear_since[place]:
            low &= ~low_bit(demands.clear_cell[place])
            high &= ~high_bit(demands.clear_cell[place])
    if demands.edges_at[time] == 0:
        return low, high
    for place in range(demands.size[0]):
        if demands.edge_time[place] == time:
            target = demands.edge_to[place]
            ways_low, ways_high = _step(ground, low_bit(target), high_bit(target), waits)
            ways_low &= before_low
            ways_high &= before_high
            for other in range(demands.size[0]):
                if demands.edge_time[other] == time and demands.edge_to[other] == target:
                    ways_low &= ~low_bit(demands.edge_from[other])
                    ways_high &= ~high_bit(demands.edge_from[other])
            if ways_low == ZERO and ways_high == ZERO:
                low &= ~low_bit(target)
                high &= ~high_bit(target)
    return low, high


@compiled
def _backward(ground: Ground, demands: Demands, lanes: Lanes, waits: bool, arrival: int) -> bool:
    """Prunes the layers to cells on a path to the goal; whether any layer is left with a choice."""
    wide = False
    low, high = lanes.low[arrival], lanes.high[arrival]
    for time in range(arrival - 1, -1, -1):
        after_low, after_high = low, high
        low, high = _step(ground, after_low, after_high, waits)
        low &= lanes.low[time]
        high &= lanes.high[time]
        if demands.edges_at[time + 1] != 0:
            low, high = _leave(ground, demands, low, high, after_low, after_high, waits, time + 1)
        lanes.low[time], lanes.high[time] = low, high
        wide = wide or not is_single(low, high)
    return wide


@compiled
def _leave(
    ground: Ground,
    demands: Demands,
    low: Word,
    high: Word,
    after_low: Word,
    after_high: Word,
    waits: bool,
    time: int,
) -> tuple[Word, Word]:
    """Drops the cells all of whose ways on are forbidden."""
    for place in range(demands.size[0]):
        if demands.edge_time[place] == time:
            source = demands.edge_from[place]
            ways_low, ways_high = _step(ground, low_bit(source), high_bit(source), waits)
            ways_low &= after_low
            ways_high &= after_high
            for other in range(demands.size[0]):
                if demands.edge_time[other] == time and demands.edge_from[other] == source:
                    ways_low &= ~low_bit(demands.edge_to[other])
                    ways_high &= ~high_bit(demands.edge_to[other])
            if ways_low == ZERO and ways_high == ZERO:
                low &= ~low_bit(source)
                high &= ~high_bit(source)
    return low, high


@compiled
def _price(
    tables: Tables, demands: Demands, lanes: Lanes, agent: int, waits: bool, arrival: int, horizon: int
) -> None:
    """Fills `follow`: where the best path goes on from each cell of each layer."""
    new, old = 0, 1
    lanes.price[old, first(lanes.low[arrival], lanes.high[arrival])] = 0
    for time in range(arrival - 1, -1, -1):
        after_low, after_high = lanes.low[time + 1], lanes.high[time + 1]
        low, high = lanes.low[time], lanes.high[time]
        while low != ZERO or high != ZERO:
            cell = first(low, high)
            if low != ZERO:
                low &= low - ONE
            else:
                high &= high - ONE
            best = _DEAR
            for action in range(5):
                target = tables.moves[cell, action]
                if (
                    target == OFF_BOARD
                    or (action == WAIT and not waits)
                    or not has(after_low, after_high, target)
                ):
                    continue
                if demands.edges_at[time + 1] != 0 and _is_banned(demands, cell, target, time + 1):
                    continue
                cost = lanes.price[old, target] + (1 if action == WAIT and horizon < 0 else 0)
                cost += CONFLICT_WEIGHT * _meetings(lanes, agent, cell, target, time)
                if cost < best:
                    best = cost
                    lanes.follow[time, cell] = target
            lanes.price[new, cell] = best
        new, old = old, new


@compiled
def _is_banned(demands: Demands, source: int, target: int, time: int) -> bool:
    for place in range(demands.size[0]):
        if (
            demands.edge_time[place] == time
            and demands.edge_from[place] == source
            and demands.edge_to[place] == target
        ):
            return True
    return False


@compiled
def _meetings(lanes: Lanes, agent: int, cell: int, target: int, time: int) -> int:
    met = 0
    for other in range(lanes.current.shape[0]):
        lane = lanes.current[other]
        if other == agent or lane < 0:
            continue
        after = lanes.path[lane, time + 1]
        if after == target or (after == cell and lanes.path[lane, time] == target):
            met += 1
    return met


@compiled
def _walk(lanes: Lanes, start: int, goal: int, arrival: int, wide: bool, slot: int) -> None:
    """Writes the path, the goal at every time after the arrival."""
    cell = start
    for time in range(arrival + 1):
        lanes.path[slot, time] = cell
        lanes.forced[slot, time] = is_single(lanes.low[time], lanes.high[time])
        if time < arrival:
            cell = lanes.follow[time, cell] if wide else first(lanes.low[time + 1], lanes.high[time + 1])
    lanes.path[slot, arrival + 1 :] = goal
    lanes.forced[slot, arrival + 1 :] = True
    lanes.arrival[slot] = arrival
