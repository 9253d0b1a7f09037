"""A failed board as text: the board, the plan that was executed on it, and the rule it broke."""

from itertools import pairwise

from trainee2trainer.contracts.engineer import FailureCase
from trainee2trainer.contracts.environment import Cell, ConflictKind, Instance, Violation

MAX_STEPS = 24
MAX_UNREAD_CHARS = 200
_STARTS, _GOALS = "SsABC", "Ggabc"
_MOVES = {(-1, 0): "UP", (1, 0): "DOWN", (0, -1): "LEFT", (0, 1): "RIGHT", (0, 0): "WAIT"}


def drawn_case(case: FailureCase) -> str:
    """Several lines. Starts are S s A B C and goals G g a b c, agent by agent; F is ice, H a hole."""
    instance = case.instance
    kind = "every cheapest plan has a wait" if instance.needs_wait else "no wait needed"
    lines = [f"{instance.size}x{instance.size}, {kind}, optimal in {instance.optimal_makespan} steps:"]
    lines += _board(instance)
    if case.trajectory:
        lines += _moves(case.trajectory)
    else:
        lines.append(f"The answer could not be read as a plan: {_unread(case.answer)}")
    lines.append(f"Failure: {case.failure.value}{_where(case.violation)}")
    return "\n".join(lines)


def _board(instance: Instance) -> list[str]:
    marks: dict[Cell, str] = dict.fromkeys(instance.holes, "H")
    for agent, start, goal in zip(instance.agents, _STARTS, _GOALS, strict=False):
        marks |= {agent.start: start, agent.goal: goal}
    span = range(instance.size)
    return [" ".join(marks.get((row, column), "F") for column in span) for row in span]


def _moves(trajectory: list[list[Cell]]) -> list[str]:
    """One line per agent, from the cells it stood on."""
    shown = trajectory[: MAX_STEPS + 1]
    more = ", ..." if len(trajectory) > len(shown) else ""
    lines = []
    for agent, lane in enumerate(zip(*shown, strict=True)):
        steps = [_move(before, after) for before, after in pairwise(lane)]
        lines.append(f"Agent {agent} went: {', '.join(steps) or 'nowhere'}{more}")
    return lines


def _move(before: Cell, after: Cell) -> str:
    return _MOVES.get((after[0] - before[0], after[1] - before[1]), "?")


def _unread(answer: str) -> str:
    text = " ".join(answer.split())
    return repr(text[:MAX_UNREAD_CHARS] + ("..." if len(text) > MAX_UNREAD_CHARS else ""))


def _where(violation: Violation | None) -> str:
    if violation is None:
        return ""
    who = " and ".join(str(agent) for agent in violation.agents)
    cells = " and ".join(f"({row}, {column})" for row, column in violation.cells)
    how = {
        None: "",
        ConflictKind.VERTEX: ", two agents on one cell",
        ConflictKind.EDGE: ", two agents exchanging cells",
    }[violation.conflict]
    place = f" at {cells}" if cells else ""
    return f" in step {violation.step + 1}, agent {who}{place}{how}"
