"""Figures on their way to sinks: handed over in no time, written by a thread per sink."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

import structlog

from trainer_service.settings import SinkName
from trainer_service.training.sinks.kinds import SINKS
from trainer_service.training.spec import Run, StepMetrics

log = structlog.get_logger()

MOST_WAITING = 1_000
"""Steps that a sink may be behind: one that is further behind hangs, and is dropped."""
CLOSING_SECONDS = 10.0


class Sinks(AbstractContextManager["Sinks"]):
    """All sinks of a training. One that raises or hangs is told of once, dropped, and missed by nobody."""

    def __init__(self, names: Iterable[SinkName], run: Run) -> None:
        self._feeds = [_Feed(name, run) for name in names]

    def log(self, metrics: StepMetrics) -> None:
        figures = dict(_figures(metrics.model_dump(exclude={"step", "steps"}), "train"))
        for feed in self._feeds:
            feed.put((metrics.step, figures))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        deadline = time.monotonic() + CLOSING_SECONDS
        for feed in self._feeds:
            feed.put(None)
        for feed in self._feeds:
            feed.join(max(0.0, deadline - time.monotonic()))


class _Feed:
    """One sink and the thread that it is opened, fed and closed in."""

    def __init__(self, name: SinkName, run: Run) -> None:
        self.name = name
        self._waiting: queue.Queue[tuple[int, dict[str, float]] | None] = queue.Queue(MOST_WAITING)
        self._dropped = False
        # Daemonic: a sink that hangs for ever must not keep the process from ending.
        self._thread = threading.Thread(target=self._work, args=(run,), name=f"sink-{name}", daemon=True)
        self._thread.start()

    def put(self, item: tuple[int, dict[str, float]] | None) -> None:
        if self._dropped:
            return
        try:
            self._waiting.put_nowait(item)
        except queue.Full:
            self._drop(f"is {MOST_WAITING} steps behind")

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)
        if self._thread.is_alive() and not self._dropped:
            self._drop(f"did not close within {CLOSING_SECONDS:.0f} s")

    def _work(self, run: Run) -> None:
        try:
            sink = SINKS[self.name](run)
            while (item := self._waiting.get()) is not None:
                sink.log(*item)
            sink.close()
        except BaseException as error:  # some libraries end the process where they should raise
            self._drop(f"{type(error).__name__}: {error}")

    def _drop(self, reason: str) -> None:
        self._dropped = True
        log.warning("sink.dropped", sink=self.name, reason=reason)


def _figures(values: dict[Any, Any], under: str) -> Iterator[tuple[str, float]]:
    """Numbers by their path, as in `train/sizes/3/valid`; what is missing or no number is left out."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _figures(value, f"{under}/{name}")
        elif isinstance(value, int | float):
            yield f"{under}/{name}", float(value)
