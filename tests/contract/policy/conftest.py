"""The policy service in-process, behind a real server, and OpenAI's client in front of it."""

from collections.abc import Iterator

import httpx
import openai
import pytest
from fastapi.testclient import TestClient
from policy_world import Make, prepare
from support import served

from policy_service.app import create_app
from policy_service.settings import PolicySettings


@pytest.fixture(scope="package")
def settings(tmp_path_factory: pytest.TempPathFactory, make_tiny: Make) -> PolicySettings:
    settings = PolicySettings(data_dir=tmp_path_factory.mktemp("policy"), store_url=None, policy_max_rows=64)
    prepare(settings, make_tiny)
    return settings


@pytest.fixture(scope="package")
def client(settings: PolicySettings) -> Iterator[TestClient]:
    with TestClient(create_app(settings)) as client:
        client.post("/v1/checkpoints/base:activate").raise_for_status()
        yield client


@pytest.fixture(scope="package")
def server(settings: PolicySettings) -> Iterator[str]:
    """The address of a real server: streams and time-outs do not show in-process."""
    with served(create_app(settings)) as url:
        httpx.post(f"{url}/v1/checkpoints/base:activate").raise_for_status()
        yield url


@pytest.fixture(scope="package")
def sdk(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0) as sdk:
        yield sdk
