"""Random boards from counted draws: the same numbers on every machine, in any order, in any language.

Each instance index has a stream of its own, keyed by a SHA-256; each draw of a stream has a generator of its
own (splitmix64, Steele et al. 2014). So a draw can be repeated alone, and no stream runs into another.
"""

import hashlib
from dataclasses import dataclass

from env_service.boards import Task
from env_service.grid import bit_set

GENERATOR_VERSION = "2"
"""Changes whenever the same seed would give other instances, be it one in a thousand."""

_STREAMS = "1"
"""Changes only when the draws change: version 2 gives up on other hard boards and draws the same ones."""

_MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True, order=True)
class Recipe:
    """What a draw is made of, and the wait class it must turn out to have."""

    size: int
    agents: int
    holes: int
    needs_wait: bool


def stream_key(configuration_id: str, seed: int, index: int) -> int:
    """The 64-bit key of an index's stream of draws."""
    text = f"{_STREAMS}|{configuration_id}|{seed}|{index}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def mixed(value: int) -> int:
    """The output function of splitmix64: every bit of the input moves every bit of the output."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def draw(recipe: Recipe, key: int, number: int) -> Task:
    """Draw `number` of the stream `key`: starts, goals, holes on distinct cells, all equally likely."""
    cells = list(range(recipe.size**2))
    state = mixed((key + number * GOLDEN) & _MASK)
    taken = 2 * recipe.agents + recipe.holes
    for place in range(taken):
        state = (state + GOLDEN) & _MASK
        # The high half scaled to the range: biased by less than one part in 10 million.
        other = place + ((mixed(state) >> 32) * (len(cells) - place) >> 32)
        cells[place], cells[other] = cells[other], cells[place]
    agents = recipe.agents
    return Task(
        size=recipe.size,
        holes=bit_set(cells[2 * agents : taken]),
        starts=tuple(cells[:agents]),
        goals=tuple(cells[agents : 2 * agents]),
    )
