"""Episodes over REST and over the socket."""

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from support import assert_problem, env_app, free_port

from trainee2trainer.contracts.episode import Episode

KNOBS = {"data_ratio": 1, "hole_ratio": 0.2, "wait_ratio": 0.3}
CONFIGURATION = {"agents": 2, "sizes": {"3": KNOBS, "4": KNOBS}}
BOARD = {"size": 3, "agents": [{"start": [1, 0], "goal": [1, 2]}, {"start": [0, 1], "goal": [2, 1]}]}
SOLUTION = [["RIGHT", "WAIT"], ["RIGHT", "DOWN"], ["WAIT", "DOWN"]]


def begin(client: TestClient, **changes: Any) -> Episode:
    answer = client.post("/v1/episodes", json={"instance": BOARD} | changes)
    assert answer.status_code == 201, answer.text
    episode = Episode.model_validate_json(answer.content)
    assert answer.headers["Location"] == f"/v1/episodes/{episode.id}"
    return episode


def step(
    client: TestClient, episode: Episode, actions: list[str], number: int | None = None
) -> httpx.Response:
    return client.post(f"/v1/episodes/{episode.id}/step", json={"actions": actions, "step": number})


def test_a_solved_episode_is_rewarded_at_its_end_and_not_before(client: TestClient) -> None:
    episode = begin(client)
    assert episode.observation.grid == [["F", "1", "F"], ["0", "F", "G"], ["F", "G", "F"]]
    for number, actions in enumerate(SOLUTION):
        assert (episode.done, episode.reward, episode.outcome) == (False, None, None)
        episode = Episode.model_validate_json(step(client, episode, actions, number).content)
        assert episode.step == number + 1
    assert (episode.done, episode.ended, episode.reward) == (True, "solved", 1.0)
    assert episode.outcome is not None and episode.outcome.optimal
    assert episode.observation.positions == episode.observation.goals
    assert "on its goal" in episode.observation.text


def test_the_first_broken_rule_ends_it(client: TestClient) -> None:
    episode = begin(client)
    after = Episode.model_validate_json(step(client, episode, ["RIGHT", "DOWN"]).content)
    assert (after.ended, after.reward) == ("violation", 0.0)
    assert after.outcome is not None and after.outcome.failure == "agent_conflict"
    assert_problem(step(client, episode, ["WAIT", "WAIT"]), 409)


def test_the_step_limit_ends_it(client: TestClient) -> None:
    episode = begin(client, max_steps=2)
    for _ in range(2):
        episode = Episode.model_validate_json(step(client, episode, ["WAIT", "WAIT"]).content)
    assert (episode.ended, episode.reward) == ("step_limit", 0.0)
    assert episode.outcome is not None and episode.outcome.failure == "goal_not_reached"


def test_a_step_that_is_sent_twice_is_taken_once(client: TestClient) -> None:
    episode = begin(client)
    first, second = (step(client, episode, ["WAIT", "WAIT"], 0) for _ in range(2))
    assert first.json() == second.json()
    assert client.get(f"/v1/episodes/{episode.id}").json()["step"] == 1
    assert_problem(step(client, episode, ["RIGHT", "WAIT"], 0), 409)
    assert_problem(step(client, episode, ["RIGHT", "WAIT"], 5), 409)


def test_a_creation_that_is_sent_twice_makes_one_episode(client: TestClient) -> None:
    ids = {
        client.post("/v1/episodes", json={"instance": BOARD}, headers={"Idempotency-Key": "once"}).json()[
            "id"
        ]
        for _ in range(2)
    }
    assert len(ids) == 1


def test_a_configuration_and_a_seed_give_the_same_board_each_time(client: TestClient) -> None:
    boards = [begin(client, instance=None, configuration=CONFIGURATION, seed=5).board for _ in range(2)]
    other = begin(client, instance=None, configuration=CONFIGURATION, seed=6, split="held_out").board
    assert boards[0] == boards[1] != other


def test_an_instance_is_played_by_its_id(client: TestClient) -> None:
    batch = client.post(
        "/v1/instances:generate", json={"configuration": CONFIGURATION, "seed": 1, "count": 1}
    )
    instance = batch.json()["rows"][0]["instance"]
    episode = begin(client, instance=None, instance_id=instance["id"])
    assert episode.model_dump(mode="json")["board"]["agents"] == instance["agents"]


def test_a_closed_episode_is_over_without_a_reward(client: TestClient) -> None:
    episode = begin(client)
    assert client.delete(f"/v1/episodes/{episode.id}").status_code == 204
    closed = Episode.model_validate(client.get(f"/v1/episodes/{episode.id}").json())
    assert (closed.done, closed.ended, closed.reward, closed.outcome) == (True, "closed", None, None)


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, ("body",)),
        ({"instance": BOARD, "instance_id": "2agents_3x3_000000000000"}, ("body",)),
        ({"configuration": CONFIGURATION}, ("body",)),
        ({"instance": BOARD, "seed": 1}, ("body",)),
        ({"instance": BOARD, "max_steps": 0}, ("body", "max_steps")),
        ({"instance": BOARD | {"holes": [[1, 0]]}}, ("body", "instance", "agents", 0, "start")),
        ({"instance": BOARD | {"holes": [[1, 1], [0, 0], [0, 2]]}}, ("body", "instance")),
        ({"instance_id": "2agents_3x3_000000000000"}, ("body", "instance_id")),
    ],
)
def test_what_cannot_be_played_is_refused(
    client: TestClient, body: dict[str, Any], loc: tuple[str | int, ...]
) -> None:
    assert_problem(client.post("/v1/episodes", json=body), 422, *loc)


def test_steps_that_cannot_be_taken_are_refused(client: TestClient) -> None:
    episode = begin(client)
    assert_problem(step(client, episode, ["WAIT"] * 3), 422, "body", "actions")
    assert_problem(step(client, episode, ["WAIT", "JUMP"]), 422, "body", "actions", 1)
    nobody = episode.model_copy(update={"id": "episode-0000000000000000"})
    assert_problem(step(client, nobody, ["WAIT", "WAIT"]), 404)


def ended_of(client: TestClient, reason: str) -> float:
    for line in client.get("/metrics").text.splitlines():
        if line.startswith(f't2t_episodes_ended_total{{reason="{reason}"}}'):
            return float(line.split()[1])
    return 0.0


def test_idle_episodes_end_and_are_counted_and_too_many_are_refused(data_dir: Path, store_url: str) -> None:
    app = env_app(data_dir, store_url, env_max_episodes=3, env_episode_idle_s=3)
    with TestClient(app) as client:
        before = ended_of(client, "idle")
        episodes = [begin(client) for _ in range(3)]
        refused = client.post("/v1/episodes", json={"instance": BOARD})
        assert_problem(refused, 429)
        assert refused.headers["Retry-After"]
        time.sleep(3.2)
        assert client.get(f"/v1/episodes/{episodes[0].id}").json()["ended"] == "idle"
        begin(client)
        assert ended_of(client, "idle") == before + 3


# --- the socket -------------------------------------------------------------------------------------


def test_the_socket_speaks_openenv_s_messages(client: TestClient) -> None:
    with client.websocket_connect("/v1/episodes/ws") as socket:
        for _ in range(2):
            socket.send_json({"type": "reset", "data": {"instance": BOARD}})
            answer = socket.receive_json()
            assert (answer["type"], answer["data"]["done"], answer["data"]["reward"]) == (
                "observation",
                False,
                None,
            )
            for actions in SOLUTION:
                socket.send_json({"type": "step", "data": {"actions": actions}})
                answer = socket.receive_json()
            assert (answer["data"]["done"], answer["data"]["reward"]) == (True, 1.0)
            assert answer["data"]["metadata"]["ended"] == "solved"
        socket.send_json({"type": "state"})
        assert Episode.model_validate(socket.receive_json()["data"]).ended == "solved"
        socket.send_json({"type": "close"})


@pytest.mark.parametrize(
    "message",
    [
        "{",
        "[]",
        '{"type": "jump"}',
        '{"type": "step", "data": {"actions": ["WAIT", "WAIT"]}}',
        '{"type": "reset", "data": {}}',
        '{"type": "reset", "data": {"instance_id": "nothing"}}',
        " " * 70_000,
    ],
)
def test_a_bad_message_is_told_and_the_connection_stays(client: TestClient, message: str) -> None:
    with client.websocket_connect("/v1/episodes/ws") as socket:
        socket.send_text(message)
        error = socket.receive_json()
        assert error["type"] == "error"
        assert error["data"]["problem"]["status"] in (409, 422)
        socket.send_json({"type": "reset", "data": {"instance": BOARD}})
        assert socket.receive_json()["type"] == "observation"


def test_a_failed_reset_leaves_the_episode_as_it_was(client: TestClient) -> None:
    with client.websocket_connect("/v1/episodes/ws") as socket:
        socket.send_json({"type": "reset", "data": {"instance": BOARD}})
        socket.receive_json()
        socket.send_json({"type": "reset", "data": {"instance_id": "2agents_3x3_000000000000"}})
        assert socket.receive_json()["type"] == "error"
        socket.send_bytes(b"\x00\x01")
        assert socket.receive_json()["type"] == "error"
        socket.send_json({"type": "step", "data": {"actions": SOLUTION[0]}})
        assert socket.receive_json()["data"]["done"] is False


def test_a_socket_that_says_nothing_is_closed(data_dir: Path, store_url: str) -> None:
    app = env_app(data_dir, store_url, env_episode_idle_s=0.3)
    with (
        TestClient(app) as client,
        client.websocket_connect("/v1/episodes/ws") as socket,
    ):
        before = ended_of(client, "idle")
        socket.send_json({"type": "reset", "data": {"instance": BOARD}})
        socket.receive_json()
        closing = socket.receive()
        assert (closing["type"], closing["reason"]) == ("websocket.close", "idle")
        time.sleep(0.2)
        assert ended_of(client, "idle") == before + 1


def test_what_a_lost_connection_played_is_closed(client: TestClient) -> None:
    with client.websocket_connect("/v1/episodes/ws") as socket:
        socket.send_json({"type": "reset", "data": {"instance": BOARD}})
        id_ = socket.receive_json()["data"]["metadata"]["id"]
    assert client.get(f"/v1/episodes/{id_}").json()["ended"] == "closed"


# --- several server workers -------------------------------------------------------------------------


@pytest.fixture
def two_workers(data_dir: Path, store_url: str) -> Iterator[str]:
    """The service with two processes that share nothing but the store."""
    port = free_port()
    command = [
        "-m",
        "uvicorn",
        "env_service.app:create_app",
        "--factory",
        "--workers",
        "2",
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        [sys.executable, *command, "--log-level", "warning"],
        env={**os.environ, "T2T_DATA_DIR": str(data_dir), "T2T_STORE_URL": store_url, "T2T_ENV_WORKERS": "1"},
        stdout=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(600):
            try:
                if httpx.get(f"{url}/livez").is_success:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
def test_512_episodes_are_played_at_once_on_two_server_workers(two_workers: str) -> None:
    """Each step goes to whichever worker takes the connection; every episode has its own board and fate."""

    async def play_all() -> list[tuple[bool, bool, float | None]]:
        limits = httpx.Limits(max_connections=24, max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=two_workers, timeout=120, limits=limits) as client:
            body = {"configuration": CONFIGURATION, "seed": 3, "count": 64, "template": None}
            rows = (await client.post("/v1/instances:generate", json=body)).json()["rows"]
            instances = [row["instance"] for row in rows] * 8

            async def create(instance: dict[str, Any]) -> dict[str, Any]:
                return (await client.post("/v1/episodes", json={"instance_id": instance["id"]})).json()

            episodes = await asyncio.gather(*(create(instance) for instance in instances))
            assert len({episode["id"] for episode in episodes}) == 512

            async def play(number: int) -> tuple[bool, bool, float | None]:
                instance, id_ = instances[number], episodes[number]["id"]
                honest = number % 3 != 0
                plan, state = instance["reference_plan"], episodes[number]
                for at in range(max(map(len, plan))):
                    actions = [lane[at] if at < len(lane) else "WAIT" for lane in plan]
                    actions = actions if honest else ["WAIT"] * len(plan)
                    answer = await client.post(
                        f"/v1/episodes/{id_}/step", json={"actions": actions, "step": at}
                    )
                    state = answer.json()
                return state["board"] == episodes[number]["board"], honest, state["reward"]

            numbers = list(range(512))
            random.Random(1).shuffle(numbers)
            return await asyncio.gather(*(play(number) for number in numbers))

    for same_board, honest, reward in asyncio.run(play_all()):
        assert same_board
        assert reward in (0.7, 1.0) if honest else reward is None


def test_two_who_race_for_a_step_do_not_both_get_it(two_workers: str) -> None:
    async def race() -> list[int]:
        async with httpx.AsyncClient(base_url=two_workers, timeout=60) as client:
            episode = (await client.post("/v1/episodes", json={"instance": BOARD})).json()
            moves = [["WAIT", "WAIT"], ["DOWN", "WAIT"], ["UP", "LEFT"], ["WAIT", "LEFT"]] * 3
            answers = await asyncio.gather(
                *(
                    client.post(f"/v1/episodes/{episode['id']}/step", json={"actions": move, "step": 0})
                    for move in moves
                )
            )
            final = (await client.get(f"/v1/episodes/{episode['id']}")).json()
            assert final["step"] == 1
            return sorted(answer.status_code for answer in answers)

    statuses = asyncio.run(race())
    # Each move was sent three times; the one that won answers all three.
    assert statuses.count(200) == 3
    assert set(statuses) == {200, 409}
