"""The env service under generated requests: whatever its own schema allows, or forbids, it answers as it says."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance
from support import env_app, served

sys.path.insert(0, str(Path(__file__).parents[3] / "openapi"))
import snapshots

# It has no strategy for JSON Lines: imports are tested by hand.
NOT_GENERATED = {"/v1/instances:import"}
OPERATIONS = [
    f"{method.upper()} {path}"
    for path, operations in snapshots.document("env")["paths"].items()
    if path not in NOT_GENERATED
    for method in operations
]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory, new_store_url: Callable[[str, Path], str]) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("env")
    # PostgreSQL is the stricter one. Boards out of reach are to be found out soon.
    app = env_app(folder, new_store_url("postgresql", folder), env_max_draws=200)
    with served(app) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


def _frugal(case: Any) -> Any:
    """50,000 boards are allowed, and take ten seconds."""
    if isinstance(case.body, dict) and isinstance(case.body.get("count"), int):
        case.body["count"] = min(case.body["count"], 20)
    return case


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
@pytest.mark.parametrize("label", OPERATIONS)
def test_generated_requests_are_answered_as_the_schema_says(
    api: Any, label: str, mode: GenerationMode
) -> None:
    (operation,) = [found.ok() for found in api.get_all_operations() if found.ok().label == label]
    if mode is GenerationMode.NEGATIVE and not (
        operation.body or operation.path_parameters or operation.query
    ):
        pytest.skip("there is nothing to get wrong")

    @settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode).map(_frugal))
    def check(case: Any) -> None:
        # A request that the schema allows may still ask for what there is not, such as an unknown id.
        case.call_and_validate(excluded_checks=[positive_data_acceptance])

    check()
