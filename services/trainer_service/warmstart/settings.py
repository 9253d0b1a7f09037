"""What a warm start is made of. The shipped checkpoint is made by exactly these defaults."""

from pydantic import Field

from trainee2trainer.contracts.base import Contract, Seed
from trainee2trainer.contracts.environment import EnvironmentConfig

_WAITS_AS_THEY_FALL = 0.05
"""About the share of boards needing a wait among random ones: coordination is left to be learnt by reward."""


def _boards() -> EnvironmentConfig:
    shares = {3: 0.2, 4: 0.35, 5: 0.45}
    knobs = {
        size: {"data_ratio": share, "hole_ratio": 0.2, "wait_ratio": _WAITS_AS_THEY_FALL}
        for size, share in shares.items()
    }
    return EnvironmentConfig.model_validate({"agents": 2, "sizes": knobs})


class WarmstartSettings(Contract):
    """Supervised learning from a random start, all of it drawn from `seed`."""

    seed: Seed = 7
    boards: int = Field(default=40_000, ge=100, description="Training boards with their optimal plans.")
    hole_ratios: list[float] = Field(default=[0.0, 0.1, 0.2, 0.3], description="Boards are split evenly.")
    configuration: EnvironmentConfig = Field(default_factory=_boards)
    exchanges: int = Field(default=25_000, ge=100, description="Engineer exchanges.")
    steps: int = Field(default=2_250, ge=1)
    batch: int = Field(default=64, ge=1, description="Plans in a batch.")
    exchange_every: int = Field(default=3, ge=2, description="Each so many batches one of exchanges.")
    exchange_batch: int = Field(default=32, ge=1)
    learning_rate: float = Field(default=4e-3, gt=0)
    warmup: int = 100
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    threads: int = Field(default=1, ge=1)


class EvaluationSettings(Contract):
    """How a starting checkpoint is measured: plans sampled at temperature 1, on boards never trained on."""

    boards_per_size: int = 200
    samples: int = 4
    wait_ratio: float = 0.3
    hole_ratio: float = 0.2
    exchanges: int = 400
    engineer_temperature: float = 0.7
    """The one at which the engineer service asks."""
    seed: Seed = 11
