"""The world of the trainer service's contract tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support import served
from trainer_world import World, add_starting_checkpoint

from env_service.app import create_app as create_env
from env_service.settings import EnvSettings
from trainee2trainer.store import Store
from trainer_service.app import create_app
from trainer_service.settings import TrainerSettings


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    new_store_url: Callable[[str, Path], str],
    valkey_url: str,
) -> Iterator[World]:
    """The real app on a real port, with a real store, a real Valkey and the real env_service.

    No worker runs in it: what a worker would write, the tests write through the store.
    """
    folder = tmp_path_factory.mktemp("trainer")
    store_url = new_store_url(request.param, folder)
    asyncio.run(add_starting_checkpoint(store_url))
    common: dict[str, Any] = {"data_dir": folder, "store_url": store_url}
    with served(create_env(EnvSettings(env_workers=1, **common))) as env_url:
        settings = TrainerSettings(env_url=env_url, redis_url=valkey_url, event_poll_seconds=0.05, **common)
        with served(create_app(settings)) as url:
            yield World(url, store_url)


@pytest.fixture
async def store(world: World) -> AsyncIterator[Store]:
    store = Store(world.store_url)
    yield store
    await store.close()


@pytest.fixture
async def http(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        yield client
