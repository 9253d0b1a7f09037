"""A board as SVG: agents by colour and number, goals as rings, holes dark, a plan, its first fault in red."""

from collections.abc import Iterator
from itertools import pairwise

from env_service.boards import Task
from env_service.grid import members, to_cell
from env_service.pictures.palette import (
    AGENT_COLOURS,
    EDGE,
    FAULT,
    HOLE,
    ICE,
    PAPER,
    UNREADABLE,
    ending,
    told,
)
from env_service.rules import Broken, Plan, execute

CELL = 56
_MARGIN = 12
_RADIUS = 19
_CAPTION = 22


def board_svg(task: Task, plan: Plan | None = None, unreadable: bool = False) -> str:
    """The board, and on it what the plan did up to its first violation; a line below says how it ended."""
    side = task.size * CELL + 2 * _MARGIN
    run = execute(task, plan) if plan is not None else None
    caption = UNREADABLE if unreadable else ending(task, run) if run else None
    height = side + (_CAPTION if caption else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {height}" width="{side}" height="{height}" '
        f'font-family="sans-serif" role="img">',
        f"<title>{task.size}x{task.size} board with {len(task.starts)} agents</title>",
        f'<rect width="{side}" height="{height}" fill="{PAPER}"/>',
        *_cells(task),
        *_goals(task),
        *(_lines(task, run.trajectory) if run else ()),
        *_agents(task),
        *(_fault(task, run.first) if run and run.first else ()),
        *(_caption(side, caption, bad=unreadable or not (run and run.valid)) if caption else ()),
        "</svg>",
    ]
    return "\n".join(parts)


def _caption(side: int, text: str, bad: bool) -> Iterator[str]:
    # Squeezed rather than cut where the board is narrow.
    length = (
        f' textLength="{side - 2 * _MARGIN}" lengthAdjust="spacingAndGlyphs"' if len(text) * 7 > side else ""
    )
    yield (
        f'<text x="{side / 2:g}" y="{side + 6}" fill="{FAULT if bad else HOLE}" font-size="13" '
        f'text-anchor="middle"{length}>{text}</text>'
    )


def _cells(task: Task) -> Iterator[str]:
    for cell in range(task.size**2):
        x, y = _corner(task, cell)
        yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="{ICE}" stroke="{EDGE}"/>'
    for hole in members(task.holes):
        x, y = _centre(task, hole)
        yield f'<circle cx="{x}" cy="{y}" r="{CELL * 0.4:.0f}" fill="{HOLE}"/>'


def _goals(task: Task) -> Iterator[str]:
    for agent, goal in enumerate(task.goals):
        x, y = _centre(task, goal)
        colour = AGENT_COLOURS[agent]
        yield f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="none" stroke="{colour}" stroke-width="4"/>'
        yield _label(x, y, agent, colour)


def _agents(task: Task) -> Iterator[str]:
    for agent, start in enumerate(task.starts):
        x, y = _centre(task, start)
        yield f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="{AGENT_COLOURS[agent]}"/>'
        yield _label(x, y, agent, "#ffffff")


def _lines(task: Task, trajectory: list[tuple[int, ...]]) -> Iterator[str]:
    for agent in range(len(task.starts)):
        # A little apart, so that agents that share a way stay visible.
        shift = (agent - (len(task.starts) - 1) / 2) * 5
        cells = [cells[agent] for cells in trajectory]
        places = [cells[0], *(after for before, after in pairwise(cells) if before != after)]
        points = " ".join(f"{x + shift:g},{y + shift:g}" for x, y in (_centre(task, cell) for cell in places))
        yield (
            f'<polyline points="{points}" fill="none" stroke="{AGENT_COLOURS[agent]}" stroke-width="4" '
            f'stroke-linejoin="round" stroke-linecap="round" opacity="0.75"/>'
        )
        for place in places[1:]:
            x, y = _centre(task, place)
            yield f'<circle cx="{x + shift:g}" cy="{y + shift:g}" r="4" fill="{AGENT_COLOURS[agent]}"/>'


def _fault(task: Task, broken: Broken) -> Iterator[str]:
    side, words = CELL - 4, told(task.size, broken)
    for cell in broken.cells:
        x, y = _corner(task, cell)
        yield (
            f'<rect x="{x + 2}" y="{y + 2}" width="{side}" height="{side}" fill="none" stroke="{FAULT}" '
            f'stroke-width="4"><title>{words}</title></rect>'
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
