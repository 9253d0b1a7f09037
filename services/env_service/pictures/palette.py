"""Colours and words that all pictures share."""

from env_service.boards import Task
from env_service.grid import ACTIONS, to_cell
from env_service.rules import Broken, Execution

AGENT_COLOURS = ("#d1495b", "#00798c", "#b8860b", "#5b5f97", "#3f8f5a")
ICE, EDGE, HOLE, PAPER, FAULT = "#e8f4fa", "#b5cfdc", "#22333b", "#ffffff", "#e00000"
ARROWS = dict(zip(ACTIONS, "↑↓←→·", strict=True))
UNREADABLE = "no plan could be read in this answer"


def ending(task: Task, run: Execution) -> str:
    """How a plan ended, in words."""
    if run.first is not None:
        return told(task.size, run.first)
    return f"valid: makespan {run.makespan}, sum of costs {run.sum_of_costs}"


def told(size: int, broken: Broken) -> str:
    """A violation in words, such as `agent_conflict (vertex) in step 2: agents 0, 1 at (1, 2)`."""
    kind = f" ({broken.conflict})" if broken.conflict else ""
    agents = ", ".join(str(agent) for agent in broken.agents)
    cells = ", ".join(str(to_cell(size, cell)) for cell in broken.cells)
    plural = "s" if len(broken.agents) > 1 else ""
    return f"{broken.category}{kind} in step {broken.step}: agent{plural} {agents} at {cells}"
