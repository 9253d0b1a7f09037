"""Settings of the env service, read from T2T_* variables."""

import os

from pydantic import Field

from env_service.candidates import MAX_DRAWS
from trainee2trainer.settings import Settings


class EnvSettings(Settings):
    """What every process knows, and how much work this service takes on."""

    env_workers: int = Field(
        default=min(4, os.cpu_count() or 1), ge=1, le=256, description="Processes that search for boards."
    )
    env_max_generations: int = Field(
        default=16, ge=1, le=1_000, description="Generations at a time; one more is answered 429."
    )
    env_max_draws: int = Field(
        default=MAX_DRAWS,
        ge=1,
        description="Random boards in a row without a fitting one, after which a quota is out of reach.",
    )
    env_max_episodes: int = Field(
        default=4_096, ge=1, le=1_000_000, description="Episodes open at a time; one more is answered 429."
    )
    env_episode_idle_s: float = Field(
        default=600, gt=0, le=86_400, description="An episode that nobody touches for so long is over."
    )
