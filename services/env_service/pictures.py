"""A board as SVG: agents by colour and number, goals as rings, holes dark, a plan, its first fault in red."""

from collections.abc import Iterator
from itertools import pairwise

from env_service.boards import Task
from env_service.grid import members, to_cell
from env_service.rules import Broken, Plan, execute

CELL = 56
_MARGIN = 12
_RADIUS = 19
_COLOURS = ("#d1495b", "#00798c", "#edae49", "#5b5f97", "#66a182")
_FAULT = "#e00000"


def board_svg(task: Task, plan: Plan | None = None) -> str:
    """The board, and on it what the plan did up to its first violation."""
    side = task.size * CELL + 2 * _MARGIN
    run = execute(task, plan) if plan is not None else None
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" width="{side}" height="{side}" '
        f'font-family="sans-serif" role="img">',
        f"<title>{task.size}x{task.size} board with {len(task.starts)} agents</title>",
        f'<rect width="{side}" height="{side}" fill="#ffffff"/>',
        *_cells(task),
        *_goals(task),
        *(_lines(task, run.trajectory) if run else ()),
        *_agents(task),
        *(_fault(task, run.first) if run and run.first else ()),
        "</svg>",
    ]
    return "\n".join(parts)


def _cells(task: Task) -> Iterator[str]:
    for cell in range(task.size**2):
        x, y = _corner(task, cell)
        yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#e8f4fa" stroke="#b5cfdc"/>'
    for hole in members(task.holes):
        x, y = _centre(task, hole)
        yield f'<circle cx="{x}" cy="{y}" r="{CELL * 0.4:.0f}" fill="#22333b"/>'


def _goals(task: Task) -> Iterator[str]:
    for agent, goal in enumerate(task.goals):
        x, y = _centre(task, goal)
        colour = _COLOURS[agent]
        yield f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="none" stroke="{colour}" stroke-width="4"/>'
        yield _label(x, y, agent, colour)


def _agents(task: Task) -> Iterator[str]:
    for agent, start in enumerate(task.starts):
        x, y = _centre(task, start)
        yield f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="{_COLOURS[agent]}"/>'
        yield _label(x, y, agent, "#ffffff")


def _lines(task: Task, trajectory: list[tuple[int, ...]]) -> Iterator[str]:
    for agent in range(len(task.starts)):
        # A little apart, so that agents that share a way stay visible.
        shift = (agent - (len(task.starts) - 1) / 2) * 5
        cells = [cells[agent] for cells in trajectory]
        places = [cells[0], *(after for before, after in pairwise(cells) if before != after)]
        points = " ".join(f"{x + shift:g},{y + shift:g}" for x, y in (_centre(task, cell) for cell in places))
        yield (
            f'<polyline points="{points}" fill="none" stroke="{_COLOURS[agent]}" stroke-width="4" '
            f'stroke-linejoin="round" stroke-linecap="round" opacity="0.75"/>'
        )


def _fault(task: Task, broken: Broken) -> Iterator[str]:
    agents = ", ".join(str(agent) for agent in broken.agents)
    side = CELL - 4
    for cell in broken.cells:
        x, y = _corner(task, cell)
        yield (
            f'<rect x="{x + 2}" y="{y + 2}" width="{side}" height="{side}" fill="none" stroke="{_FAULT}" '
            f'stroke-width="4"><title>{broken.category} in step {broken.step}, agents {agents}</title></rect>'
        )


def _label(x: int, y: int, agent: int, colour: str) -> str:
    return (
        f'<text x="{x}" y="{y}" fill="{colour}" font-size="20" font-weight="bold" text-anchor="middle" '
        f'dominant-baseline="central">{agent}</text>'
    )


def _corner(task: Task, cell: int) -> tuple[int, int]:
    row, column = to_cell(task.size, cell)
    return _MARGIN + column * CELL, _MARGIN + row * CELL


def _centre(task: Task, cell: int) -> tuple[int, int]:
    x, y = _corner(task, cell)
    return x + CELL // 2, y + CELL // 2
