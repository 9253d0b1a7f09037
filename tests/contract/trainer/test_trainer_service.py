"""The trainer service over HTTP: campaigns, stages, training jobs, profiles, reports."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from support import assert_problem
from trainer_world import (
    CAMPAIGN,
    CONFIGURATION,
    JOB,
    TRAINING,
    UNKNOWN,
    add_starting_checkpoint,
    count,
    created,
    told,
)

from trainee2trainer.contracts.campaign import EventKind
from trainer_service import checkpoints, rules
from trainer_service.app import create_app
from trainer_service.settings import TrainerSettings

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
    ({"validation": {"more_agents": [3, 3]}}, ["body", "validation", "more_agents"]),
    ({"validation": {"more_agents": [2]}}, ["body", "validation", "more_agents"]),
    ({"validation": {"more_agents": [6]}}, ["body", "validation", "more_agents", 0]),
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
        ("GET", f"/v1/campaigns/campaign-{UNKNOWN}/report.html"),
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


# --- reports, profiles, training jobs -------------------------------------------------------------


async def test_a_campaign_that_has_done_nothing_has_an_empty_report(http: httpx.AsyncClient) -> None:
    campaign = await created(http, seed=7)
    report = (await http.get(f"/v1/campaigns/{campaign}/report")).json()
    assert report["seed"] == 7
    assert report["baseline"] is None
    assert report["stages"] == []
    assert {"trainee2trainer", "torch", "transformers", "trl", "python"} <= report["versions"].keys()


async def test_its_page_needs_nothing_from_elsewhere(http: httpx.AsyncClient) -> None:
    answer = await http.get(f"/v1/campaigns/{await created(http)}/report.html")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.text.lower().startswith("<!doctype html>")
    assert "Content-Security-Policy" in answer.text


async def test_profiles_say_what_they_start_from(http: httpx.AsyncClient) -> None:
    nano, *above = (await http.get("/v1/profiles")).json()["items"]
    assert [(rung["name"], rung["available"]) for rung in above] == [("small", False), ("paper", False)]
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


async def test_a_key_makes_creating_twice_harmless(http: httpx.AsyncClient) -> None:
    before, headers = await count(http), {"Idempotency-Key": "once"}
    answers = [await http.post("/v1/campaigns", json=CAMPAIGN, headers=headers) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert answers[1].headers["location"] == answers[0].headers["location"]
    assert await count(http) == before + 1
    other = await http.post("/v1/campaigns", json=CAMPAIGN | {"seed": 1}, headers=headers)
    assert_problem(other, 422, "header", "Idempotency-Key")


async def test_many_posts_with_one_key_make_one_campaign(http: httpx.AsyncClient) -> None:
    before, headers = await count(http), {"Idempotency-Key": "at-once"}
    posts = [http.post("/v1/campaigns", json=CAMPAIGN, headers=headers) for _ in range(20)]
    answers = await asyncio.gather(*posts)
    assert {answer.status_code for answer in answers} <= {202, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 202}) == 1
    assert await count(http) == before + 1


# --- without its neighbours -----------------------------------------------------------------------


@asynccontextmanager
async def alone(data_dir: Path, store_url: str) -> AsyncIterator[httpx.AsyncClient]:
    """The service without Redis and env_service."""
    settings = TrainerSettings(
        data_dir=data_dir,
        store_url=store_url,
        env_url="http://127.0.0.1:1",
        redis_url="redis://127.0.0.1:1/0",
    )
    app = create_app(settings)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://trainer") as http,
    ):
        yield http


async def test_without_redis_it_is_degraded_but_ready(data_dir: Path, store_url: str) -> None:
    async with alone(data_dir, store_url) as http:
        ready = await http.get("/readyz")
        assert ready.json()["checks"] == {"store": True, "redis": False}
        assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
        assert (await http.get("/v1/campaigns")).json() == {"items": [], "next_page": None}


async def test_without_env_service_nothing_is_accepted_unchecked(
    data_dir: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "PROBE_SECONDS", 0.5)
    await add_starting_checkpoint(store_url)
    async with alone(data_dir, store_url) as http:
        answer = await http.post("/v1/campaigns", json=CAMPAIGN)
        assert_problem(answer, 503)
        assert answer.headers["retry-after"]
        assert await count(http) == 0


async def test_without_a_starting_checkpoint_it_says_what_to_run(
    data_dir: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "shipped", data_dir.joinpath)
    async with alone(data_dir, store_url) as http:
        assert (await http.get("/v1/profiles")).json()["items"][0]["available"] is False
        problem = assert_problem(await http.post("/v1/campaigns", json=CAMPAIGN), 409)
        assert "t2t warmstart" in problem["detail"]
