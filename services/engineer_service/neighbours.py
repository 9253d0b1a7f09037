"""Env and policy as seen from here: when they fail, that is our failure, and nobody else's."""

from collections.abc import Iterator
from contextlib import contextmanager

from trainee2trainer.client import ProblemError, UnreachableError
from trainee2trainer.web import problems


@contextmanager
def needed(service: str) -> Iterator[None]:
    """Whatever a call to `service` ends in other than its answer becomes the problem 503."""
    try:
        yield
    except UnreachableError as error:
        raise problems.unavailable(f"The {service} service gives no answer.") from error
    except ProblemError as error:
        detail = f"The {service} service answered {error.status}: {error.detail or error.title}"
        raise problems.unavailable(detail, round(error.retry_after or 5)) from error
