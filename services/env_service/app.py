"""The env service's app."""

import asyncio
import gc
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import FastAPI

from env_service import cores
from env_service.benchmarks.building import Shelf
from env_service.context import Context, Slots
from env_service.episodes.keeping import Episodes
from env_service.library import Library
from env_service.pool import SolverPool
from env_service.routes import benchmarks, environments, episodes, exchange, instances, pictures, verify
from env_service.settings import EnvSettings
from trainee2trainer.store import Store
from trainee2trainer.web import create_app as create_base

MAX_BODY_BYTES = 32 * 1024 * 1024
"""Room for a reasoning model's answers to the largest benchmark set."""
COMPILED_CORE = "compiled_core"
_VERDICT_THREADS = 8


def create_app(settings: EnvSettings | None = None) -> FastAPI:
    """The app; its worker processes and its store live as long as it runs."""
    settings = settings or EnvSettings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # A generation holds a thread while its workers search; verdicts must still find one.
        asyncio.get_running_loop().set_default_executor(
            ThreadPoolExecutor(settings.env_max_generations + _VERDICT_THREADS)
        )
        store, pool = Store(settings.database), SolverPool(settings.env_workers)
        await pool.warm()
        # No request waits for the compiler: until it is done, plain Python gives the same answers.
        compiling = asyncio.create_task(_use_compiled(pool))
        library = Library(store)
        episodes_ = Episodes(store, settings.env_episode_idle_s, settings.env_max_episodes)
        stop = asyncio.Event()
        sweeping = asyncio.create_task(episodes_.sweep(stop))
        app.state.context = Context(
            store=store,
            library=library,
            shelf=Shelf(pool, library),
            episodes=episodes_,
            pool=pool,
            generations=Slots(settings.env_max_generations),
            max_draws=settings.env_max_draws,
        )
        try:
            yield
        finally:
            compiling.cancel()
            stop.set()
            await sweeping
            pool.close()
            await store.close()

    app = create_base(
        name="env",
        description="MAPF-FrozenLake: certified boards by configuration, and exact verdicts on answers.",
        lifespan=lifespan,
        readiness=_checks,
        dispensable={COMPILED_CORE},
        max_body_bytes=MAX_BODY_BYTES,
    )
    for resource in (environments, pictures, exchange, instances, verify, episodes, benchmarks):
        app.include_router(resource.router)
    return app


async def _use_compiled(pool: SolverPool) -> None:
    if not await cores.compile_core():
        return
    # Verdicts are given in this process, so it loads the core as well; what it loads is never garbage.
    await asyncio.to_thread(cores.COMPILED.execute_all, [(cores.SMALLEST, [[], []])], 0)
    await asyncio.to_thread(gc.freeze)
    pool.core = cores.COMPILED
    await pool.warm()


async def _checks(app: FastAPI) -> dict[str, bool]:
    context: Context = app.state.context
    return {"store": await context.store.alive(), COMPILED_CORE: context.pool.core is cores.COMPILED}
