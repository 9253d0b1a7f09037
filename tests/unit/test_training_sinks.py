"""Curves go where people look at them, and nothing that happens there reaches the training."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from trainer_service.training.sinks import Sinks, fanout, kinds
from trainer_service.training.spec import Run, SizeMetrics, StepMetrics

SIZE = SizeMetrics(samples=16, reward=0.5, valid=0.25, optimal=0.1, dead_group_share=0.75)


def step(number: int) -> StepMetrics:
    return StepMetrics(
        step=number,
        steps=10,
        reward=number / 10,
        reward_std=0.1,
        valid=0.5,
        optimal=0.5,
        dead_group_share=0.5,
        sizes={3: SIZE},
        samples=16,
        tokens=100,
        tokens_mean=6.25,
        tokens_min=1,
        tokens_max=9,
        truncated=0.0,
        seconds=1.0,
        tokens_per_second=100.0,
        loss=0.1,
        grad_norm=None,
        learning_rate=1e-3,
        kl=None,
        kl_missing="no reference",
        gap_mean=0.0,
        gap_max=0.0,
    )


def run(folder: Path, after: int = 0) -> Run:
    return Run(name="stage-0", folder=folder, after=after)


def curve(folder: Path, name: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(folder / "tensorboard" / "stage-0"))
    events.Reload()
    return [(event.step, pytest.approx(event.value)) for event in events.Scalars(name)]


class Played:
    """A sink that remembers, and that does `when_logging` before."""

    def __init__(self, when_logging: Callable[[int], object] = lambda _: None) -> None:
        self.seen: list[int] = []
        self.closed = False
        self.when_logging = when_logging

    def log(self, step: int, figures: Mapping[str, float]) -> None:
        self.when_logging(step)
        self.seen.append(step)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def neighbour(monkeypatch: pytest.MonkeyPatch) -> Played:
    """A healthy sink beside the one under test."""
    healthy = Played()
    monkeypatch.setitem(kinds.SINKS, "trackio", lambda _run: healthy)
    return healthy


def test_a_real_tensorboard_shows_every_number(tmp_path: Path) -> None:
    with Sinks(["tensorboard"], run(tmp_path)) as sinks:
        for number in (1, 2, 3):
            sinks.log(step(number))
    assert curve(tmp_path, "train/reward") == [(1, 0.1), (2, 0.2), (3, 0.3)]
    assert curve(tmp_path, "train/sizes/3/dead_group_share") == [(1, 0.75), (2, 0.75), (3, 0.75)]
    with pytest.raises(KeyError):
        curve(tmp_path, "train/grad_norm")  # none was measured


def test_a_training_that_goes_on_goes_on_with_its_curve(tmp_path: Path) -> None:
    with Sinks(["tensorboard"], run(tmp_path)) as sinks:
        for number in (1, 2, 3):
            sinks.log(step(number))
    with Sinks(["tensorboard"], run(tmp_path, after=2)) as sinks:
        for number in (3, 4):
            sinks.log(step(number))
    assert curve(tmp_path, "train/reward") == [(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)]


def refuse(_: object) -> None:
    raise ConnectionError("no way there")


def leave(_: object) -> None:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("opened", "reason"),
    [
        (refuse, "ConnectionError: no way there"),
        (lambda _run: Played(refuse), "ConnectionError: no way there"),
        (lambda _run: Played(leave), "SystemExit: 1"),
    ],
)
def test_a_sink_that_raises_is_told_of_once_and_dropped(
    tmp_path: Path,
    neighbour: Played,
    monkeypatch: pytest.MonkeyPatch,
    opened: Callable[[Run], Played],
    reason: str,
) -> None:
    monkeypatch.setitem(kinds.SINKS, "wandb", opened)
    with capture_logs() as told, Sinks(["wandb", "trackio"], run(tmp_path)) as sinks:
        for number in (1, 2, 3):
            sinks.log(step(number))
            time.sleep(0.05)
    dropped = {"event": "sink.dropped", "sink": "wandb", "reason": reason, "log_level": "warning"}
    assert told == [dropped]
    assert neighbour.seen == [1, 2, 3]
    assert neighbour.closed


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    let_go = threading.Event()
    monkeypatch.setitem(kinds.SINKS, "wandb", lambda _run: Played(lambda _: let_go.wait()))
    yield
    let_go.set()


@pytest.mark.usefixtures("hanging")
def test_a_sink_that_hangs_holds_up_nothing(
    tmp_path: Path, neighbour: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fanout, "MOST_WAITING", 5)
    monkeypatch.setattr(fanout, "CLOSING_SECONDS", 0.2)
    started = time.monotonic()
    with capture_logs() as told, Sinks(["wandb", "trackio"], run(tmp_path)) as sinks:
        for number in range(1, 11):
            sinks.log(step(number))
            time.sleep(0.01)
    assert time.monotonic() - started < 2
    assert [(line["sink"], line["reason"]) for line in told] == [("wandb", "is 5 steps behind")]
    assert neighbour.seen == list(range(1, 11))


@pytest.mark.usefixtures("hanging")
def test_a_sink_that_does_not_close_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanout, "CLOSING_SECONDS", 0.2)
    with capture_logs() as told, Sinks(["wandb"], run(tmp_path)) as sinks:
        sinks.log(step(1))
    assert [line["reason"] for line in told] == ["did not close within 0 s"]


def test_a_library_that_is_not_there_is_a_dropped_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with capture_logs() as told, Sinks(["wandb"], run(tmp_path)) as sinks:
        sinks.log(step(1))
    (line,) = told
    assert "wandb" in line["reason"]
