"""The policy service's app."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from policy_service.context import Context
from policy_service.engine import InProcessEngine
from policy_service.registry import Registry
from policy_service.routes import chat, checkpoints, completions, models, rollouts
from policy_service.settings import PolicySettings
from trainee2trainer.store import Store
from trainee2trainer.web import create_app as create_base

MAX_BODY_BYTES = 8 * 1024 * 1024


def create_app(settings: PolicySettings | None = None) -> FastAPI:
    """The app; its store and its engine live as long as it runs."""
    settings = settings or PolicySettings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store, engine = Store(settings.database), InProcessEngine(settings)
        registry = Registry(store, engine, settings.data_dir, settings.policy_max_models)
        app.state.context = Context(settings, store, engine, registry)
        await registry.settle()
        try:
            yield
        finally:
            await asyncio.to_thread(engine.close)
            await store.close()

    app = create_base(
        name="policy",
        description="Text in, tokens out, at a named checkpoint. Speaks OpenAI's API; every answer says "
        "which checkpoint gave it.",
        lifespan=lifespan,
        readiness=_checks,
        max_body_bytes=MAX_BODY_BYTES,
    )
    for resource in (chat, completions, models, rollouts, checkpoints):
        app.include_router(resource.router)
    return app


async def _checks(app: FastAPI) -> dict[str, bool]:
    context: Context = app.state.context
    store, engine = await asyncio.gather(
        context.store.alive(), context.engine.responsive(context.settings.policy_ready_seconds)
    )
    return {"store": store, "engine": engine}
