"""The policy service over HTTP: every endpoint, bad input, damaged checkpoints, OpenAI's own client."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import uvicorn
from fastapi.testclient import TestClient

from policy_service.app import create_app
from policy_service.settings import PolicySettings
from trainee2trainer import artefacts
from trainee2trainer.contracts.policy import CheckpointPage, CheckpointState, RolloutResponse
from trainee2trainer.models import checkpoints
from trainee2trainer.store import Store
from trainee2trainer.store.tables import Base, CheckpointRecord

CONTEXT = 128
NAMES = ("base", "trained", "torn")
"""From the oldest to the newest; `torn` is damaged after it was registered."""

Make = Callable[..., Any]


def prepare(settings: PolicySettings, make_tiny: Make, names: tuple[str, ...] = NAMES) -> None:
    """A data folder with registered checkpoints, each with weights of its own."""
    digests = {}
    for seed, name in enumerate(names):
        folder = settings.data_dir / f"making-{name}"
        checkpoints.save(*make_tiny(seed=seed, context=CONTEXT), folder)
        digests[name] = artefacts.seal(folder)
        artefacts.publish(folder, artefacts.checkpoint_folder(settings.data_dir, name))

    async def register() -> None:
        store = Store(settings.database)
        async with store.engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        async with store.session() as session:
            for age, name in enumerate(reversed(names)):
                at = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(hours=age)
                session.add(
                    CheckpointRecord(id=name, profile="nano", manifest_sha256=digests[name], created_at=at)
                )
        await store.close()

    asyncio.run(register())
    if "torn" in names:
        weights = artefacts.checkpoint_folder(settings.data_dir, "torn") / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-10])


def register_again(settings: PolicySettings, name: str, digest: str) -> None:
    async def write() -> None:
        store = Store(settings.database)
        async with store.session() as session:
            record = await session.get_one(CheckpointRecord, name)
            record.manifest_sha256 = digest
        await store.close()

    asyncio.run(write())


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, make_tiny: Make) -> PolicySettings:
    settings = PolicySettings(data_dir=tmp_path_factory.mktemp("policy"), store_url=None, policy_max_rows=64)
    prepare(settings, make_tiny)
    return settings


@pytest.fixture(scope="module")
def client(settings: PolicySettings) -> Iterator[TestClient]:
    with TestClient(create_app(settings)) as client:
        client.post("/v1/checkpoints/base:activate").raise_for_status()
        yield client


@pytest.fixture(scope="module")
def server(settings: PolicySettings) -> Iterator[str]:
    """The address of a real server: streams and time-outs do not show in-process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(settings), port=port, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        httpx.post(f"http://127.0.0.1:{port}/v1/checkpoints/base:activate").raise_for_status()
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def sdk(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0) as sdk:
        yield sdk


def rollout(**changes: Any) -> dict[str, Any]:
    request: dict[str, Any] = {
        "checkpoint": "base",
        "prompts": ["w1 w2 w3", [5, 9, 14], [{"role": "user", "content": "w7 w8"}]],
        "n": 2,
        "max_tokens": 20,
        "seed": 4,
        "logprobs": True,
    }
    return request | changes


def rollouts(client: TestClient, **changes: Any) -> RolloutResponse:
    answer = client.post("/v1/rollouts", json=rollout(**changes))
    assert answer.status_code == 200, answer.text
    response = RolloutResponse.model_validate_json(answer.content)
    assert answer.headers["X-Checkpoint"] == response.checkpoint
    return response


def assert_problem(answer: httpx.Response, status: int, *said: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["request_id"]
    for part in said:
        assert part in answer.text
    return problem


# Health


def test_ready_when_store_and_engine_answer(client: TestClient) -> None:
    assert client.get("/livez").json()["status"] == "live"
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["checks"] == {"store": True, "engine": True}


def test_live_while_sampling(server: str) -> None:
    """A request that keeps the engine busy for seconds costs nobody else their answer."""
    prompts = [[5, 9, 14 + place % 20] for place in range(300)]
    request = rollout(prompts=prompts, n=8, max_tokens=60, temperature=5.0)
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=server, timeout=60) as http:
        busy = pool.submit(httpx.post, f"{server}/v1/rollouts", json=request, timeout=60)
        time.sleep(0.3)
        waits = []
        while not busy.done() and len(waits) < 60:
            started = time.perf_counter()
            assert http.get("/livez").status_code == 200
            waits.append(time.perf_counter() - started)
            assert http.get("/readyz").json()["checks"]["engine"]
            time.sleep(0.01)
        assert busy.result().status_code == 200
    assert len(waits) >= 10
    assert sorted(waits)[len(waits) // 2] < 0.2
    assert max(waits) < 1.0


# Rollouts


def test_rollouts_answer_every_kind_of_prompt(client: TestClient) -> None:
    response = rollouts(client)
    assert response.checkpoint == "base"
    assert [group.prompt_token_ids for group in response.groups] == [[4, 5, 6], [5, 9, 14], [10, 11, 3]]
    for sample in (sample for group in response.groups for sample in group.samples):
        assert len(sample.token_ids) == len(sample.logprobs or []) <= 20
        assert all(logprob <= 0 for logprob in sample.logprobs or [])
        assert sample.finish_reason in ("stop", "length")
        assert sample.error is None
        words = [f"w{token - 3}" for token in sample.token_ids if token > 2]
        assert sample.text == " ".join(words)


def test_same_request_same_answer(client: TestClient) -> None:
    assert rollouts(client) == rollouts(client)
    assert rollouts(client) != rollouts(client, seed=5)
    assert rollouts(client, checkpoint="trained").groups != rollouts(client).groups


def test_logprobs_only_where_asked_for(client: TestClient) -> None:
    response = rollouts(client, logprobs=False)
    assert all(sample.logprobs is None for group in response.groups for sample in group.samples)


def test_requests_at_once_get_the_answers_they_get_alone(server: str) -> None:
    requests = [
        rollout(
            checkpoint=("base", "trained")[place % 2],
            seed=place,
            n=1 + place % 5 * (13 if place == 9 else 1),
            max_tokens=1 + 3 * place,
        )
        for place in range(16)
    ]

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        got = httpx.post(f"{server}/v1/rollouts", json=request | {"logprobs": False}, timeout=60)
        assert got.headers["X-Checkpoint"] == request["checkpoint"]
        result: dict[str, Any] = got.json()
        return result

    alone = [answer(request) for request in requests]
    with ThreadPoolExecutor(len(requests)) as pool:
        assert list(pool.map(answer, requests)) == alone


def test_more_rows_than_a_batch_come_in_order(client: TestClient) -> None:
    prompts = [[5, 9, 14 + place % 40] for place in range(100)]
    at_once = rollouts(client, prompts=prompts, temperature=0.0, n=1, max_tokens=5)
    for place in (0, 39, 63, 64, 99):
        [one] = rollouts(client, prompts=[prompts[place]], temperature=0.0, n=1, max_tokens=5).groups
        assert one.samples[0].token_ids == at_once.groups[place].samples[0].token_ids


# Checkpoints


def test_checkpoints_page_by_page(client: TestClient) -> None:
    whole = CheckpointPage.model_validate(client.get("/v1/checkpoints").json())
    assert [state.checkpoint.id for state in whole.items] == ["torn", "trained", "base"]
    assert whole.next_page is None
    seen: list[str] = []
    cursor = None
    while True:
        page = CheckpointPage.model_validate(
            client.get("/v1/checkpoints", params={"size": 2} | ({"cursor": cursor} if cursor else {})).json()
        )
        seen += [state.checkpoint.id for state in page.items]
        cursor = page.next_page
        if cursor is None:
            break
    assert seen == ["torn", "trained", "base"]
    assert_problem(client.get("/v1/checkpoints", params={"cursor": "nonsense"}), 422, "cursor")


def test_activation(client: TestClient) -> None:
    unnamed = rollout(checkpoint=None)
    for name in ("trained", "base"):
        state = CheckpointState.model_validate(client.post(f"/v1/checkpoints/{name}:activate").json())
        assert (state.checkpoint.id, state.active, state.loaded) == (name, True, True)
        assert client.post("/v1/rollouts", json=unnamed).json()["checkpoint"] == name
    assert not client.get("/v1/checkpoints/trained").json()["active"]
    assert client.get("/v1/checkpoints/base").json()["active"]


def test_a_torn_checkpoint_is_refused_and_the_active_one_stays(client: TestClient) -> None:
    for answer in (
        client.post("/v1/checkpoints/torn:activate"),
        client.post("/v1/rollouts", json=rollout(checkpoint="torn")),
        client.post(
            "/v1/chat/completions", json={"model": "torn", "messages": [{"role": "user", "content": "w1"}]}
        ),
    ):
        assert_problem(answer, 409, "torn", "model.safetensors", "bytes instead of")
    assert client.post("/v1/rollouts", json=rollout(checkpoint=None)).json()["checkpoint"] == "base"


@pytest.mark.parametrize("id_", ["missing", "..%2F..%2Fetc", "Upper", "torn:activate"])
def test_unknown_checkpoints_are_named(client: TestClient, id_: str) -> None:
    assert_problem(client.get(f"/v1/checkpoints/{id_}"), 404)
    assert_problem(client.post(f"/v1/checkpoints/{id_}:activate"), 404)


def test_unknown_checkpoints_in_requests(client: TestClient) -> None:
    assert_problem(client.post("/v1/rollouts", json=rollout(checkpoint="missing")), 404, "missing")
    chat = {"model": "gpt-4o", "messages": [{"role": "user", "content": "w1"}]}
    assert_problem(client.post("/v1/chat/completions", json=chat), 404, "gpt-4o")
    assert_problem(client.post("/v1/completions", json={"model": "../base", "prompt": "w1"}), 404, "../base")
    assert_problem(client.post("/v1/completions", json={"model": "\x00", "prompt": "w1"}), 404)
    assert_problem(client.get("/v1/models/missing"), 404, "missing")


def test_newest_checkpoint_is_active_at_first(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None)
    prepare(settings, make_tiny, ("older", "newer"))
    with TestClient(create_app(settings)) as client:
        assert client.get("/v1/checkpoints/newer").json()["active"]
        assert client.post("/v1/rollouts", json=rollout(checkpoint=None)).json()["checkpoint"] == "newer"


def test_without_any_checkpoint_the_problem_says_what_to_do(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None)
    prepare(settings, make_tiny, ())
    with TestClient(create_app(settings)) as client:
        assert client.get("/readyz").status_code == 200
        assert client.get("/v1/models").json()["data"] == []
        assert_problem(client.post("/v1/rollouts", json=rollout(checkpoint=None)), 409, ":activate")


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=f"sqlite+aiosqlite:///{tmp_path}/none/store.db")
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"] == {"store": False, "engine": True}
        assert_problem(client.post("/v1/rollouts", json=rollout()), 503, "store")


def test_few_checkpoints_stay_loaded(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None, policy_max_models=2)
    prepare(settings, make_tiny, ("a", "b", "c"))
    with TestClient(create_app(settings)) as client:
        answers = [rollouts(client, checkpoint=name) for name in ("a", "b", "c")]
        loaded = {
            state["checkpoint"]["id"]: state["loaded"]
            for state in client.get("/v1/checkpoints").json()["items"]
        }
        assert loaded == {"a": False, "b": True, "c": True}
        assert [rollouts(client, checkpoint=name) for name in ("a", "b", "c")] == answers


def test_a_damaged_checkpoint_drives_nobody_out(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None, policy_max_models=1)
    prepare(settings, make_tiny, ("base", "torn"))
    with TestClient(create_app(settings)) as client:
        rollouts(client, checkpoint="base")
        assert_problem(client.post("/v1/checkpoints/torn:activate"), 409, "model.safetensors")
        assert client.get("/v1/checkpoints/base").json()["loaded"]


def test_a_sealed_directory_that_is_no_model_is_refused(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None)
    prepare(settings, make_tiny, ("base", "odd"))
    folder = artefacts.checkpoint_folder(tmp_path, "odd")
    (folder / "model.safetensors").write_bytes(b"no tensors in here")
    register_again(settings, "odd", artefacts.seal(folder))
    with TestClient(create_app(settings)) as client:
        assert_problem(client.post("/v1/checkpoints/odd:activate"), 409, "odd", "no model")
        rollouts(client, checkpoint="base")


# Bad input


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"surprise": 1}, "surprise"),
        ({"prompts": []}, "prompts"),
        ({"n": 0}, "n"),
        ({"n": 65}, "n"),
        ({"temperature": -1}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"checkpoint": "../x"}, "checkpoint"),
        ({"prompts": [{"role": "user"}]}, "prompts"),
        ({"prompts": [[{"role": "robot", "content": "w1"}]]}, "prompts"),
    ],
)
def test_bad_rollouts(client: TestClient, changes: dict[str, Any], field: str) -> None:
    problem = assert_problem(client.post("/v1/rollouts", json=rollout(**changes)), 422)
    assert any(field in error["loc"] for error in problem["errors"])


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ([5] * CONTEXT, "at most 127 tokens"),
        ("w1 " * 1_000, "at most 127 tokens"),
        ([63], "from 0 to 62"),
        ([-1], "from 0 to 62"),
        ("", "must not be empty"),
        ([], "must not be empty"),
    ],
)
def test_prompts_that_the_checkpoint_cannot_take(client: TestClient, prompt: Any, rule: str) -> None:
    problem = assert_problem(client.post("/v1/rollouts", json=rollout(prompts=["w1", prompt])), 422)
    [error] = problem["errors"]
    assert error["loc"] == ["body", "prompts", 1]
    assert rule in error["msg"]
    problem = assert_problem(client.post("/v1/completions", json={"prompt": prompt}), 422)
    assert problem["errors"][0]["loc"] == ["body", "prompt"]


def test_chat_that_is_too_long(client: TestClient) -> None:
    messages = [{"role": "user", "content": "w1 " * CONTEXT}]
    problem = assert_problem(client.post("/v1/chat/completions", json={"messages": messages}), 422)
    assert problem["errors"][0]["loc"] == ["body", "messages"]


def test_ten_megabytes(client: TestClient) -> None:
    assert_problem(client.post("/v1/rollouts", content=b"[" + b"1," * 5_000_000), 413)


def test_what_is_no_json(client: TestClient) -> None:
    assert_problem(
        client.post("/v1/rollouts", content=b"{", headers={"content-type": "application/json"}), 422
    )


def test_too_much_at_once(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None, policy_max_waiting_rows=10)
    prepare(settings, make_tiny, ("base",))
    with TestClient(create_app(settings)) as client:
        answer = client.post("/v1/rollouts", json=rollout(n=5))
        assert_problem(answer, 429)
        assert int(answer.headers["Retry-After"]) >= 1
        assert client.post("/v1/rollouts", json=rollout(n=3)).status_code == 200


def test_too_long(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None, policy_timeout_seconds=0.2)
    prepare(settings, make_tiny, ("base",))
    with TestClient(create_app(settings)) as client:
        client.post("/v1/rollouts", json=rollout(max_tokens=1))
        endless = rollout(n=64, max_tokens=110, temperature=10.0, prompts=[[5, place] for place in range(63)])
        assert_problem(client.post("/v1/rollouts", json=endless), 504)
        # What was given up is worked on no longer.
        assert client.post("/v1/rollouts", json=rollout(max_tokens=1)).status_code == 200


# OpenAI's API, by OpenAI's own client

CHAT: Any = [{"role": "user", "content": "w1 w2"}]


def test_chat(sdk: openai.OpenAI) -> None:
    raw = sdk.chat.completions.with_raw_response.create(
        model="base", messages=CHAT, seed=1, max_tokens=30, n=3
    )
    assert raw.headers["X-Checkpoint"] == "base"
    answer = raw.parse()
    assert answer.model == "base"
    assert [choice.index for choice in answer.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in answer.choices}) > 1
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 3
    again = sdk.chat.completions.create(model="base", messages=CHAT, seed=1, max_tokens=30, n=3)
    assert again.choices == answer.choices


def test_chat_without_a_limit_fills_the_context(sdk: openai.OpenAI) -> None:
    answer = sdk.chat.completions.create(model="active", messages=CHAT, seed=3, temperature=2.0)
    assert answer.usage is not None
    assert answer.usage.total_tokens == CONTEXT or answer.choices[0].finish_reason == "stop"


def test_chat_without_a_seed_varies(sdk: openai.OpenAI) -> None:
    texts = {
        sdk.chat.completions.create(model="base", messages=CHAT, max_tokens=20).choices[0].message.content
        for _ in range(5)
    }
    assert len(texts) > 1


@pytest.mark.parametrize("seed", range(5))
def test_streamed_chat_says_what_the_whole_one_says(sdk: openai.OpenAI, seed: int) -> None:
    how: dict[str, Any] = {"model": "trained", "messages": CHAT, "seed": seed, "max_tokens": 40, "n": 2}
    whole = sdk.chat.completions.create(**how)
    texts, reasons, roles = ["", ""], [None, None], [None, None]
    for chunk in sdk.chat.completions.create(**how, stream=True):
        assert chunk.model == "trained"
        [choice] = chunk.choices
        texts[choice.index] += choice.delta.content or ""
        reasons[choice.index] = choice.finish_reason or reasons[choice.index]
        roles[choice.index] = choice.delta.role or roles[choice.index]
    assert texts == [choice.message.content for choice in whole.choices]
    assert reasons == [choice.finish_reason for choice in whole.choices]
    assert roles == ["assistant", "assistant"]


def test_completions(sdk: openai.OpenAI) -> None:
    prompts: list[Any] = ["w1 w2", ["w1 w2", "w5"], [4, 5], [[4, 5], [8]]]
    answers = [
        sdk.completions.create(model="base", prompt=prompt, seed=2, n=2, max_tokens=12) for prompt in prompts
    ]
    assert [len(answer.choices) for answer in answers] == [2, 4, 2, 4]
    assert answers[0].choices == answers[2].choices
    assert answers[1].choices == answers[3].choices
    assert answers[1].choices[:2] == answers[0].choices
    assert answers[0].model == "base"
    streamed = ["", ""]
    for chunk in sdk.completions.create(
        model="base", prompt="w1 w2", seed=2, n=2, max_tokens=12, stream=True
    ):
        streamed[chunk.choices[0].index] += chunk.choices[0].text
    assert streamed == [choice.text for choice in answers[0].choices]


def test_models(sdk: openai.OpenAI) -> None:
    assert [model.id for model in sdk.models.list()] == ["torn", "trained", "base"]
    assert sdk.models.retrieve("base").owned_by == "trainee2trainer"


def test_problems_reach_the_client_as_its_own_errors(sdk: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        sdk.chat.completions.create(model="gpt-4o", messages=CHAT)
    assert "gpt-4o" in unknown.value.response.json()["detail"]
    with pytest.raises(openai.ConflictError) as torn:
        sdk.chat.completions.create(model="torn", messages=CHAT, stream=True)
    assert "model.safetensors" in torn.value.response.json()["detail"]
    with pytest.raises(openai.UnprocessableEntityError) as long:
        sdk.completions.create(model="base", prompt="w1 " * CONTEXT)
    assert "at most 127 tokens" in long.value.response.json()["detail"]


def test_the_stream_is_server_sent_events(server: str) -> None:
    request = {"model": "base", "messages": CHAT, "seed": 1, "max_tokens": 5, "stream": True}
    with httpx.stream("POST", f"{server}/v1/chat/completions", json=request) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["X-Checkpoint"] == "base"
        lines = [line for line in answer.iter_lines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    assert json.loads(lines[0][6:])["object"] == "chat.completion.chunk"


def test_who_leaves_a_stream_is_not_worked_for(server: str) -> None:
    request = rollout(prompts=["w1"], temperature=2.0)
    endless = {"model": "base", "messages": CHAT, "n": 64, "temperature": 2.0, "stream": True}
    for _ in range(10):
        with httpx.stream("POST", f"{server}/v1/chat/completions", json=endless) as answer:
            next(answer.iter_lines())
    started = time.perf_counter()
    assert httpx.post(f"{server}/v1/rollouts", json=request).status_code == 200
    assert time.perf_counter() - started < 5
