"""What the routes share: made once when the service starts."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request

from policy_service.backend import Engine
from policy_service.registry import Registry
from policy_service.settings import PolicySettings
from trainee2trainer.store import Store


@dataclass(frozen=True, slots=True)
class Context:
    settings: PolicySettings
    store: Store
    engine: Engine
    registry: Registry


def _context(request: Request) -> Context:
    return cast(Context, request.app.state.context)


ContextDep = Annotated[Context, Depends(_context)]
