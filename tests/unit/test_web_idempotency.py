"""Idempotency keys, on a real app with a real store and many callers at once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Response
from sqlalchemy import func, select, update
from support import assert_problem

from trainee2trainer.contracts.base import Contract
from trainee2trainer.store import Store
from trainee2trainer.store.tables import IdempotencyRecord
from trainee2trainer.web import create_app
from trainee2trainer.web.idempotency import IdempotentRoute
from trainee2trainer.web.problems import conflict

PATH = "/v1/things"


class Thing(Contract):
    name: str


class Shelf:
    """What the app under test has made, and how it is to behave."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.failing: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
async def http(store: Store, shelf: Shelf) -> AsyncIterator[httpx.AsyncClient]:
    app = _app(store, shelf)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


def _app(store: Store, shelf: Shelf) -> FastAPI:
    router = APIRouter(prefix=PATH, tags=["things"], route_class=IdempotentRoute)

    @router.post("", status_code=202)
    async def create(thing: Thing, response: Response) -> dict[str, Any]:
        await shelf.gate.wait()
        if shelf.failing:
            raise shelf.failing
        shelf.made.append(thing.name)
        response.headers["Location"] = f"{PATH}/{len(shelf.made)}"
        return {"number": len(shelf.made), "name": thing.name}

    @router.post(":count")
    async def count() -> int:
        return len(shelf.made)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield

    async def ready(_app: FastAPI) -> dict[str, bool]:
        return {}

    app = create_app(name="thing", description="", lifespan=lifespan, readiness=ready)
    app.state.context = SimpleNamespace(store=store)
    app.include_router(router)
    return app


async def _post(http: httpx.AsyncClient, key: str | None, name: str = "a") -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await http.post(PATH, json={"name": name}, headers=headers)


async def test_sent_again_it_gets_the_same_answer_and_creates_nothing(
    http: httpx.AsyncClient, shelf: Shelf
) -> None:
    first, again = await _post(http, "k"), await _post(http, "k")
    assert first.status_code == again.status_code == 202
    assert first.content == again.content
    assert first.headers["location"] == again.headers["location"]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert shelf.made == ["a"]


async def test_another_key_or_none_creates_another(http: httpx.AsyncClient, shelf: Shelf) -> None:
    for key in ("k", "l", None, None):
        assert (await _post(http, key)).status_code == 202
    assert len(shelf.made) == 4


async def test_another_body_is_refused(http: httpx.AsyncClient, shelf: Shelf) -> None:
    await _post(http, "k")
    assert_problem(await _post(http, "k", "b"), 422, "header", "Idempotency-Key")
    assert shelf.made == ["a"]


async def test_twenty_at_once_create_one(http: httpx.AsyncClient, shelf: Shelf) -> None:
    shelf.gate.clear()
    calls = [asyncio.create_task(_post(http, "k")) for _ in range(20)]
    done, _ = await asyncio.wait(calls, timeout=10, return_when="FIRST_COMPLETED")
    assert done
    await asyncio.sleep(0.5)
    shelf.gate.set()
    answers = await asyncio.gather(*calls)
    assert sorted(answer.status_code for answer in answers) == [202] + [409] * 19
    for answer in answers:
        if answer.status_code == 409:
            assert_problem(answer, 409)
            assert answer.headers["retry-after"] == "1"
    assert (await _post(http, "k")).headers["idempotent-replayed"] == "true"
    assert shelf.made == ["a"]


@pytest.mark.parametrize(("failure", "status"), [(RuntimeError("broken"), 500), (conflict("not now"), 409)])
async def test_a_failure_frees_the_key(
    http: httpx.AsyncClient, shelf: Shelf, failure: Exception, status: int
) -> None:
    shelf.failing = failure
    assert_problem(await _post(http, "k"), status)
    shelf.failing = None
    assert (await _post(http, "k")).status_code == 202
    assert shelf.made == ["a"]


async def test_a_refused_body_frees_the_key(http: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "k"}
    assert_problem(await http.post(PATH, json={"nom": "a"}, headers=headers), 422, "body", "nom")
    assert (await _post(http, "k")).status_code == 202


async def test_a_key_whose_holder_was_killed_is_taken_over_by_one(
    http: httpx.AsyncClient, shelf: Shelf, store: Store
) -> None:
    await _post(http, "k")
    async with store.session() as session:
        old = {"status": None, "created_at": IdempotencyRecord.created_at}
        await session.execute(update(IdempotencyRecord).values(old))
    assert_problem(await _post(http, "k"), 409)
    await _age(store, timedelta(hours=1))
    answers = await asyncio.gather(*(_post(http, "k") for _ in range(5)))
    assert 202 in {answer.status_code for answer in answers}
    assert shelf.made == ["a", "a"]


async def test_old_keys_are_forgotten(http: httpx.AsyncClient, shelf: Shelf, store: Store) -> None:
    await _post(http, "k")
    await _age(store, timedelta(days=3))
    await _post(http, "k")
    async with store.session() as session:
        assert await session.scalar(select(func.count()).select_from(IdempotencyRecord)) == 1
    assert shelf.made == ["a", "a"]


async def _age(store: Store, age: timedelta) -> None:
    async with store.session() as session:
        for record in await session.scalars(select(IdempotencyRecord)):
            record.created_at -= age


async def test_strange_keys_are_refused(http: httpx.AsyncClient, shelf: Shelf) -> None:
    for key in ("", "k" * 201):
        assert_problem(await _post(http, key), 422, "header", "Idempotency-Key")
    assert shelf.made == []


async def test_only_creating_posts_take_a_key(http: httpx.AsyncClient) -> None:
    paths = (await http.get("/openapi.json")).json()["paths"]
    named = [parameter["name"] for parameter in paths[PATH]["post"]["parameters"]]
    assert named == ["Idempotency-Key"]
    assert "parameters" not in paths[f"{PATH}:count"]["post"]
    headers = {"Idempotency-Key": "k"}
    assert (await http.post(f"{PATH}:count", headers=headers)).json() == 0
    await _post(http, "other")
    assert (await http.post(f"{PATH}:count", headers=headers)).json() == 1
