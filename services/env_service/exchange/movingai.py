"""The formats of the MovingAI benchmarks (Sturtevant 2012): a map, and a scenario of agents on it."""

from env_service.boards import Task
from env_service.grid import distances, to_cell


def to_map(task: Task) -> str:
    """The board: `.` is ice, `@` a hole."""
    cells = ["@" if task.holes >> cell & 1 else "." for cell in range(task.size**2)]
    rows = ["".join(cells[start : start + task.size]) for start in range(0, len(cells), task.size)]
    return "\n".join(["type octile", f"height {task.size}", f"width {task.size}", "map", *rows]) + "\n"


def to_scenario(task: Task, map_name: str) -> str:
    """One line per agent: columns come first, and the last number is its shortest way if it were alone.

    MovingAI's own scenarios give the shortest way with diagonal moves there; ours has four neighbours.
    """
    lines = ["version 1"]
    for start, goal in zip(task.starts, task.goals, strict=True):
        (start_row, start_column), (goal_row, goal_column) = (
            to_cell(task.size, start),
            to_cell(task.size, goal),
        )
        alone = distances(task.size, task.free, goal)[start]
        fields = [0, map_name, task.size, task.size, start_column, start_row, goal_column, goal_row, alone]
        lines.append("\t".join(map(str, fields)))
    return "\n".join(lines) + "\n"
