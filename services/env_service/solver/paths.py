"""The low level of the search: the cheapest path of one agent under constraints.

All cheapest paths of an agent are held as layers, one bit set of cells per time step (an MDD, Sharon et al.
2013): first forward from the start, then pruned backward from the goal. Among them the path is taken that
meets the other agents least often, then waits least; then by the order of actions. Within a horizon waits
cost nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from env_service.boards import Task
from env_service.grid import OFF_BOARD, WAIT, bit_set, members, moves, neighbours

UNBOUNDED = 1 << 30
MAX_TIME = 127
"""No path is longer; boards whose paths would have to be are given up."""

CONFLICT_WEIGHT = 1 << 12
"""More than any path has waits, so that conflicts weigh first."""


class TooLong(Exception):
    """A path would be longer than MAX_TIME."""


@dataclass(slots=True)
class Demands:
    """What a search node asks of one agent. Times count steps from 0, the start.

    `blocked[t]` are cells it may not fill at time t; `edges[t]` moves (from, to) it may not make to arrive at
    t; `cleared` cells it may not fill from a time on; it arrives for good not before `earliest`, not after
    `latest`; from `last` on nothing changes any more.
    """

    blocked: dict[int, int] = field(default_factory=dict)
    edges: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    cleared: list[tuple[int, int]] = field(default_factory=list)
    earliest: int = 0
    latest: int = UNBOUNDED
    last: int = 0

    def allowed(self, free: int, time: int) -> int:
        """The cells of `free` that may be filled at `time`."""
        cells = free & ~self.blocked.get(time, 0)
        for cell, since in self.cleared:
            if time >= since:
                cells &= ~(1 << cell)
        return cells


@dataclass(frozen=True, slots=True)
class Lane:
    """One agent's path, cell per time step, and at which times every cheapest path shares that cell."""

    path: tuple[int, ...]
    forced: tuple[bool, ...]

    @property
    def arrival(self) -> int:
        return len(self.path) - 1

    def at(self, time: int) -> int:
        """The cell at `time`; the goal after the arrival."""
        return self.path[time] if time < len(self.path) else self.path[-1]

    def forced_at(self, time: int) -> bool:
        return self.forced[time] if time < len(self.forced) else True


@dataclass(frozen=True, slots=True)
class Mode:
    """What kind of path is asked for.

    `waits`: whether an agent may wait before its final arrival. `horizon`: None asks for the earliest final
    arrival; a number asks for any path that stands on the goal at that time, all of them being equally good.
    """

    waits: bool = True
    horizon: int | None = None


def plan_lane(task: Task, agent: int, demands: Demands, mode: Mode, others: Sequence[Lane]) -> Lane | None:
    """The best path of `agent` under `demands`, out of the way of `others` if that costs nothing, or None.

    Raises TooLong.
    """
    forward = _forward(task, agent, demands, mode)
    if forward is None:
        return None
    layers = _backward(task, agent, demands, mode, forward)
    path = _direct(task, layers, demands, mode, others) or _choose(task, layers, demands, mode, others)
    return Lane(path, tuple(layer & (layer - 1) == 0 for layer in layers))


def _step(task: Task, cells: int, mode: Mode) -> int:
    reached = neighbours(task.size, cells)
    return reached | cells if mode.waits else reached


def _forward(task: Task, agent: int, demands: Demands, mode: Mode) -> list[int] | None:
    """Layers of cells that can be filled at each time, up to the arrival."""
    goal = 1 << task.goals[agent]
    layers = [1 << task.starts[agent]]
    # Once nothing changes any more, each free cell is reached within as many steps as there are cells.
    end = max(demands.last, demands.earliest) + task.size**2 + 1 if mode.horizon is None else mode.horizon
    end = min(end, demands.latest)
    for time in range(1, min(end, MAX_TIME) + 1):
        layer = _arrive(task, layers[-1], demands, mode, time)
        if not layer:
            return None
        # Arriving now means not to stand there already.
        may_arrive = mode.horizon is None and time >= demands.earliest and layer & goal
        if may_arrive and _arrive(task, layers[-1] & ~goal, demands, mode, time) & goal:
            return [*layers, goal]
        layers.append(layer)
    if end > MAX_TIME:
        raise TooLong
    if mode.horizon is None or not layers[-1] & goal:
        return None
    return [*layers[:-1], goal]


def _arrive(task: Task, before: int, demands: Demands, mode: Mode, time: int) -> int:
    """The cells that can be filled at `time` coming from `before`."""
    layer = _step(task, before, mode) & demands.allowed(task.free, time)
    edges = demands.edges.get(time, ())
    for _, target in edges:
        banned = bit_set([source for source, other in edges if other == target])
        if not _step(task, 1 << target, mode) & before & ~banned:
            layer &= ~(1 << target)
    return layer


def _backward(task: Task, agent: int, demands: Demands, mode: Mode, forward: list[int]) -> list[int]:
    """Prunes the layers to the cells that lie on a path to the goal."""
    layers = list(forward)
    if mode.horizon is None:
        layers[-2] &= ~(1 << task.goals[agent])
    for time in range(len(layers) - 2, -1, -1):
        after = layers[time + 1]
        layers[time] &= _step(task, after, mode)
        edges = demands.edges.get(time + 1, ())
        for source, _ in edges:
            banned = bit_set([target for other, target in edges if other == source])
            if not _step(task, 1 << source, mode) & after & ~banned:
                layers[time] &= ~(1 << source)
    return layers


def _direct(
    task: Task, layers: list[int], demands: Demands, mode: Mode, others: Sequence[Lane]
) -> tuple[int, ...] | None:
    """The first path in the order of actions, if it costs nothing: then no other needs to be weighed."""
    table = moves(task.size)
    actions = WAIT if mode.horizon is None else WAIT + 1
    cell = next(members(layers[0]))
    path = [cell]
    for time in range(len(layers) - 1):
        banned = demands.edges.get(time + 1, ())
        traffic = [(lane.at(time), lane.at(time + 1)) for lane in others]
        for target in table[cell][:actions]:
            if target != OFF_BOARD and layers[time + 1] >> target & 1 and (cell, target) not in banned:
                break
        else:
            return None
        if _meetings(cell, target, traffic):
            return None
        path.append(target)
        cell = target
    return tuple(path)


def _choose(
    task: Task, layers: list[int], demands: Demands, mode: Mode, others: Sequence[Lane]
) -> tuple[int, ...]:
    """The path through the layers with the fewest conflicts, then waits, then by the order of actions."""
    table = moves(task.size)
    price = {next(members(layers[-1])): 0}
    follow: list[dict[int, int]] = []
    for time in range(len(layers) - 2, -1, -1):
        banned = demands.edges.get(time + 1, ())
        traffic = [(lane.at(time), lane.at(time + 1)) for lane in others]
        prices: dict[int, int] = {}
        choice: dict[int, int] = {}
        for cell in members(layers[time]):
            for action, target in enumerate(table[cell]):
                if target == OFF_BOARD or target not in price or (action == WAIT and not mode.waits):
                    continue
                if (cell, target) in banned:
                    continue
                cost = price[target] + CONFLICT_WEIGHT * _meetings(cell, target, traffic)
                cost += action == WAIT and mode.horizon is None
                if cell not in prices or cost < prices[cell]:
                    prices[cell], choice[cell] = cost, target
        price = prices
        follow.append(choice)
    cell = next(members(layers[0]))
    path = [cell]
    for choice in reversed(follow):
        cell = choice[cell]
        path.append(cell)
    return tuple(path)


def _meetings(cell: int, target: int, traffic: list[tuple[int, int]]) -> int:
    """How many others the move from `cell` to `target` meets, on the cell or half-way."""
    return sum(after == target or (before == target and after == cell) for before, after in traffic)
