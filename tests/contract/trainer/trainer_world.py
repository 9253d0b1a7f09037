"""What the contract tests of the trainer service have in common."""

from dataclasses import dataclass
from typing import Any

import httpx

from trainee2trainer.client.streams import server_events
from trainee2trainer.contracts.campaign import Event
from trainee2trainer.store import Store
from trainee2trainer.store.tables import CheckpointRecord

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


@dataclass(frozen=True)
class World:
    url: str
    store_url: str


async def add_starting_checkpoint(store_url: str) -> None:
    store = Store(store_url)
    async with store.session() as session:
        session.add(CheckpointRecord(id="nano-v1", profile="nano", manifest_sha256="0" * 64))
    await store.close()


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
