"""The clients against a real server that answers as it is told: every way in which a call can end."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import stamina
from asgi_correlation_id import correlation_id
from fastapi import FastAPI, Request, Response
from starlette.responses import StreamingResponse
from support import free_port, served

from trainee2trainer.client import (
    EngineerClient,
    EnvClient,
    ProblemError,
    TrainerClient,
    UnreachableError,
    blocking,
)
from trainee2trainer.client.streams import lines, server_events
from trainee2trainer.contracts.campaign import CampaignCreate
from trainee2trainer.contracts.engineer import SummaryRequest
from trainee2trainer.contracts.environment import EnvironmentConfig, GenerateRequest

PROBLEM = {
    "type": "request-validation-failed",
    "title": "Request validation error.",
    "status": 422,
    "detail": "too many",
    "errors": [{"loc": ["body", "count"], "msg": "too many", "type": "value_error"}],
    "request_id": "r-1",
}
BUSY = {"type": "busy", "title": "Too much at once.", "status": 429, "request_id": "r-2"}
LIST = {"items": []}
CONFIGURATION = EnvironmentConfig.model_validate(
    {"sizes": {3: {"data_ratio": 1, "hole_ratio": 0, "wait_ratio": 0}}}
)
GENERATE = GenerateRequest(configuration=CONFIGURATION, seed=0, count=1)
CAMPAIGN = {
    "id": "campaign-1",
    "status": "running",
    "settings": CampaignCreate(configuration=CONFIGURATION).model_dump(mode="json"),
    "stage_index": 0,
    "step": "train",
    "base_checkpoint": "nano-v1",
    "error": None,
    "created_at": "2026-05-01T12:00:00Z",
    "finished_at": None,
}


@dataclass
class Script:
    """Answers to give, one after the other and the last for ever; and the requests that came."""

    answers: list[Response] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    url: str = ""

    def says(self, *answers: Response) -> None:
        self.answers, self.requests = list(answers), []

    def headers(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]


def _json(content: Any, status: int = 200, **headers: str) -> Response:
    return Response(
        json.dumps(content), status, {name.replace("_", "-"): value for name, value in headers.items()}
    )


@pytest.fixture(scope="module")
def _server() -> Iterator[Script]:
    script, app = Script(), FastAPI()

    @app.api_route("/{path:path}", methods=["GET", "POST"])
    async def answer(request: Request) -> Response:
        await request.body()
        script.requests.append(request)
        return script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]

    with served(app) as script.url:
        yield script


@pytest.fixture
def script(_server: Script) -> Iterator[Script]:
    """The server; retries do not wait."""
    with stamina.set_testing(True, attempts=6, cap=True):
        yield _server


@pytest.fixture
async def env(script: Script) -> AsyncIterator[EnvClient]:
    async with EnvClient(script.url) as client:
        yield client


async def test_a_problem_is_raised_with_all_it_says(script: Script, env: EnvClient) -> None:
    script.says(_json(PROBLEM, 422))
    with pytest.raises(ProblemError) as caught:
        await env.generate(GENERATE)
    problem = caught.value
    assert (problem.type, problem.title, problem.status, problem.detail, problem.request_id) == (
        "request-validation-failed",
        "Request validation error.",
        422,
        "too many",
        "r-1",
    )
    assert problem.errors[0].loc == ["body", "count"]
    assert "body.count: too many" in str(problem)
    assert "r-1" in str(problem)
    assert len(script.requests) == 1


async def test_an_error_that_is_no_problem_is_one_all_the_same(script: Script, env: EnvClient) -> None:
    script.says(Response("<html>Bad gateway</html>", 502))
    with pytest.raises(ProblemError, match=r"502.*Bad gateway"):
        await env.environments()


@pytest.mark.parametrize("status", [429, 503])
async def test_what_is_busy_is_asked_again(script: Script, env: EnvClient, status: int) -> None:
    busy = {**BUSY, "status": status}
    script.says(_json(busy, status, retry_after="1"), _json(busy, status), _json(LIST))
    assert await env.environments() == []
    assert len(script.requests) == 3


async def test_patience_ends(script: Script, env: EnvClient) -> None:
    script.says(_json(BUSY, 429))
    with pytest.raises(ProblemError, match="429"):
        await env.environments()
    assert len(script.requests) == 6


async def test_what_may_have_taken_effect_is_not_repeated(script: Script) -> None:
    script.says(_json(BUSY, 429))
    async with EngineerClient(script.url) as engineer:
        with pytest.raises(ProblemError):
            await engineer.approve("proposal-1")
    assert len(script.requests) == 1


async def test_a_creation_is_repeated_under_its_first_key(script: Script) -> None:
    at_work = {"type": "idempotency-key-in-use", "title": "", "status": 409}
    script.says(_json(BUSY, 503), _json(at_work, 409, retry_after="1"), _json(CAMPAIGN, 202))
    async with TrainerClient(script.url) as trainer:
        request = CampaignCreate(configuration=CONFIGURATION)
        assert (await trainer.create_campaign(request)).id == "campaign-1"
        keys = script.headers("idempotency-key")
        assert len(keys) == 3
        assert len(set(keys)) == 1
        await trainer.create_campaign(request)
        assert script.headers("idempotency-key")[3] != keys[0]


async def test_a_conflict_is_not_repeated(script: Script) -> None:
    script.says(_json({"type": "conflict", "title": "", "status": 409}, 409))
    async with EngineerClient(script.url) as engineer:
        with pytest.raises(ProblemError, match="409"):
            await engineer.summarise(SummaryRequest(campaign_id="c", stage_index=0))
    assert len(script.requests) == 1


async def test_nobody_there() -> None:
    with stamina.set_testing(True, attempts=2):
        async with EnvClient(f"http://127.0.0.1:{free_port()}") as nobody:
            with pytest.raises(UnreachableError, match="gives no answer"):
                await nobody.environments()


async def test_the_request_id_goes_along(script: Script, env: EnvClient) -> None:
    script.says(_json(LIST))
    await env.environments()
    token = correlation_id.set("r-42")
    await env.environments()
    correlation_id.reset(token)
    assert script.headers("x-request-id") == [None, "r-42"]


async def test_a_newer_service_may_say_more(script: Script) -> None:
    script.says(_json({**CAMPAIGN, "new": 1, "settings": {**CAMPAIGN["settings"], "new": {}}}))  # type: ignore[dict-item]
    async with TrainerClient(script.url) as trainer:
        assert (await trainer.campaign("campaign-1")).stage_index == 0


def _row(number: int) -> str:
    agents = [{"start": [0, 0], "goal": [0, 1]}, {"start": [1, 0], "goal": [1, 1]}]
    instance = {
        "id": f"2agents_3x3_{number:012x}",
        "size": 3,
        "holes": [],
        "agents": agents,
        "optimal_makespan": 1,
        "optimal_sum_of_costs": 2,
        "reference_plan": [["RIGHT"], ["RIGHT"]],
        "needs_wait": False,
        "wait_proof": "zero_excess",
        "plan_has_wait": False,
        "split": "train",
    }
    return json.dumps({"instance": instance, "answer": "line\u2028separator"}, ensure_ascii=False)


async def test_rows_of_a_batch_one_at_a_time(script: Script, env: EnvClient) -> None:
    script.says(Response("\n".join([_row(0), _row(1), '{"realised": {}}']) + "\n"))
    rows = [row async for row in env.stream_instances(GENERATE)]
    assert [row.instance.id[-1] for row in rows] == ["0", "1"]
    assert rows[0].answer == "line\u2028separator"
    assert script.headers("accept") == ["application/jsonl"]


async def test_a_batch_that_does_not_reach_its_end_is_an_error(script: Script, env: EnvClient) -> None:
    script.says(Response(_row(0) + "\n"))
    with pytest.raises(UnreachableError, match="middle"):
        _ = [row async for row in env.stream_instances(GENERATE)]
    script.says(Response(_row(0) + "\n" + '{"problem":' + json.dumps(BUSY) + "}\n"))
    with pytest.raises(ProblemError, match="429"):
        _ = [row async for row in env.stream_instances(GENERATE)]


async def _chunks(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_lines_are_found_however_the_bytes_are_cut() -> None:
    text = "one\r\nzwei ä\u2028\n\nlast".encode()
    for cut in range(len(text)):
        found = [line async for line in lines(_chunks(text[:cut], text[cut:]))]
        assert found == ["one", "zwei ä\u2028", "", "last"]


async def test_server_sent_events_are_read() -> None:
    body = b": hello\n\nid: 1\nevent: a\ndata: {}\n\ndata: x\ndata:y\n\nid: 3\ndata: cut short"
    events = [event async for event in server_events(_chunks(body))]
    assert [(event.id, event.kind, event.data) for event in events] == [
        ("1", "a", "{}"),
        ("1", "message", "x\ny"),
    ]


def _events(*numbers: int, then: bytes = b"") -> Response:
    async def body() -> AsyncIterator[bytes]:
        for number in numbers:
            event = f'{{"id":{number},"campaign_id":"c","kind":"k","data":{{}},"at":"2026-05-01T12:00:00Z"}}'
            yield f"id: {number}\nevent: k\ndata: {event}\n\n".encode()
        yield then

    return StreamingResponse(body(), media_type="text/event-stream")


async def test_events_are_followed_over_many_connections(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainee2trainer.client.trainer.RECONNECT_SECONDS", 0.01)
    running, ended = _json(CAMPAIGN), _json({**CAMPAIGN, "status": "succeeded"})
    script.says(
        *(running, _events(1, 2, then=b"id: 3\nda")),  # cut in the middle of the third
        *(running, _events()),
        *(running, _events(3)),
        *(ended, _events(4)),
    )
    async with TrainerClient(script.url) as trainer:
        numbers = [event.id async for event in trainer.campaign_events("c")]
    assert numbers == [1, 2, 3, 4]
    assert script.headers("last-event-id")[1::2] == ["0", "2", "2", "3"]


async def test_a_broken_connection_does_not_end_the_following(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainee2trainer.client.trainer.RECONNECT_SECONDS", 0.01)
    campaign = json.dumps({**CAMPAIGN, "status": "succeeded"}).encode()
    stream = b'id: 1\ndata: {"id":1,"campaign_id":"c","kind":"k","data":{},"at":"2026-05-01T12:00:00Z"}\n\n'
    promised = [len(stream) + 99, 0]  # the first stream promises more than it brings

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if b"/events" in request:
            body, length = (stream, promised.pop(0)) if len(promised) == 2 else (b"", 0)
        else:
            body, length = campaign, len(campaign)
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server, TrainerClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as trainer:
        assert [event.id async for event in trainer.campaign_events("c")] == [1]


async def test_blocking_calls_inside_a_running_loop(script: Script) -> None:
    script.says(_json(LIST), Response(_row(0) + '\n{"realised": {}}\n'), _json(PROBLEM, 422))
    with blocking(EnvClient(script.url)) as env:
        assert env.environments() == []
        assert [row.instance.size for row in env.stream_instances(GENERATE)] == [3]
        with pytest.raises(ProblemError):
            env.generate(GENERATE)
