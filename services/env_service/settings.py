"""Settings of the env service, read from T2T_* variables."""

import os

from pydantic import Field

from trainee2trainer.settings import Settings


class EnvSettings(Settings):
    """What every process knows, and how much work this service takes on."""

    env_workers: int = Field(
        default=min(4, os.cpu_count() or 1), ge=1, le=256, description="Processes that search for boards."
    )
    env_max_generations: int = Field(
        default=16, ge=1, le=1_000, description="Generations at a time; one more is answered 429."
    )
