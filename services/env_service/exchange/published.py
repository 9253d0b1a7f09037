"""Reads boards out of JSON Lines: of the published data set, whose text draws the board, or of our own export.

A published line has `sample_id`, `num_agents` and `text`. Somewhere in the text the board is drawn, one row a line,
one character a cell, cells separated by a space: `S s A B C` are the starts of agents 0 to 4, `G g a b c` their
goals, `F` is ice and `H` a hole.
"""

import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from env_service.boards import BrokenBoard, Task, to_task
from env_service.grid import bit_set
from env_service.prompts import GOAL_MARKS, START_MARKS
from trainee2trainer.contracts.environment import MAX_AGENTS, MAX_SIZE, MIN_AGENTS, MIN_SIZE, BoardTask

_ICE, _HOLE = "F", "H"
_MARKS = frozenset(START_MARKS + GOAL_MARKS + _ICE + _HOLE)


class Unreadable(ValueError):
    """A line without a board we can take; the message is the rule it breaks."""


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A board and what its line says of it."""

    sample_id: str | None
    task: Task
    text: str | None


def sample_id_of(line: str) -> str | None:
    """The line's name for itself, if it has one that can be read."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    id_ = row.get("sample_id") if isinstance(row, dict) else None
    return id_[:64].encode(errors="replace").decode() if isinstance(id_, str) else None


def read_line(line: str) -> ReadLine:
    """The board of one line. Raises Unreadable."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unreadable("must be JSON") from error
    if not isinstance(row, dict):
        raise Unreadable("must be a JSON object")
    if "instance" in row:
        return ReadLine(sample_id_of(line), _own(row["instance"]), None)
    text = row.get("text")
    if not isinstance(text, str):
        raise Unreadable("text: must be a string that draws the board; or instance: one of our own export")
    if not _is_whole(text):
        raise Unreadable("text: must be Unicode without halves of surrogate pairs")
    task = task_of_text(text)
    if row.get("num_agents") not in (None, len(task.starts)):
        raise Unreadable(f"num_agents: must be {len(task.starts)}, as many agents as the board has")
    return ReadLine(sample_id_of(line), task, text)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _own(instance: Any) -> Task:
    fields = ("size", "holes", "agents")
    try:
        board = BoardTask.model_validate({name: instance[name] for name in fields})
        return to_task(board)
    except (KeyError, TypeError) as error:
        raise Unreadable(f"instance: needs {', '.join(fields)}") from error
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(map(str, first["loc"]))
        raise Unreadable(f"instance.{path}: {first['msg']}") from error
    except BrokenBoard as error:
        path = ".".join(map(str, error.loc))
        raise Unreadable(f"instance.{path}: {error.rule}") from error


def task_of_text(text: str) -> Task:
    """The first board drawn in a text. Raises Unreadable."""
    lines = [line.split() for line in text.splitlines()]
    for first, cells in enumerate(lines):
        size = len(cells)
        rows = lines[first : first + size]
        if MIN_SIZE <= size <= MAX_SIZE and all(_is_row(row, size) for row in rows) and len(rows) == size:
            return _task(size, [mark for row in rows for mark in row])
    raise Unreadable(f"text: draws no square board of {MIN_SIZE}x{MIN_SIZE} to {MAX_SIZE}x{MAX_SIZE} cells")


def _is_row(cells: list[str], size: int) -> bool:
    return len(cells) == size and all(cell in _MARKS for cell in cells)


def _task(size: int, marks: list[str]) -> Task:
    agents = sum(mark in START_MARKS for mark in marks)
    if not MIN_AGENTS <= agents <= MAX_AGENTS:
        raise Unreadable(f"text: the board must have {MIN_AGENTS} to {MAX_AGENTS} agents, and has {agents}")
    wanted = START_MARKS[:agents] + GOAL_MARKS[:agents]
    found = sorted(mark for mark in marks if mark not in (_ICE, _HOLE))
    if found != sorted(wanted):
        raise Unreadable(f"text: {agents} agents need each of {' '.join(wanted)} once on the board")
    holes = bit_set([cell for cell, mark in enumerate(marks) if mark == _HOLE])
    starts = tuple(marks.index(mark) for mark in START_MARKS[:agents])
    return Task(size, holes, starts, tuple(marks.index(mark) for mark in GOAL_MARKS[:agents]))
