"""The env service in-process, on each database."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from env_service.app import create_app
from env_service.settings import EnvSettings


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def settings(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    new_store_url: Callable[[str, Path], str],
) -> EnvSettings:
    folder = tmp_path_factory.mktemp("env")
    return EnvSettings(data_dir=folder, store_url=new_store_url(request.param, folder), env_workers=1)


@pytest.fixture(scope="module")
def client(settings: EnvSettings) -> Iterator[TestClient]:
    with TestClient(create_app(settings)) as client:
        yield client
