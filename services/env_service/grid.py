"""The geometry of a square grid: actions as numbers, cells as numbers, moves, bit sets of cells.

Inside this service a cell is `row * size + column` and a set of cells is an integer with one bit per cell;
contracts speak of (row, column) pairs.
"""

from collections.abc import Iterator
from functools import lru_cache

from trainee2trainer.contracts.environment import Action, Cell

UP, DOWN, LEFT, RIGHT, WAIT = range(5)
ACTIONS: tuple[Action, ...] = (Action.UP, Action.DOWN, Action.LEFT, Action.RIGHT, Action.WAIT)
"""The action of each number. Everything that breaks a tie between actions takes them in this order."""

OFF_BOARD = -1
_STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))


@lru_cache(maxsize=32)
def moves(size: int) -> tuple[tuple[int, ...], ...]:
    """`moves(size)[cell][action]`: the cell an action leads to, or OFF_BOARD."""
    return tuple(
        tuple(_step(size, row, column, *step) for step in _STEPS)
        for row in range(size)
        for column in range(size)
    )


def _step(size: int, row: int, column: int, down: int, right: int) -> int:
    row, column = row + down, column + right
    return row * size + column if 0 <= row < size and 0 <= column < size else OFF_BOARD


def to_cell(size: int, number: int) -> Cell:
    """The (row, column) of a cell number."""
    return divmod(number, size)


@lru_cache(maxsize=32)
def cells_of(size: int) -> tuple[Cell, ...]:
    """The (row, column) of every cell number."""
    return tuple(divmod(number, size) for number in range(size * size))


def to_number(size: int, cell: Cell) -> int:
    """The number of a (row, column)."""
    return cell[0] * size + cell[1]


def bit_set(cells: Iterator[int] | list[int] | tuple[int, ...]) -> int:
    """The bit set of some cell numbers."""
    bits = 0
    for cell in cells:
        bits |= 1 << cell
    return bits


def members(bits: int) -> Iterator[int]:
    """The cell numbers of a bit set, rising."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


@lru_cache(maxsize=32)
def _columns(size: int) -> tuple[int, int]:
    """Bit sets of all cells that have a left, and a right, neighbour."""
    cells = range(size * size)
    return bit_set([c for c in cells if c % size > 0]), bit_set([c for c in cells if c % size < size - 1])


def neighbours(size: int, bits: int) -> int:
    """Every cell one move away from a cell of `bits`; may hold bits beyond the last row: mask the result."""
    with_left, with_right = _columns(size)
    return (bits >> size) | (bits << size) | ((bits & with_left) >> 1) | ((bits & with_right) << 1)


def distances(size: int, free: int, goal: int) -> list[int]:
    """Moves from each cell to `goal` over the cells of `free`; -1 where there is no way."""
    result = [-1] * (size * size)
    layer, seen, steps = 1 << goal, 1 << goal, 0
    while layer:
        for cell in members(layer):
            result[cell] = steps
        layer = neighbours(size, layer) & free & ~seen
        seen |= layer
        steps += 1
    return result
