"""Checkpoints over HTTP: listed, activated, refused when damaged."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from policy_world import Make, assert_problem, prepare, register_again, rollout, rollouts

from policy_service.app import create_app
from policy_service.settings import PolicySettings
from trainee2trainer import artefacts
from trainee2trainer.contracts.policy import CheckpointPage, CheckpointState


def test_checkpoints_page_by_page(client: TestClient) -> None:
    whole = CheckpointPage.model_validate(client.get("/v1/checkpoints").json())
    assert [state.checkpoint.id for state in whole.items] == ["torn", "trained", "base"]
    assert whole.next_page is None
    seen: list[str] = []
    cursor = None
    while True:
        page = CheckpointPage.model_validate(
            client.get("/v1/checkpoints", params={"size": 2} | ({"cursor": cursor} if cursor else {})).json()
        )
        seen += [state.checkpoint.id for state in page.items]
        cursor = page.next_page
        if cursor is None:
            break
    assert seen == ["torn", "trained", "base"]
    assert_problem(client.get("/v1/checkpoints", params={"cursor": "nonsense"}), 422, "cursor")


def test_activation(client: TestClient) -> None:
    unnamed = rollout(checkpoint=None)
    for name in ("trained", "base"):
        state = CheckpointState.model_validate(client.post(f"/v1/checkpoints/{name}:activate").json())
        assert (state.checkpoint.id, state.active, state.loaded) == (name, True, True)
        assert client.post("/v1/rollouts", json=unnamed).json()["checkpoint"] == name
    assert not client.get("/v1/checkpoints/trained").json()["active"]
    assert client.get("/v1/checkpoints/base").json()["active"]


def test_a_torn_checkpoint_is_refused_and_the_active_one_stays(client: TestClient) -> None:
    for answer in (
        client.post("/v1/checkpoints/torn:activate"),
        client.post("/v1/rollouts", json=rollout(checkpoint="torn")),
        client.post(
            "/v1/chat/completions", json={"model": "torn", "messages": [{"role": "user", "content": "w1"}]}
        ),
    ):
        assert_problem(answer, 409, "torn", "model.safetensors", "bytes instead of")
    assert client.post("/v1/rollouts", json=rollout(checkpoint=None)).json()["checkpoint"] == "base"


@pytest.mark.parametrize("id_", ["missing", "..%2F..%2Fetc", "Upper", "torn:activate"])
def test_unknown_checkpoints_are_named(client: TestClient, id_: str) -> None:
    assert_problem(client.get(f"/v1/checkpoints/{id_}"), 404)
    assert_problem(client.post(f"/v1/checkpoints/{id_}:activate"), 404)


def test_unknown_checkpoints_in_requests(client: TestClient) -> None:
    assert_problem(client.post("/v1/rollouts", json=rollout(checkpoint="missing")), 404, "missing")
    chat = {"model": "gpt-4o", "messages": [{"role": "user", "content": "w1"}]}
    assert_problem(client.post("/v1/chat/completions", json=chat), 404, "gpt-4o")
    assert_problem(client.post("/v1/completions", json={"model": "../base", "prompt": "w1"}), 404, "../base")
    assert_problem(client.post("/v1/completions", json={"model": "\x00", "prompt": "w1"}), 404)
    assert_problem(client.get("/v1/models/missing"), 404, "missing")


def test_newest_checkpoint_is_active_at_first(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None)
    prepare(settings, make_tiny, ("older", "newer"))
    with TestClient(create_app(settings)) as client:
        assert client.get("/v1/checkpoints/newer").json()["active"]
        assert client.post("/v1/rollouts", json=rollout(checkpoint=None)).json()["checkpoint"] == "newer"


def test_without_any_checkpoint_the_problem_says_what_to_do(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None)
    prepare(settings, make_tiny, ())
    with TestClient(create_app(settings)) as client:
        assert client.get("/readyz").status_code == 200
        assert client.get("/v1/models").json()["data"] == []
        assert_problem(client.post("/v1/rollouts", json=rollout(checkpoint=None)), 409, ":activate")


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=f"sqlite+aiosqlite:///{tmp_path}/none/store.db")
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert answer.json()["checks"] == {"store": False, "engine": True}
        assert_problem(client.post("/v1/rollouts", json=rollout()), 503, "store")


def test_few_checkpoints_stay_loaded(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None, policy_max_models=2)
    prepare(settings, make_tiny, ("a", "b", "c"))
    with TestClient(create_app(settings)) as client:
        answers = [rollouts(client, checkpoint=name) for name in ("a", "b", "c")]
        loaded = {
            state["checkpoint"]["id"]: state["loaded"]
            for state in client.get("/v1/checkpoints").json()["items"]
        }
        assert loaded == {"a": False, "b": True, "c": True}
        assert [rollouts(client, checkpoint=name) for name in ("a", "b", "c")] == answers


def test_a_damaged_checkpoint_drives_nobody_out(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None, policy_max_models=1)
    prepare(settings, make_tiny, ("base", "torn"))
    with TestClient(create_app(settings)) as client:
        rollouts(client, checkpoint="base")
        assert_problem(client.post("/v1/checkpoints/torn:activate"), 409, "model.safetensors")
        assert client.get("/v1/checkpoints/base").json()["loaded"]


def test_a_sealed_directory_that_is_no_model_is_refused(tmp_path: Path, make_tiny: Make) -> None:
    settings = PolicySettings(data_dir=tmp_path, store_url=None)
    prepare(settings, make_tiny, ("base", "odd"))
    folder = artefacts.checkpoint_folder(tmp_path, "odd")
    (folder / "model.safetensors").write_bytes(b"no tensors in here")
    register_again(settings, "odd", artefacts.seal(folder))
    with TestClient(create_app(settings)) as client:
        assert_problem(client.post("/v1/checkpoints/odd:activate"), 409, "odd", "no model")
        rollouts(client, checkpoint="base")
