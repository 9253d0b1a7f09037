"""The policy service as OpenAI's own client sees it."""

import json
import time
from typing import Any

import httpx
import openai
import pytest
from policy_world import CONTEXT, rollout

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
