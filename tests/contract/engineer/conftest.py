"""The world of the engineer service's contract tests."""

from collections.abc import Iterator
from pathlib import Path

import engineer_stack
import pytest


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[engineer_stack.World]:
    with engineer_stack.world(tmp_path_factory.mktemp("engineer"), migrated_file) as world:
        yield world
