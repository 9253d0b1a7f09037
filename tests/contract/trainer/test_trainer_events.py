"""Progress as server-sent events: numbered, live, resumed without a gap or a double."""

import asyncio

import httpx
import pytest
from sqlalchemy import update
from support import assert_problem
from trainer_world import World, created, told

from trainee2trainer.client import TrainerClient
from trainee2trainer.contracts.campaign import CampaignStatus, EventKind
from trainee2trainer.jobs import SubjectKind
from trainee2trainer.store import Store
from trainee2trainer.store.tables import StageRecord
from trainer_service import events, lifecycle


async def test_events_are_streamed_while_they_happen_until_the_end(http: httpx.AsyncClient) -> None:
    campaign = await created(http)
    listening = asyncio.create_task(told(http, f"/v1/campaigns/{campaign}/events"))
    await asyncio.sleep(0.2)
    assert not listening.done()
    for wish in ("pause", "resume", "cancel"):
        await http.post(f"/v1/campaigns/{campaign}:{wish}")
    kinds = ["created", "paused", "queued", "cancelled"]
    expected = [f"campaign.{kind}" for kind in kinds]
    expected.insert(1, EventKind.STAGE_STARTED)
    assert await asyncio.wait_for(listening, 10) == list(enumerate(expected, start=1))


async def test_a_dropped_stream_goes_on_after_the_last_event_seen(
    http: httpx.AsyncClient, store: Store
) -> None:
    campaign = await created(http)
    path = f"/v1/campaigns/{campaign}/events"

    async def work() -> None:
        for number in range(40):
            async with store.session() as session:
                await session.execute(
                    update(StageRecord).where(StageRecord.campaign_id == campaign).values(attempts=0)
                )
                await events.append(session, campaign, EventKind.TRAIN_STEP, step=number)
        async with store.session() as session:
            await lifecycle.move(session, SubjectKind.CAMPAIGN, campaign, CampaignStatus.CANCELLED)

    working = asyncio.create_task(work())
    seen: list[tuple[int, str]] = []
    while not seen or seen[-1][1] != EventKind.CAMPAIGN_CANCELLED:
        seen += await asyncio.wait_for(told(http, path, after=seen[-1][0] if seen else 0, most=7), 10)
    await working
    assert [number for number, _ in seen] == list(range(1, 2 + 40 + 1 + 1))


async def test_a_stream_of_what_has_ended_ends_at_once(http: httpx.AsyncClient) -> None:
    campaign = await created(http)
    await http.post(f"/v1/campaigns/{campaign}:cancel")
    assert await asyncio.wait_for(told(http, f"/v1/campaigns/{campaign}/events", after=3), 5) == []


@pytest.mark.parametrize("last", ["x", "-1", "99999999999999999999"])
async def test_a_strange_last_event_id_is_refused(http: httpx.AsyncClient, last: str) -> None:
    campaign = await created(http)
    answer = await http.get(f"/v1/campaigns/{campaign}/events", headers={"Last-Event-ID": last})
    assert_problem(answer, 422, "header", "Last-Event-ID")


async def test_many_listeners_hold_nothing_of_the_store(http: httpx.AsyncClient, world: World) -> None:
    campaign = await created(http)
    path = f"/v1/campaigns/{campaign}/events"
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=world.url, timeout=60, limits=limits) as many:
        listening = [asyncio.create_task(told(many, path)) for _ in range(50)]
        await asyncio.sleep(0.5)
        answers = await asyncio.gather(*(many.get(f"/v1/campaigns/{campaign}") for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        await http.post(f"/v1/campaigns/{campaign}:cancel")
        streams = await asyncio.wait_for(asyncio.gather(*listening), 20)
    assert all(stream == streams[0] for stream in streams)


async def test_the_client_follows_a_campaign(http: httpx.AsyncClient, world: World) -> None:
    campaign = await created(http)
    async with TrainerClient(world.url) as client:
        kinds = []
        async for event in client.campaign_events(campaign):
            kinds.append(event.kind)
            if event.kind == EventKind.STAGE_STARTED:
                await client.cancel_campaign(campaign)
    assert kinds[-1] == EventKind.CAMPAIGN_CANCELLED
