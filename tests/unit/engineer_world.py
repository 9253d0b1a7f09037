"""What tests of the engineer start from: the catalogue as env_service gives it, and summaries in a few words."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from engineer_service.numbers import SizeNumbers
from env_service.routes.environments import list_environments
from trainee2trainer.contracts.engineer import (
    FailureCase,
    PastStage,
    Rates,
    SizeSummary,
    StageSummary,
)
from trainee2trainer.contracts.environment import EnvironmentConfig, FailureCategory, SizeKnobs

FAMILY = asyncio.run(list_environments()).items[0]


def knobs(data: float, hole: float = 0.1, wait: float = 0.2) -> SizeKnobs:
    return SizeKnobs(data_ratio=data, hole_ratio=hole, wait_ratio=wait)


CONFIGURATION = EnvironmentConfig(sizes={3: knobs(0.5), 4: knobs(0.3, 0.2, 0.0), 5: knobs(0.2, 0.0, 0.6)})


def numbers(size: int = 4, **changes: Any) -> SizeNumbers:
    """A size on which nothing calls for a change of waits or holes."""
    usual: dict[str, Any] = {
        "data": 0.5,
        "hole": 0.1,
        "wait": 0.3,
        "valid": 0.5,
        "plain": 0.5,
        "waits": 0.4,
        "optimal": 0.4,
        "train": 0.5,
        "dead": 0.1,
        "failures": (0.0, 0.05, 0.05, 0.3, 0.1),
        "trend": "same",
    }
    return SizeNumbers(size, **usual | changes)


def size_summary(size: int, configured: SizeKnobs | None, **changes: Any) -> SizeSummary:
    usual: dict[str, Any] = {
        "validation": Rates(samples=200, valid=0.5, optimal=0.375),
        "validation_wait": Rates(samples=60, valid=0.2, optimal=0.1),
        "validation_plain": Rates(samples=140, valid=0.63, optimal=0.5),
        "failures": {FailureCategory.AGENT_CONFLICT: 70, FailureCategory.PARSE_ERROR: 30},
        "training": Rates(samples=512, valid=0.61, optimal=0.5),
        "dead_group_share": 0.28,
        "mean_plan_length": 3.25,
    }
    return SizeSummary(size=size, configured=configured, **usual | changes)


def stage_summary(
    sizes: list[SizeSummary] | None = None,
    cases: list[FailureCase] | None = None,
    history: list[PastStage] | None = None,
    rewards: list[float] | None = None,
) -> StageSummary:
    known = [size_summary(size, one) for size, one in CONFIGURATION.sizes.items()]
    return StageSummary(
        id="summary-1",
        campaign_id="campaign-1",
        stage_index=1,
        checkpoint="nano-1",
        configuration=CONFIGURATION,
        overall=Rates(samples=600, valid=0.5, optimal=0.375),
        sizes=known if sizes is None else sizes,
        reward_curve=rewards or [],
        failure_cases=cases or [],
        history=history or [],
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
