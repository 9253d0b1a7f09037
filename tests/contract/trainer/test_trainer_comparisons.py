"""Comparisons over HTTP: a campaign for every engineer and seed, all or none."""

from typing import Any

import httpx
import pytest
from support import assert_problem
from trainer_world import CAMPAIGN, UNKNOWN, count

COMPARISON: dict[str, Any] = {
    "name": "trial",
    "engineers": ["self", "fixed"],
    "seeds": [3, 5],
    "campaign": CAMPAIGN,
}


async def created(http: httpx.AsyncClient, **changes: Any) -> dict[str, Any]:
    answer = await http.post("/v1/comparisons", json=COMPARISON | changes)
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/v1/comparisons/{answer.json()['id']}"
    return dict(answer.json())


async def test_every_engineer_gets_every_seed_and_nothing_else_differs(http: httpx.AsyncClient) -> None:
    comparison = await created(http)
    arms = {(arm["engineer"], arm["seed"]): arm["campaign_id"] for arm in comparison["arms"]}
    assert arms.keys() == {(engineer, seed) for engineer in ("self", "fixed") for seed in (3, 5)}
    settings = [(await http.get(f"/v1/campaigns/{id_}")).json()["settings"] for id_ in arms.values()]
    same = [{k: v for k, v in one.items() if k not in {"engineer", "seed", "name"}} for one in settings]
    assert all(one == same[0] for one in same)
    assert {(one["engineer"], one["seed"]) for one in settings} == arms.keys()
    assert (await http.get(f"/v1/comparisons/{comparison['id']}")).json() == comparison


async def test_it_is_listed_with_the_newest_first(http: httpx.AsyncClient) -> None:
    older, newer = await created(http), await created(http)
    first = (await http.get("/v1/comparisons", params={"size": 1})).json()
    assert [one["id"] for one in first["items"]] == [newer["id"]]
    second = (await http.get("/v1/comparisons", params={"size": 1, "cursor": first["next_page"]})).json()
    assert [one["id"] for one in second["items"]] == [older["id"]]


async def test_before_anything_has_ended_nothing_is_claimed(http: httpx.AsyncClient) -> None:
    comparison = await created(http)
    report = (await http.get(f"/v1/comparisons/{comparison['id']}/report")).json()
    assert (report["campaigns"], report["finished"], report["differences"]) == (4, 0, [])
    assert [result["valid"] for result in report["results"]] == [None, None]
    page = await http.get(f"/v1/comparisons/{comparison['id']}/report.html")
    assert page.headers["content-type"].startswith("text/html")
    assert "No two engineers can be compared yet" in page.text


async def test_cancelling_cancels_all_its_campaigns_and_may_be_repeated(http: httpx.AsyncClient) -> None:
    comparison = await created(http)
    for _ in range(2):
        answer = await http.post(f"/v1/comparisons/{comparison['id']}:cancel")
        assert answer.status_code == 200
        assert {arm["status"] for arm in answer.json()["arms"]} == {"cancelled"}


@pytest.mark.parametrize(
    ("changes", "loc"),
    [
        ({"engineers": ["self"]}, ["body", "engineers"]),
        ({"engineers": ["self", "oracle"]}, ["body", "engineers", 1]),
        ({"engineers": ["self", "self"]}, ["body"]),
        ({"seeds": []}, ["body", "seeds"]),
        ({"seeds": [1, 1]}, ["body"]),
        ({"colour": "blue"}, ["body", "colour"]),
        ({"campaign": CAMPAIGN | {"stages": 0}}, ["body", "campaign", "stages"]),
        ({"campaign": CAMPAIGN | {"profile": "giant"}}, ["body", "campaign", "profile"]),
        ({"campaign": CAMPAIGN | {"base_checkpoint": "none"}}, ["body", "campaign", "base_checkpoint"]),
        (
            {"campaign": CAMPAIGN | {"training": {"rollouts": 65}}},
            ["body", "campaign", "training", "rollouts"],
        ),
    ],
    ids=str,
)
async def test_bad_requests_name_the_field_and_leave_nothing(
    http: httpx.AsyncClient, changes: dict[str, Any], loc: list[str | int]
) -> None:
    before = await count(http), await count(http, "/v1/comparisons")
    assert_problem(await http.post("/v1/comparisons", json=COMPARISON | changes), 422, *loc)
    assert (await count(http), await count(http, "/v1/comparisons")) == before


@pytest.mark.parametrize("path", ["", "/report", "/report.html", ":cancel"])
async def test_what_is_not_there(http: httpx.AsyncClient, path: str) -> None:
    method = "POST" if path == ":cancel" else "GET"
    assert_problem(await http.request(method, f"/v1/comparisons/comparison-{UNKNOWN}{path}"), 404)
