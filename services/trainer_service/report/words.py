"""What the report says in words: numbers, knobs, verdicts, violations."""

from trainee2trainer.contracts.campaign import BASELINE_STAGE
from trainee2trainer.contracts.environment import (
    Action,
    Cell,
    ConflictKind,
    FailureCategory,
    Instance,
    Outcome,
    Violation,
)

FAILURES = {
    FailureCategory.PARSE_ERROR: "unreadable plan",
    FailureCategory.ILLEGAL_MOVE: "off the board",
    FailureCategory.HOLE_COLLISION: "into a hole",
    FailureCategory.AGENT_CONFLICT: "agents in conflict",
    FailureCategory.GOAL_NOT_REACHED: "goal not reached",
}
KNOBS = {"data_ratio": "share of data", "hole_ratio": "holes", "wait_ratio": "waits"}
VERBS = {
    Action.UP: "moves up",
    Action.DOWN: "moves down",
    Action.LEFT: "moves left",
    Action.RIGHT: "moves right",
    Action.WAIT: "waits",
}


def percent(rate: float) -> str:
    """0.4683 is "46.8 %", with a space that does not break."""
    return f"{rate * 100:.1f}\u00a0%"


def change(before: float, after: float) -> str:
    """The difference of two rates in percentage points, as they are shown: "+11.5", "−0.3" or "±0.0"."""
    points = round(round(after * 100, 1) - round(before * 100, 1), 1)
    return "±0.0" if points == 0 else f"{'+' if points > 0 else '−'}{abs(points):.1f}"


def count(amount: int, one: str, many: str | None = None) -> str:
    """`count(2, "stage")` is "2 stages"."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def listed(items: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def size_name(size: int | str) -> str:
    """The name of a map size: 4x4."""
    return f"{size}x{size}"


def stage_name(index: int) -> str:
    """People count stages from 1; what comes before the first is the start."""
    return "Start" if index == BASELINE_STAGE else f"Stage {index + 1}"


def when(index: int) -> str:
    """Which checkpoint: "before training", "after stage 3"."""
    return "before training" if index == BASELINE_STAGE else f"after stage {index + 1}"


def duration(seconds: float) -> str:
    """Seconds below two minutes, else minutes, else hours and minutes."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def verdict(outcome: Outcome) -> str:
    """The verdict in a word or three."""
    if outcome.failure is not None:
        return FAILURES[outcome.failure]
    return "optimal" if outcome.optimal else "valid, longer than needed"


def explained(instance: Instance, outcome: Outcome) -> str:
    """Why an answer failed or how good it is, in a sentence. Steps count from 1, cells are (row, column)."""
    if outcome.failure is None:
        return _praise(instance, outcome)
    if outcome.failure is FailureCategory.PARSE_ERROR:
        return f"No complete plan for {len(instance.agents)} agents could be read from the answer."
    if outcome.violation is None:
        return f"The plan fails: {FAILURES[outcome.failure]}."
    return _blame(instance, outcome, outcome.violation)


def _praise(instance: Instance, outcome: Outcome) -> str:
    arrived = f"All agents reach their goals in {count(outcome.makespan or 0, 'step')}"
    if outcome.optimal:
        return f"{arrived}, and no plan is shorter."
    return f"{arrived}; {instance.optimal_makespan} would do."


def _blame(instance: Instance, outcome: Outcome, violation: Violation) -> str:
    step, who = violation.step + 1, _agents(violation.agents)
    cells = [str(cell) for cell in violation.cells]
    if violation.category is FailureCategory.GOAL_NOT_REACHED:
        return _missed(instance, violation)
    if violation.category is FailureCategory.AGENT_CONFLICT:
        if violation.conflict is ConflictKind.EDGE:
            return (
                f"In step {step}, {who} exchange the cells {listed(cells)}: they would run into each other."
            )
        return f"In step {step}, {who} end up on the same cell, {listed(cells)}."
    verb = VERBS[action_at(outcome, violation.agents[0], violation.step)] if violation.agents else "moves"
    if violation.category is FailureCategory.HOLE_COLLISION:
        return f"In step {step}, {who} {verb} into the hole at {listed(cells)}."
    return f"In step {step}, {who} {verb} from {listed(cells)} and leaves the board."


def _missed(instance: Instance, violation: Violation) -> str:
    places: list[tuple[int, Cell]] = list(zip(violation.agents, violation.cells, strict=False))
    parts = [
        f"agent {agent} stands at {cell}, its goal is {instance.agents[agent].goal}" for agent, cell in places
    ]
    return f"When the plan ends after {count(violation.step, 'step')}, {'; '.join(parts)}."


def action_at(outcome: Outcome, agent: int, step: int) -> Action:
    """What the plan has an agent do in a step; an agent whose list has ended waits."""
    lane = outcome.plan[agent] if outcome.plan and agent < len(outcome.plan) else []
    return lane[step] if step < len(lane) else Action.WAIT


def _agents(agents: list[int]) -> str:
    return f"agent{'s' if len(agents) > 1 else ''} {listed([str(agent) for agent in agents])}"
