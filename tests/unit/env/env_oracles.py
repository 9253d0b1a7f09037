"""Independent judges for the env service's tests: other algorithms than its own, on (row, column) pairs."""

import heapq
import random
from itertools import combinations, product

from env_service.boards import Task
from env_service.grid import bit_set

STEPS = {0: (-1, 0), 1: (1, 0), 2: (0, -1), 3: (0, 1), 4: (0, 0)}
RANKS = ("illegal_move", "hole_collision", "vertex", "edge")


def random_task(rng: random.Random, size: int, agents: int, holes: int) -> Task:
    cells = rng.sample(range(size * size), 2 * agents + holes)
    return Task(size, bit_set(cells[2 * agents :]), tuple(cells[:agents]), tuple(cells[agents : 2 * agents]))


def pairs(task: Task) -> tuple[list[tuple[int, int]], list[tuple[int, int]], set[tuple[int, int]]]:
    """Starts, goals and ice cells as (row, column)."""
    cells = [divmod(cell, task.size) for cell in range(task.size**2)]
    ice = {cell for number, cell in enumerate(cells) if not task.holes >> number & 1}
    return [cells[s] for s in task.starts], [cells[g] for g in task.goals], ice


def verdict(task: Task, plan: list[list[int]]) -> tuple[str, int, tuple[int, ...]] | None:
    """(rule, step, agents) of the first violation, or None: each path alone first, then pairs of paths."""
    starts, goals, ice = pairs(task)
    steps = max((len(lane) for lane in plan), default=0)
    paths, found = [], []
    for agent, lane in enumerate(plan):
        path = [starts[agent]]
        for step in range(steps):
            down, right = STEPS[lane[step]] if step < len(lane) else (0, 0)
            cell = (path[-1][0] + down, path[-1][1] + right)
            if min(cell) < 0 or max(cell) >= task.size:
                found.append((step, 0, (agent,)))
                break
            if cell not in ice:
                found.append((step, 1, (agent,)))
                break
            path.append(cell)
        paths.append(path)
    for (i, a), (j, b) in combinations(enumerate(paths), 2):
        for step in range(min(len(a), len(b)) - 1):
            if a[step + 1] == b[step + 1]:
                found.append((step, 2, (i, j)))
            if a[step + 1] == b[step] and b[step + 1] == a[step] and a[step] != a[step + 1]:
                found.append((step, 3, (i, j)))
    if found:
        step, rank, agents = min(found)
        return RANKS[rank], step, agents
    away = tuple(agent for agent, path in enumerate(paths) if path[-1] != goals[agent])
    return ("goal_not_reached", steps, away) if away else None


def optima(task: Task, waits: bool = True, limit: float = float("inf")) -> tuple[int, int] | None:
    """(makespan, sum of costs) by search backward in time from the goals; None if there is no plan.

    Backward, an agent rests on its goal for nothing until it first leaves, and pays every step from then on.
    """
    soc = backward_cost(task, waits, limit)
    return None if soc is None else (breadth_first_makespan(task), soc)


def joint_moves(cells, ice, rests):
    """All joint moves without a conflict; an agent may stay where `rests` says so."""
    lanes = []
    for cell, rest in zip(cells, rests, strict=True):
        around = [(cell[0] + d, cell[1] + r) for d, r in list(STEPS.values())[:4]]
        lanes.append([c for c in around if c in ice] + ([cell] if rest else []))
    for after in product(*lanes):
        if len(set(after)) < len(after):
            continue
        if any(after[i] == cells[j] and after[j] == cells[i] for i, j in combinations(range(len(cells)), 2)):
            continue
        yield after


def backward_cost(task: Task, waits: bool, limit: float) -> int | None:
    starts, goals, ice = pairs(task)
    first = (tuple(goals), (False,) * len(goals))
    best, queue = {first: 0}, [(0, first)]
    while queue:
        cost, (cells, left) = heapq.heappop(queue)
        if cost > best[cells, left]:
            continue
        if all(left) and cells == tuple(starts):
            return cost
        for after in joint_moves(cells, ice, [waits or not gone for gone in left]):
            now = tuple(gone or a != c for gone, a, c in zip(left, after, cells, strict=True))
            total = cost + sum(now)
            if total <= limit and total < best.get((after, now), float("inf")):
                best[after, now] = total
                heapq.heappush(queue, (total, (after, now)))
    return None


def breadth_first_makespan(task: Task) -> int:
    starts, goals, ice = pairs(task)
    layer, seen, time = {tuple(starts)}, {tuple(starts)}, 0
    while tuple(goals) not in layer:
        layer = {after for cells in layer for after in joint_moves(cells, ice, [True] * len(cells))} - seen
        seen |= layer
        time += 1
    return time
