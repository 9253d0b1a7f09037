"""One shape of every error: every route of every service, asked wrongly in every way."""

import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import httpx
import pytest
from support import assert_problem, served

from trainee2trainer.settings import SERVICES

TOO_LARGE = b'"' + b"a" * 33 * 1024 * 1024 + b'"'
JSON = {"content-type": "application/json"}
WITH_BODY = {"post", "put", "patch"}
METHODS = {"get", "post", "put", "patch", "delete"}

Service = tuple[httpx.Client, dict[str, dict[str, object]]]


@pytest.fixture(scope="module", params=SERVICES)
def service(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    migrated_file: Path,
    valkey_url: str,
) -> Iterator[Service]:
    """A client of the real service, and the paths of its OpenAPI document."""
    name = request.param
    if not (find_spec(f"{name}_service") and find_spec(f"{name}_service.app")):
        pytest.skip(f"there is no {name} service here")
    folder = tmp_path_factory.mktemp(name)
    (folder / "store.db").write_bytes(migrated_file.read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("T2T_DATA_DIR", str(folder))
        patch.setenv("T2T_REDIS_URL", valkey_url)
        patch.setenv("T2T_ENV_WORKERS", "1")
        app = import_module(f"{name}_service.app").create_app()
        with served(app) as url, httpx.Client(base_url=url, timeout=60) as client:
            yield client, client.get("/openapi.json").json()["paths"]


def _routes(service: Service, methods: set[str]) -> Iterator[tuple[str, str]]:
    """Methods and paths; where a path has an id, one that nothing has."""
    for path, operations in service[1].items():
        for method in methods & set(operations):
            yield method.upper(), re.sub(r"\{\w+\}", "nothing-has-this-id", path)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"[]",
        b"null",
        b'{"nonsense": 1}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"seed": NaN, "rewards": {"optimal": Infinity}}',
        b'{"seed": 1e999}',
        b'{"\\ud800": 1, "answer": "\\ud800", "name": "\\ud800"}',
    ],
    ids=["cut", "none", "list", "null", "unknown field", "no utf-8", "deep", "no number", "huge", "half"],
)
def test_a_bad_body(service: Service, body: bytes) -> None:
    client, _ = service
    for method, path in _routes(service, WITH_BODY):
        answer = client.request(method, path, content=body, headers=JSON)
        problem = assert_problem(answer, answer.status_code)
        assert 400 <= answer.status_code < 500, (method, path, problem)
        if answer.status_code == 422:
            assert problem["errors"], (method, path)
            assert all(error["loc"] and error["msg"] for error in problem["errors"])


def test_a_body_larger_than_any_limit(service: Service) -> None:
    client, _ = service
    for method, path in _routes(service, WITH_BODY):
        assert_problem(client.request(method, path, content=TOO_LARGE, headers=JSON), 413, "body")
        in_chunks = (TOO_LARGE[start : start + 65_536] for start in range(0, len(TOO_LARGE), 65_536))
        answer = client.request(method, path, content=in_chunks, headers=JSON)
        assert_problem(answer, answer.status_code)
        assert 400 <= answer.status_code < 500


def test_an_id_that_nothing_has(service: Service) -> None:
    client, _ = service
    for method, path in _routes(service, {"get"}):
        if "nothing-has-this-id" in path:
            answer = client.request(method, path)
            assert_problem(answer, answer.status_code)
            assert answer.status_code in {404, 422}, (path, answer.text)


def test_a_method_that_the_path_has_not(service: Service) -> None:
    client, paths = service
    for path, operations in paths.items():
        asked = re.sub(r"\{\w+\}", "nothing-has-this-id", path)
        for method in METHODS - set(operations):
            answer = client.request(method.upper(), asked)
            assert_problem(answer, answer.status_code)
            # `GET /things/{id}:cancel` asks for a thing whose id has a colon.
            a_strange_id = method == "get" and re.search(r"\}:\w+$", path)
            assert answer.status_code in ({404, 422} if a_strange_id else {405}), (method, path)


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/nothing", "/v1/nothing/at/all", "/%00", "/v1/../etc"])
def test_a_path_that_there_is_not(service: Service, path: str) -> None:
    assert_problem(service[0].get(path), 404)


def test_a_request_id_is_kept_or_made(service: Service) -> None:
    client, _ = service
    answer = client.get("/v1/nothing", headers={"X-Request-ID": "mine-1"})
    assert answer.json()["request_id"] == answer.headers["x-request-id"] == "mine-1"
    strange = client.get("/v1/nothing", headers={"X-Request-ID": "x" * 500})
    assert strange.json()["request_id"] == strange.headers["x-request-id"] != "x" * 500


def test_it_is_alive_and_ready_all_the_same(service: Service) -> None:
    client, _ = service
    assert client.get("/livez").json()["status"] == "live"
    assert client.get("/readyz").json()["status"] in {"ready", "degraded"}
    assert "http_requests_total" in client.get("/metrics").text
