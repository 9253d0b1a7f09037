"""The env service over HTTP: every endpoint, every kind of bad input."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from env_service.app import create_app
from env_service.pool import SolverPool
from env_service.settings import EnvSettings
from trainee2trainer.contracts.environment import EnvironmentList, GeneratedBatch, Instance, Outcome

KNOBS = {"data_ratio": 1, "hole_ratio": 0.2, "wait_ratio": 0.3}
REQUEST: dict[str, Any] = {
    "configuration": {"agents": 2, "sizes": {"3": KNOBS, "4": KNOBS, "5": KNOBS}},
    "seed": 1,
    "count": 30,
    "template": "compact-v1",
}
BOARD = {"size": 3, "agents": [{"start": [1, 0], "goal": [1, 2]}, {"start": [0, 1], "goal": [2, 1]}]}
GOOD_PLAN = [["RIGHT", "RIGHT"], ["WAIT", "DOWN", "DOWN"]]


@pytest.fixture(scope="module")
def batch(client: TestClient) -> dict[str, Any]:
    answer = client.post("/v1/instances:generate", json=REQUEST)
    assert answer.status_code == 200
    result: dict[str, Any] = answer.json()
    return result


def change(request: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**request, **changes}


def problem(answer: Any, status: int, *loc: str | int) -> dict[str, Any]:
    """The problem of an answer, which must name the field."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    if loc:
        assert list(loc) in [error["loc"] for error in body["errors"]], body
    return body


# --- environments and instances ---------------------------------------------------------------------


def test_environments_tell_an_engineer_what_it_may_set(client: TestClient) -> None:
    family = EnvironmentList.model_validate(client.get("/v1/environments").json()).items[0]
    assert {knob.name for knob in family.knobs} == {"data_ratio", "hole_ratio", "wait_ratio"}
    assert family.sizes == [3, 4, 5, 6, 7, 8, 9, 10]
    assert {"plain-v1", "compact-v1"} <= set(family.templates)


def test_a_batch_is_typed_exact_and_the_same_again(client: TestClient, batch: dict[str, Any]) -> None:
    typed = GeneratedBatch.model_validate(batch)
    assert len(typed.rows) == typed.realised.count == 30
    assert [size.asked_wait for size in typed.realised.sizes.values()] == [3, 3, 3]
    assert typed.rows[0].prompt is not None and typed.rows[0].answer
    assert client.post("/v1/instances:generate", json=REQUEST).json() == batch


def test_json_lines_hold_the_same_rows_and_then_what_was_realised(
    client: TestClient, batch: dict[str, Any]
) -> None:
    answer = client.post("/v1/instances:generate", json=REQUEST, headers={"Accept": "application/jsonl"})
    assert answer.headers["content-type"] == "application/jsonl"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[:-1] == batch["rows"]
    assert lines[-1] == {"realised": batch["realised"]}


def test_an_instance_is_found_by_its_id_by_a_second_replica(
    settings: EnvSettings, batch: dict[str, Any]
) -> None:
    instance = batch["rows"][0]["instance"]
    with TestClient(create_app(settings)) as replica:
        found = replica.get(f"/v1/instances/{instance['id']}")
        assert found.json() == instance
        Instance.model_validate(found.json())


def test_an_unknown_instance_is_not_found(client: TestClient) -> None:
    problem(client.get("/v1/instances/2agents_3x3_000000000000"), 404)
    problem(client.get("/v1/instances/2agents_3x3_000000000000.svg"), 404)


def test_a_board_is_drawn(client: TestClient, batch: dict[str, Any]) -> None:
    row = batch["rows"][0]
    answer = client.get(f"/v1/instances/{row['instance']['id']}.svg", params={"plan": row["answer"]})
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "<polyline" in answer.text
    assert (
        "<polyline" not in client.get(f"/v1/instances/{row['instance']['id']}.svg", params={"plan": "?"}).text
    )


@pytest.mark.parametrize(
    ("changes", "loc"),
    [
        ({"surprise": 1}, ["body", "surprise"]),
        ({"count": 0}, ["body", "count"]),
        ({"count": 50_001}, ["body", "count"]),
        ({"seed": -1}, ["body", "seed"]),
        ({"template": "plain-v9"}, ["body", "template"]),
        ({"split": "test"}, ["body", "split"]),
        ({"configuration": {"sizes": {}}}, ["body", "configuration", "sizes"]),
        ({"configuration": {"sizes": {"3": KNOBS}, "agents": 6}}, ["body", "configuration", "agents"]),
        ({"configuration": {"sizes": {"3": KNOBS}, "agents": 5}}, ["body", "configuration", "sizes", 3]),
        ({"configuration": {"sizes": {"3": {**KNOBS, "data_ratio": 0}}}}, ["body", "configuration"]),
        (
            {"configuration": {"sizes": {"3": {**KNOBS, "hole_ratio": 0.6}}}},
            ["body", "configuration", "sizes", "3", "hole_ratio"],
        ),
        (
            {"configuration": {"sizes": {"3": {**KNOBS, "wait_ratio": -0.1}}}},
            ["body", "configuration", "sizes", "3", "wait_ratio"],
        ),
        (
            {"configuration": {"sizes": {"3": {**KNOBS, "speed": 1}}}},
            ["body", "configuration", "sizes", "3", "speed"],
        ),
    ],
)
def test_a_bad_request_names_the_field_and_the_rule(
    client: TestClient, changes: dict[str, Any], loc: list[str | int]
) -> None:
    problem(client.post("/v1/instances:generate", json=change(REQUEST, **changes)), 422, *loc)


@pytest.mark.parametrize("size", ["2", "11"])
def test_sizes_outside_3_to_10_are_refused(client: TestClient, size: str) -> None:
    body = problem(
        client.post("/v1/instances:generate", json=change(REQUEST, configuration={"sizes": {size: KNOBS}})),
        422,
    )
    assert body["errors"][0]["loc"][:4] == ["body", "configuration", "sizes", size]


def test_a_quota_out_of_reach_names_the_knob_and_nothing_is_half_made(settings: EnvSettings) -> None:
    knobs = {"data_ratio": 1, "hole_ratio": 0, "wait_ratio": 0.9}
    request = {"configuration": {"agents": 2, "sizes": {"10": knobs}}, "seed": 1, "count": 20}
    impatient = settings.model_copy(update={"env_max_draws": 50})
    with TestClient(create_app(impatient)) as client:
        for accept in ("application/json", "application/jsonl"):
            answer = client.post("/v1/instances:generate", json=request, headers={"Accept": accept})
            body = problem(answer, 422, "body", "configuration", "sizes", 10, "wait_ratio")
            assert "uniform boards" in body["detail"]
        best = client.post("/v1/instances:generate", json={**request, "best_effort": True}).json()
        realised = best["realised"]["sizes"]["10"]
        assert realised["made"] == len(best["rows"]) < realised["asked"] == 20


# --- verify -----------------------------------------------------------------------------------------


def test_reference_answers_are_valid_and_soc_optimal(client: TestClient, batch: dict[str, Any]) -> None:
    items = [{"instance_id": row["instance"]["id"], "answer": row["answer"]} for row in batch["rows"]]
    outcomes = client.post("/v1/verify:batch", json={"items": items}).json()["outcomes"]
    assert [outcome["instance_id"] for outcome in outcomes] == [item["instance_id"] for item in items]
    assert all(outcome["valid"] and outcome["soc_optimal"] for outcome in outcomes)


def test_one_answer_is_judged_like_a_batch_of_one(client: TestClient, batch: dict[str, Any]) -> None:
    row = batch["rows"][1]
    item = {"instance_id": row["instance"]["id"], "answer": row["answer"]}
    one = client.post("/v1/verify", json=item).json()
    Outcome.model_validate(one)
    assert client.post("/v1/verify:batch", json={"items": [item]}).json() == {"outcomes": [one]}


def test_an_inline_board_is_judged_against_its_true_optimum(client: TestClient) -> None:
    best = client.post("/v1/verify", json={"instance": BOARD, "plan": GOOD_PLAN}).json()
    assert (best["valid"], best["optimal"], best["soc_optimal"], best["reward"]) == (True, True, True, 1.0)
    slow = client.post(
        "/v1/verify", json={"instance": BOARD, "answer": "Agent 0: R R\nAgent 1: W W D D"}
    ).json()
    assert (slow["valid"], slow["optimal"], slow["reward"]) == (True, False, 0.7)


def test_rewards_follow_the_request(client: TestClient) -> None:
    rewards = {"optimal": 0.5, "valid": 0.25, "failure": 0.125}
    for plan, reward in ((GOOD_PLAN, 0.5), ([["RIGHT"], ["DOWN"]], 0.125)):
        request = {"instance": BOARD, "plan": plan, "rewards": rewards}
        assert client.post("/v1/verify", json=request).json()["reward"] == reward


@pytest.mark.parametrize("answer", ["", "\x00", "none", "Agent 0: " * 1_000, "👀" * 1_000, "[" * 10_000])
def test_nonsense_is_scored_and_classified(client: TestClient, answer: str) -> None:
    outcome = client.post("/v1/verify", json={"instance": BOARD, "answer": answer}).json()
    assert (outcome["scored"], outcome["reward"], outcome["failure"]) == (True, 0.0, "parse_error")


@pytest.mark.parametrize(
    ("request_", "loc"),
    [
        ({"instance_id": "2agents_3x3_000000000000", "answer": "x"}, ["body", "instance_id"]),
        ({"answer": "x"}, ["body"]),
        ({"instance": BOARD}, ["body"]),
        ({"instance": BOARD, "answer": "x", "plan": []}, ["body"]),
        ({"instance": BOARD, "answer": "x" * 262_145}, ["body", "answer"]),
        ({"instance": BOARD, "plan": [["JUMP"]]}, ["body", "plan", 0, 0]),
        ({"instance": {**BOARD, "size": 11}, "answer": "x"}, ["body", "instance", "size"]),
        (
            {"instance": {**BOARD, "holes": [[1, 0]]}, "answer": "x"},
            ["body", "instance", "agents", 0, "start"],
        ),
        ({"instance": BOARD, "answer": "x", "rewards": {"valid": 2}}, ["body", "rewards", "valid"]),
    ],
)
def test_a_bad_question_names_the_field(
    client: TestClient, request_: dict[str, Any], loc: list[str | int]
) -> None:
    problem(client.post("/v1/verify", json=request_), 422, *loc)


def test_a_missing_instance_in_a_batch_is_named_by_its_place(client: TestClient) -> None:
    items = [{"instance": BOARD, "answer": "x"}, {"instance_id": "2agents_3x3_000000000000", "answer": "x"}]
    problem(client.post("/v1/verify:batch", json={"items": items}), 422, "body", "items", 1, "instance_id")


def test_a_body_over_the_limit_is_too_much(client: TestClient) -> None:
    answer = client.post(
        "/v1/verify", content=b"x" * 33 * 1024 * 1024, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413


# --- under load -------------------------------------------------------------------------------------


def test_the_event_loop_answers_while_boards_are_made(client: TestClient) -> None:
    request = {"configuration": {"agents": 3, "sizes": {"6": KNOBS}}, "seed": 5, "count": 400}
    done: list[int] = []
    work = threading.Thread(
        target=lambda: done.append(client.post("/v1/instances:generate", json=request).status_code)
    )
    work.start()
    slowest = 0.0
    while work.is_alive():
        started = time.perf_counter()
        assert client.get("/livez").status_code == 200
        slowest = max(slowest, time.perf_counter() - started)
        time.sleep(0.005)
    assert done == [200]
    assert slowest < 0.5  # generous: other work shares this machine


async def test_a_killed_worker_is_an_error_and_then_replaced() -> None:
    from env_service.candidates import Request
    from env_service.drawing import Recipe
    from env_service.pool import WorkerLost
    from trainee2trainer.contracts.environment import Split

    pool = SolverPool(1)
    await pool.warm()
    request = Request(Recipe(4, 2, 3, False), Split.TRAIN, key=1, first=0, wanted=1)
    expected = await asyncio.to_thread(pool.find, [request])
    for process in list(pool._executor._processes.values()):
        process.kill()
    with pytest.raises(WorkerLost):
        for _ in range(100):
            await asyncio.to_thread(pool.find, [request])
    assert await asyncio.to_thread(pool.find, [request]) == expected
    pool.close()


def test_the_data_folder_holds_only_the_store(settings: EnvSettings) -> None:
    assert {path.name.split("-")[0] for path in Path(settings.data_dir).iterdir()} <= {"store.db"}


@pytest.mark.parametrize(
    ("kind", "media"), [("svg", "image/svg+xml"), ("gif", "image/gif"), ("txt", "text/plain")]
)
def test_pictures_of_every_kind_take_any_answer(
    client: TestClient, batch: dict[str, Any], kind: str, media: str
) -> None:
    row = batch["rows"][0]
    path = f"/v1/instances/{row['instance']['id']}.{kind}"
    for plan in (None, row["answer"], "nonsense", "\x00<script>", "UP " * 1_300):
        answer = client.get(path, params={"plan": plan} if plan is not None else {})
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(media)
        assert b"<script>" not in answer.content
    problem(client.get(f"/v1/instances/2agents_3x3_000000000000.{kind}"), 404)
