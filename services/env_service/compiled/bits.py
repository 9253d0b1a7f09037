"""Sets of up to 128 cells as two unsigned words: cell c is bit c of the low word, or bit c - 64 of the high one."""

from typing import Any

import numpy as np

from env_service.compiled.cache import compiled

Word = Any
"""An unsigned word of 64 bits."""

ZERO = np.uint64(0)
ONE = np.uint64(1)
_WORD = 64
_LAST = np.uint64(63)
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_SHIFT = np.uint64(58)
_PLACES = np.zeros(64, np.int64)
for _place in range(64):
    _PLACES[(int(_DE_BRUIJN) << _place & (1 << 64) - 1) >> 58] = _place


@compiled
def low_bit(cell: int) -> Word:
    """The low word of the set of one cell."""
    return ONE << np.uint64(cell) if cell < _WORD else ZERO


@compiled
def high_bit(cell: int) -> Word:
    """The high word of the set of one cell."""
    return ONE << np.uint64(cell - _WORD) if cell >= _WORD else ZERO


@compiled
def has(low: Word, high: Word, cell: int) -> bool:
    """Whether a set holds a cell."""
    if cell < _WORD:
        return (low >> np.uint64(cell)) & ONE != ZERO
    return (high >> np.uint64(cell - _WORD)) & ONE != ZERO


@compiled
def place(word: Word) -> int:
    """The place of the only bit of a word, by multiplication with a De Bruijn sequence."""
    return _PLACES[(word * _DE_BRUIJN) >> _SHIFT]


@compiled
def first(low: Word, high: Word) -> int:
    """The least cell of a set that is not empty."""
    if low != ZERO:
        return place(low & (~low + ONE))
    return _WORD + place(high & (~high + ONE))


@compiled
def is_single(low: Word, high: Word) -> bool:
    """Whether a set that is not empty holds one cell only."""
    if low == ZERO:
        return high & (high - ONE) == ZERO
    return high == ZERO and low & (low - ONE) == ZERO


@compiled
def count(low: Word, high: Word) -> int:
    """How many cells a set holds."""
    total = 0
    while low != ZERO:
        low &= low - ONE
        total += 1
    while high != ZERO:
        high &= high - ONE
        total += 1
    return total


@compiled
def spread(ground: Any, low: Word, high: Word) -> tuple[Word, Word]:
    """All free cells one move away from a set."""
    left_low, left_high = low & ground.left_low, high & ground.left_high
    right_low, right_high = low & ground.right_low, high & ground.right_high
    by, back = ground.row, ground.back
    out_low = (low >> by) | (high << back) | (low << by)
    out_low |= (left_low >> ONE) | (left_high << _LAST) | (right_low << ONE)
    out_high = (high >> by) | (high << by) | (low >> back)
    out_high |= (left_high >> ONE) | (right_high << ONE) | (right_low >> _LAST)
    return out_low & ground.free_low, out_high & ground.free_high
