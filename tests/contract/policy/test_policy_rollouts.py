"""Health, and rollouts: the same request gets the same answer, alone or in company."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from fastapi.testclient import TestClient
from policy_world import rollout, rollouts


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
