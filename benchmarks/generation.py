"""Certified boards per CPU second, beside other solvers on boards of the same draws.

`make bench NAME=generation`. Ours draws a board, looks up its side of the split, finds both optima (sum of costs and
makespan) and decides whether it needs a wait; peers only find the least sum of costs of boards already drawn:
pymapf's CBS, and w9-pathfinding's (C++) where it is installed. Peers give up on a board after two seconds.
"""

import importlib
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

import pymapf
from figures import Figures

from env_service.boards import Task
from env_service.candidates import WRONG_WAIT, Request
from env_service.compiled import core
from env_service.cores import COMPILED
from env_service.drawing import Recipe, draw
from env_service.generator import Batch
from env_service.pool import SolverPool
from env_service.solver.certificate import Cause
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs, Split

BOARDS = [(4, 2), (6, 3), (8, 4), (10, 4)]
HOLE_RATIOS = (0.1, 0.2, 0.3)
REQUESTS = 3_000
PEER_SECONDS = 6.0
GIVE_UP = 2.0
SINGLE = 3_000
BATCH = 20_000


def recipe_of(size: int, agents: int, ratio: float) -> Recipe:
    return Recipe(size, agents, int(ratio * size * size), needs_wait=False)


def certified_rate(recipe: Recipe) -> float:
    """Boards certified per CPU second; those of the other wait class count, those of the other split do not."""
    dice = random.Random(1)
    requests = [Request(recipe, Split.TRAIN, dice.getrandbits(64), 0, 1) for _ in range(REQUESTS)]
    core.find(requests[:10])
    started = time.process_time()
    answers = core.find(requests)
    seconds = time.process_time() - started
    found = [candidate for answer in answers for candidate in answer.candidates]
    return (len(found) + sum(candidate.rejected.get(WRONG_WAIT, 0) for candidate in found)) / seconds


def solvable(recipe: Recipe) -> Iterable[Task]:
    dice = random.Random(2)
    while True:
        task = draw(recipe, dice.getrandbits(64), 0)
        if not isinstance(core.certify(task), Cause):
            yield task


def peer_rate(recipe: Recipe, solve: Callable[[Task], object]) -> float:
    """Boards per CPU second, those given up among them."""
    boards, spent, solved = iter(solvable(recipe)), 0.0, 0
    while spent < PEER_SECONDS:
        task = next(boards)
        started = time.process_time()
        solve(task)
        spent += time.process_time() - started
        solved += 1
    return solved / spent


def by_pymapf(task: Task) -> object:
    rows = [
        [task.holes >> (row * task.size + column) & 1 for column in range(task.size)]
        for row in range(task.size)
    ]
    cells = zip(task.starts, task.goals, strict=True)
    agents = [
        pymapf.Agent(str(n), divmod(s, task.size), divmod(g, task.size)) for n, (s, g) in enumerate(cells)
    ]
    return pymapf.solve(pymapf.MAPFProblem(pymapf.GridMap(rows), agents), "cbs", time_limit=GIVE_UP)


def w9_solver() -> Callable[[Task], object] | None:
    try:
        envs = importlib.import_module("w9_pathfinding.envs")
        mapf = importlib.import_module("w9_pathfinding.mapf")
    except ImportError:
        return None

    def solve(task: Task) -> Any:
        weights = [
            [-1 if task.holes >> (row * task.size + column) & 1 else 1 for column in range(task.size)]
            for row in range(task.size)
        ]
        places = [[divmod(cell, task.size)[::-1] for cell in cells] for cells in (task.starts, task.goals)]
        try:
            return mapf.CBS(envs.Grid(weights, edge_collision=True)).mapf(*places, max_time=GIVE_UP)
        except RuntimeError:
            return None

    return solve


def worst_single(recipe: Recipe) -> float:
    """Milliseconds that the slowest of many boards took by itself."""
    dice, worst = random.Random(3), 0.0
    for _ in range(SINGLE):
        task = draw(recipe, dice.getrandbits(64), 0)
        started = time.process_time()
        core.certify(task)
        worst = max(worst, time.process_time() - started)
    return worst * 1e3


def batch_rate() -> float:
    """Instances per CPU second in one process: 4x4 to 8x8 boards in equal shares, a fifth of them needing a wait."""
    knobs = SizeKnobs(data_ratio=1.0, hole_ratio=0.2, wait_ratio=0.2)
    configuration = EnvironmentConfig(agents=3, sizes=dict.fromkeys(range(4, 9), knobs))
    started = time.process_time()
    chunks = Batch(configuration, 2, BATCH, split=Split.TRAIN, find=core.find).chunks()
    return sum(len(chunk) for chunk in chunks) / (time.process_time() - started)


def pool_rate(workers: int) -> float:
    """Instances per second of the clock from worker processes: whole batches of hard boards."""
    knobs = SizeKnobs(data_ratio=1.0, hole_ratio=0.3, wait_ratio=0.5)
    configuration = EnvironmentConfig(agents=4, sizes={8: knobs})
    pool = SolverPool(workers, COMPILED)
    list(Batch(configuration, 1, 64, split=Split.TRAIN, find=pool.find).chunks())
    started = time.perf_counter()
    made = sum(map(len, Batch(configuration, 2, BATCH // 4, split=Split.TRAIN, find=pool.find).chunks()))
    seconds = time.perf_counter() - started
    pool.close()
    return made / seconds


def main() -> None:
    figures = Figures.of_command("certified boards per CPU second", __doc__)
    core.warm()
    w9 = w9_solver()
    for size, agents in BOARDS:
        for ratio in HOLE_RATIOS:
            recipe, name = recipe_of(size, agents, ratio), f"{size}x{size}, {agents} agents, holes {ratio}"
            ours = certified_rate(recipe)
            figures.add(f"{name}, beside pymapf", ours, "boards/CPU s", peer_rate(recipe, by_pymapf))
            if w9:
                figures.add(f"{name}, beside w9-pathfinding", ours, "boards/CPU s", peer_rate(recipe, w9))
    for size, agents in BOARDS:
        slowest = max(worst_single(recipe_of(size, agents, ratio)) for ratio in HOLE_RATIOS)
        figures.add(f"{size}x{size}, {agents} agents, slowest of {3 * SINGLE:,} boards", slowest, "ms")
    figures.add("whole batches of 4x4 to 8x8 boards, 3 agents", batch_rate(), "instances/CPU s")
    one = pool_rate(1)
    figures.add("whole batches of hard boards, two workers beside one", pool_rate(2), "instances/s", one)
    figures.write()


if __name__ == "__main__":
    main()
