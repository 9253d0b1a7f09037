"""A board and a plan as text for a terminal, in colours if wanted."""

from collections.abc import Sequence

from env_service.boards import Task
from env_service.grid import ACTIONS
from env_service.pictures.palette import AGENT_COLOURS, ARROWS, UNREADABLE, ending
from env_service.rules import Plan, execute

_RESET, _RED = "\x1b[0m", "\x1b[1;97;41m"
_MOST_STEPS = 200


def board_text(task: Task, plan: Plan | None = None, colour: bool = False, unreadable: bool = False) -> str:
    """The board with starts and goals; then each agent's moves, and how the plan ended.

    `0` is the start of agent 0 and `(0)` its goal; `##` is a hole, `!` marks the cells of the first violation.
    """
    run = execute(task, plan) if plan is not None else None
    faulty = run.first.cells if run and run.first else ()
    lines = ["+" + "---+" * task.size]
    for row in range(task.size):
        cells = range(row * task.size, (row + 1) * task.size)
        lines.append("|" + "|".join(_cell(task, cell, cell in faulty, colour) for cell in cells) + "|")
        lines.append(lines[0])
    if plan is not None and run is not None:
        lines += [_moves(agent, lane, colour) for agent, lane in enumerate(plan)]
        lines.append(_painted(ending(task, run), _RED if run.first else "", colour))
    if unreadable:
        lines.append(_painted(UNREADABLE, _RED, colour))
    return "\n".join(lines) + "\n"


def _cell(task: Task, cell: int, faulty: bool, colour: bool) -> str:
    text, paint = "   ", ""
    if task.holes >> cell & 1:
        text, paint = "###", "\x1b[37;40m"
    elif cell in task.starts:
        agent = task.starts.index(cell)
        text, paint = f" {agent} ", _background(agent)
    elif cell in task.goals:
        agent = task.goals.index(cell)
        text, paint = f"({agent})", _foreground(agent)
    if faulty:
        text, paint = f"{text[0]}{text[1]}!" if text.strip() else " ! ", _RED
    return _painted(text, paint, colour)


def _moves(agent: int, lane: Sequence[int], colour: bool) -> str:
    shown = "".join(ARROWS[ACTIONS[number]] for number in lane[:_MOST_STEPS])
    more = f" and {len(lane) - _MOST_STEPS} more" if len(lane) > _MOST_STEPS else ""
    return _painted(f" {agent} ", _background(agent), colour) + f" {shown}{more}"


def _painted(text: str, paint: str, colour: bool) -> str:
    return f"{paint}{text}{_RESET}" if colour and paint else text


def _background(agent: int) -> str:
    return "\x1b[1;97;48;2;{};{};{}m".format(*_rgb(AGENT_COLOURS[agent]))


def _foreground(agent: int) -> str:
    return "\x1b[1;38;2;{};{};{}m".format(*_rgb(AGENT_COLOURS[agent]))


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
