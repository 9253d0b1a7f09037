"""Leases and fencing tokens: one worker at a time, and a stale one can do no harm."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from campaign_world import new_campaign, new_store
from sqlalchemy import update

from trainee2trainer.contracts.campaign import CampaignStatus, EventKind
from trainee2trainer.jobs import Lease, StaleLease, SubjectKind, claim, due, hold, release, renew, working
from trainee2trainer.store import Store
from trainee2trainer.store.tables import CampaignRecord
from trainer_service import events, lifecycle

KIND = SubjectKind.CAMPAIGN
LONG = 60.0


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    store = await new_store(tmp_path, url)
    yield store
    await store.close()


@pytest.fixture
async def campaign(store: Store) -> str:
    return await new_campaign(store)


async def claimed(store: Store, campaign: str, seconds: float = LONG) -> Lease:
    lease = await claim(store, KIND, campaign, "worker", seconds)
    assert lease is not None
    return lease


async def test_of_many_claims_at_once_one_succeeds(store: Store, campaign: str) -> None:
    claims = await asyncio.gather(*(claim(store, KIND, campaign, f"worker {n}", LONG) for n in range(10)))
    assert len([lease for lease in claims if lease]) == 1


async def test_an_expired_lease_goes_to_the_next_and_fences_the_first(store: Store, campaign: str) -> None:
    first = await claimed(store, campaign, seconds=0.05)
    await asyncio.sleep(0.1)
    second = await claimed(store, campaign)
    assert second.token == first.token + 1
    with pytest.raises(StaleLease):
        await renew(store, first)
    await renew(store, second)


async def test_an_expired_lease_that_nobody_took_still_writes(store: Store, campaign: str) -> None:
    lease = await claimed(store, campaign, seconds=0.05)
    await asyncio.sleep(0.1)
    await renew(store, lease)


async def test_a_stale_write_leaves_nothing_behind(store: Store, campaign: str) -> None:
    first = await claimed(store, campaign, seconds=0.05)
    await asyncio.sleep(0.1)
    await claimed(store, campaign)
    with pytest.raises(StaleLease):
        async with store.session() as session:
            await events.append(session, campaign, EventKind.STEP_STARTED)
            await hold(session, first)
    async with store.session() as session:
        kinds = [event.kind for event in await events.after(session, campaign, 0)]
    assert EventKind.STEP_STARTED not in kinds


async def test_releasing_a_stale_lease_takes_nothing_from_the_new_owner(store: Store, campaign: str) -> None:
    first = await claimed(store, campaign, seconds=0.05)
    await asyncio.sleep(0.1)
    second = await claimed(store, campaign)
    await release(store, first)
    await renew(store, second)
    assert await due(store) == []


async def test_due_is_what_is_workable_and_in_nobodys_hands(store: Store, campaign: str) -> None:
    assert await due(store) == [(KIND, campaign)]
    lease = await claimed(store, campaign)
    assert await due(store) == []
    await release(store, lease)
    assert await due(store) == [(KIND, campaign)]
    await lifecycle.wish(store, KIND, campaign, CampaignStatus.PAUSED)
    assert await due(store) == []


@pytest.mark.parametrize("to", [CampaignStatus.PAUSED, CampaignStatus.CANCELLED])
async def test_pause_and_cancel_fence_the_worker(store: Store, campaign: str, to: CampaignStatus) -> None:
    lease = await claimed(store, campaign)
    await lifecycle.wish(store, KIND, campaign, to)
    with pytest.raises(StaleLease):
        await renew(store, lease)
    assert await claim(store, KIND, campaign, "another", LONG) is None


async def test_leases_use_the_databases_clock_and_renewal_reaches_ahead(store: Store, campaign: str) -> None:
    lease = await claimed(store, campaign, seconds=0.5)
    for _ in range(4):
        await asyncio.sleep(0.2)
        await renew(store, lease)
        assert await claim(store, KIND, campaign, "another", LONG) is None


async def test_work_is_cancelled_when_its_lease_is_lost(store: Store, campaign: str) -> None:
    lease = await claimed(store, campaign, seconds=0.5)
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def rob() -> None:
        await asyncio.sleep(0.15)
        async with store.session() as session:
            await session.execute(
                update(CampaignRecord).values(fencing_token=CampaignRecord.fencing_token + 1)
            )

    robbing = asyncio.create_task(rob())
    with pytest.raises(StaleLease):
        await working(store, lease, work(), asyncio.Event())
    await robbing
    assert ended.is_set()


async def test_work_outlives_its_lease_by_renewing_it(store: Store, campaign: str) -> None:
    lease = await claimed(store, campaign, seconds=0.3)
    await working(store, lease, asyncio.sleep(1.0), asyncio.Event())
    await renew(store, lease)


async def test_a_stopping_worker_lets_go(store: Store, campaign: str) -> None:
    lease = await claimed(store, campaign)
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, stop.set)
    async with asyncio.timeout(2):
        await working(store, lease, asyncio.sleep(60), stop)


async def test_what_work_raises_is_raised(store: Store, campaign: str) -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await working(store, await claimed(store, campaign), work(), asyncio.Event())
