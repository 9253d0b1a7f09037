"""Random boards from counted draws: the same numbers on every machine, in any order, in any language.

Each instance index has a stream of its own, keyed by a SHA-256; each draw of a stream has a generator of its
own (splitmix64, Steele et al. 2014). So a draw can be repeated alone, and no stream runs into another.
"""

import hashlib
from typing import NamedTuple

from env_service.boards import Task
from env_service.grid import bit_set, distances, neighbours
from trainee2trainer.contracts.environment import Sampler

GENERATOR_VERSION = "2"
"""Changes whenever the same seed would give other instances, be it one in a thousand."""

_STREAMS = "1"
"""Changes only when the draws change: version 2 gives up on other hard boards and draws the same ones."""

CROSSINGS, MAX_APPROACH = 3, 4
"""A crossing is the narrowest of so many cells, and at most so many steps from the agents that meet there."""

_MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Recipe(NamedTuple):
    """What a draw is made of and how, and the wait class it must turn out to have."""

    size: int
    agents: int
    holes: int
    needs_wait: bool
    sampler: Sampler = Sampler.UNIFORM


def stream_key(configuration_id: str, seed: int, index: int, sampler: Sampler = Sampler.UNIFORM) -> int:
    """The 64-bit key of an index's stream of draws."""
    text = f"{_STREAMS}|{configuration_id}|{seed}|{index}"
    if sampler is not Sampler.UNIFORM:
        text += f"|{sampler}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def mixed(value: int) -> int:
    """The output function of splitmix64: every bit of the input moves every bit of the output."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


class Dice:
    """The random numbers of one draw."""

    def __init__(self, key: int, number: int) -> None:
        self._state = mixed((key + number * GOLDEN) & _MASK)

    def below(self, bound: int) -> int:
        """A number from 0 to `bound` - 1: the high half scaled, biased by less than one part in 10 million."""
        self._state = (self._state + GOLDEN) & _MASK
        return (mixed(self._state) >> 32) * bound >> 32

    def bring_forward(self, cells: list[int], count: int) -> None:
        """Puts `count` of the cells, all equally likely, to the front."""
        for place in range(count):
            other = place + self.below(len(cells) - place)
            cells[place], cells[other] = cells[other], cells[place]

    def pick(self, wanted: list[int], ice: list[int], taken: list[int]) -> None:
        """Takes one of the wanted cells that are not taken; where there is none, one of the ice cells."""
        free = [cell for cell in wanted if cell not in taken] or [cell for cell in ice if cell not in taken]
        taken.append(free[self.below(len(free))])


def draw(recipe: Recipe, key: int, number: int) -> Task:
    """Draw `number` of the stream `key`: starts, goals and holes on distinct cells."""
    dice = Dice(key, number)
    return _seeded(recipe, dice) if recipe.sampler is Sampler.CONFLICT_SEEDED else _uniform(recipe, dice)


def _uniform(recipe: Recipe, dice: Dice) -> Task:
    cells, agents = list(range(recipe.size**2)), recipe.agents
    dice.bring_forward(cells, 2 * agents + recipe.holes)
    return Task(
        size=recipe.size,
        holes=bit_set(cells[2 * agents : 2 * agents + recipe.holes]),
        starts=tuple(cells[:agents]),
        goals=tuple(cells[agents : 2 * agents]),
    )


def _seeded(recipe: Recipe, dice: Dice) -> Task:
    """Two agents equally far from a crossing, their goals beyond it; the others anywhere."""
    cells, size = list(range(recipe.size**2)), recipe.size
    dice.bring_forward(cells, recipe.holes)
    holes, ice = bit_set(cells[: recipe.holes]), sorted(cells[recipe.holes :])
    free = bit_set(ice)
    crossings = [ice[dice.below(len(ice))] for _ in range(CROSSINGS)]
    crossing = min(crossings, key=lambda cell: (neighbours(size, 1 << cell) & free).bit_count())
    steps = 1 + dice.below(MAX_APPROACH)
    to_crossing = distances(size, free, crossing)
    taken: list[int] = []
    for _ in range(2):
        dice.pick([cell for cell in ice if to_crossing[cell] == steps], ice, taken)
    for start in taken[:2]:
        away = distances(size, free, start)
        beyond = [cell for cell in ice if 0 < to_crossing[cell] == away[cell] - away[crossing]]
        dice.pick(beyond, ice, taken)
    for _ in range(2 * recipe.agents - 4):
        dice.pick(ice, ice, taken)
    starts, goals = (*taken[:2], *taken[4::2]), (*taken[2:4], *taken[5::2])
    return Task(size, holes, starts, goals)
