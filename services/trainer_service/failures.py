"""How work fails: once more may help, or not."""

from trainee2trainer.client import ProblemError
from trainer_service.disk import DiskFull


class StepFailed(Exception):
    """Something went wrong that may go right the next time."""


class Hopeless(Exception):
    """No repetition can help: what was asked for cannot be done."""


class Undecided(Exception):
    """No failure: a person has not decided yet."""


def hopeless(error: Exception) -> bool:
    """Whether there is no point in trying again: the request itself was refused."""
    refused = isinstance(error, ProblemError) and error.status in {404, 409, 422}
    return refused or isinstance(error, Hopeless)


def in_words(error: Exception) -> str:
    """What a person should read of it, at most some thousand characters."""
    text = (
        str(error)
        if isinstance(error, StepFailed | Hopeless | DiskFull)
        else f"{type(error).__name__}: {error}"
    )
    return text[:8_000]


def no_room(error: Exception) -> str:
    """Why work pauses on a full disk, and what to do about it."""
    return f"The disk is full: make room, then resume. {in_words(error)}"
