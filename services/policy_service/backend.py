"""Where the service ends and an engine begins. Token ids in, token ids out, at a loaded checkpoint."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from policy_service.vocabulary import Vocabulary
from trainee2trainer.contracts.policy import FinishReason
from trainee2trainer.models.rows import Row


@dataclass(frozen=True, slots=True)
class Loaded:
    """A verified checkpoint, ready to answer. Only the engine that made `model` looks into it."""

    checkpoint_id: str
    vocabulary: Vocabulary
    model: object


@dataclass(slots=True)
class Answer:
    """One row's answer as far as it is sampled. With an `error` it was not finished, for a reason of ours."""

    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """One more token of the answer to row number `row`."""

    row: int
    token_id: int
    finish_reason: FinishReason | None


Listener = Callable[[list[Token]], None]


class Job:
    """One request's rows at one checkpoint. `done` is set when each has its answer; cancelling it gives up.

    `listener` hears of tokens as they come, in the engine's thread.
    """

    def __init__(self, loaded: Loaded, rows: Sequence[Row], listener: Listener | None = None) -> None:
        self.loaded = loaded
        self.rows = rows
        self.answers = [Answer() for _ in rows]
        self.listener = listener
        self.done: Future[None] = Future()
        self.unanswered = len(rows)

    @property
    def given_up(self) -> bool:
        return self.done.cancelled()


class EngineBusyError(Exception):
    """As much is waiting as may wait. `retry_after`: seconds after which asking again makes sense."""

    def __init__(self, detail: str, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(detail)


class Engine(Protocol):
    """Samples for all callers. A checkpoint is named by every answer, and no batch mixes two."""

    def load(self, checkpoint_id: str, folder: Path) -> Loaded:
        """Takes time; called in a thread of its own. Raises OSError or ValueError where it is no model."""
        ...

    def submit(self, job: Job) -> None:
        """Takes a job on, or raises EngineBusyError. Returns at once."""
        ...

    async def responsive(self, seconds: float) -> bool:
        """Whether the engine does nothing, on request, within this time."""
        ...

    def close(self) -> None:
        """Ends what is under way; jobs that are not done get an error for an answer."""
        ...
