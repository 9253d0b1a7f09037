"""What the routes share: made once when the service starts."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from trainee2trainer.client import EnvClient
from trainee2trainer.jobs import Queue
from trainee2trainer.store import Store
from trainer_service.settings import TrainerSettings


@dataclass(frozen=True, slots=True)
class Context:
    settings: TrainerSettings
    store: Store
    queue: Queue
    env: EnvClient


def _context(request: Request) -> Context:
    return cast(Context, request.app.state.context)


ContextDep = Annotated[Context, Depends(_context)]
