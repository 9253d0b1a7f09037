"""The app factory: health, request ids, the store's absence, and logs, as every service has them."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import structlog
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError
from support import assert_problem

from trainee2trainer.web import create_app, logs
from trainee2trainer.web.problems import busy, not_found, unavailable

CHECKS = {"store": True, "redis": True}


@asynccontextmanager
async def _lifespan(_app: FastAPI) -> AsyncIterator[None]:
    yield


async def _ready(_app: FastAPI) -> dict[str, bool]:
    return CHECKS


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(
        name="test",
        description="A service.",
        lifespan=_lifespan,
        readiness=_ready,
        dispensable={"redis"},
        max_body_bytes=1_000,
    )
    errors: dict[str, Exception] = {
        "busy": busy("Too many.", 7),
        "lost": not_found("thing", "x"),
        "later": unavailable("Not now."),
        "store": OperationalError("SELECT 1", {}, Exception("gone")),
        "bug": ZeroDivisionError("a secret"),
    }

    @app.get("/raise/{name}")
    async def fail(name: str) -> None:
        raise errors[name]

    @app.post("/echo")
    async def echo(body: dict[str, int]) -> dict[str, int]:
        return body

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


@pytest.mark.parametrize(
    ("missing", "status", "code"),
    [(set(), "ready", 200), ({"redis"}, "degraded", 200), ({"store"}, "not ready", 503)],
)
async def test_ready_degraded_or_not(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, missing: set[str], status: str, code: int
) -> None:
    for check in missing:
        monkeypatch.setitem(CHECKS, check, False)
    answer = await http.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (code, status)
    assert {check for check, there in answer.json()["checks"].items() if not there} == missing
    assert (await http.get("/livez")).json()["status"] == "live"


@pytest.mark.parametrize(
    ("name", "status", "retry_after"),
    [("busy", 429, "7"), ("lost", 404, None), ("later", 503, "5"), ("store", 503, "5"), ("bug", 500, None)],
)
async def test_what_is_raised_becomes_a_problem(
    http: httpx.AsyncClient, name: str, status: int, retry_after: str | None
) -> None:
    answer = await http.get(f"/raise/{name}")
    assert_problem(answer, status)
    assert answer.headers.get("retry-after") == retry_after
    assert "Traceback" not in answer.text


async def test_what_was_sent_is_not_sent_back_with_the_error(http: httpx.AsyncClient) -> None:
    answer = await http.post("/echo", json={"number": "not one", "other": "x" * 500})
    problem = assert_problem(answer, 422, "body", "number")
    assert {key for error in problem["errors"] for key in error} == {"loc", "msg", "type"}
    assert "xxx" not in answer.text


async def test_a_body_over_the_limit(http: httpx.AsyncClient) -> None:
    assert_problem(await http.post("/echo", json={"x" * 2_000: 1}), 413, "body")


@pytest.mark.parametrize("strange", ["", "x" * 129, "a\u00e9", "tab\there"])
async def test_a_request_id_that_could_harm_a_log_is_replaced(http: httpx.AsyncClient, strange: str) -> None:
    answer = await http.get("/livez", headers={"X-Request-ID": strange.encode("latin-1")})
    assert answer.headers["x-request-id"] not in {strange, ""}


async def test_a_request_is_one_line_of_json_with_its_id(
    http: httpx.AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    before = structlog.get_config()
    try:
        structlog.reset_defaults()
        logs.configure("INFO", "json")
        await http.post("/echo", json={"a": 1}, headers={"X-Request-ID": "mine"})
        await http.get("/livez")
    finally:
        structlog.configure(**before)
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert told["request_id"] == "mine"
    assert {
        "method": "POST",
        "path": "/echo",
        "status": 200,
        "service": "test",
        "level": "info",
    }.items() <= told.items()
    assert told["ms"] >= 0
