"""Settings of the engineer service, read from T2T_* variables."""

from pydantic import Field, SecretStr

from trainee2trainer.contracts.policy import MAX_NEW_TOKENS
from trainee2trainer.settings import Settings


class EngineerSettings(Settings):
    """What every process knows, and how engineers are asked."""

    engineer_attempts: int = Field(
        default=3, ge=1, le=20, description="Answers sampled until one can be used; then the fallback."
    )
    engineer_temperature: float = Field(default=0.7, ge=0, le=10)
    engineer_max_tokens: int = Field(default=1_024, ge=1, le=MAX_NEW_TOKENS)
    engineer_failure_cases: int = Field(default=6, ge=0, le=50, description="In a summary, at most.")
    engineer_probe_boards: int = Field(
        default=12, ge=1, le=1_000, description="Made by way of trial before a configuration is accepted."
    )
    engineer_llm_url: str | None = Field(
        default=None, description="OpenAI-compatible base URL of the engineer llm, ending in /v1."
    )
    engineer_llm_model: str | None = None
    engineer_llm_key: SecretStr | None = None
    engineer_llm_seconds: float = Field(default=120.0, gt=0, le=3_600)
