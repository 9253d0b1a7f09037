"""What the policy service's contract tests share: a data folder with checkpoints, requests, answers."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from fastapi.testclient import TestClient
from support import assert_problem as assert_one_shape

from policy_service.settings import PolicySettings
from trainee2trainer import artefacts
from trainee2trainer.contracts.policy import RolloutResponse
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
    """The one shape of every error, and what its text says."""
    problem = assert_one_shape(answer, status)
    for part in said:
        assert part in answer.text
    return problem
