"""engineer-plain-v1: the evidence in natural language, for models that read and write freely.

A wording never changes once it has a version.
"""

from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import FailureCase, Rates, SizeSummary, StageSummary
from trainee2trainer.contracts.environment import Cell, EnvironmentFamily

_SYSTEM = """\
You design the training environment of a language model that learns multi-agent path finding on frozen lakes by \
reinforcement learning. After each stage you read what the model can and cannot do, and write the configuration \
that the next stage's boards are made from. You never write boards yourself, and you cannot change the reward."""

_ADVICE = """\
What has worked before:
- Learning needs answers that sometimes succeed and sometimes fail. Boards that always or never succeed teach nothing.
- Go by the failures, and leave alone what already works: change few things at a time.
- Harder everywhere is not better. A mix that is too hard gives no reward at all; a one-sided mix forgets.
- Boards that need a wait are learnt only if there are enough of them among the others."""


def plain_prompt(summary: StageSummary, family: EnvironmentFamily) -> list[Message]:
    """A system and a user message."""
    sections = [
        f"Stage {summary.stage_index + 1} is over. Over all validation boards, {_rates(summary.overall)}.",
        "By map size:\n" + "\n".join(map(_size, summary.sizes)),
        _curve(summary.reward_curve),
        _history(summary),
        *(_case(number, case) for number, case in enumerate(summary.failure_cases, start=1)),
        _ADVICE,
        _task(summary, family),
    ]
    text = "\n\n".join(section for section in sections if section)
    return [Message(role="system", content=_SYSTEM), Message(role="user", content=text)]


def _rates(rates: Rates) -> str:
    if not rates.samples:
        return "nothing was measured"
    return f"{rates.valid:.0%} of {rates.samples} sampled plans were valid and {rates.optimal:.0%} optimal"


def _size(size: SizeSummary) -> str:
    knobs, failures = size.configured, size.failures
    lines = [f"- {size.size}x{size.size}: {_rates(size.validation)}."]
    lines.append(
        f"  Boards that need a wait: {size.validation_wait.valid:.0%} valid; others: {size.validation_plain.valid:.0%}."
    )
    if failures:
        told = ", ".join(f"{category.value} {amount}" for category, amount in failures.items() if amount)
        lines.append(f"  Failures: {told or 'none'}.")
    if knobs is None:
        lines.append("  Not trained on in this stage.")
    else:
        lines.append(
            f"  Trained with data_ratio {knobs.data_ratio:.2f}, hole_ratio {knobs.hole_ratio:.2f}, "
            f"wait_ratio {knobs.wait_ratio:.2f}."
        )
    if size.training is not None and size.dead_group_share is not None:
        lines.append(
            f"  In training {size.training.valid:.0%} valid; {size.dead_group_share:.0%} of the groups had no "
            "spread of reward, so they taught nothing."
        )
    return "\n".join(lines)


def _curve(rewards: list[float]) -> str:
    if not rewards:
        return ""
    picked = rewards[:: max(1, len(rewards) // 10)]
    return "Mean training reward, in order: " + ", ".join(f"{reward:.2f}" for reward in picked)


def _history(summary: StageSummary) -> str:
    lines = []
    for past in summary.history:
        name = "Before training" if past.configuration is None else f"Stage {past.stage_index + 1}"
        sizes = past.configuration.sizes.items() if past.configuration else ()
        knobs = "; ".join(
            f"{size}x{size} data {one.data_ratio:.2f} hole {one.hole_ratio:.2f} wait {one.wait_ratio:.2f}"
            for size, one in sizes
        )
        lines.append(
            f"- {name}: {past.valid:.0%} valid, {past.optimal:.0%} optimal{'; ' + knobs if knobs else ''}"
        )
    return "Before:\n" + "\n".join(lines) if lines else ""


def _case(number: int, case: FailureCase) -> str:
    instance = case.instance
    agents = "; ".join(f"agent {n} from {a.start} to {a.goal}" for n, a in enumerate(instance.agents))
    told = f"{case.failure.value}"
    if case.violation is not None:
        told += f" in step {case.violation.step + 1} at {', '.join(map(str, case.violation.cells))}"
    return f"Failure {number}: {agents}.\n{_drawn(instance.size, instance.holes)}\nAnswer: {case.answer}\n{told}."


def _drawn(size: int, holes: list[Cell]) -> str:
    rows = (" ".join("H" if (row, column) in holes else "F" for column in range(size)) for row in range(size))
    return "\n".join(rows)


def _task(summary: StageSummary, family: EnvironmentFamily) -> str:
    knobs = "\n".join(f"- {k.name}: {k.minimum:g} to {k.maximum:g}. {k.description}" for k in family.knobs)
    sizes = ", ".join(str(size.size) for size in summary.sizes)
    names = ", ".join(f'"{knob.name}": number' for knob in family.knobs)
    return (
        f"Write the next stage's configuration for the map sizes {sizes}. The knobs of each size:\n{knobs}\n\n"
        f'Answer with JSON alone: {{"sizes": {{"SIZE": {{{names}}}, ...}}, "reason": "one short sentence"}}'
    )
