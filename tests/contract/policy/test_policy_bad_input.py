"""Bad input, too much of it, and what takes too long."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from policy_world import CONTEXT, Make, assert_problem, prepare, rollout

from policy_service.app import create_app
from policy_service.settings import PolicySettings


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
