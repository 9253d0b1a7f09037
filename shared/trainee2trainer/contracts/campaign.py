"""Campaigns: stages of training on self-designed environments, and what came of them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from trainee2trainer.contracts.base import Contract, Ratio, Seed
from trainee2trainer.contracts.engineer import EngineerName, Rates, SizeSummary
from trainee2trainer.contracts.environment import EnvironmentConfig, FailureCategory, MapSize, RewardWeights
from trainee2trainer.contracts.policy import CheckpointId
from trainee2trainer.contracts.training import LoraSettings, SamplerName, VllmSettings
from trainee2trainer.contracts.transfer import TransferResult

Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\w .:-]+$")]


class CampaignStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def terminal(self) -> bool:
        return self in {self.SUCCEEDED, self.FAILED, self.CANCELLED}


class StageStep(StrEnum):
    """Where a stage stands: each step is idempotent and resumable."""

    GENERATE = "generate"
    TRAIN = "train"
    VALIDATE = "validate"
    SUMMARISE = "summarise"
    PROPOSE = "propose"
    DONE = "done"


class TrainingSettings(Contract):
    """GRPO (Shao et al. 2024) as TRL implements it. What a request leaves out is the profile's, field by field;
    the defaults here are the nano profile's."""

    rollouts: int = Field(
        default=8_192, ge=8, le=10_000_000, description="Samples of a stage: its whole budget."
    )
    group_size: int = Field(default=8, ge=2, le=256, description="Samples per prompt.")
    prompts_per_step: int = Field(default=32, ge=1, le=4_096)
    learning_rate: float = Field(default=3e-4, gt=0, le=1)
    temperature: float = Field(default=1.0, gt=0, le=10)
    max_tokens: int = Field(default=64, ge=1, le=8_192)
    clip_low: float = Field(default=0.2, gt=0, lt=1)
    clip_high: float = Field(default=0.28, gt=0, lt=10)
    kl_coefficient: float = Field(default=0.0, ge=0, le=10)
    loss: Literal["grpo", "dr_grpo", "dapo", "bnpo"] = "dapo"
    rewards: RewardWeights = RewardWeights()
    lora: LoraSettings | None = Field(default=None, description="Null: all weights are trained.")
    sampler: SamplerName = Field(
        default="own", description="`generate`: transformers', for layers that the own one does not know."
    )
    vllm: VllmSettings = VllmSettings()
    samples_at_once: int = Field(
        default=128, ge=1, le=4_096, description="In one forward and backward pass: memory against speed."
    )
    recompute: bool = Field(
        default=False, description="Activations are computed again on the way back, not kept."
    )


class ValidationSettings(Contract):
    """A fixed set of held-out boards: the same for every stage of a campaign, never trained on."""

    sizes: list[MapSize] = Field(default=[3, 4, 5], min_length=1, max_length=8)
    boards_per_size: int = Field(default=100, ge=1, le=5_000)
    wait_ratio: Ratio = 0.3
    hole_ratio: float = Field(default=0.2, ge=0, le=0.5)
    samples: int = Field(default=4, ge=1, le=64)
    temperature: float = Field(default=1.0, ge=0, le=10)
    seed: Seed = 2_000_000
    more_agents: list[Annotated[int, Field(ge=2, le=5)]] = Field(
        default=[],
        max_length=3,
        description="A further set for each, with so many agents: reported by itself, never shown to an engineer.",
    )


class CampaignCreate(Contract):
    name: Name = "campaign"
    profile: str = Field(default="nano", pattern=r"^[a-z0-9-]{1,32}$")
    engineer: EngineerName = EngineerName.SELF
    stages: int = Field(default=3, ge=1, le=100)
    seed: Seed = 0
    configuration: EnvironmentConfig
    base_checkpoint: CheckpointId | None = Field(
        default=None, description="Null: the profile's starting checkpoint."
    )
    template: str = Field(default="compact-v1", pattern=r"^[a-z0-9-]{1,32}$")
    training: TrainingSettings = TrainingSettings()
    validation: ValidationSettings = ValidationSettings()
    approval: Literal["automatic", "manual"] = "automatic"


class Campaign(Contract):
    id: str
    status: CampaignStatus
    settings: CampaignCreate
    stage_index: int = Field(description="The stage being worked on.")
    step: StageStep | None
    base_checkpoint: CheckpointId
    error: str | None = Field(description="Why it failed, or why it is paused.")
    created_at: datetime
    finished_at: datetime | None


class CampaignPage(Contract):
    items: list[Campaign]
    next_page: str | None = None


class ValidationResult(Contract):
    """A checkpoint judged on the campaign's validation set."""

    checkpoint: CheckpointId
    overall: Rates
    sizes: list[SizeSummary]
    transfer: list[TransferResult] = Field(default=[], description="With other numbers of agents.")
    seconds: float


class Stage(Contract):
    campaign_id: str
    index: int
    step: StageStep
    configuration: EnvironmentConfig
    checkpoint: CheckpointId | None
    validation: ValidationResult | None
    summary_id: str | None
    proposal_id: str | None
    seconds: dict[str, float] = Field(description="Seconds spent, by step.")


class StagePage(Contract):
    items: list[Stage]
    next_page: str | None = None


BASELINE_STAGE = -1
"""The stage number under which the starting checkpoint's validation is kept and told."""


class EventKind(StrEnum):
    """What an event tells. `data` holds what is named here; those of a stage also hold `stage`."""

    CAMPAIGN_CREATED = "campaign.created"  # name, stages, engineer, seed
    CAMPAIGN_RUNNING = "campaign.running"
    CAMPAIGN_PAUSED = "campaign.paused"  # reason, stage, step, where no person wished it
    CAMPAIGN_QUEUED = "campaign.queued"  # resumed
    CAMPAIGN_SUCCEEDED = "campaign.succeeded"
    CAMPAIGN_FAILED = "campaign.failed"  # error
    CAMPAIGN_CANCELLED = "campaign.cancelled"
    JOB_CREATED = "job.created"  # name, seed
    JOB_RUNNING = "job.running"
    JOB_PAUSED = "job.paused"  # reason, where no person wished it
    JOB_QUEUED = "job.queued"  # resumed
    JOB_SUCCEEDED = "job.succeeded"  # checkpoint, manifest_sha256
    JOB_FAILED = "job.failed"  # error
    JOB_CANCELLED = "job.cancelled"
    STAGE_STARTED = "stage.started"  # configuration
    STEP_STARTED = "step.started"  # step, attempt; the baseline's step is "baseline"
    STEP_FAILED = "step.failed"  # step, attempt, error
    GENERATE_DONE = "generate.done"  # asked, realised, seconds
    TRAIN_RESUMED = "train.resumed"  # attempt, step gone on from, refused: why other checkpoints were not
    TRAIN_STEP = (
        "train.step"  # attempt and the step's metrics: step, steps, reward, valid, samples, seconds, ...
    )
    TRAIN_DONE = "train.done"  # checkpoint, manifest_sha256, seconds
    VALIDATE_PROGRESS = "validate.progress"  # boards, of, sizes: {size: {samples, valid, optimal}}
    VALIDATE_DONE = "validate.done"  # checkpoint, overall, sizes (as in progress), transfer, seconds
    SUMMARISE_DONE = "summarise.done"  # summary_id, seconds
    PROPOSE_WAITING = "propose.waiting"  # proposal_id: to be approved or rejected
    PROPOSE_DONE = "propose.done"  # proposal_id, status, reason, fallback_reason, changes, clamps, seconds


class Event(Contract):
    """One line of a campaign's or training job's append-only log; ids rise by one without a gap."""

    id: int
    campaign_id: str = Field(description="Whose log it is: a campaign's id, or a training job's.")
    kind: str = Field(description="One of `EventKind`.")
    data: dict[str, Any]
    at: datetime


class JobStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TrainingJobCreate(Contract):
    """One training stage by itself, without an engineer: for callers who steer on their own."""

    name: Name = "training"
    profile: str = Field(default="nano", pattern=r"^[a-z0-9-]{1,32}$")
    checkpoint: CheckpointId | None = None
    configuration: EnvironmentConfig
    template: str = Field(default="compact-v1", pattern=r"^[a-z0-9-]{1,32}$")
    seed: Seed = 0
    training: TrainingSettings = TrainingSettings()


class TrainingJob(Contract):
    id: str
    status: JobStatus
    settings: TrainingJobCreate
    attempts: int
    checkpoint: CheckpointId | None = Field(description="The result.")
    error: str | None = Field(description="Why it failed, or why it is paused.")
    created_at: datetime
    finished_at: datetime | None


class TrainingJobPage(Contract):
    items: list[TrainingJob]
    next_page: str | None = None


class Profile(Contract):
    """A rung of the policy ladder: where it starts, and the settings that suit it."""

    name: str
    description: str
    starting_checkpoint: CheckpointId
    available: bool = Field(description="The starting checkpoint is there.")
    template: str
    training: TrainingSettings
    validation: ValidationSettings


class ProfileList(Contract):
    items: list[Profile]


class SizeReport(Contract):
    size: MapSize
    valid_rate: Ratio
    optimal_rate: Ratio
    wait_valid_rate: Ratio
    plain_valid_rate: Ratio


class ProposalReport(Contract):
    engineer: EngineerName
    status: str
    reason: str | None
    fallback_reason: str | None
    configuration: EnvironmentConfig
    changes: list[dict[str, Any]]
    clamps: list[dict[str, Any]]


class StageReport(Contract):
    """One stage as `report.json` tells it."""

    index: int
    configuration: EnvironmentConfig
    proposal: ProposalReport | None
    checkpoint: CheckpointId
    manifest_sha256: str
    valid_rate: Ratio
    optimal_rate: Ratio
    per_size: list[SizeReport]
    failures: dict[FailureCategory, int]
    transfer: list[TransferResult] = Field(default=[])
    reward_curve: list[float]
    seconds: float


class CampaignReport(Contract):
    campaign_id: str
    name: str
    status: CampaignStatus
    engineer: EngineerName
    seed: int
    versions: dict[str, str]
    baseline: StageReport | None = Field(
        description="The starting checkpoint, validated before any training."
    )
    stages: list[StageReport]
