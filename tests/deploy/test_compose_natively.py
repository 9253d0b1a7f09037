"""The compose file's own commands with its own environment, as processes beside a real PostgreSQL and Valkey."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import psutil
import pytest
from compose import built, interpolated, read
from support import free_ports

from trainee2trainer.client import TrainerClient
from trainee2trainer.contracts.campaign import (
    CampaignCreate,
    CampaignStatus,
    TrainingSettings,
    ValidationSettings,
)
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs
from trainee2trainer.settings import Settings
from trainee2trainer.stack.processes import Child, stop

pytestmark = pytest.mark.slow

PUBLISHED = Settings().port_base
CONFIGURATION = EnvironmentConfig(sizes={3: SizeKnobs(data_ratio=1, hole_ratio=0.1, wait_ratio=0.2)})
SMALL = CampaignCreate(
    name="compose",
    stages=1,
    configuration=CONFIGURATION,
    training=TrainingSettings(rollouts=64, group_size=4, prompts_per_step=4, max_tokens=48),
    validation=ValidationSettings(sizes=[3], boards_per_size=4, samples=2),
    seed=5,
)


class Natively:
    """Runs services of the compose file; host names and ports of containers are put on loopback."""

    def __init__(self, folder: Path, store_url: str, redis_url: str) -> None:
        self.folder, self.store_url, self.redis_url = folder, store_url, redis_url
        self.base = free_ports(4)
        self.file = interpolated(read(), {"POSTGRES_PASSWORD": "secret"})
        self.services = built(self.file["services"])
        self.children: dict[str, Child] = {}

    def environment(self, name: str) -> dict[str, str]:
        theirs: dict[str, str] = {
            key: str(value) for key, value in self.services[name]["environment"].items()
        }
        ours = {key: self._local(value) for key, value in theirs.items()}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("T2T_")}
        return (
            clean
            | ours
            | {
                "T2T_DATA_DIR": str(self.folder / "data"),
                "T2T_PORT_BASE": str(self.base),
                "OMP_NUM_THREADS": "1",
            }
        )

    def _local(self, value: str) -> str:
        host = urlsplit(value).hostname
        if host == "postgres":
            return self.store_url
        if host == "redis":
            return self.redis_url
        return re.sub(r"http://\w+:(\d+)", lambda m: f"http://127.0.0.1:{self._port(int(m[1]))}", value)

    def _port(self, published: int) -> int:
        return self.base + published - PUBLISHED

    def start(self, name: str, instance: str = "") -> Child:
        child = Child(
            name + instance,
            self._command(self.services[name]["command"]),
            self.folder / f"{name}{instance}.log",
            self.environment(name),
        )
        self.children[name + instance] = child
        return child

    def _command(self, words: list[str]) -> list[str]:
        if words[0] == "python":
            return [sys.executable, *words[1:]]
        return [str(shutil.which(words[0], path=str(Path(sys.executable).parent))), *words[1:]]

    async def healthy(self, name: str) -> None:
        """Asks as the container engine would, by the health check's own command."""
        _, *words = self.services[name]["healthcheck"]["test"]
        words[-1] = str(self._port(int(words[-1])))
        with anyio.fail_after(120):
            while (await anyio.run_process(self._command(words), check=False)).returncode:
                self.children[name].check()
                await anyio.sleep(0.5)


@pytest.fixture
def natively(tmp_path: Path, postgres_url: str, valkey_url: str) -> Iterator[Natively]:
    compose = Natively(tmp_path, postgres_url, valkey_url)
    yield compose
    stop(list(compose.children.values()))


def order(services: dict[str, Any]) -> list[str]:
    """So that everybody comes after whom it depends on."""
    placed: list[str] = []
    while len(placed) < len(services):
        ready = [
            name
            for name, service in services.items()
            if name not in placed and set(service.get("depends_on", {})) & set(services) <= set(placed)
        ]
        assert ready, "the services depend on one another in a circle"
        placed += ready
    return placed


async def test_a_campaign_runs_by_the_commands_of_the_compose_file(natively: Natively) -> None:
    for name in order(natively.services):
        child = natively.start(name)
        if name == "migrate":
            with anyio.fail_after(60):
                while child.process.poll() is None:  # noqa: ASYNC110
                    await anyio.sleep(0.1)
            assert child.process.returncode == 0
            del natively.children[name]
        elif "healthcheck" in natively.services[name]:
            await natively.healthy(name)
    natively.start("worker", "-2")
    async with TrainerClient(f"http://127.0.0.1:{natively.base}") as client:
        campaign = await client.create_campaign(SMALL)
        with anyio.fail_after(240):
            while not (campaign := await client.campaign(campaign.id)).status.terminal:  # noqa: ASYNC110
                await anyio.sleep(0.5)
        assert campaign.status is CampaignStatus.SUCCEEDED, campaign
    children = [child.process for child in natively.children.values()]
    families = [psutil.Process(process.pid) for process in children]
    everybody = [one for family in families for one in (family, *family.children(recursive=True))]
    for child in children:
        child.terminate()
    with anyio.fail_after(60):
        while any(child.poll() is None for child in children):  # noqa: ASYNC110
            await anyio.sleep(0.1)
    assert {child.returncode for child in children} <= {0, -15}
    # A worker process of a service ends when it sees that its service has.
    _, left = psutil.wait_procs(everybody, timeout=15)
    assert not [one for one in left if one.status() != psutil.STATUS_ZOMBIE]
