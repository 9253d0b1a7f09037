"""What the routes share: made once when the service starts."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from engineer_service.settings import EngineerSettings
from trainee2trainer.client import EnvClient, PolicyClient
from trainee2trainer.store import Store


@dataclass(frozen=True, slots=True)
class Context:
    settings: EngineerSettings
    store: Store
    env: EnvClient
    policy: PolicyClient


def _context(request: Request) -> Context:
    return cast(Context, request.app.state.context)


ContextDep = Annotated[Context, Depends(_context)]
