"""What the routes share: made once when the service starts."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from env_service.benchmarks.building import Shelf
from env_service.episodes.keeping import Episodes
from env_service.library import Library
from env_service.pool import SolverPool
from trainee2trainer.store import Store
from trainee2trainer.web import problems


class Slots:
    """So many at a time; one more is told to come again, rather than kept waiting in memory."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        if self.taken >= self.limit:
            raise problems.busy(f"{self.limit} generations are under way.", retry_after=2)
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


@dataclass(frozen=True, slots=True)
class Context:
    store: Store
    library: Library
    shelf: Shelf
    episodes: Episodes
    pool: SolverPool
    generations: Slots
    max_draws: int


def _context(request: Request) -> Context:
    return cast(Context, request.app.state.context)


ContextDep = Annotated[Context, Depends(_context)]
