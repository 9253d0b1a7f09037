"""Campaigns in words: stages as people count them, durations, changes, events of note."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.markup import escape

from trainee2trainer.cli.progress import Progress
from trainee2trainer.contracts.campaign import BASELINE_STAGE, Event, EventKind

Data = Mapping[str, Any]

TOLD_STEPS = 4
"""Training steps are told so many times per stage where there is no live screen."""


def stage(index: int) -> str:
    return "start" if index == BASELINE_STAGE else f"stage {index + 1}"


def duration(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


def knobs(configuration: Mapping[str, Any]) -> str:
    """A configuration in a line, per size: share, holes, waits."""
    return ", ".join(
        f"{knobs['data_ratio']:.0%} {size}x{size} ({knobs['hole_ratio']:.0%} holes, "
        f"{knobs['wait_ratio']:.0%} waits)"
        for size, knobs in configuration["sizes"].items()
    )


def knob(of: Mapping[str, Any]) -> str:
    return f"{of['size']}x{of['size']} {of['knob']}"


def changes(changed: Iterable[Mapping[str, Any]]) -> list[str]:
    """What an engineer changed, a line per knob."""
    return [f"{knob(one)} {_value(one['before'])} → {_value(one['after'])}" for one in changed]


def of_note(event: Event, progress: Progress) -> str | None:
    """A line about what has happened, when it is worth one. Markup is rich's."""
    line = LINES.get(EventKind(event.kind)) if event.kind in set(EventKind) else None
    return line(event.data, progress) if line else None


def _stage_started(data: Data, progress: Progress) -> str:
    return f"[bold]{stage(data['stage'])} of {progress.stages}[/]  {knobs(data['configuration'])}"


def _train_resumed(data: Data, _progress: Progress) -> str:
    passed_over = f" (passed over: {escape('; '.join(data['refused']))})" if data["refused"] else ""
    return f"training goes on after step {data['step']}{passed_over}"


def _train_step(data: Data, _progress: Progress) -> str | None:
    if data["step"] % max(1, data["steps"] // TOLD_STEPS):
        return None
    return f"step {data['step']} of {data['steps']}: reward {data['reward']:.3f}"


def _validated(data: Data, _progress: Progress) -> str:
    per_size = ", ".join(f"{size}x{size} {rate['valid']:.1%}" for size, rate in data["sizes"].items())
    return f"[green]valid {data['overall']['valid']:.1%}[/] ({per_size})"


def _proposed(data: Data, _progress: Progress) -> str:
    if data["fallback_reason"]:
        return f"[yellow]the engineer's answer cannot be used: {escape(data['fallback_reason'])}[/]"
    told = "; ".join(changes(data["changes"])) or "no change"
    reason = f' — "{escape(data["reason"])}"' if data["reason"] else ""
    return f"the engineer: {told}{reason}"


def _step_failed(data: Data, _progress: Progress) -> str:
    return f"[yellow]{data['step']} failed (attempt {data['attempt']}): {escape(data['error'])}[/]"


LINES: dict[EventKind, Callable[[Data, Progress], str | None]] = {
    EventKind.STAGE_STARTED: _stage_started,
    EventKind.STEP_FAILED: _step_failed,
    EventKind.GENERATE_DONE: lambda data, _: f"{data['asked']} boards made in {duration(data['seconds'])}",
    EventKind.TRAIN_RESUMED: _train_resumed,
    EventKind.TRAIN_STEP: _train_step,
    EventKind.TRAIN_DONE: lambda data, _: f"trained in {duration(data['seconds'])} → {data['checkpoint']}",
    EventKind.VALIDATE_DONE: _validated,
    EventKind.PROPOSE_WAITING: lambda data, _: f"proposal {data['proposal_id']} waits for approval",
    EventKind.PROPOSE_DONE: _proposed,
    EventKind.CAMPAIGN_FAILED: lambda data, _: f"[red]failed: {escape(data['error'])}[/]",
    EventKind.CAMPAIGN_PAUSED: lambda data, _: f"paused {escape(data.get('reason', ''))}".rstrip(),
    EventKind.CAMPAIGN_CANCELLED: lambda _data, _: "cancelled",
}


def _value(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"
