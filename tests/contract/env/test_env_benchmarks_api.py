"""Benchmark sets, exports and imports over HTTP."""

import hashlib
import io
import json

import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient
from support import assert_problem

from trainee2trainer.contracts.benchmark import Benchmark, BenchmarkEvaluation, BenchmarkList, ImportedBatch
from trainee2trainer.contracts.environment import InstanceRow

BOARD = "a s g\nG S F\nA F F"
PUBLISHED = json.dumps(
    {"sample_id": "3ag_3x3_hr0.1_000", "num_agents": 3, "text": f"Solve this:\n{BOARD}\nGo."}
)


def rows_of(client: TestClient, name: str, template: str = "plain-v1") -> list[InstanceRow]:
    answer = client.get(f"/v1/benchmarks/{name}/instances", params={"template": template})
    assert answer.status_code == 200
    return [InstanceRow.model_validate_json(line) for line in answer.text.splitlines()]


def test_sets_are_listed_with_what_they_follow_from(client: TestClient) -> None:
    listed = BenchmarkList.model_validate_json(client.get("/v1/benchmarks").content).items
    assert [item.name for item in listed] == [
        "small",
        "published-like",
        "wr0",
        "wr25",
        "wr50",
        "wr75",
        "wr100",
    ]
    small = Benchmark.model_validate_json(client.get("/v1/benchmarks/small").content)
    assert small.definition == listed[0]
    assert sum(one.realised.made for one in small.statistics) == small.definition.count == 300


def test_a_set_is_downloaded_answered_and_scored(client: TestClient) -> None:
    completions = [{"instance_id": row.instance.id, "answer": row.answer} for row in rows_of(client, "small")]
    answer = client.post("/v1/benchmarks/small:evaluate", json={"completions": completions})
    evaluation = BenchmarkEvaluation.model_validate_json(answer.content)
    assert evaluation.complete
    assert {row.valid for row in evaluation.rows} == {1.0}
    one = client.get(f"/v1/instances/{completions[0]['instance_id']}")
    assert one.status_code == 200


def test_an_answer_to_an_instance_of_another_set_is_refused(client: TestClient) -> None:
    stranger = rows_of(client, "wr100")[0].instance.id
    body = {"completions": [{"instance_id": stranger, "answer": ""}]}
    answer = client.post("/v1/benchmarks/small:evaluate", json=body)
    assert_problem(answer, 422, "body", "completions", 0, "instance_id")


def test_what_is_downloaded_has_the_hash_that_is_told(client: TestClient) -> None:
    told = BenchmarkList.model_validate_json(client.get("/v1/benchmarks").content).items[0].sha256
    content = client.get("/v1/benchmarks/small/instances").content
    assert hashlib.sha256(content).hexdigest() == told


def test_a_parquet_file_has_the_prompts(client: TestClient) -> None:
    answer = client.get("/v1/benchmarks/wr50.parquet", params={"template": "compact-v1"})
    table = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    assert table.num_rows == 250
    assert table.column("prompt")[0].as_py().startswith("size 4 ")
    assert sum(table.column("needs_wait").to_pylist()) == 125


@pytest.mark.parametrize("path", ["nothing", "nothing.parquet", "nothing/instances"])
def test_a_set_without_a_definition_is_not_found(client: TestClient, path: str) -> None:
    assert_problem(client.get(f"/v1/benchmarks/{path}"), 404)


@pytest.mark.parametrize("path", ["small.parquet", "small/instances"])
def test_an_unknown_template_is_named(client: TestClient, path: str) -> None:
    answer = client.get(f"/v1/benchmarks/{path}", params={"template": "x"})
    assert_problem(answer, 422, "query", "template")


def test_an_instance_is_exported_to_movingai(client: TestClient) -> None:
    instance = rows_of(client, "small")[0].instance
    map_ = client.get(f"/v1/instances/{instance.id}.map")
    scenario = client.get(f"/v1/instances/{instance.id}.scen")
    assert map_.text.startswith(f"type octile\nheight {instance.size}\n")
    assert len(scenario.text.splitlines()) == 1 + len(instance.agents)
    assert_problem(client.get("/v1/instances/2agents_3x3_000000000000.map"), 404)


def test_published_lines_are_certified_and_broken_ones_told(client: TestClient) -> None:
    corridor = "S s g G\nH H H H\nH H H H\nH H H H"
    no_way = json.dumps({"sample_id": "corridor", "text": corridor})
    lines = "\n".join([PUBLISHED, "", "{", no_way])
    answer = client.post("/v1/instances:import", content=lines)
    batch = ImportedBatch.model_validate_json(answer.content)
    (row,) = batch.rows
    assert (row.line, row.sample_id) == (1, "3ag_3x3_hr0.1_000")
    assert row.prompt is not None and row.prompt[0].content == f"Solve this:\n{BOARD}\nGo."
    assert [(problem.line, problem.sample_id, problem.rule) for problem in batch.problems] == [
        (3, None, "must be JSON"),
        (4, "corridor", "the board must have a solution, and has none"),
    ]
    verdict = client.post(
        "/v1/verify",
        json={"instance_id": row.instance.id, "plan": row.instance.model_dump(mode="json")["reference_plan"]},
    )
    assert verdict.json()["valid"] is True


def test_our_own_export_comes_back_under_the_same_ids(client: TestClient) -> None:
    lines = client.get("/v1/benchmarks/wr0/instances").text.splitlines()[:20]
    batch = ImportedBatch.model_validate_json(
        client.post("/v1/instances:import", content="\n".join(lines)).content
    )
    assert [row.instance.id for row in batch.rows] == [json.loads(line)["instance"]["id"] for line in lines]


@pytest.mark.parametrize("body", [b"", b"\n \n", b"\xff\xfe", b"{}\n" * 5_001])
def test_a_body_that_is_no_lines_is_refused(client: TestClient, body: bytes) -> None:
    assert_problem(client.post("/v1/instances:import", content=body), 422, "body")
