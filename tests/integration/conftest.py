"""What several modules of integration tests start from."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from training_world import env_service


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("training")


@pytest.fixture(scope="module")
def env_url(home: Path) -> Iterator[str]:
    """The env service on a store of its own."""
    with env_service(home) as url:
        yield url
