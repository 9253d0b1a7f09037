"""Proposals over HTTP: each engineer, what is recorded, fallbacks, failures of ours, a person's decisions."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from engineer_stack import CONFIGURATION, TAUGHT, UNTAUGHT, WORDY, World
from support import assert_problem, free_port

from engineer_service.prompts.compact import compact_words
from trainee2trainer.contracts.engineer import Proposal
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs

HARD = SizeKnobs(data_ratio=1, hole_ratio=0.3, wait_ratio=0.5)
OTHER = EnvironmentConfig(sizes={3: HARD, 4: HARD})
CROWDED = EnvironmentConfig(agents=5, sizes={3: HARD})
"""Ten starts and goals have no room on nine cells."""


def proposal(answer: httpx.Response, status: int = 201) -> Proposal:
    assert answer.status_code == status, answer.text
    return Proposal.model_validate(answer.json())


def stored(world: World, summary_id: str) -> list[Proposal]:
    campaign = world.http.get(f"/v1/summaries/{summary_id}").json()["campaign_id"]
    items = world.http.get("/v1/proposals", params={"campaign_id": campaign}).json()["items"]
    return [Proposal.model_validate(item) for item in items]


# --- engineers ------------------------------------------------------------------------------------


def test_fixed_keeps_the_configuration(world: World) -> None:
    found = proposal(world.propose(world.summary(), "fixed"))
    assert (found.status, found.configuration, found.changes) == ("accepted", CONFIGURATION, [])
    assert (found.prompt, len(found.attempts), found.fallback_reason) == ([], 1, None)


def test_random_draws_within_the_bounds_from_its_seed(world: World) -> None:
    summaries = [world.summary(), world.summary()]
    first, same = (proposal(world.propose(summary, "random", seed=4)) for summary in summaries)
    other = proposal(world.propose(summaries[0], "random", seed=5))
    assert first.configuration == same.configuration != other.configuration
    assert first.status == "accepted" and first.clamps == [] and first.changes
    assert set(first.configuration.sizes) == {3, 4, 5}


def test_self_asks_the_checkpoint_in_words_it_knows_and_uses_the_answer(world: World) -> None:
    summary = world.summary()
    answer = world.propose(summary, "self", checkpoint=TAUGHT)
    found = proposal(answer)
    assert answer.headers["Location"] == f"/v1/proposals/{found.id}"
    assert found.status == "accepted", found.attempts
    [message] = found.prompt
    assert set(message.content.split(" ")) <= set(compact_words())
    assert found.attempts[-1].error is None
    assert all(attempt.error for attempt in found.attempts[:-1])
    asked = json.loads(found.attempts[-1].answer)
    assert found.reason == asked["reason"]
    assert {size: one["wait_ratio"] for size, one in asked["sizes"].items()} == {
        str(size): found.configuration.sizes[size].wait_ratio for size in map(int, asked["sizes"])
    }
    assert found.changes
    assert world.http.get(f"/v1/proposals/{found.id}").json() == answer.json()


def test_self_gives_the_same_answer_to_the_same_evidence(world: World) -> None:
    first, second = (
        proposal(world.propose(world.summary(), "self", checkpoint=TAUGHT, seed=11)) for _ in range(2)
    )
    assert first.attempts == second.attempts
    assert first.configuration == second.configuration


def test_a_model_that_talks_nonsense_changes_nothing_and_the_record_says_so(world: World) -> None:
    found = proposal(world.propose(world.summary(), "self", checkpoint=UNTAUGHT))
    assert (found.status, found.configuration, found.changes) == ("fallback", CONFIGURATION, [])
    assert len(found.attempts) == 3
    assert len({attempt.answer for attempt in found.attempts}) == 3
    assert all(
        attempt.error == "no configuration could be read from the answer" for attempt in found.attempts
    )
    assert found.fallback_reason is not None and "no configuration could be read" in found.fallback_reason
    assert found.reason is None


def test_evidence_that_does_not_fit_the_model_is_no_failure_of_ours(world: World) -> None:
    found = proposal(world.propose(world.summary(), "self", checkpoint=WORDY))
    assert found.status == "fallback"
    assert found.prompt[0].content.startswith("You design the training environment")
    assert found.fallback_reason is not None and "cannot take the prompt" in found.fallback_reason


def test_boards_that_cannot_be_made_are_found_out_before_they_are_used(world: World) -> None:
    found = proposal(world.propose(world.summary(CROWDED), "fixed"))
    assert found.status == "fallback"
    assert found.fallback_reason is not None and "cannot be made" in found.fallback_reason


# --- asking again, and asking wrongly -------------------------------------------------------------


def test_asked_again_the_first_answer_comes_back(world: World) -> None:
    summary = world.summary()
    first = proposal(world.propose(summary, "random"))
    assert proposal(world.propose(summary, "random"), 200) == first
    proposal(world.propose(summary, "random", seed=8))
    proposal(world.propose(summary, "fixed"))
    assert [(one.engineer.value, one.seed) for one in stored(world, summary)] == [
        ("random", 3), ("random", 8), ("fixed", 3),
    ]  # fmt: skip


def test_asked_at_the_same_time_there_is_one_proposal(world: World) -> None:
    summary = world.summary()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: world.propose(summary, "random"), range(6)))
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(stored(world, summary)) == 1


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"engineer": "nobody"}, ("body", "engineer")),
        ({"checkpoint": "../etc"}, ("body", "checkpoint")),
        ({"checkpoint": "not-there"}, ("body", "checkpoint")),
        ({"checkpoint": None}, ("body", "checkpoint")),
        ({"seed": -1}, ("body", "seed")),
        ({"temperature": 1}, ("body", "temperature")),
    ],
)
def test_bad_requests_name_the_field(world: World, change: dict[str, Any], loc: tuple[str, ...]) -> None:
    summary = world.summary()
    body = {"summary_id": summary, "engineer": "self", "checkpoint": TAUGHT} | change
    assert_problem(world.http.post("/v1/proposals", json=body), 422, *loc)
    assert stored(world, summary) == []


def test_what_is_not_there(world: World) -> None:
    assert_problem(world.propose("summary-0", "fixed"), 404)
    assert_problem(world.http.get("/v1/proposals/proposal-0"), 404)
    assert_problem(world.http.post("/v1/proposals/proposal-0:approve", json={}), 404)
    assert_problem(world.http.get("/v1/proposals"), 422, "query", "campaign_id")
    assert world.http.get("/v1/proposals", params={"campaign_id": "campaign-0"}).json() == {"items": []}


# --- failures of ours -----------------------------------------------------------------------------


@pytest.mark.parametrize("service", ["policy", "env"])
def test_a_neighbour_that_is_gone_is_not_held_against_the_engineer(world: World, service: str) -> None:
    summary = world.summary()
    body = {"summary_id": summary, "engineer": "self", "checkpoint": TAUGHT, "seed": 3}
    with world.without(service) as http:
        problem = assert_problem(http.post("/v1/proposals", json=body), 503)
        assert service in problem["detail"]
    assert stored(world, summary) == []
    assert proposal(world.http.post("/v1/proposals", json=body)).status == "accepted"


@pytest.mark.parametrize("engineer", ["teacher", "threshold", "progress", "random", "fixed"])
def test_rules_need_no_policy(world: World, engineer: str) -> None:
    summary = world.summary()
    with world.without("policy") as http:
        found = proposal(http.post("/v1/proposals", json={"summary_id": summary, "engineer": engineer}))
    assert (found.status, found.clamps, found.prompt) == ("accepted", [], [])
    assert set(found.configuration.sizes) == {3, 4, 5}


def test_base_is_asked_as_self_is(world: World) -> None:
    summary = world.summary()
    by_name = [proposal(world.propose(summary, name, checkpoint=TAUGHT)) for name in ("self", "base")]
    assert by_name[0].attempts == by_name[1].attempts


def test_another_model_is_asked_in_plain_language(world: World) -> None:
    found = proposal(world.propose(world.summary(), "llm"))
    # This one was never taught anything: its nonsense is read as such.
    assert found.status == "fallback"
    assert "data_ratio" in found.prompt[-1].content
    assert len(found.attempts) == 3
    assert all(attempt.answer and attempt.error for attempt in found.attempts)


def test_an_endpoint_that_is_gone_or_not_configured_is_not_held_against_the_engineer(world: World) -> None:
    body = {"summary_id": world.summary(), "engineer": "llm"}
    gone = {"engineer_llm_url": f"http://127.0.0.1:{free_port()}/v1", "engineer_llm_model": "any"}
    with world.without("policy", **gone) as http:
        assert "endpoint" in assert_problem(http.post("/v1/proposals", json=body), 503)["detail"]
    with world.without("policy") as http:
        assert "T2T_ENGINEER_LLM_URL" in assert_problem(http.post("/v1/proposals", json=body), 409)["detail"]
    assert stored(world, body["summary_id"]) == []


# --- decisions ------------------------------------------------------------------------------------


def pending(world: World, engineer: str = "random", **changes: Any) -> Proposal:
    found = proposal(world.propose(world.summary(), engineer, approval=True, **changes))
    assert found.status == "pending_approval"
    return found


def decide(world: World, found: Proposal, verb: str, **body: Any) -> httpx.Response:
    return world.http.post(f"/v1/proposals/{found.id}:{verb}", json=body)


def test_an_approved_proposal_is_used_as_it_is(world: World) -> None:
    found = pending(world)
    approved = proposal(decide(world, found, "approve"), 200)
    assert approved == found.model_copy(update={"status": approved.status})
    assert approved.status == "accepted"
    assert proposal(decide(world, found, "approve"), 200) == approved
    assert proposal(world.http.get(f"/v1/proposals/{found.id}"), 200) == approved
    assert_problem(decide(world, found, "reject"), 409)


def test_a_person_may_approve_something_else(world: World) -> None:
    found = pending(world)
    approved = proposal(decide(world, found, "approve", configuration=OTHER.model_dump(mode="json")), 200)
    assert (approved.status, approved.configuration) == ("accepted", OTHER)
    assert {(change.size, change.after) for change in approved.changes if change.size == 5} == {(5, None)}
    assert approved.attempts == found.attempts


def test_a_rejected_proposal_leaves_everything_as_it_was(world: World) -> None:
    found = pending(world)
    rejected = proposal(decide(world, found, "reject", reason="too many holes"), 200)
    assert (rejected.status, rejected.configuration) == ("rejected", CONFIGURATION)
    assert (rejected.changes, rejected.fallback_reason) == ([], "too many holes")
    assert rejected.attempts == found.attempts
    assert proposal(decide(world, found, "reject"), 200) == rejected
    assert_problem(decide(world, found, "approve"), 409)


def test_a_person_too_cannot_have_boards_that_do_not_exist(world: World) -> None:
    found = pending(world)
    crowded = CROWDED.model_dump(mode="json")
    assert_problem(decide(world, found, "approve", configuration=crowded), 422, "body", "configuration")
    empty: dict[str, Any] = {"sizes": {}}
    assert_problem(
        decide(world, found, "approve", configuration=empty), 422, "body", "configuration", "sizes"
    )
    assert proposal(world.http.get(f"/v1/proposals/{found.id}"), 200) == found


def test_what_waits_for_no_decision_takes_none(world: World) -> None:
    found = proposal(world.propose(world.summary(), "random"))
    assert_problem(decide(world, found, "reject"), 409)


def test_two_people_at_once_decide_once(world: World) -> None:
    found = pending(world)
    with ThreadPoolExecutor(8) as pool:
        verbs = ["approve", "reject"] * 4
        answers = list(pool.map(lambda verb: decide(world, found, verb), verbs))
    final = proposal(world.http.get(f"/v1/proposals/{found.id}"), 200)
    said = {Proposal.model_validate(answer.json()).status for answer in answers if answer.status_code == 200}
    assert said == {final.status}
    assert {answer.status_code for answer in answers} <= {200, 409}
