"""Random numbers of one draw: mirrors `drawing.Dice`, whose state is handed along here."""

from typing import Any

import numpy as np

from env_service.compiled.bits import Word
from env_service.compiled.board import Array
from env_service.compiled.cache import compiled
from env_service.drawing import GOLDEN

_GOLDEN = np.uint64(GOLDEN)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32 = (np.uint64(shift) for shift in (27, 30, 31, 32))


@compiled
def _mixed(value: Word) -> Word:
    value = (value ^ (value >> _S30)) * _FIRST_FACTOR
    value = (value ^ (value >> _S27)) * _SECOND_FACTOR
    return value ^ (value >> _S31)


@compiled
def first_state(key: Word, number: int) -> Word:
    """The state before the first number of a draw."""
    return _mixed(key + np.uint64(number) * _GOLDEN)


@compiled
def next_state(state: Word) -> Word:
    """Call it before each number."""
    return state + _GOLDEN


@compiled
def scaled(state: Word, bound: int) -> Any:
    """The number of a state, from 0 to `bound` - 1."""
    return np.int64((_mixed(state) >> _S32) * np.uint64(bound) >> _S32)


@compiled
def bring_forward(total: int, taken: int, state: Word, cells: Array) -> Word:
    """Puts `taken` random cells of all to the front of `cells`; the state after that."""
    for cell in range(total):
        cells[cell] = cell
    for place in range(taken):
        state = next_state(state)
        other = place + scaled(state, total - place)
        cells[place], cells[other] = cells[other], cells[place]
    return state
