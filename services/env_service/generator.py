"""Batches of instances by configuration: exact quotas, no duplicates, pure in configuration, seed and index.

Each index searches its own stream of draws and takes the first candidate whose canonical form no lower
ordinal of its class has taken. Where a class has fewer forms than are asked for, forms repeat as evenly as
they can: a form may be taken once, and once more each time `PATIENCE` candidates of one index in a row were
all taken. Nothing depends on how the work is cut into chunks or spread over processes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from env_service.candidates import MAX_DRAWS, WRONG_WAIT, Candidate, Find, Request
from env_service.drawing import Recipe, mixed, stream_key
from env_service.quotas import configuration_id, hole_count, index_of, order, quotas
from trainee2trainer.contracts.environment import (
    EnvironmentConfig,
    Realised,
    RealisedSize,
    Sampler,
    Split,
)

PATIENCE = 32
CHUNK = 256
_LOTS = 1_000
DUPLICATE = "duplicate"


class OutOfReach(ValueError):
    """A quota that random boards do not meet: names the size, the knob, the estimated rate and the tries."""

    def __init__(self, recipe: Recipe, rejected: dict[str, int], accepted: int, tries: int) -> None:
        knob = "wait_ratio" if WRONG_WAIT in rejected else "hole_ratio"
        kind = "need" if recipe.needs_wait else "do not need"
        super().__init__(
            f"size {recipe.size}: {knob} is out of reach. Of {tries} {recipe.sampler} boards with {recipe.agents} "
            f"agents and {recipe.holes} holes, {accepted} were of this split, solvable, and {kind} a wait: "
            f"a rate of about {accepted / max(tries, 1):.6f}. Change {knob}."
        )
        self.size = recipe.size
        self.knob = knob


class Made(NamedTuple):
    """One generated instance and its index."""

    address: int
    candidate: Candidate


@dataclass(slots=True)
class _Class:
    """One size and wait class of a batch: what was asked for, and what came of it so far."""

    recipe: Recipe
    asked: int
    made: int = 0
    draws: int = 0
    repeated: int = 0
    closed: bool = False
    allowed: int = 1
    taken: dict[int, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)

    def reject(self, causes: dict[str, int]) -> None:
        for cause, count in causes.items():
            self.rejected[cause] = self.rejected.get(cause, 0) + count
            self.draws += count

    def take(self, passed_over: Sequence[Candidate], candidate: Candidate) -> None:
        for other in passed_over:
            self.reject(other.rejected | {DUPLICATE: 1})
        self.reject(candidate.rejected)
        earlier = self.taken.get(candidate.form, 0)
        self.taken[candidate.form] = earlier + 1
        self.repeated += earlier > 0
        self.made += 1
        self.draws += 1

    def free(self, candidate: Candidate) -> bool:
        return self.taken.get(candidate.form, 0) < self.allowed


@dataclass(slots=True)
class _Search:
    """What is known of one index's stream so far."""

    ordinal: int
    key: int
    candidates: list[Candidate] = field(default_factory=list)
    dry: dict[str, int] | None = None

    @property
    def over(self) -> bool:
        return self.dry is not None or len(self.candidates) >= PATIENCE


def draw_one(
    configuration: EnvironmentConfig, seed: int, *, split: Split, find: Find, max_draws: int = MAX_DRAWS
) -> Made:
    """One instance: its size and wait class as likely as the configuration has them, all by the seed.

    Raises OutOfReach and Impossible, as a batch does.
    """
    shares = quotas(configuration, _LOTS)
    lot = mixed(seed & (1 << 64) - 1) * _LOTS >> 64
    recipe, _ = next(islice(order(shares), lot, None))
    address = index_of(recipe, 0)
    key = stream_key(configuration_id(configuration), seed, address)
    (answer,) = find([Request(recipe, split, key, first=0, wanted=1, max_draws=max_draws)])
    if not answer.candidates:
        rejected = answer.dry or {}
        raise OutOfReach(recipe, rejected, 0, sum(rejected.values()))
    return Made(address, answer.candidates[0])


class Batch:
    """A batch in the making: iterate over `chunks()`, then read `realised()`.

    Raises OutOfReach from `chunks()` unless `best_effort`, and Impossible when agents find no room.
    """

    def __init__(
        self,
        configuration: EnvironmentConfig,
        seed: int,
        count: int,
        *,
        split: Split,
        find: Find,
        sampler: Sampler = Sampler.UNIFORM,
        best_effort: bool = False,
        max_draws: int = MAX_DRAWS,
    ) -> None:
        self.configuration = configuration
        self.configuration_id = configuration_id(configuration)
        self.seed = seed
        self.split = split
        self.sampler = sampler
        self.find = find
        self.best_effort = best_effort
        self.max_draws = max_draws
        shares = quotas(configuration, count, sampler)
        self._classes = {recipe: _Class(recipe, asked) for recipe, asked in shares.items()}
        self._rows = order(shares)

    def chunks(self) -> Iterator[list[Made]]:
        """The rows in their order, some hundred at a time."""
        while rows := list(islice(self._rows, CHUNK)):
            made: dict[tuple[Recipe, int], Made] = {}
            for class_ in self._classes.values():
                ordinals = [ordinal for recipe, ordinal in rows if recipe == class_.recipe]
                made |= self._settle(class_, ordinals)
            yield [made[row] for row in rows if row in made]

    def _settle(self, class_: _Class, ordinals: list[int]) -> dict[tuple[Recipe, int], Made]:
        """Finds the instances of some neighbouring ordinals, all lower ones being settled."""
        made: dict[tuple[Recipe, int], Made] = {}
        if class_.closed:
            return made
        open_ = [_Search(ordinal, self._key(class_.recipe, ordinal)) for ordinal in ordinals]
        while open_:
            unknown = [search for search in open_[1:] if not search.candidates]
            self._look_further(class_, open_[:1] + unknown)
            while open_ and not class_.closed and self._decided(class_, open_[0]):
                search = open_.pop(0)
                candidate = self._accept(class_, search)
                if candidate is not None:
                    made[class_.recipe, search.ordinal] = Made(
                        index_of(class_.recipe, search.ordinal), candidate
                    )
            if class_.closed:
                break
        return made

    def _key(self, recipe: Recipe, ordinal: int) -> int:
        return stream_key(self.configuration_id, self.seed, index_of(recipe, ordinal), self.sampler)

    def _decided(self, class_: _Class, search: _Search) -> bool:
        return search.over or self._promising(class_, search)

    def _promising(self, class_: _Class, search: _Search) -> bool:
        return any(class_.free(candidate) for candidate in search.candidates)

    def _look_further(self, class_: _Class, searches: list[_Search]) -> None:
        """Doubles what is known of each stream that is not decided."""
        pending = [search for search in searches if not self._decided(class_, search)]
        requests = [
            Request(
                recipe=class_.recipe,
                split=self.split,
                key=search.key,
                first=search.candidates[-1].draw + 1 if search.candidates else 0,
                wanted=min(max(len(search.candidates), 1), PATIENCE - len(search.candidates)),
                max_draws=self.max_draws,
            )
            for search in pending
        ]
        for search, answer in zip(pending, self.find(requests) if requests else [], strict=True):
            search.candidates += answer.candidates
            search.dry = answer.dry

    def _accept(self, class_: _Class, search: _Search) -> Candidate | None:
        """Takes the first free candidate; if none is, allows each form once more. None closes the class."""
        if not search.candidates:
            class_.reject(search.dry or {})
            class_.closed = True
            if not self.best_effort:
                raise OutOfReach(class_.recipe, class_.rejected, class_.made, class_.draws)
            return None
        if not self._promising(class_, search):
            class_.allowed += 1
        place = next(place for place, candidate in enumerate(search.candidates) if class_.free(candidate))
        class_.take(search.candidates[:place], search.candidates[place])
        return search.candidates[place]

    def realised(self) -> Realised:
        """What was asked and what was made, per size."""
        sizes = {}
        for size, knobs in self.configuration.sizes.items():
            classes = [class_ for recipe, class_ in self._classes.items() if recipe.size == size]
            waits = [class_ for class_ in classes if class_.recipe.needs_wait]
            rejected: dict[str, int] = {}
            for class_ in classes:
                for cause, count in class_.rejected.items():
                    rejected[cause] = rejected.get(cause, 0) + count
            sizes[size] = RealisedSize(
                asked=sum(class_.asked for class_ in classes),
                made=sum(class_.made for class_ in classes),
                holes=max(hole_count(size, self.configuration.agents, knobs.hole_ratio), 0),
                asked_wait=sum(class_.asked for class_ in waits),
                made_wait=sum(class_.made for class_ in waits),
                draws=sum(class_.draws for class_ in classes),
                rejected=dict(sorted(rejected.items())),
                repeated=sum(class_.repeated for class_ in classes),
            )
        return Realised(count=sum(size.made for size in sizes.values()), sizes=sizes)
