"""A replay's board as SVG: ice, holes, goals, trails, agents; complete without a script, moved by one with it."""

from collections.abc import Iterator
from itertools import pairwise

from markupsafe import Markup

from trainee2trainer.contracts.environment import Cell, FailureCategory
from trainer_service.report.playback import Frame, Place
from trainer_service.report.replay import Replay
from trainer_service.report.svg import picture, points, tag, text

CELL, MARGIN = 60, 26
_AGENT, _GOAL = 16, 21
_GAP = 2
_LANE = 7
"""Trails of different agents run this far apart, so that a shared way shows all of them."""


def board(replay: Replay, frames: list[Frame]) -> Markup:
    """The board with the whole trajectory on it, the agents where the last frame leaves them."""
    side = replay.instance.size * CELL + 2 * MARGIN
    return picture(
        side,
        side,
        _described(replay),
        *_ice(replay),
        *_goals(replay),
        *_trails(frames),
        *_waits(frames),
        *_fault(replay, frames),
        *_starts(frames[0]),
        *_agents(frames[-1]),
        class_="board",
    )


def centre(place: Place) -> tuple[float, float]:
    """The middle of a place in the drawing's units, as (x, y)."""
    row, column = place
    return round(MARGIN + (column + 0.5) * CELL, 2), round(MARGIN + (row + 0.5) * CELL, 2)


def _ice(replay: Replay) -> Iterator[Markup]:
    size, holes = replay.instance.size, set(replay.instance.holes)
    for row in range(size):
        yield text(MARGIN - 9, centre((row, 0))[1] + 4, str(row), "axis", "end")
        yield text(centre((0, row))[0], MARGIN - 9, str(row), "axis", "middle")
        for column in range(size):
            yield _square((row, column), "hole" if (row, column) in holes else "ice", _GAP, 7)
            if (row, column) in holes:
                x, y = centre((row, column))
                yield tag("ellipse", cx=x, cy=y + 1, rx=20, ry=17, class_="water")
                yield tag("path", d=f"M{x - 9:g} {y - 3:g}q4.5 -4 9 0t9 0", class_="ripple")


def _goals(replay: Replay) -> Iterator[Markup]:
    for number, agent in enumerate(replay.instance.agents):
        x, y = centre(agent.goal)
        title = tag("title", f"goal of agent {number}")
        yield tag("circle", title, cx=x, cy=y, r=_GOAL, class_=f"goal agent-{number}")
        yield text(x, y + 5, str(number), f"goal-number agent-{number}", "middle")


def _trails(frames: list[Frame]) -> Iterator[Markup]:
    for agent, places in enumerate(_ways(frames)):
        line = points([_shifted(place, agent, len(frames[0].places)) for place in places])
        moves = len(places) - 1
        if moves:
            yield tag("polyline", points=line, class_=f"way agent-{agent}")
            # pathLength makes dashes count in moves: the script draws the trail as far as the agent has come.
            yield tag(
                "polyline", points=line, class_=f"trail agent-{agent}", pathLength=moves, data_trail=agent
            )


def _ways(frames: list[Frame]) -> list[list[Place]]:
    """Per agent the cells it really entered, without waits and without a step that broke a rule."""
    lanes = zip(*(frame.places for frame in frames if frame.executed), strict=True)
    return [[lane[0], *(after for before, after in pairwise(lane) if before != after)] for lane in lanes]


def _waits(frames: list[Frame]) -> Iterator[Markup]:
    executed = [frame for frame in frames if frame.executed]
    for agent in range(len(frames[0].places)):
        lane = [frame.places[agent] for frame in executed]
        # Steps after the last move are rest, not waiting.
        moved = [step for step in range(1, len(lane)) if lane[step] != lane[step - 1]]
        for step in range(1, moved[-1] if moved else 0):
            if lane[step] == lane[step - 1]:
                x, y = _shifted(lane[step], agent, len(frames[0].places))
                title = tag("title", f"agent {agent} waits here in step {step}")
                yield tag("circle", title, cx=x, cy=y, r=6, class_=f"wait agent-{agent}")


def _fault(replay: Replay, frames: list[Frame]) -> Iterator[Markup]:
    violation = replay.outcome.violation
    if violation is None or not frames[-1].fault:
        return
    marks = [_square(cell, "fault-cell", 3, 8) for cell in violation.cells]
    if violation.category is FailureCategory.GOAL_NOT_REACHED:
        marks += [_missed(replay.instance.agents[agent].goal) for agent in violation.agents]
    if not frames[-1].executed:
        before, after = frames[-2].places, frames[-1].places
        marks += [_tried(before[agent], after[agent]) for agent in violation.agents]
    yield tag("g", *marks, class_="fault", data_fault="")


def _missed(goal: Cell) -> Markup:
    x, y = centre(goal)
    return tag("circle", cx=x, cy=y, r=_GOAL + 4, class_="fault-goal")


def _tried(before: Place, after: Place) -> Markup:
    return tag("polyline", points=points([centre(before), centre(after)]), class_="tried")


def _starts(first: Frame) -> Iterator[Markup]:
    for number, place in enumerate(first.places):
        x, y = centre(place)
        title = tag("title", f"start of agent {number}")
        yield tag("circle", title, cx=x, cy=y, r=5, class_=f"start agent-{number}")


def _agents(frame: Frame) -> Iterator[Markup]:
    for number, place in enumerate(frame.places):
        x, y = centre(place)
        yield tag(
            "g",
            tag("circle", r=_AGENT, class_=f"agent agent-{number}"),
            text(0, 5, str(number), "agent-number", "middle"),
            class_="mover",
            transform=f"translate({x:g} {y:g})",
            data_agent=number,
        )


def _square(cell: Place, class_: str, gap: float, radius: float) -> Markup:
    x, y = MARGIN + cell[1] * CELL + gap, MARGIN + cell[0] * CELL + gap
    side = CELL - 2 * gap
    return tag("rect", x=x, y=y, width=side, height=side, rx=radius, class_=class_)


def _shifted(place: Place, agent: int, agents: int) -> tuple[float, float]:
    x, y = centre(place)
    shift = (agent - (agents - 1) / 2) * _LANE
    return x + shift, y + shift


def _described(replay: Replay) -> str:
    instance = replay.instance
    agents = "; ".join(f"agent {n} from {a.start} to {a.goal}" for n, a in enumerate(instance.agents))
    holes = ", ".join(str(hole) for hole in instance.holes) or "none"
    return f"Board of {instance.size} by {instance.size} cells as (row, column): {agents}; holes: {holes}"
