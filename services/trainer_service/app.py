"""The trainer service's app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from trainee2trainer.client import EnvClient
from trainee2trainer.jobs import Queue
from trainee2trainer.store import Store
from trainee2trainer.web import create_app as create_base
from trainer_service.checkpoints import register_shipped
from trainer_service.context import Context
from trainer_service.routes import campaigns, comparisons, events, profiles, reports, stages, training_jobs
from trainer_service.settings import TrainerSettings


def create_app(settings: TrainerSettings | None = None) -> FastAPI:
    """The app; the work itself is done by `trainer_service.worker`, in processes of their own."""
    settings = settings or TrainerSettings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        store = Store(settings.database)
        try:
            await register_shipped(store, settings.home, settings.profile_models)
            async with Queue(settings.redis) as queue, EnvClient(settings.url("env")) as env:
                app.state.context = Context(settings, store, queue, env)
                yield
        finally:
            await store.close()

    app = create_base(
        name="trainer",
        description="Campaigns of training on self-designed environments: accepted, followed, reported.",
        lifespan=lifespan,
        readiness=_checks,
        # Without Redis everything is accepted all the same: the store keeps it until it can be delivered.
        dispensable={"redis"},
    )
    for resource in (campaigns, comparisons, stages, events, reports, training_jobs, profiles):
        app.include_router(resource.router)
    return app


async def _checks(app: FastAPI) -> dict[str, bool]:
    context: Context = app.state.context
    return {"store": await context.store.alive(), "redis": await context.queue.alive()}
