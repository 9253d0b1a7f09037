"""What is optimal on a board, and whether it needs a wait: decided exactly, or given up and said so.

`needs_wait` holds when every plan of the least sum of costs has an agent wait before its final arrival.
Cheapest proof first: no excess over the lone shortest paths; a returned plan without a wait; an odd excess (a
grid has two colours, so a path without waits has the parity of the shortest one); else an exhausted search
without waits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from env_service.boards import Task
from env_service.grid import DOWN, LEFT, RIGHT, UP, WAIT, distances
from env_service.solver import joint
from env_service.solver.paths import UNBOUNDED, Mode
from env_service.solver.search import Result, Verdict, search
from trainee2trainer.contracts.environment import WaitProof


class Cause(StrEnum):
    """Why a board has no certificate."""

    UNREACHABLE = "unreachable"
    UNSOLVABLE = "unsolvable"
    UNDECIDED = "undecided"


class Optima(NamedTuple):
    """What is optimal on a board."""

    makespan: int
    sum_of_costs: int


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up: nodes of the first search, joint states and moves, nodes of the last search."""

    first_nodes: int = 300
    joint_states: int = 1 << 21
    joint_moves: int = 1_000_000
    last_nodes: int = 1_000


DEFAULT_LIMITS = Limits()

FEW_NODES = 16
STATES_PER_NODE = 32


class Certificate(NamedTuple):
    """`plan` has one list of action numbers per agent, up to its arrival, and the least sum of costs."""

    makespan: int
    sum_of_costs: int
    plan: tuple[tuple[int, ...], ...]
    proof: WaitProof

    @property
    def optima(self) -> Optima:
        return Optima(self.makespan, self.sum_of_costs)

    @property
    def needs_wait(self) -> bool:
        return self.proof in {WaitProof.PARITY, WaitProof.EXHAUSTED}

    @property
    def plan_has_wait(self) -> bool:
        return any(WAIT in lane for lane in self.plan)


def certify(task: Task, limits: Limits = DEFAULT_LIMITS) -> Certificate | Cause:
    """The certificate of a task, or why there is none."""
    alone = [
        distances(task.size, task.free, goal)[start]
        for start, goal in zip(task.starts, task.goals, strict=True)
    ]
    if min(alone) < 0:
        return Cause.UNREACHABLE
    result = _cheapest(task, limits, waits=True, cost_limit=UNBOUNDED)
    if result.verdict is not Verdict.FOUND:
        return Cause.UNSOLVABLE if result.verdict is Verdict.NONE else Cause.UNDECIDED
    paths = result.paths
    cost = sum(len(path) - 1 for path in paths)
    proof: WaitProof | None = _cheap_proof(paths, cost - sum(alone))
    if proof is None:
        result = _cheapest(task, limits, waits=False, cost_limit=cost)
        if result.verdict is Verdict.LIMIT:
            return Cause.UNDECIDED
        # A plan without waits is the better reference: whoever reads it sees the proof.
        proof = WaitProof.EXHAUSTED if result.verdict is Verdict.NONE else WaitProof.WITNESS
        paths = result.paths or paths
    makespan = _makespan(task, limits, max(alone), max(len(path) - 1 for path in paths))
    if makespan is None:
        return Cause.UNDECIDED
    return Certificate(makespan, cost, tuple(to_actions(task.size, path) for path in paths), proof)


def _cheap_proof(paths: tuple[tuple[int, ...], ...], excess: int) -> WaitProof | None:
    if excess == 0:
        return WaitProof.ZERO_EXCESS
    if not any(before == after for path in paths for before, after in pairwise(path)):
        return WaitProof.WITNESS
    return WaitProof.PARITY if excess % 2 else None


def _cheapest(task: Task, limits: Limits, waits: bool, cost_limit: int) -> Result:
    mode = Mode(waits=waits)
    return _in_turn(
        limits,
        task,
        lambda nodes: search(task, mode, nodes, cost_limit),
        lambda: joint.cheapest(task, waits, limits.joint_moves, cost_limit),
    )


def _makespan(task: Task, limits: Limits, least: int, known: int) -> int | None:
    """The least makespan, at least `least` and at most `known`; None when it could not be decided."""
    states = _states(task)
    stubborn = states > limits.joint_states
    nodes = limits.last_nodes if stubborn else min(limits.first_nodes, states // STATES_PER_NODE)
    for horizon in range(least, known):
        verdict = search(task, Mode(horizon=horizon), nodes).verdict
        if verdict is Verdict.LIMIT and not stubborn:
            found = joint.fastest(task, known, limits.joint_moves)
            if found.verdict is not Verdict.LIMIT:
                return found.makespan if found.verdict is Verdict.FOUND else known
            stubborn, nodes = True, limits.last_nodes
            verdict = search(task, Mode(horizon=horizon), nodes).verdict
        if verdict is Verdict.LIMIT:
            return None
        if verdict is Verdict.FOUND:
            return horizon
    return known


def _in_turn(
    limits: Limits, task: Task, by_conflicts: Callable[[int], Result], jointly: Callable[[], Result]
) -> Result:
    """Conflict-Based Search, else joint search, else Conflict-Based Search with more patience."""
    if _states(task) > limits.joint_states:
        return by_conflicts(limits.last_nodes)
    # Few joint states are searched faster than many nodes, above all where there is no solution.
    result = by_conflicts(min(limits.first_nodes, max(FEW_NODES, _states(task) // STATES_PER_NODE)))
    if result.verdict is Verdict.LIMIT:
        result = jointly()
    if result.verdict is Verdict.LIMIT:
        result = by_conflicts(limits.last_nodes)
    return result


def _states(task: Task) -> int:
    return int((task.free.bit_count() + 1) ** len(task.starts))


def to_actions(size: int, path: Sequence[int]) -> tuple[int, ...]:
    """The actions of a path of cells."""
    names = {-size: UP, size: DOWN, -1: LEFT, 1: RIGHT, 0: WAIT}
    return tuple(names[after - before] for before, after in pairwise(path))
