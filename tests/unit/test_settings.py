"""Settings: one base for the ports, addresses that follow it, each to be overridden."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from trainee2trainer.settings import SERVICES, Settings


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PORT_BASE",
        "STORE_URL",
        "REDIS_URL",
        "DATA_DIR",
        *(f"{name.upper()}_URL" for name in SERVICES),
    ):
        monkeypatch.delenv(f"T2T_{name}", raising=False)


def test_ports_and_addresses_follow_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2T_PORT_BASE", "9700")
    settings = Settings()
    assert [settings.port(service) for service in SERVICES] == [9700, 9701, 9702, 9703]
    assert settings.url("trainer") == "http://127.0.0.1:9700"
    assert settings.redis == "redis://127.0.0.1:9704/0"


def test_an_address_of_its_own_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("T2T_ENV_URL", "http://env.example:80")
    monkeypatch.setenv("T2T_REDIS_URL", "redis://redis.example/3")
    settings = Settings()
    assert settings.url("env") == "http://env.example:80"
    assert settings.url("policy") == "http://127.0.0.1:8702"
    assert settings.redis == "redis://redis.example/3"


def test_the_store_is_in_the_data_folder_unless_said_otherwise(tmp_path: Path) -> None:
    assert Settings(data_dir=tmp_path).database == f"sqlite+aiosqlite:///{tmp_path / 'store.db'}"
    url = "postgresql+asyncpg://t2t@db/t2t"
    assert Settings(data_dir=tmp_path, store_url=url).database == url


@pytest.mark.parametrize(("name", "value"), [("PORT_BASE", "80"), ("PORT_BASE", "x"), ("LOG_FORMAT", "xml")])
def test_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"T2T_{name}", value)
    with pytest.raises(ValidationError):
        Settings()
