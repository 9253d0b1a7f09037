"""From a configuration and a count to exact quotas: how many instances of which size and wait class.

An instance's index is an address: `16 * ordinal + 2 * (size - 3) + wait`. A batch of any count takes the
first ordinals of every class, as many as its quota, so that the quotas are exact for every count and the same
index is the same instance in every batch.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from heapq import merge
from math import lcm
from typing import TypeVar

from env_service.drawing import Recipe
from trainee2trainer.contracts.environment import MAX_SIZE, MIN_SIZE, EnvironmentConfig, Sampler

_CLASSES = 2 * (MAX_SIZE - MIN_SIZE + 1)

Key = TypeVar("Key")


class Impossible(ValueError):
    """A map size on which the configuration's agents find no room."""

    def __init__(self, size: int, agents: int) -> None:
        super().__init__(
            f"{agents} agents need {2 * agents} distinct cells, a {size}x{size} board has {size**2}"
        )
        self.size = size


def configuration_id(configuration: EnvironmentConfig) -> str:
    """12 hex digits of the SHA-256 of the configuration's canonical JSON."""
    canonical = json.dumps(configuration.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def largest_remainder(shares: Mapping[Key, Fraction], count: int) -> dict[Key, int]:
    """Whole numbers in proportion to `shares` that sum to `count` (Hamilton); ties go to the earlier key."""
    total = sum(shares.values())
    exact = {key: share * count / total for key, share in shares.items()}
    whole = {key: int(value) for key, value in exact.items()}
    by_remainder = sorted(exact, key=lambda key: whole[key] - exact[key])
    for key in by_remainder[: count - sum(whole.values())]:
        whole[key] += 1
    return whole


def hole_count(size: int, agents: int, hole_ratio: float) -> int:
    """floor(hole_ratio * size * size), but never a cell that a start or a goal needs."""
    return min(int(_as_written(hole_ratio) * size * size), size * size - 2 * agents)


def quotas(
    configuration: EnvironmentConfig, count: int, sampler: Sampler = Sampler.UNIFORM
) -> dict[Recipe, int]:
    """How many of each recipe make a batch of `count`. Raises Impossible when agents find no room."""
    shares = {size: _as_written(knobs.data_ratio) for size, knobs in configuration.sizes.items()}
    result: dict[Recipe, int] = {}
    for size, made in largest_remainder(shares, count).items():
        if made and 2 * configuration.agents > size * size:
            raise Impossible(size, configuration.agents)
        knobs = configuration.sizes[size]
        wait = _as_written(knobs.wait_ratio)
        holes = hole_count(size, configuration.agents, knobs.hole_ratio)
        for needs_wait, quota in largest_remainder({True: wait, False: 1 - wait}, made).items():
            if quota:
                result[Recipe(size, configuration.agents, holes, needs_wait, sampler)] = quota
    return result


def _as_written(ratio: float) -> Fraction:
    # 0.29 means 29 of 100, though the float is a little less and would be cut to 28.
    return Fraction(repr(ratio))


def order(shares: Mapping[Recipe, int]) -> Iterator[tuple[Recipe, int]]:
    """The (recipe, ordinal) of each row of a batch, one after the other: every class spread evenly over it."""
    # (2 * ordinal + 1) / quota in whole numbers, which compare faster than fractions.
    common = lcm(*shares.values())
    classes = [_places(recipe, quota, common // quota) for recipe, quota in shares.items()]
    # Merged, not sorted: sorting 50,000 rows at once would hold up the event loop.
    return ((recipe, ordinal) for _, recipe, ordinal in merge(*classes))


def _places(recipe: Recipe, quota: int, scale: int) -> Iterator[tuple[int, Recipe, int]]:
    return (((2 * ordinal + 1) * scale, recipe, ordinal) for ordinal in range(quota))


def index_of(recipe: Recipe, ordinal: int) -> int:
    """The address of an instance within a configuration and a seed."""
    return ordinal * _CLASSES + 2 * (recipe.size - MIN_SIZE) + recipe.needs_wait


def recipe_at(configuration: EnvironmentConfig, index: int, sampler: Sampler = Sampler.UNIFORM) -> Recipe:
    """The recipe of the instance at `index`. Raises KeyError for a size the configuration does not have."""
    size, needs_wait = divmod(index % _CLASSES, 2)
    size += MIN_SIZE
    holes = hole_count(size, configuration.agents, configuration.sizes[size].hole_ratio)
    return Recipe(size, configuration.agents, holes, bool(needs_wait), sampler)
