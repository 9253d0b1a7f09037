"""How far a campaign is: its events, folded into what a person wants to see."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from trainee2trainer.contracts.campaign import BASELINE_STAGE, Event, EventKind, StageStep

ENDED = {EventKind.CAMPAIGN_SUCCEEDED, EventKind.CAMPAIGN_FAILED, EventKind.CAMPAIGN_CANCELLED}
STEPS = [step.value for step in StageStep if step is not StageStep.DONE]
RECENT_STEPS = 8
"""Optimiser steps that the rates shown are averaged over: single ones are noise."""


@dataclass
class Progress:
    """Fed with a campaign's events in their order, past and coming."""

    stages: int = 1
    stage: int = BASELINE_STAGE
    step: str = "queued"
    begun: datetime | None = None
    step_begun: datetime | None = None
    training: list[dict[str, Any]] = field(default_factory=list)  # the present stage's steps
    rates: dict[int, dict[str, dict[str, float]]] = field(default_factory=dict)  # by stage and size
    overall: dict[int, float] = field(default_factory=dict)
    spent: dict[str, list[float]] = field(default_factory=dict)  # seconds of finished steps, by step
    ended: str | None = None
    error: str | None = None

    def take(self, event: Event) -> None:
        """Folds in one event."""
        self.begun = self.begun or event.at
        data = event.data
        match event.kind:
            case EventKind.CAMPAIGN_CREATED:
                self.stages = data["stages"]
            case EventKind.STEP_STARTED:
                self.step, self.step_begun = data["step"], event.at
                self.stage = data["stage"] if self.step in STEPS else BASELINE_STAGE
                self.training = []
            case EventKind.TRAIN_STEP:
                self.training.append(data)
            case EventKind.VALIDATE_PROGRESS | EventKind.VALIDATE_DONE:
                self.rates[data["stage"]] = data["sizes"]
            case EventKind.PROPOSE_WAITING:
                self.step = "waiting for approval"
            case kind if kind in ENDED:
                self.ended, self.error = kind.removeprefix("campaign."), data.get("error")
        if event.kind == EventKind.VALIDATE_DONE:
            self.overall[data["stage"]] = data["overall"]["valid"]
        if "seconds" in data and event.kind.endswith(".done"):
            self.spent.setdefault(event.kind.removesuffix(".done"), []).append(data["seconds"])

    def recent(self, figure: str) -> float | None:
        """Mean of a training figure over the last steps."""
        values = [step[figure] for step in self.training[-RECENT_STEPS:] if step.get(figure) is not None]
        return sum(values) / len(values) if values else None

    @property
    def samples_per_second(self) -> float | None:
        steps = self.training[-RECENT_STEPS:]
        seconds = sum(step["seconds"] for step in steps)
        return sum(step["samples"] for step in steps) / seconds if seconds else None

    def seconds_left(self, now: datetime) -> float | None:
        """An estimate from what finished steps took; null before there is anything to judge by."""
        usual = {step: sum(values) / len(values) for step, values in self.spent.items()}
        if self.training:
            a_step = sum(step["seconds"] for step in self.training) / len(self.training)
            usual["train"] = a_step * self.training[-1]["steps"]
        if "train" not in usual or self.step not in STEPS or self.step_begun is None or self.ended:
            return None
        this_step = max(0.0, usual.get(self.step, 0.0) - (now - self.step_begun).total_seconds())
        this_stage = sum(usual.get(step, 0.0) for step in STEPS[STEPS.index(self.step) + 1 :])
        return this_step + this_stage + (self.stages - 1 - self.stage) * sum(usual.values())
