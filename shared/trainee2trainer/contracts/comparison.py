"""Comparisons: several engineers from one checkpoint, at equal budget, over several seeds."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from trainee2trainer.contracts.base import Contract, Ratio, Seed
from trainee2trainer.contracts.campaign import CampaignCreate, CampaignStatus, Name
from trainee2trainer.contracts.engineer import EngineerName
from trainee2trainer.contracts.environment import MapSize

MAX_SEEDS = 20


class ComparisonCreate(Contract):
    """Every engineer with every seed is a campaign; all else is the same for all of them."""

    name: Name = "comparison"
    engineers: list[EngineerName] = Field(
        min_length=2,
        max_length=len(EngineerName),
        description="The first is the one the others are held against.",
    )
    seeds: list[Seed] = Field(min_length=1, max_length=MAX_SEEDS)
    campaign: CampaignCreate = Field(description="Its own engineer and seed are not used.")

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        for field in ("engineers", "seeds"):
            values = getattr(self, field)
            if len(set(values)) < len(values):
                raise ValueError(f"{field}: each may be named once")
        return self


class Arm(Contract):
    """One campaign of a comparison."""

    engineer: EngineerName
    seed: int
    campaign_id: str
    status: CampaignStatus
    stage_index: int


class Comparison(Contract):
    """Its state is that of its campaigns."""

    id: str
    settings: ComparisonCreate
    arms: list[Arm]
    created_at: datetime


class ComparisonPage(Contract):
    items: list[Comparison]
    next_page: str | None = None


class SizeRates(Contract):
    size: MapSize
    valid: Ratio
    optimal: Ratio


class EngineerResult(Contract):
    """Means over the seeds that have ended."""

    engineer: EngineerName
    seeds: int
    baseline: Ratio | None = Field(description="Valid rate before any training.")
    valid: Ratio | None
    optimal: Ratio | None
    waits: Ratio | None = Field(
        description="Valid rate on boards that need a wait, every size counting the same."
    )
    per_size: list[SizeRates]
    curve: list[Ratio] = Field(description="Valid rate after each stage, the baseline first.")
    fallbacks: int = Field(description="Proposals that could not be used.")


class Verdict(StrEnum):
    """What an interval says."""

    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no difference shown"


class Difference(Contract):
    """The first engineer's valid rate minus another's: paired by seed and board.

    `low` and `high` bound the 95 % interval of the mean by a bootstrap over seeds and, within, over boards.
    """

    against: EngineerName
    seeds: int
    boards: int
    mean: Annotated[float, Field(ge=-1, le=1)]
    low: Annotated[float, Field(ge=-1, le=1)]
    high: Annotated[float, Field(ge=-1, le=1)]
    ratio: float | None = Field(description="Of the two valid rates; null where the other's is 0.")
    verdict: Verdict
    words: str


class ComparisonReport(Contract):
    id: str
    name: str
    campaigns: int
    finished: int
    rollouts: int = Field(description="Trained on, per campaign.")
    versions: dict[str, str]
    results: list[EngineerResult]
    differences: list[Difference]
