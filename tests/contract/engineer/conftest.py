"""The world of the engineer service's contract tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import engineer_stack
import pytest


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def world(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    new_store_url: Callable[[str, Path], str],
) -> Iterator[engineer_stack.World]:
    folder = tmp_path_factory.mktemp("engineer")
    with engineer_stack.world(folder, new_store_url(request.param, folder)) as world:
        yield world
