"""Search over all agents at once: mirrors `solver.joint`. A state is one number, a digit per agent."""

from typing import NamedTuple

import numpy as np

from env_service.compiled.bits import ONE, ZERO, first, has, high_bit, low_bit, spread
from env_service.compiled.board import AGENTS, CELLS, Array, Ground, Tables
from env_service.compiled.cache import compiled
from env_service.compiled.lanes import Lanes
from env_service.compiled.search import FOUND, LIMIT, NONE
from env_service.grid import OFF_BOARD, WAIT
from env_service.solver.paths import MAX_TIME

_BUCKETS = 1 << 16
_OPTIONS = 6
_NOBODY = -1


class Joint(NamedTuple):
    """The memory of a joint search.

    Per state: the costs paid, the state it came from, and the search (`stamp`) in which that was written. Entries
    form a stack per estimate (`heads`, `entry_next`). `number` and `cell` go between free cells and their numbers.
    The rest describes the state being opened: each agent's digit (the number of its cell, or `settled`) and its
    options as digits and as cells. `run` counts the searches, and holds the highest estimate of the last one.
    """

    paid: Array
    came: Array
    stamp: Array
    entry_state: Array
    entry_cost: Array
    entry_next: Array
    heads: Array
    number: Array
    cell: Array
    distance: Array
    digit: Array
    place: Array
    counts: Array
    choice: Array
    options: Array
    targets: Array
    run: Array


def make_joint(states: int, moves: int) -> Joint:
    """Memory for searches among up to `states` states with up to `moves` joint moves."""
    entries = moves + _OPTIONS**AGENTS + 1
    return Joint(
        *(np.zeros(states, np.int32) for _ in range(3)),
        *(np.zeros(entries, np.int32) for _ in range(3)),
        np.zeros(_BUCKETS, np.int32),
        *(np.zeros(CELLS, np.int64) for _ in range(2)),
        np.zeros((AGENTS, CELLS), np.int64),
        *(np.zeros(AGENTS, np.int64) for _ in range(4)),
        *(np.zeros((AGENTS, _OPTIONS), np.int64) for _ in range(2)),
        np.array([0, _BUCKETS - 1], np.int64),
    )


@compiled
def cheapest(
    ground: Ground,
    tables: Tables,
    joint: Joint,
    lanes: Lanes,
    starts: Array,
    goals: Array,
    waits: bool,
    move_limit: int,
    cost_limit: int,
) -> int:
    """FOUND, with the lanes in `lanes.current`; NONE; or LIMIT."""
    agents = len(starts)
    settled = _prepare(ground, tables, joint, goals)
    for estimate in range(joint.run[1] + 1):
        joint.heads[estimate] = _NOBODY
    joint.run[1] = 0
    state = _start(joint, starts, settled)
    joint.paid[state] = 0
    joint.came[state] = _NOBODY
    total = _remaining(joint, agents, settled)
    _put(joint, 0, state, 0, total)
    entries, made = 1, 0
    while total <= min(joint.run[1], cost_limit):
        entry = joint.heads[total]
        if entry < 0:
            total += 1
            continue
        joint.heads[total] = joint.entry_next[entry]
        state, cost = joint.entry_state[entry], joint.entry_cost[entry]
        if cost != joint.paid[state]:
            continue
        cost += _load(joint, state, agents, settled)
        if cost == joint.entry_cost[entry]:
            return _trace(joint, lanes, goals, state, settled)
        _list_options(joint, tables, goals, settled, waits, True)
        level = 0
        while True:
            level = _next_choice(joint, agents, level)
            if level < 0:
                break
            made += 1
            after = _encode(joint, agents, settled)
            if joint.stamp[after] != joint.run[0] or cost < joint.paid[after]:
                joint.stamp[after] = joint.run[0]
                joint.paid[after] = cost
                joint.came[after] = state
                estimate = cost + _chosen_remaining(joint, agents, settled)
                if estimate >= _BUCKETS:
                    return LIMIT
                _put(joint, entries, after, cost, estimate)
                entries += 1
        if made > move_limit:
            return LIMIT
    return NONE


@compiled
def fastest(
    ground: Ground, tables: Tables, joint: Joint, starts: Array, goals: Array, below: int, move_limit: int
) -> int:
    """The least makespan under `below`, 0 when there is none, -1 at the limit."""
    agents = len(starts)
    settled = _prepare(ground, tables, joint, goals)
    layer, following = joint.entry_state, joint.entry_next
    layer[0] = _start(joint, starts, settled)
    size, made = 1, 0
    for time in range(1, below):
        found = 0
        for place in range(size):
            _load(joint, layer[place], agents, settled)
            _list_options(joint, tables, goals, settled, True, False)
            level = 0
            while True:
                level = _next_choice(joint, agents, level)
                if level < 0:
                    break
                made += 1
                late, there = False, True
                for agent in range(agents):
                    cell = joint.targets[agent, joint.choice[agent]]
                    there = there and cell == goals[agent]
                    late = late or time + joint.distance[agent, cell] >= below
                if there:
                    return time
                after = _encode(joint, agents, settled)
                if not late and joint.stamp[after] != joint.run[0]:
                    joint.stamp[after] = joint.run[0]
                    following[found] = after
                    found += 1
            if made > move_limit:
                return -1
        layer, following = following, layer
        size = found
    return 0


@compiled
def _prepare(ground: Ground, tables: Tables, joint: Joint, goals: Array) -> int:
    """Numbers the free cells and measures distances; the digit of a settled agent."""
    joint.run[0] += 1
    free = 0
    for cell in range(tables.size * tables.size):
        if has(ground.free_low, ground.free_high, cell):
            joint.number[cell] = free
            joint.cell[free] = cell
            free += 1
        else:
            joint.number[cell] = _NOBODY
    for agent in range(len(goals)):
        measure(ground, joint, agent, goals[agent])
    return free


@compiled
def distance(ground: Ground, start: int, goal: int) -> int:
    """Moves between two cells, or -1."""
    low, high = low_bit(start), high_bit(start)
    seen_low, seen_high, steps = low, high, 0
    while low != ZERO or high != ZERO:
        if has(low, high, goal):
            return steps
        low, high = spread(ground, low, high)
        low &= ~seen_low
        high &= ~seen_high
        seen_low |= low
        seen_high |= high
        steps += 1
    return -1


@compiled
def measure(ground: Ground, joint: Joint, agent: int, goal: int) -> None:
    """Fills `distance` of an agent with the moves from each cell to `goal`, -1 where there is no way."""
    low, high = low_bit(goal), high_bit(goal)
    seen_low, seen_high, steps = low, high, 0
    joint.distance[agent, :] = _NOBODY
    while low != ZERO or high != ZERO:
        rest_low, rest_high = low, high
        while rest_low != ZERO or rest_high != ZERO:
            joint.distance[agent, first(rest_low, rest_high)] = steps
            if rest_low != ZERO:
                rest_low &= rest_low - ONE
            else:
                rest_high &= rest_high - ONE
        low, high = spread(ground, low, high)
        low &= ~seen_low
        high &= ~seen_high
        seen_low |= low
        seen_high |= high
        steps += 1


@compiled
def _start(joint: Joint, starts: Array, settled: int) -> int:
    """The state in which each agent is at its start, marked as seen."""
    state = 0
    for agent in range(len(starts) - 1, -1, -1):
        joint.digit[agent] = joint.number[starts[agent]]
        state = state * (settled + 1) + joint.digit[agent]
    joint.stamp[state] = joint.run[0]
    return state


@compiled
def _put(joint: Joint, entry: int, state: int, cost: int, estimate: int) -> None:
    joint.entry_state[entry] = state
    joint.entry_cost[entry] = cost
    joint.entry_next[entry] = joint.heads[estimate]
    joint.heads[estimate] = entry
    joint.run[1] = max(joint.run[1], estimate)


@compiled
def _load(joint: Joint, state: int, agents: int, settled: int) -> int:
    """Takes a state apart into digits; how many agents have not settled."""
    moving = 0
    for agent in range(agents):
        joint.digit[agent] = state % (settled + 1)
        state //= settled + 1
        moving += joint.digit[agent] != settled
    return moving


@compiled
def _remaining(joint: Joint, agents: int, settled: int) -> int:
    total = 0
    for agent in range(agents):
        total += _alone(joint, agent, joint.digit[agent], settled)
    return total


@compiled
def _chosen_remaining(joint: Joint, agents: int, settled: int) -> int:
    total = 0
    for agent in range(agents):
        total += _alone(joint, agent, joint.options[agent, joint.choice[agent]], settled)
    return total


@compiled
def _alone(joint: Joint, agent: int, digit: int, settled: int) -> int:
    if digit == settled:
        return 0
    distance = joint.distance[agent, joint.cell[digit]]
    return distance if distance != 0 else 2


@compiled
def _list_options(
    joint: Joint, tables: Tables, goals: Array, settled: int, waits: bool, settling: bool
) -> None:
    for agent in range(len(goals)):
        digit, count = joint.digit[agent], 0
        if digit == settled:
            joint.place[agent] = goals[agent]
            joint.options[agent, 0] = settled
            joint.targets[agent, 0] = goals[agent]
            joint.counts[agent] = 1
            continue
        joint.place[agent] = joint.cell[digit]
        for action in range(5):
            target = tables.moves[joint.place[agent], action]
            if target == OFF_BOARD or joint.number[target] < 0 or (action == WAIT and not waits):
                continue
            if settling and action != WAIT and target == goals[agent]:
                joint.options[agent, count] = settled
                joint.targets[agent, count] = target
                count += 1
            joint.options[agent, count] = joint.number[target]
            joint.targets[agent, count] = target
            count += 1
        joint.counts[agent] = count
    joint.choice[0] = -1


@compiled
def _next_choice(joint: Joint, agents: int, level: int) -> int:
    """Goes on to the next joint move without a conflict: the level to go on from, or -1 after the last."""
    while level >= 0:
        joint.choice[level] += 1
        if joint.choice[level] >= joint.counts[level]:
            level -= 1
        elif _fits(joint, level):
            if level == agents - 1:
                return level
            level += 1
            joint.choice[level] = -1
    return -1


@compiled
def _fits(joint: Joint, agent: int) -> bool:
    target, source = joint.targets[agent, joint.choice[agent]], joint.place[agent]
    for other in range(agent):
        after = joint.targets[other, joint.choice[other]]
        if after == target or (after == source and joint.place[other] == target):
            return False
    return True


@compiled
def _encode(joint: Joint, agents: int, settled: int) -> int:
    state = 0
    for agent in range(agents - 1, -1, -1):
        state = state * (settled + 1) + joint.options[agent, joint.choice[agent]]
    return state


@compiled
def _trace(joint: Joint, lanes: Lanes, goals: Array, state: int, settled: int) -> int:
    """Writes the way to a state into lanes of its own; LIMIT if it is too long."""
    agents, steps, back = len(goals), 0, state
    while joint.came[back] >= 0:
        back = joint.came[back]
        steps += 1
    if steps > MAX_TIME:
        return LIMIT
    for agent in range(agents):
        lanes.current[agent] = agent
        lanes.path[agent, steps:] = goals[agent]
    for time in range(steps, -1, -1):
        _load(joint, state, agents, settled)
        for agent in range(agents):
            if joint.digit[agent] == settled:
                lanes.path[agent, time] = goals[agent]
                lanes.arrival[agent] = time
            else:
                lanes.path[agent, time] = joint.cell[joint.digit[agent]]
        state = joint.came[state]
    return FOUND
