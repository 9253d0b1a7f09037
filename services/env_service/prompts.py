"""Named, versioned prompt templates. Each renders a board as a prompt and a plan as the answer it asks for.

A template never changes once it has a version: a new wording is a new name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from env_service.boards import Task
from env_service.grid import ACTIONS, WAIT, members, moves, to_cell
from env_service.rules import Plan
from trainee2trainer.contracts.base import Message

START_MARKS = "SsABC"
GOAL_MARKS = "Ggabc"


@dataclass(frozen=True, slots=True)
class Template:
    """`prompt(task)` renders the question, `answer(task, plan)` a plan in the form the question asks for."""

    name: str
    prompt: Callable[[Task], list[Message]]
    answer: Callable[[Task, Plan], str]


def drawn(task: Task) -> str:
    """The board as text, one row a line: S s A B C the starts, G g a b c the goals, F ice, H hole."""
    marks = dict(zip(task.starts, START_MARKS, strict=False)) | dict(
        zip(task.goals, GOAL_MARKS, strict=False)
    )
    cells = [marks.get(cell, "H" if task.holes >> cell & 1 else "F") for cell in range(task.size**2)]
    rows = [cells[start : start + task.size] for start in range(0, len(cells), task.size)]
    return "\n".join(" ".join(row) for row in rows)


# --- plain-v1: natural language -------------------------------------------------------------------


def _plain_prompt(task: Task) -> list[Message]:
    count, size = len(task.starts), task.size
    places = "\n".join(
        f"Agent {agent}: start {_pair(size, start)} ({START_MARKS[agent]}), "
        f"goal {_pair(size, goal)} ({GOAL_MARKS[agent]})"
        for agent, (start, goal) in enumerate(zip(task.starts, task.goals, strict=True))
    )
    form = "\n".join(f"Agent {agent}: ACTION, ACTION, ..." for agent in range(count))
    text = f"""\
{count} agents stand on a frozen lake of {size}x{size} cells. Each must walk from its start to its own goal.

The lake, row 0 at the top and column 0 at the left (F ice, H hole, other letters starts and goals):
{drawn(task)}

Starts and goals as (row, column):
{places}

Rules:
- In each step every agent does one of UP, DOWN, LEFT, RIGHT, WAIT; all agents move at once.
- No agent may leave the lake or enter a hole.
- Two agents must never stand on the same cell, and must never exchange their cells in one step.
- An agent whose actions have ended stays where it is and still fills its cell.
- At the end every agent stands on its own goal. The fewer steps until the last one arrives, the better.

Answer with one line per agent and nothing after it:
{form}"""
    return [Message(role="user", content=text)]


def _plain_answer(task: Task, plan: Plan) -> str:
    return "\n".join(
        f"Agent {agent}: {', '.join(ACTIONS[a] for a in lane)}" for agent, lane in enumerate(plan)
    )


def _pair(size: int, cell: int) -> str:
    row, column = to_cell(size, cell)
    return f"({row}, {column})"


# --- compact-v1: few words, for the small model ---------------------------------------------------


def _compact_prompt(task: Task) -> list[Message]:
    holes = [_word(task.size, hole) for hole in members(task.holes)]
    agents = chain.from_iterable(
        ["agent", _word(task.size, start), "to", _word(task.size, goal)]
        for start, goal in zip(task.starts, task.goals, strict=True)
    )
    words = ["size", str(task.size), "holes", *(holes or ["none"]), *agents, "plan"]
    return [Message(role="user", content=" ".join(words))]


def _compact_answer(task: Task, plan: Plan) -> str:
    """Step by step, each action with the cell it leads to: thinking aloud where everybody stands."""
    table, cells = moves(task.size), list(task.starts)
    steps = []
    for step in range(max(map(len, plan))):
        actions = [lane[step] if step < len(lane) else WAIT for lane in plan]
        cells = [table[cell][action] for cell, action in zip(cells, actions, strict=True)]
        pairs = zip(actions, cells, strict=True)
        steps.append(" ".join(f"{ACTIONS[action]} {_word(task.size, cell)}" for action, cell in pairs))
    return " / ".join(steps)


def _word(size: int, cell: int) -> str:
    row, column = to_cell(size, cell)
    return f"{row},{column}"


TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        Template("plain-v1", _plain_prompt, _plain_answer),
        Template("compact-v1", _compact_prompt, _compact_answer),
    )
}
