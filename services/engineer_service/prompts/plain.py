"""engineer-plain-v1: the evidence in natural language, for models that read and write freely.

A wording never changes once it has a version.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from engineer_service.prompts.drawing import drawn_case
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import Rates, SizeSummary, StageSummary
from trainee2trainer.contracts.environment import (
    EnvironmentConfig,
    EnvironmentFamily,
    FailureCategory,
    SizeKnobs,
)

_CURVE_POINTS = 10
_HISTORY_STAGES = 8

_TASK = """\
You design the training environment of a language model that learns, by reinforcement, to plan paths for
several agents on a frozen lake: square boards of ice and holes, on which every agent has a start and a goal.
In each step all agents move at once (UP, DOWN, LEFT, RIGHT, WAIT). No agent may leave the board, enter a
hole, share a cell with another or exchange cells with it. The model writes the whole plan in one answer; it
is valid when every agent ends on its goal without breaking a rule, and optimal when no valid plan has fewer
steps.

Training goes in stages. One stage has just ended; you choose which boards the next one is made of. You never
write boards yourself, and you cannot change the reward. The validation boards below are never trained on and
stay the same: the aim is to have more of them solved, over all sizes."""

_ADVICE = """\
What has worked before:
- Start from the failures. Change what they point to, and leave alone what works.
- Harder is not better: boards on which every sample fails teach nothing, and neither do boards on which every
  sample succeeds. "Dead groups" is the share of training prompts of that kind.
- Boards that need a wait are learned only when they are trained on, and plain boards are forgotten when
  hardly any are left. Keep the wait ratio of a size between the extremes.
- Take no size out of training altogether, and change knobs in small steps: the next stage can go on from
  there."""

_TABLE_HEAD = (
    "size",
    "data_ratio",
    "hole_ratio",
    "wait_ratio",
    "valid",
    "valid without wait",
    "valid with wait",
    "optimal",
    "mean steps",
    "valid in training",
    "dead groups",
)


def plain_prompt(summary: StageSummary, family: EnvironmentFamily) -> list[Message]:
    """One message with the task, the evidence, and the form of the answer."""
    overall = summary.overall
    sections = [
        _TASK,
        _ADVICE,
        f"Validation after stage {summary.stage_index + 1}: of {overall.samples} plans "
        f"{_percent(overall.valid)} were valid and {_percent(overall.optimal)} optimal.",
        _results(summary.sizes),
        _failures(summary.sizes),
        _curve(summary.reward_curve),
        _cases(summary),
        _history(summary),
        _form(summary.configuration, family),
    ]
    return [Message(role="user", content="\n\n".join(section for section in sections if section))]


def _results(sizes: Sequence[SizeSummary]) -> str:
    rows = (
        (
            f"{size.size}x{size.size}",
            *_knobs(size.configured),
            _valid(size.validation),
            _valid(size.validation_plain),
            _valid(size.validation_wait),
            _percent(size.validation.optimal) if size.validation.samples else "-",
            "-" if size.mean_plan_length is None else f"{size.mean_plan_length:.1f}",
            _valid(size.training),
            "-" if size.dead_group_share is None else _percent(size.dead_group_share),
        )
        for size in sizes
    )
    return f"By map size, with the knobs of the stage that has ended:\n{_table(_TABLE_HEAD, rows)}"


def _failures(sizes: Sequence[SizeSummary]) -> str:
    head = ("size", *(category.value for category in FailureCategory))
    rows = (
        (f"{size.size}x{size.size}", *(_share(size, category) for category in FailureCategory))
        for size in sizes
        if size.validation.samples
    )
    return f"What failed first, as shares of the validation plans of that size:\n{_table(head, rows)}"


def _share(size: SizeSummary, category: FailureCategory) -> str:
    return _percent(size.failures.get(category, 0) / size.validation.samples)


def _curve(rewards: Sequence[float]) -> str:
    """Means over equal parts of the stage, so that a long curve stays one line."""
    if not rewards:
        return ""
    points = min(_CURVE_POINTS, len(rewards))
    edges = [len(rewards) * point // points for point in range(points + 1)]
    means = [sum(rewards[first:last]) / (last - first) for first, last in pairwise(edges)]
    return f"Mean training reward over the stage: {', '.join(f'{mean:.2f}' for mean in means)}"


def _cases(summary: StageSummary) -> str:
    if not summary.failure_cases:
        return ""
    boards = "\n\n".join(drawn_case(case) for case in summary.failure_cases)
    return (
        "Some failures (S s A B C are the starts of agents 0 to 4, G g a b c their goals, F ice, H holes; "
        f"cells as (row, column) from the top left):\n\n{boards}"
    )


def _history(summary: StageSummary) -> str:
    lines = []
    for past in summary.history[-_HISTORY_STAGES:]:
        name = "Before training" if past.configuration is None else f"Stage {past.stage_index + 1}"
        rates = ", ".join(f"{size}x{size} {_percent(valid)}" for size, valid in sorted(past.sizes.items()))
        line = f"{name}: {_percent(past.valid)} valid ({rates or 'no sizes'})"
        lines.append(line + (f", trained on {_configured(past.configuration)}" if past.configuration else ""))
    return "Before this stage:\n" + "\n".join(lines) if lines else ""


def _configured(configuration: EnvironmentConfig) -> str:
    return "; ".join(
        f"{size}x{size} data {knobs.data_ratio:.2f} hole {knobs.hole_ratio:.2f} wait {knobs.wait_ratio:.2f}"
        for size, knobs in configuration.sizes.items()
    )


def _form(configuration: EnvironmentConfig, family: EnvironmentFamily) -> str:
    knobs = "\n".join(
        f"- {knob.name}, {knob.minimum:g} to {knob.maximum:g}. {knob.description}" for knob in family.knobs
    )
    empty = ", ".join(f'"{knob.name}": ...' for knob in family.knobs)
    sizes = ", ".join(f'"{size}": {{{empty}}}' for size in configuration.sizes)
    return (
        f"The knobs of each map size (from {family.sizes[0]} to {family.sizes[-1]}):\n{knobs}\n"
        "A size that you leave out keeps its knobs; one with data_ratio 0 is not trained on.\n\n"
        "Answer with one JSON object and nothing after it, the reason in one short sentence:\n"
        f'{{"sizes": {{{sizes}}}, "reason": "..."}}'
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(" | ".join(row) for row in (head, *rows))


def _knobs(knobs: SizeKnobs | None) -> tuple[str, str, str]:
    if knobs is None:
        return ("-", "-", "-")
    return (f"{knobs.data_ratio:.2f}", f"{knobs.hole_ratio:.2f}", f"{knobs.wait_ratio:.2f}")


def _valid(rates: Rates | None) -> str:
    return _percent(rates.valid) if rates and rates.samples else "-"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
