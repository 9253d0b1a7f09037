"""Optima and certificates: mirrors `solver.certificate`."""

from typing import NamedTuple

import numpy as np

from env_service.compiled import joint as joint_search
from env_service.compiled.bits import count
from env_service.compiled.board import AGENTS, Array, Ground, Tables
from env_service.compiled.cache import compiled
from env_service.compiled.joint import Joint, make_joint
from env_service.compiled.lanes import TIMES
from env_service.compiled.search import FOUND, LIMIT, NONE, Work, make_work, search
from env_service.grid import WAIT
from env_service.solver.certificate import FEW_NODES, STATES_PER_NODE, Limits
from env_service.solver.paths import UNBOUNDED

CERTIFIED, UNREACHABLE, UNSOLVABLE, UNDECIDED = 0, 1, 2, 3
ZERO_EXCESS, WITNESS, PARITY, EXHAUSTED = range(4)
_NO_HORIZON = -1


class Solver(NamedTuple):
    """The limits and the memory of a solver for one number of agents.

    What it found: `found` is makespan, sum of costs and proof; `path` the cells of each agent, as many as its
    `arrival` and one more; `plan` its actions, as many as its `arrival`.
    """

    limits: Array
    work: Work
    joint: Joint
    path: Array
    plan: Array
    arrival: Array
    found: Array


def make_solver(limits: Limits, agents: int) -> Solver:
    nodes = max(limits.first_nodes, limits.last_nodes)
    numbers = [limits.first_nodes, limits.joint_states, limits.joint_moves, limits.last_nodes]
    work = make_work(nodes, agents)
    return Solver(
        np.array(numbers, np.int64),
        work,
        make_joint(limits.joint_states, limits.joint_moves),
        *(np.zeros((AGENTS, TIMES), np.uint8) for _ in range(2)),
        np.zeros(AGENTS, np.int64),
        np.zeros(3, np.int64),
    )


@compiled
def certify(ground: Ground, tables: Tables, solver: Solver, starts: Array, goals: Array) -> int:
    """CERTIFIED, with `found`, `plan` and `arrival` filled in; else why not."""
    arrival = solver.arrival
    alone, least = 0, 0
    for agent in range(len(starts)):
        distance = joint_search.distance(ground, starts[agent], goals[agent])
        if distance < 0:
            return UNREACHABLE
        alone += distance
        least = max(least, distance)
    verdict = _cheapest(ground, tables, solver, starts, goals, True, UNBOUNDED)
    if verdict != FOUND:
        return UNSOLVABLE if verdict == NONE else UNDECIDED
    _keep(solver, len(starts))
    cost = 0
    for agent in range(len(starts)):
        cost += arrival[agent]
    excess = cost - alone
    if excess == 0:
        proof = ZERO_EXCESS
    elif not _has_wait(solver, len(starts)):
        proof = WITNESS
    elif excess % 2 == 1:
        proof = PARITY
    else:
        verdict = _cheapest(ground, tables, solver, starts, goals, False, cost)
        if verdict == LIMIT:
            return UNDECIDED
        proof = EXHAUSTED if verdict == NONE else WITNESS
        if verdict == FOUND:
            _keep(solver, len(starts))
    known = 0
    for agent in range(len(starts)):
        known = max(known, arrival[agent])
    makespan = _makespan(ground, tables, solver, starts, goals, least, known)
    if makespan < 0:
        return UNDECIDED
    _to_actions(tables, solver, len(starts))
    solver.found[0], solver.found[1], solver.found[2] = makespan, cost, proof
    return CERTIFIED


@compiled
def _keep(solver: Solver, agents: int) -> None:
    """Copies the lanes just found: the next search writes over them."""
    lanes = solver.work.lanes
    for agent in range(agents):
        lane = lanes.current[agent]
        solver.arrival[agent] = lanes.arrival[lane]
        for time in range(TIMES):
            solver.path[agent, time] = lanes.path[lane, time]


@compiled
def _to_actions(tables: Tables, solver: Solver, agents: int) -> None:
    for agent in range(agents):
        for time in range(solver.arrival[agent]):
            for action in range(WAIT + 1):
                if tables.moves[solver.path[agent, time], action] == solver.path[agent, time + 1]:
                    solver.plan[agent, time] = action


@compiled
def _has_wait(solver: Solver, agents: int) -> bool:
    for agent in range(agents):
        for time in range(solver.arrival[agent]):
            if solver.path[agent, time] == solver.path[agent, time + 1]:
                return True
    return False


@compiled
def _states(ground: Ground, agents: int) -> int:
    states, free = 1, count(ground.free_low, ground.free_high) + 1
    for _ in range(agents):
        states *= free
    return states


@compiled
def _limits(solver: Solver) -> tuple[int, int, int, int]:
    return solver.limits[0], solver.limits[1], solver.limits[2], solver.limits[3]


@compiled
def _cheapest(
    ground: Ground,
    tables: Tables,
    solver: Solver,
    starts: Array,
    goals: Array,
    waits: bool,
    cost_limit: int,
) -> int:
    first, joint_states, joint_moves, last = _limits(solver)
    states = _states(ground, len(starts))
    nodes = last if states > joint_states else min(first, max(FEW_NODES, states // STATES_PER_NODE))
    verdict = search(ground, tables, solver.work, starts, goals, waits, _NO_HORIZON, nodes, cost_limit)
    if verdict == LIMIT and states <= joint_states:
        verdict = joint_search.cheapest(
            ground, tables, solver.joint, solver.work.lanes, starts, goals, waits, joint_moves, cost_limit
        )
        if verdict == LIMIT:
            verdict = search(ground, tables, solver.work, starts, goals, waits, _NO_HORIZON, last, cost_limit)
    return verdict


@compiled
def _makespan(
    ground: Ground, tables: Tables, solver: Solver, starts: Array, goals: Array, least: int, known: int
) -> int:
    """The least makespan, at least `least` and at most `known`; -1 when it could not be decided."""
    first, joint_states, joint_moves, last = _limits(solver)
    states = _states(ground, len(starts))
    stubborn = states > joint_states
    nodes = last if stubborn else min(first, states // STATES_PER_NODE)
    for horizon in range(least, known):
        verdict = search(ground, tables, solver.work, starts, goals, True, horizon, nodes, UNBOUNDED)
        if verdict == LIMIT and not stubborn:
            found = joint_search.fastest(ground, tables, solver.joint, starts, goals, known, joint_moves)
            if found >= 0:
                return found if found > 0 else known
            stubborn, nodes = True, last
            verdict = search(ground, tables, solver.work, starts, goals, True, horizon, nodes, UNBOUNDED)
        if verdict == LIMIT:
            return -1
        if verdict == FOUND:
            return horizon
    return known
