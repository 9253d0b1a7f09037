"""A line of metrics per optimiser step, flushed at once so that it can be followed."""

import math
import time
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from trainer_service.training.judging import Judge
from trainer_service.training.lines import Lines
from trainer_service.training.spec import StepMetrics


class MetricsWriter(TrainerCallback):  # type: ignore[misc]
    """Joins what the library logs with what the judge counted."""

    def __init__(self, judge: Judge, lines: Lines) -> None:
        self.judge = judge
        self.lines = lines
        self._last = time.perf_counter()

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        if not logs or "loss" not in logs:
            return  # the library's closing summary
        now, record = time.perf_counter(), self.judge.record
        rewards = record.rewards
        mean = sum(rewards) / len(rewards)
        metrics = StepMetrics(
            step=state.global_step,
            steps=state.max_steps,
            reward=mean,
            reward_std=math.sqrt(sum((reward - mean) ** 2 for reward in rewards) / len(rewards)),
            valid=record.share("valid"),
            optimal=record.share("optimal"),
            dead_group_share=record.dead_group_share,
            tokens=record.tokens,
            samples=len(rewards),
            seconds=now - self._last,
            loss=_finite(logs.get("loss")),
            grad_norm=_finite(logs.get("grad_norm")),
            learning_rate=_finite(logs.get("learning_rate")),
        )
        self._last = now
        self.lines.write([metrics])


def _finite(value: Any) -> float | None:
    """JSON knows no NaN."""
    return float(value) if value is not None and math.isfinite(float(value)) else None
