"""Many plans executed at once: mirrors `rules.execute`."""

from typing import NamedTuple

import numpy as np

from env_service.compiled.bits import has
from env_service.compiled.board import AGENTS, Array
from env_service.compiled.cache import compiled, entry
from env_service.grid import OFF_BOARD, WAIT

# What a step can break, in the order in which it counts; then what only the end shows.
NOTHING, ILLEGAL, HOLE, VERTEX, EDGE, AWAY = range(6)


class Plans(NamedTuple):
    """Plans by number: size, agents, holes as two words, starts and goals of a board; where each lane begins.

    `lanes[p, a]` to `lanes[p, a + 1]` are the places in `actions` of agent a of plan p.
    """

    size: Array
    agents: Array
    holes: Array
    starts: Array
    goals: Array
    lanes: Array
    actions: Array
    moves: Array


class Runs(NamedTuple):
    """What became of them: the first broken rule with its step, agents and cells; all rules broken, as bits.

    `summary` holds steps, makespan and sum of costs; `final` the last cells; `trail[row[p]]` is the first of
    `rows[p]` rows of the cells in each step, up to the first violation or to the end of the room.
    """

    broken: Array
    flags: Array
    summary: Array
    final: Array
    row: Array
    rows: Array
    trail: Array


def make_runs(room: Array) -> Runs:
    """Memory for plans of which so many steps each are to be kept."""
    count = len(room)
    row = np.zeros(count, np.int64)
    np.cumsum(room[:-1] + 1, out=row[1:])
    return Runs(
        broken=np.zeros((count, 6), np.int64),
        flags=np.zeros(count, np.int64),
        summary=np.zeros((count, 3), np.int64),
        final=np.zeros((count, AGENTS), np.int64),
        row=row,
        rows=np.zeros(count, np.int64),
        trail=np.zeros((int(room.sum()) + count, AGENTS), np.int64),
    )


@entry
def execute(plans: Plans, room: Array, runs: Runs, before: Array, after: Array, arrivals: Array) -> None:
    """Executes all plans; `before`, `after` and `arrivals` are memory for one number per agent."""
    for plan in range(len(plans.size)):
        _execute(plans, plan, room[plan], runs, before, after, arrivals)


@compiled
def _execute(
    plans: Plans, plan: int, room: int, runs: Runs, before: Array, after: Array, arrivals: Array
) -> None:
    agents, steps = plans.agents[plan], 0
    for agent in range(agents):
        before[agent] = plans.starts[plan, agent]
        arrivals[agent] = 1
        steps = max(steps, plans.lanes[plan, agent + 1] - plans.lanes[plan, agent])
    _keep(runs, plan, agents, before, room)
    for step in range(steps):
        _move(plans, plan, step, runs, before, after)
        _meet(plan, agents, step, runs, before, after)
        for agent in range(agents):
            before[agent] = after[agent]
            if after[agent] != plans.goals[plan, agent]:
                arrivals[agent] = step + 2
        if runs.broken[plan, 0] == NOTHING:
            _keep(runs, plan, agents, after, room)
    runs.summary[plan, 0] = steps
    for agent in range(agents):
        runs.final[plan, agent] = before[agent]
        if before[agent] != plans.goals[plan, agent]:
            _note(runs, plan, AWAY, steps, agent, agent, before[agent], before[agent])
        runs.summary[plan, 1] = max(runs.summary[plan, 1], arrivals[agent])
        runs.summary[plan, 2] += arrivals[agent]


@compiled
def _keep(runs: Runs, plan: int, agents: int, cells: Array, room: int) -> None:
    if runs.rows[plan] > room:
        return
    row = runs.row[plan] + runs.rows[plan]
    for agent in range(agents):
        runs.trail[row, agent] = cells[agent]
    runs.rows[plan] += 1


@compiled
def _note(
    runs: Runs, plan: int, rule: int, step: int, first: int, second: int, cell: int, other: int
) -> None:
    runs.flags[plan] |= 1 << rule
    broken = runs.broken
    if broken[plan, 0] == NOTHING:
        broken[plan, 0], broken[plan, 1] = rule, step
        broken[plan, 2], broken[plan, 3] = first, second
        broken[plan, 4], broken[plan, 5] = cell, other


@compiled
def _move(plans: Plans, plan: int, step: int, runs: Runs, before: Array, after: Array) -> None:
    low, high, size = plans.holes[plan, 0], plans.holes[plan, 1], plans.size[plan]
    for rule in (ILLEGAL, HOLE):
        for agent in range(plans.agents[plan]):
            place = plans.lanes[plan, agent] + step
            action = plans.actions[place] if place < plans.lanes[plan, agent + 1] else WAIT
            target = plans.moves[size, before[agent], action]
            if target == OFF_BOARD:
                after[agent] = before[agent]
                if rule == ILLEGAL:
                    _note(runs, plan, ILLEGAL, step, agent, agent, before[agent], before[agent])
            elif has(low, high, target):
                after[agent] = before[agent]
                if rule == HOLE:
                    _note(runs, plan, HOLE, step, agent, agent, target, target)
            else:
                after[agent] = target


@compiled
def _meet(plan: int, agents: int, step: int, runs: Runs, before: Array, after: Array) -> None:
    for rule in (VERTEX, EDGE):
        for i in range(agents):
            for j in range(i + 1, agents):
                if rule == VERTEX and after[i] == after[j]:
                    _note(runs, plan, VERTEX, step, i, j, after[i], after[i])
                swapped = before[i] != after[i] and before[i] == after[j] and before[j] == after[i]
                if rule == EDGE and swapped:
                    _note(runs, plan, EDGE, step, i, j, before[i], before[j])
