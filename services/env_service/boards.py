"""A board with its agents: identity, symmetries, canonical form, and the split that follows from it."""

import hashlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from env_service.grid import bit_set, members, to_number
from trainee2trainer.contracts.environment import BoardTask, Cell, Split

HELD_OUT_SHARE = 5
"""One canonical form in so many is held out."""

HELD_OUT_BELOW = 2**64 // HELD_OUT_SHARE
_HOLE_BYTES = 16


class BrokenBoard(ValueError):
    """A board that breaks a rule; `loc` is the path of the field within the board task."""

    def __init__(self, loc: list[str | int], rule: str) -> None:
        super().__init__(rule)
        self.loc = loc
        self.rule = rule


class Task(NamedTuple):
    """A board and, per agent, its start and its goal. `holes` is a bit set; cells are numbers."""

    size: int
    holes: int
    starts: tuple[int, ...]
    goals: tuple[int, ...]

    @property
    def free(self) -> int:
        """The bit set of ice cells."""
        return ((1 << self.size * self.size) - 1) & ~self.holes

    def encode(self) -> bytes:
        """Size, number of agents, start and goal of each, one byte each; the holes, 16 bytes big-endian."""
        pairs = [cell for pair in zip(self.starts, self.goals, strict=True) for cell in pair]
        return bytes([self.size, len(self.starts), *pairs]) + self.holes.to_bytes(_HOLE_BYTES, "big")


def instance_id(task: Task) -> str:
    """The identity of the content, like `2agents_3x3_0a1b2c3d4e5f`: equal content, equal id, everywhere."""
    digest = hashlib.sha256(task.encode()).hexdigest()
    return f"{len(task.starts)}agents_{task.size}x{task.size}_{digest[:12]}"


@lru_cache(maxsize=32)
def symmetries(size: int) -> tuple[tuple[int, ...], ...]:
    """The 8 symmetries of the square, each as the new number of every cell."""
    last = size - 1
    turns: list[Callable[[int, int], Cell]] = [
        lambda r, c: (r, c),
        lambda r, c: (c, last - r),
        lambda r, c: (last - r, last - c),
        lambda r, c: (last - c, r),
        lambda r, c: (r, last - c),
        lambda r, c: (last - r, c),
        lambda r, c: (c, r),
        lambda r, c: (last - c, last - r),
    ]
    return tuple(
        tuple(to_number(size, turn(*divmod(cell, size))) for cell in range(size**2)) for turn in turns
    )


def images(task: Task) -> Iterator[Task]:
    """The 8 images of a task under the symmetries of the square, each with its agents put in order."""
    pairs = tuple(zip(task.starts, task.goals, strict=True))
    for turn in symmetries(task.size):
        turned = sorted((turn[start], turn[goal]) for start, goal in pairs)
        yield Task(
            size=task.size,
            holes=bit_set([turn[hole] for hole in members(task.holes)]),
            starts=tuple(start for start, _ in turned),
            goals=tuple(goal for _, goal in turned),
        )


def form(task: Task) -> int:
    """The first 64 bits of the SHA-256 of the canonical form: the least encoding among the task's images.

    Equal for every rotated, mirrored or relabelled copy; the split and the search for duplicates use it.
    """
    canonical = min(image.encode() for image in images(task))
    return int.from_bytes(hashlib.sha256(canonical).digest()[:8], "big")


def split_of(form_: int) -> Split:
    """Which side a form lies on, for ever."""
    return Split.HELD_OUT if form_ < HELD_OUT_BELOW else Split.TRAIN


def to_task(board: BoardTask) -> Task:
    """The task of a contract's board. Raises BrokenBoard, naming the field, when a cell is not allowed."""
    size = board.size
    for place, hole in enumerate(board.holes):
        _on_board(size, hole, ["holes", place])
    holes = bit_set([to_number(size, hole) for hole in board.holes])
    taken: set[int] = set()
    for place, agent in enumerate(board.agents):
        for name, cell in (("start", agent.start), ("goal", agent.goal)):
            loc: list[str | int] = ["agents", place, name]
            _on_board(size, cell, loc)
            number = to_number(size, cell)
            if holes >> number & 1:
                raise BrokenBoard(loc, "must be an ice cell, but is a hole")
            if number in taken:
                raise BrokenBoard(loc, "starts and goals must all be distinct cells")
            taken.add(number)
    starts = tuple(to_number(size, agent.start) for agent in board.agents)
    return Task(size, holes, starts, tuple(to_number(size, agent.goal) for agent in board.agents))


def _on_board(size: int, cell: tuple[int, int], loc: list[str | int]) -> None:
    if not (0 <= cell[0] < size and 0 <= cell[1] < size):
        raise BrokenBoard(loc, f"must lie on the {size}x{size} board: row and column from 0 to {size - 1}")
