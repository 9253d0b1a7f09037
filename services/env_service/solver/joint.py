"""Search over all agents at once: exact where Conflict-Based Search gives up, and able to prove that nothing
exists.

A state holds each agent's cell; for the sum of costs an agent may also be *settled*: it has arrived for good,
pays no more and never moves. Work is counted in joint moves, so that a limit means the same on every machine.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from env_service.boards import Task
from env_service.grid import OFF_BOARD, WAIT, distances, moves
from env_service.solver.paths import MAX_TIME, UNBOUNDED
from env_service.solver.search import Result, Verdict

State = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fastest:
    """The verdict of `fastest` and, when found, the makespan."""

    verdict: Verdict
    makespan: int = 0


class _Space:
    """The joint moves of a task. A settled agent has the number `settled` instead of a cell."""

    def __init__(self, task: Task, waits: bool, settling: bool) -> None:
        self.task = task
        self.waits = waits
        self.settling = settling
        self.settled = task.size**2
        self.table = moves(task.size)
        self.distance = [distances(task.size, task.free, goal) for goal in task.goals]

    def options(self, agent: int, place: int) -> list[int]:
        """Where an agent may be next, in the order of actions; on its goal it settles first."""
        if place == self.settled:
            return [place]
        result: list[int] = []
        for action, target in enumerate(self.table[place]):
            if target == OFF_BOARD or self.task.holes >> target & 1 or (action == WAIT and not self.waits):
                continue
            if self.settling and action != WAIT and target == self.task.goals[agent]:
                result.append(self.settled)
            result.append(target)
        return result

    def cell(self, agent: int, place: int) -> int:
        return self.task.goals[agent] if place == self.settled else place

    def successors(self, state: State) -> Iterator[State]:
        """All joint moves without a conflict, the first agent's options varying slowest."""
        cells = [self.cell(agent, place) for agent, place in enumerate(state)]
        options = [self.options(agent, place) for agent, place in enumerate(state)]
        yield from self._extend(cells, options, ())

    def _extend(self, cells: list[int], options: list[list[int]], chosen: State) -> Iterator[State]:
        agent = len(chosen)
        if agent == len(cells):
            yield chosen
            return
        for place in options[agent]:
            if self._fits(cells, chosen, self.cell(agent, place)):
                yield from self._extend(cells, options, (*chosen, place))

    def _fits(self, cells: list[int], chosen: State, target: int) -> bool:
        source = cells[len(chosen)]
        for other, place in enumerate(chosen):
            after = self.cell(other, place)
            if after == target or (after == source and cells[other] == target):
                return False
        return True

    def remaining(self, state: State) -> int:
        """A lower bound on the costs still to pay; an agent that passes over its goal must come back."""
        return sum(
            (self.distance[agent][place] or 2) for agent, place in enumerate(state) if place != self.settled
        )


def cheapest(task: Task, waits: bool, move_limit: int, cost_limit: int = UNBOUNDED) -> Result:
    """A* for the least sum of costs not above `cost_limit`, giving up after `move_limit` joint moves."""
    space = _Space(task, waits, settling=True)
    start, goal = task.starts, (space.settled,) * len(task.starts)
    paid: dict[State, int] = {start: 0}
    came: dict[State, State] = {}
    first = space.remaining(start)
    queue: dict[int, list[tuple[State, int]]] = {first: [(start, 0)]}
    total, highest, made = first, first, 0
    while total <= min(highest, cost_limit):
        if not queue.get(total):
            total += 1
            continue
        state, cost = queue[total].pop()
        if cost != paid[state]:
            continue
        if state == goal:
            paths = _paths(space, came, state)
            short = max(map(len, paths)) <= MAX_TIME + 1
            return Result(Verdict.FOUND, paths) if short else Result(Verdict.LIMIT)
        cost += sum(place != space.settled for place in state)
        for after in space.successors(state):
            made += 1
            if cost < paid.get(after, UNBOUNDED):
                paid[after], came[after] = cost, state
                estimate = cost + space.remaining(after)
                queue.setdefault(estimate, []).append((after, cost))
                highest = max(highest, estimate)
        if made > move_limit:
            return Result(Verdict.LIMIT)
    return Result(Verdict.NONE)


def _paths(space: _Space, came: dict[State, State], state: State) -> tuple[tuple[int, ...], ...]:
    states = [state]
    while state in came:
        state = came[state]
        states.append(state)
    states.reverse()
    paths = []
    for agent in range(len(state)):
        places = [state[agent] for state in states]
        arrival = places.index(space.settled)
        paths.append((*places[:arrival], space.task.goals[agent]))
    return tuple(paths)


def fastest(task: Task, below: int, move_limit: int) -> Fastest:
    """Breadth-first search for the least makespan under `below`."""
    space = _Space(task, waits=True, settling=False)
    seen, layer, made = {task.starts}, [task.starts], 0
    for time in range(1, below):
        following: list[State] = []
        for state in layer:
            for after in space.successors(state):
                made += 1
                if after == task.goals:
                    return Fastest(Verdict.FOUND, time)
                late = any(time + space.distance[agent][cell] >= below for agent, cell in enumerate(after))
                if not late and after not in seen:
                    seen.add(after)
                    following.append(after)
            if made > move_limit:
                return Fastest(Verdict.LIMIT)
        layer = following
    return Fastest(Verdict.NONE)
