"""The engine: its thread outlives every failure, and nobody waits for ever."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from policy_service.backend import EngineBusyError, Job, Loaded, Token
from policy_service.engine import CLOSED, InProcessEngine
from policy_service.settings import PolicySettings
from trainee2trainer.models import checkpoints
from trainee2trainer.models.rows import Row

ROWS = [Row((5, 9, place), seed=place, max_tokens=6) for place in range(4)]


@pytest.fixture
def engine() -> Iterator[InProcessEngine]:
    engine = InProcessEngine(PolicySettings(policy_max_rows=8, policy_max_requests=3))
    yield engine
    engine.close()


@pytest.fixture
def loaded(engine: InProcessEngine, make_tiny: Callable[..., Any], tmp_path: Path) -> Loaded:
    checkpoints.save(*make_tiny(), tmp_path / "tiny")
    return engine.load("tiny", tmp_path / "tiny")


class Gate:
    """A model whose sampling stands still until it is let through."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()

    def stream(self, rows: list[Row]) -> Iterator[Any]:
        self.entered.set()
        self.open.wait(10)
        yield from ()


def test_jobs_are_answered_and_heard(engine: InProcessEngine, loaded: Loaded) -> None:
    heard: list[Token] = []
    job = Job(loaded, ROWS, heard.extend)
    engine.submit(job)
    job.done.result(10)
    for place, answer in enumerate(job.answers):
        tokens = [token for token in heard if token.row == place]
        assert [token.token_id for token in tokens] == answer.token_ids
        assert [token.finish_reason for token in tokens] == [None] * (len(tokens) - 1) + [
            answer.finish_reason
        ]
        assert answer.finish_reason is not None


def test_a_failure_is_told_and_survived(engine: InProcessEngine, loaded: Loaded) -> None:
    broken = Job(Loaded("broken", loaded.vocabulary, object()), ROWS)
    engine.submit(broken)
    broken.done.result(10)
    assert all(answer.error == "sampling failed: AttributeError" for answer in broken.answers)
    assert all(answer.finish_reason is None for answer in broken.answers)
    sound = Job(loaded, ROWS)
    engine.submit(sound)
    sound.done.result(10)
    assert all(answer.error is None for answer in sound.answers)


async def test_an_engine_that_stands_still_is_not_responsive(engine: InProcessEngine, loaded: Loaded) -> None:
    assert await engine.responsive(5)
    gate = Gate()
    engine.submit(Job(Loaded("gate", loaded.vocabulary, gate), ROWS))
    await asyncio.to_thread(gate.entered.wait, 10)
    assert not await engine.responsive(0.05)
    gate.open.set()
    assert await engine.responsive(5)


def test_requests_are_bounded_and_given_up_ones_make_room(engine: InProcessEngine, loaded: Loaded) -> None:
    gate = Gate()
    first = Job(Loaded("gate", loaded.vocabulary, gate), ROWS)
    engine.submit(first)
    gate.entered.wait(10)
    waiting = [Job(loaded, ROWS), Job(loaded, ROWS)]
    for job in waiting:
        engine.submit(job)
    with pytest.raises(EngineBusyError, match="3 requests") as raised:
        engine.submit(Job(loaded, ROWS))
    assert raised.value.retry_after >= 1
    waiting[0].done.cancel()
    last = Job(loaded, ROWS)
    engine.submit(last)
    gate.open.set()
    last.done.result(10)
    assert waiting[1].done.result(10) is None
    with pytest.raises(CancelledError):
        waiting[0].done.result(0)
    assert waiting[0].answers[0].token_ids == []


def test_closing_answers_whoever_waits(engine: InProcessEngine, loaded: Loaded) -> None:
    gate = Gate()
    jobs = [Job(Loaded("gate", loaded.vocabulary, gate), ROWS), Job(loaded, ROWS)]
    for job in jobs:
        engine.submit(job)
    gate.entered.wait(10)
    threading.Timer(0.1, gate.open.set).start()
    engine.close()
    late = Job(loaded, ROWS)
    engine.submit(late)
    for job in [jobs[1], late]:
        job.done.result(1)
        assert all(answer.error == CLOSED for answer in job.answers)
