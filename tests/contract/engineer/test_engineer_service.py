"""The engineer service over HTTP: summaries, engineers, exchanges, and every kind of bad input."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from engineer_stack import CONFIGURATION, World
from support import assert_problem

from trainee2trainer.contracts.engineer import EngineerList, Exchange, StageSummary

# --- summaries ------------------------------------------------------------------------------------


def test_a_summary_counts_what_was_validated_and_is_made_once(world: World) -> None:
    stage = world.stage()
    answer = world.http.post("/v1/summaries", json=stage.body)
    assert answer.status_code == 201, answer.text
    summary = StageSummary.model_validate(answer.json())
    assert answer.headers["Location"] == f"/v1/summaries/{summary.id}"
    assert summary.configuration == CONFIGURATION
    assert summary.reward_curve == [0.1, 0.2]
    assert summary.overall.samples == len(stage.rows) == 120
    for size in summary.sizes:
        rows = [row for row in stage.rows if row["size"] == size.size]
        waits = [row for row in rows if row["needs_wait"]]
        assert size.validation.samples == len(rows)
        assert size.validation.valid == sum(row["valid"] for row in rows) / len(rows)
        assert size.validation_wait.samples == len(waits)
        assert size.failures == Counter(row["failure"] for row in rows if row["failure"])
    again = world.http.post("/v1/summaries", json=stage.body)
    assert again.status_code == 200
    assert again.json() == answer.json() == world.http.get(answer.headers["Location"]).json()


def test_failure_cases_are_of_several_kinds_and_judged_by_the_environment(world: World) -> None:
    summary = StageSummary.model_validate(world.http.post("/v1/summaries", json=world.stage().body).json())
    assert len(summary.failure_cases) == 6
    assert {case.instance.size for case in summary.failure_cases} == {3, 4, 5}
    assert {case.failure.value for case in summary.failure_cases} >= {"parse_error", "illegal_move"}
    for case in summary.failure_cases:
        if case.failure == "illegal_move":
            assert case.violation is not None and case.trajectory
        verdict = world.env.post("/v1/verify", json={"instance_id": case.instance.id, "answer": case.answer})
        assert verdict.json()["failure"] == case.failure


def test_the_same_evidence_gives_the_same_summary(world: World) -> None:
    def summarised() -> dict[str, Any]:
        summary: dict[str, Any] = world.http.post("/v1/summaries", json=world.stage(seed=9).body).json()
        return {
            key: value for key, value in summary.items() if key not in {"id", "campaign_id", "created_at"}
        }

    assert summarised() == summarised()


def test_asked_for_at_the_same_time_there_is_one_summary(world: World) -> None:
    stage = world.stage()
    with ThreadPoolExecutor(6) as pool:
        posts = pool.map(lambda _: world.http.post("/v1/summaries", json=stage.body), range(6))
    answers = list(posts)
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_no_summary_of_what_is_not_there(world: World) -> None:
    stage = world.stage()
    unknown = {"campaign_id": "campaign-0", "stage_index": 0}
    assert_problem(world.http.post("/v1/summaries", json=unknown), 404)
    assert_problem(world.http.post("/v1/summaries", json=stage.body | {"stage_index": 7}), 404)
    problem = assert_problem(world.http.post("/v1/summaries", json=stage.body | {"stage_index": 1}), 409)
    assert "not validated" in problem["detail"]
    assert_problem(world.http.get("/v1/summaries/summary-0"), 404)


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"stage_index": -1}, ("body", "stage_index")),
        ({"stage_index": None}, ("body", "stage_index")),
        ({"extra": 1}, ("body", "extra")),
    ],
)
def test_bad_requests_for_a_summary_name_the_field(
    world: World, change: dict[str, Any], loc: tuple[str, ...]
) -> None:
    body = {"campaign_id": "campaign-0", "stage_index": 0} | change
    assert_problem(world.http.post("/v1/summaries", json=body), 422, *loc)


def test_without_the_environment_there_is_no_half_a_summary(world: World) -> None:
    stage = world.stage()
    with world.without("env") as http:
        answer = http.post("/v1/summaries", json=stage.body)
        assert_problem(answer, 503)
        assert answer.headers["Retry-After"]
    assert world.http.post("/v1/summaries", json=stage.body).status_code == 201


def test_an_idempotency_key_gets_the_first_answer(world: World) -> None:
    stage, headers = world.stage(), {"Idempotency-Key": "summary-key-1"}
    first = world.http.post("/v1/summaries", json=stage.body, headers=headers)
    again = world.http.post("/v1/summaries", json=stage.body, headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())
    other = world.http.post("/v1/summaries", json=stage.body | {"stage_index": 5}, headers=headers)
    assert_problem(other, 422, "header", "Idempotency-Key")


# --- engineers and health -------------------------------------------------------------------------


def test_engineers_say_what_they_need(world: World) -> None:
    found = EngineerList.model_validate(world.http.get("/v1/engineers").json()).items
    assert {card.name.value: card.needs_policy for card in found} == {
        "self": True,
        "base": True,
        "llm": False,
        "teacher": False,
        "threshold": False,
        "progress": False,
        "random": False,
        "fixed": False,
    }


def test_ready_with_its_neighbours_and_degraded_without(world: World) -> None:
    ready = world.http.get("/readyz").json()
    assert (ready["status"], ready["checks"]) == ("ready", {"store": True, "env": True, "policy": True})
    with world.without("policy") as http:
        answer = http.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        assert answer.json()["checks"]["policy"] is False


# --- exchanges ------------------------------------------------------------------------------------


def test_exchanges_are_json_lines_pure_in_the_request(world: World) -> None:
    body = {"seed": 5, "count": 600, "sizes": [3, 6]}
    answer = world.http.post("/v1/exchanges:generate", json=body)
    assert answer.headers["content-type"] == "application/jsonl"
    rows = [Exchange.model_validate_json(line) for line in answer.text.splitlines()]
    assert len(rows) == 600
    assert {size for row in rows for size in json.loads(row.answer)["sizes"]} == {"3", "6"}
    shorter = world.http.post("/v1/exchanges:generate", json=body | {"count": 300}).text
    assert answer.text.startswith(shorter)
    assert world.http.post("/v1/exchanges:generate", json=body | {"seed": 6}).text != answer.text


def test_alive_while_exchanges_are_made(world: World) -> None:
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(world.http.post, "/v1/exchanges:generate", json={"seed": 1, "count": 10_000})
        waits = []
        while not busy.done():
            started = time.perf_counter()
            assert world.http.get("/livez").status_code == 200
            waits.append(time.perf_counter() - started)
        assert busy.result().text.count("\n") == 10_000
    assert max(waits) < 1


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"count": 0}, ("body", "count")),
        ({"count": 200_001}, ("body", "count")),
        ({"sizes": []}, ("body", "sizes")),
        ({"sizes": [3, 11]}, ("body", "sizes", 1)),
        ({"seed": -1}, ("body", "seed")),
        ({"teacher": "x"}, ("body", "teacher")),
    ],
)
def test_bad_requests_for_exchanges_name_the_field(
    world: World, change: dict[str, Any], loc: tuple[str | int, ...]
) -> None:
    body = {"seed": 1, "count": 1} | change
    assert_problem(world.http.post("/v1/exchanges:generate", json=body), 422, *loc)
