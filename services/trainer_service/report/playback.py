"""What a replay shows step by step: where every agent is, what it does, and the step that breaks a rule."""

from dataclasses import dataclass

from trainee2trainer.contracts.environment import Action, Cell, ConflictKind, FailureCategory
from trainer_service.report.replay import Replay
from trainer_service.report.words import VERBS, action_at, explained

Place = tuple[float, float]
"""(row, column); between two cells where a move ends in a collision."""

MOVES: dict[Action, Cell] = {
    Action.UP: (-1, 0),
    Action.DOWN: (1, 0),
    Action.LEFT: (0, -1),
    Action.RIGHT: (0, 1),
    Action.WAIT: (0, 0),
}
_OFF_BOARD, _VERTEX, _EDGE = 0.45, 0.66, 0.36
"""How far a move gets that leaves the board, meets another agent in a cell, or between two cells."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The agents after one step. `actions` is what each just did: None in the first frame."""

    places: list[Place]
    actions: list[Action] | None
    caption: str
    fault: bool = False
    """The violation is seen here."""
    executed: bool = True
    """False: the step breaks a rule, this is how it was tried."""


def frames(replay: Replay) -> list[Frame]:
    """The start, one frame per executed step, and, where a step breaks a rule, that step as it was tried."""
    path = replay.outcome.trajectory or [[agent.start for agent in replay.instance.agents]]
    steps = len(path) - 1 + _breaks(replay)
    result = [Frame(_places(path[0]), None, f"Start, {steps} step{'' if steps == 1 else 's'} to come")]
    for step in range(1, len(path)):
        actions = [_action(before, after) for before, after in zip(path[step - 1], path[step], strict=True)]
        result.append(Frame(_places(path[step]), actions, f"Step {step} of {steps}: {_told(actions)}"))
    if _breaks(replay):
        result.append(_attempt(replay, path[-1], steps))
    elif replay.outcome.failure is not None:
        end = result[-1]
        result[-1] = Frame(end.places, end.actions, explained(replay.instance, replay.outcome), fault=True)
    return result


def _breaks(replay: Replay) -> bool:
    """Whether the plan ends in a step that could not be executed (and was not cut off before)."""
    violation = replay.outcome.violation
    return (
        violation is not None
        and violation.category is not FailureCategory.GOAL_NOT_REACHED
        and len(replay.outcome.trajectory) == violation.step + 1
    )


def _attempt(replay: Replay, cells: list[Cell], step: int) -> Frame:
    actions = [action_at(replay.outcome, agent, step - 1) for agent in range(len(cells))]
    places = []
    for agent, (cell, action) in enumerate(zip(cells, actions, strict=True)):
        down, right = MOVES[action]
        reach = _reach(replay, agent)
        places.append((cell[0] + down * reach, cell[1] + right * reach))
    return Frame(places, actions, explained(replay.instance, replay.outcome), fault=True, executed=False)


def _reach(replay: Replay, agent: int) -> float:
    violation = replay.outcome.violation
    if violation is None or agent not in violation.agents:
        return 1.0
    if violation.category is FailureCategory.ILLEGAL_MOVE:
        return _OFF_BOARD
    if violation.category is FailureCategory.AGENT_CONFLICT:
        return _EDGE if violation.conflict is ConflictKind.EDGE else _VERTEX
    return 1.0


def _places(cells: list[Cell]) -> list[Place]:
    return [(float(row), float(column)) for row, column in cells]


def _action(before: Cell, after: Cell) -> Action:
    difference = (after[0] - before[0], after[1] - before[1])
    return next(action for action, move in MOVES.items() if move == difference)


def _told(actions: list[Action]) -> str:
    return ", ".join(f"agent {agent} {VERBS[action]}" for agent, action in enumerate(actions))
