"""Builds a benchmark set once in a process, however many ask for it at the same time."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from env_service.boards import Task
from env_service.candidates import Find
from env_service.generator import Batch, Made
from env_service.library import Known, Library
from env_service.pool import SolverPool
from env_service.rendering import Origin, Rendered
from trainee2trainer.contracts.benchmark import BenchmarkDefinition, BenchmarkPart, BenchmarkStatistics
from trainee2trainer.contracts.environment import Split

Render = Callable[[Sequence[Made], Origin], list[Rendered]]


@dataclass(frozen=True, slots=True)
class BuiltSet:
    """The instances in their order without prompts, and the boards of each part, to be written with them."""

    rows: list[Rendered]
    parts: list[tuple[Origin, list[Made]]]
    boards: dict[str, Known]
    statistics: list[BenchmarkStatistics]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(b"".join(row.line + b"\n" for row in self.rows)).hexdigest()


def build(definition: BenchmarkDefinition, find: Find, render: Render) -> BuiltSet:
    """Makes all instances of a set."""
    built = BuiltSet([], [], {}, [])
    for part in definition.parts:
        batch = Batch(part.configuration, definition.seed, part.count, split=Split.HELD_OUT, find=find)
        made = [one for chunk in batch.chunks() for one in chunk]
        origin = Origin(batch.configuration_id, batch.seed, batch.sampler)
        rows = render(made, origin)
        built.rows.extend(rows)
        built.parts.append((origin, made))
        for row, one in zip(rows, made, strict=True):
            built.boards[row.id] = Known(one.candidate.task, one.candidate.certificate.optima)
        built.statistics.extend(_statistics(part, batch, made))
    return built


def _statistics(part: BenchmarkPart, batch: Batch, made: list[Made]) -> list[BenchmarkStatistics]:
    makespans: dict[int, list[int]] = defaultdict(list)
    waits: dict[int, int] = defaultdict(int)
    for one in made:
        task: Task = one.candidate.task
        makespans[task.size].append(one.candidate.certificate.makespan)
        waits[task.size] += one.candidate.certificate.needs_wait
    return [
        BenchmarkStatistics(
            agents=part.configuration.agents,
            size=size,
            realised=realised,
            mean_optimal_makespan=fmean(makespans[size]),
            needs_wait=waits[size],
        )
        for size, realised in batch.realised().sizes.items()
    ]


class Shelf:
    """The sets this process has built; their instances are in the store."""

    def __init__(self, pool: SolverPool, library: Library) -> None:
        self._pool = pool
        self._library = library
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._built: dict[str, BuiltSet] = {}

    async def get(self, definition: BenchmarkDefinition) -> BuiltSet:
        """The set, built if nobody has asked for it before."""
        async with self._locks[definition.name]:
            if definition.name not in self._built:
                built = await asyncio.to_thread(build, definition, self._pool.find, self._pool.render)
                if built.sha256 != definition.sha256:
                    raise RuntimeError(f"{definition.name} is {built.sha256} here, not {definition.sha256}")
                await self._library.save(built.rows)
                self._built[definition.name] = built
        return self._built[definition.name]
