"""Settings that every process shares, read from T2T_* variables."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_PORT_BASE = 8700
SERVICES = ("trainer", "env", "policy", "engineer")
"""In the order of their ports: the trainer, which people open, comes first."""

REDIS_PORT_OFFSET = len(SERVICES)


class Settings(BaseSettings):
    """Where things are. The defaults are those of the embedded stack on one machine."""

    model_config = SettingsConfigDict(env_prefix="T2T_", extra="ignore", env_ignore_empty=True)

    host: str = Field(
        default="127.0.0.1", description="Address a service binds to; loopback unless told otherwise."
    )
    port_base: int = Field(default=DEFAULT_PORT_BASE, ge=1024, le=65_000)
    data_dir: Path = Field(
        default=Path(".t2t"), description="Checkpoints, rollouts, logs and the SQLite file."
    )
    store_url: str | None = Field(
        default=None, description="SQLAlchemy URL; null: SQLite in the data folder."
    )
    redis_url: str | None = None
    env_url: str | None = None
    policy_url: str | None = None
    engineer_url: str | None = None
    trainer_url: str | None = None
    log_level: str = "INFO"
    log_format: str = Field(default="json", pattern="^(json|text)$")

    def port(self, service: str) -> int:
        """Port of `service`, counted from `port_base`."""
        return self.port_base + SERVICES.index(service)

    def url(self, service: str) -> str:
        """Base URL of `service`."""
        configured: str | None = getattr(self, f"{service}_url")
        return configured or f"http://127.0.0.1:{self.port(service)}"

    @property
    def database(self) -> str:
        """SQLAlchemy URL with an async driver."""
        return self.store_url or f"sqlite+aiosqlite:///{self.data_dir.resolve() / 'store.db'}"

    @property
    def redis(self) -> str:
        return self.redis_url or f"redis://127.0.0.1:{self.port_base + REDIS_PORT_OFFSET}/0"
