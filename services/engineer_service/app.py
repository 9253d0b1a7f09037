"""The engineer service's app."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from engineer_service.context import Context
from engineer_service.routes import engineers, exchanges, proposals, summaries
from engineer_service.settings import EngineerSettings
from trainee2trainer.client import ClientError, EnvClient, PolicyClient
from trainee2trainer.store import Store
from trainee2trainer.web import create_app as create_base

_NEIGHBOUR_SECONDS = 2.0


def create_app(settings: EngineerSettings | None = None) -> FastAPI:
    """The app; its store and its connections to env and policy live as long as it runs."""
    settings = settings or EngineerSettings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = Store(settings.database)
        try:
            async with EnvClient(settings.url("env")) as env, PolicyClient(settings.url("policy")) as policy:
                app.state.context = Context(settings, store, env, policy)
                yield
        finally:
            await store.close()

    app = create_base(
        name="engineer",
        description="Evidence of a stage in, the next stage's configuration out: validated, tried, recorded.",
        lifespan=lifespan,
        readiness=_checks,
        # Summaries that are there can be read, and exchanges made, without either.
        dispensable={"env", "policy"},
    )
    for resource in (summaries, proposals, engineers, exchanges):
        app.include_router(resource.router)
    return app


async def _checks(app: FastAPI) -> dict[str, bool]:
    context: Context = app.state.context
    store, env, policy = await asyncio.gather(
        context.store.alive(), _answers(context.env), _answers(context.policy)
    )
    return {"store": store, "env": env, "policy": policy}


async def _answers(neighbour: EnvClient | PolicyClient) -> bool:
    try:
        async with asyncio.timeout(_NEIGHBOUR_SECONDS):
            return await neighbour.takes_requests()
    except (ClientError, TimeoutError):
        return False
