"""Events: numbered from 1 without a gap, whoever writes at the same time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from campaign_world import new_campaign, new_store

from trainee2trainer.contracts.campaign import CampaignStatus, EventKind
from trainee2trainer.jobs import SubjectKind, claim
from trainee2trainer.store import Store
from trainer_service import events, lifecycle
from trainer_service.settings import TrainerSettings
from trainer_service.work import Tools, Work


async def numbers(store: Store, campaign: str) -> list[int]:
    async with store.session() as session:
        return [event.id for event in await events.after(session, campaign, 0)]


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    store = await new_store(tmp_path, url)
    yield store
    await store.close()


async def test_concurrent_writers_leave_no_gap_and_no_double(tmp_path: Path, store: Store) -> None:
    mine, other = await new_campaign(store), await new_campaign(store)
    works = []
    async with Tools.open(TrainerSettings(data_dir=tmp_path, store_url=store.url)) as tools:
        for campaign in (mine, other):
            lease = await claim(store, SubjectKind.CAMPAIGN, campaign, "worker", 60)
            assert lease is not None
            works.append(Work(tools, lease))
        rows = [{"number": number} for number in range(3)]
        writes = [work.tell_all(EventKind.TRAIN_STEP, rows) for work in works for _ in range(20)]
        await asyncio.gather(*writes)
        await lifecycle.wish(store, SubjectKind.CAMPAIGN, mine, CampaignStatus.CANCELLED)
    first = 2  # a campaign starts with campaign.created and stage.started
    assert await numbers(store, mine) == list(range(1, first + 60 + 1 + 1))
    assert await numbers(store, other) == list(range(1, first + 60 + 1))


async def test_after_gives_what_follows(store: Store) -> None:
    campaign = await new_campaign(store)
    async with store.session() as session:
        assert [event.kind for event in await events.after(session, campaign, 1)] == [EventKind.STAGE_STARTED]
        assert await events.after(session, campaign, 2) == []
