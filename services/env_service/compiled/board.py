"""The board as the compiled code sees it."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from env_service.boards import symmetries
from env_service.compiled.bits import ONE, ZERO, Word
from env_service.compiled.cache import compiled
from env_service.grid import moves
from trainee2trainer.contracts.environment import MAX_AGENTS, MAX_SIZE

AGENTS = MAX_AGENTS
CELLS = MAX_SIZE * MAX_SIZE
_WORD = 64
_FULL = np.uint64(2**64 - 1)

Array = Any
"""A numpy array."""


class Tables(NamedTuple):
    """What depends on the size only: the cell each action leads to, the symmetries, cells with side neighbours."""

    size: int
    moves: Array
    symmetries: Array
    left_low: Word
    left_high: Word
    right_low: Word
    right_high: Word


class Ground(NamedTuple):
    """A board: the shifts by a row and back, its ice, and the cells with a left and a right neighbour."""

    row: Word
    back: Word
    free_low: Word
    free_high: Word
    left_low: Word
    left_high: Word
    right_low: Word
    right_high: Word


@lru_cache(maxsize=16)
def tables(size: int) -> Tables:
    """The tables of a board size."""
    turned = np.zeros((8, CELLS), np.int64)
    turned[:, : size * size] = symmetries(size)
    cells = range(size * size)
    left = sum(1 << cell for cell in cells if cell % size > 0)
    right = sum(1 << cell for cell in cells if cell % size < size - 1)
    words = [np.uint64(word) for side in (left, right) for word in (side % 2**64, side >> 64)]
    return Tables(size, np.array(moves(size), np.int64), turned, *words)


@compiled
def ground_of(tables_: Tables, hole_low: Word, hole_high: Word) -> Ground:
    """The board of a size with holes."""
    cells = tables_.size * tables_.size
    all_low = _FULL if cells >= _WORD else (ONE << np.uint64(cells)) - ONE
    all_high = (ONE << np.uint64(cells - _WORD)) - ONE if cells > _WORD else ZERO
    return Ground(
        np.uint64(tables_.size),
        np.uint64(_WORD - tables_.size),
        all_low & ~hole_low,
        all_high & ~hole_high,
        tables_.left_low,
        tables_.left_high,
        tables_.right_low,
        tables_.right_high,
    )
