"""A line of metrics per optimiser step, flushed at once so that it can be followed."""

import math
import time
from statistics import pstdev
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from trainer_service.training.judging import Judge, StepRecord
from trainer_service.training.lines import Lines
from trainer_service.training.sinks import Sinks
from trainer_service.training.spec import SizeMetrics, StepMetrics
from trainer_service.training.watching import GAP_MAX, GAP_MEAN

_NO_REFERENCE = "kl_coefficient is 0: no reference model is held"


class MetricsWriter(TrainerCallback):  # type: ignore[misc]
    """Joins what the library logs with what the judge counted."""

    def __init__(self, judge: Judge, lines: Lines, sinks: Sinks) -> None:
        self.judge = judge
        self.lines = lines
        self.sinks = sinks
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
        now = time.perf_counter()
        metrics = step_metrics(state, logs, self.judge.record, now - self._last)
        self._last = now
        self.lines.write([metrics])
        self.sinks.log(metrics)


def step_metrics(
    state: TrainerState, logs: dict[str, Any], record: StepRecord, seconds: float
) -> StepMetrics:
    """The line of one step. `logs` is the library's."""
    kl = _finite(logs.get("kl"))
    return StepMetrics(
        step=state.global_step,
        steps=state.max_steps,
        reward=record.reward,
        reward_std=pstdev(record.rewards),
        valid=record.share("valid"),
        optimal=record.share("optimal"),
        dead_group_share=record.dead_group_share,
        sizes={size: _size(part) for size, part in record.sizes.items()},
        samples=len(record.rollouts),
        tokens=record.tokens,
        tokens_mean=logs["completions/mean_length"],
        tokens_min=int(logs["completions/min_length"]),
        tokens_max=int(logs["completions/max_length"]),
        truncated=logs["completions/clipped_ratio"],
        seconds=seconds,
        tokens_per_second=record.tokens / seconds,
        loss=_finite(logs.get("loss")),
        grad_norm=_finite(logs.get("grad_norm")),
        learning_rate=_finite(logs.get("learning_rate")),
        kl=kl,
        kl_missing=_NO_REFERENCE if "kl" not in logs else "it is no number" if kl is None else None,
        gap_mean=_finite(logs.get(GAP_MEAN)),
        gap_max=_finite(logs.get(GAP_MAX)),
    )


def _size(record: StepRecord) -> SizeMetrics:
    return SizeMetrics(
        samples=len(record.rollouts),
        reward=record.reward,
        valid=record.share("valid"),
        optimal=record.share("optimal"),
        dead_group_share=record.dead_group_share,
    )


def _finite(value: Any) -> float | None:
    """JSON knows no NaN."""
    return float(value) if value is not None and math.isfinite(float(value)) else None
