"""Environment engineering: the evidence of a stage in, the configuration of the next one out."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from trainee2trainer.contracts.base import Contract, Message, Ratio, Seed
from trainee2trainer.contracts.environment import (
    Cell,
    EnvironmentConfig,
    FailureCategory,
    Instance,
    MapSize,
    SizeKnobs,
    Violation,
)
from trainee2trainer.contracts.policy import CheckpointId


class EngineerName(StrEnum):
    """Who redesigns the environment."""

    SELF = "self"
    BASE = "base"
    LLM = "llm"
    TEACHER = "teacher"
    THRESHOLD = "threshold"
    PROGRESS = "progress"
    RANDOM = "random"
    FIXED = "fixed"


class EngineerCard(Contract):
    name: EngineerName
    description: str
    needs_policy: bool = Field(description="It samples its answer from a checkpoint.")


class EngineerList(Contract):
    items: list[EngineerCard]


class Rates(Contract):
    """Sampled answers judged: how many, and which share was valid and optimal."""

    samples: int
    valid: Ratio
    optimal: Ratio


class SizeSummary(Contract):
    """One map size in one stage."""

    size: MapSize
    configured: SizeKnobs | None = Field(description="Null: validated, but not trained on.")
    validation: Rates
    validation_wait: Rates = Field(description="Only boards that need a wait.")
    validation_plain: Rates = Field(description="Only boards that need none.")
    failures: dict[FailureCategory, int] = Field(description="Validation failures by category.")
    training: Rates | None
    dead_group_share: Ratio | None = Field(
        description="Training groups whose rewards were all equal: no signal."
    )
    mean_plan_length: float | None = Field(description="Steps of the valid validation plans.")


class FailureCase(Contract):
    """One validation failure to look at."""

    instance: Instance
    answer: str
    failure: FailureCategory
    violation: Violation | None
    trajectory: list[list[Cell]]


class PastStage(Contract):
    """An earlier stage: what it was trained on, and what became of it. Stage -1: the starting checkpoint."""

    stage_index: int
    configuration: EnvironmentConfig | None = Field(description="Null: before any training.")
    valid: Ratio
    optimal: Ratio
    sizes: dict[MapSize, Ratio] = Field(default={}, description="Valid rate by map size.")


class StageSummary(Contract):
    """The failure evidence an engineer reads. Sizes in rising order, history oldest first."""

    id: str
    campaign_id: str
    stage_index: int
    checkpoint: CheckpointId
    configuration: EnvironmentConfig = Field(description="The stage's own configuration.")
    overall: Rates
    sizes: list[SizeSummary]
    reward_curve: list[float] = Field(description="Mean training reward per step.")
    failure_cases: list[FailureCase]
    history: list[PastStage]
    created_at: datetime


class SummaryRequest(Contract):
    campaign_id: str
    stage_index: int = Field(ge=0)


class Clamp(Contract):
    """One value of an answer that was moved to what the rules allow."""

    size: MapSize
    knob: str
    asked: float
    used: float
    rule: str


class Change(Contract):
    """One knob that differs from the stage before. Null: the size was, or is now, left out."""

    size: MapSize
    knob: str
    before: float | None
    after: float | None


class ProposalStatus(StrEnum):
    ACCEPTED = "accepted"
    FALLBACK = "fallback"
    PENDING_APPROVAL = "pending_approval"
    REJECTED = "rejected"


class ProposalRequest(Contract):
    summary_id: str
    engineer: EngineerName
    checkpoint: CheckpointId | None = Field(
        default=None, description="Who answers, for engineers that sample."
    )
    seed: Seed = 0
    approval: bool = Field(default=False, description="Wait for :approve or :reject.")


class Attempt(Contract):
    """One raw answer and, when it could not be used, why."""

    answer: str
    error: str | None


class Proposal(Contract):
    """Everything that was asked, answered and decided for one stage."""

    id: str
    campaign_id: str
    stage_index: int = Field(
        description="The stage whose evidence was read; the proposal is for the next one."
    )
    engineer: EngineerName
    checkpoint: CheckpointId | None
    status: ProposalStatus
    configuration: EnvironmentConfig = Field(description="What the next stage uses.")
    reason: str | None = Field(description="The engineer's own words.")
    fallback_reason: str | None = Field(description="Why the previous configuration is kept.")
    prompt: list[Message]
    attempts: list[Attempt]
    clamps: list[Clamp]
    changes: list[Change]
    summary_id: str
    seed: int
    created_at: datetime


class ProposalList(Contract):
    items: list[Proposal]


class DecisionRequest(Contract):
    """A person's decision; with a configuration, that one is used instead."""

    configuration: EnvironmentConfig | None = None
    reason: str | None = Field(default=None, max_length=2_000)


class ExchangeRequest(Contract):
    """Worked engineer exchanges to learn the task from: invented evidence with a teacher's answer."""

    seed: Seed
    count: int = Field(ge=1, le=200_000)
    sizes: list[MapSize] = Field(default=[3, 4, 5], min_length=1, max_length=8)


class Exchange(Contract):
    prompt: list[Message]
    answer: str
