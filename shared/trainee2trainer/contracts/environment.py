"""MAPF-FrozenLake: configurations, instances and verdicts (design: Stern et al. 2019 for the terms)."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trainee2trainer.contracts.base import Contract, Message, ModelText, Ratio, Seed

MIN_SIZE, MAX_SIZE = 3, 10
MIN_AGENTS, MAX_AGENTS = 2, 5
MAX_HOLE_RATIO = 0.5
MAX_INSTANCES = 50_000
MAX_VERIFY_BATCH = 4_096
MAX_ANSWER_CHARS = 262_144

InstanceId = Annotated[str, Field(pattern=r"^[2-5]agents_\d+x\d+_[0-9a-f]{12}$", max_length=64)]
MapSize = Annotated[int, Field(ge=MIN_SIZE, le=MAX_SIZE)]
Cell = tuple[int, int]
"""(row, column); row 0 at the top, column 0 at the left."""


class Action(StrEnum):
    """What an agent does in one step; all agents move at once."""

    UP = "UP"
    DOWN = "DOWN"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    WAIT = "WAIT"


class FailureCategory(StrEnum):
    """Why a plan is not valid: the first rule broken, in the order of time."""

    PARSE_ERROR = "parse_error"
    ILLEGAL_MOVE = "illegal_move"
    HOLE_COLLISION = "hole_collision"
    AGENT_CONFLICT = "agent_conflict"
    GOAL_NOT_REACHED = "goal_not_reached"


class Split(StrEnum):
    """Which side of the canonical hash an instance lies on, for ever."""

    TRAIN = "train"
    HELD_OUT = "held_out"


class Sampler(StrEnum):
    """How boards are drawn before they are certified."""

    UNIFORM = "uniform"
    """All boards equally likely."""

    CONFLICT_SEEDED = "conflict_seeded"
    """Two agents are placed to meet: many more boards need a wait, of another distribution."""


class SizeKnobs(Contract):
    """The three knobs of one map size."""

    data_ratio: Annotated[float, Field(ge=0.0, le=1_000.0)] = Field(
        description="Share of the instances; normalised so that the shares sum to 1."
    )
    hole_ratio: Annotated[float, Field(ge=0.0, le=MAX_HOLE_RATIO)] = Field(
        description="floor(hole_ratio * n * n) holes on each board, as far as free cells allow."
    )
    wait_ratio: Ratio = Field(description="Share of the instances in which every cheapest plan has a wait.")


class EnvironmentConfig(Contract):
    """What an engineer writes: the distribution of the next stage's instances."""

    agents: int = Field(default=2, ge=MIN_AGENTS, le=MAX_AGENTS)
    sizes: dict[MapSize, SizeKnobs] = Field(min_length=1, description="Knobs by map size, 3 to 10.")

    @model_validator(mode="after")
    def _normalise(self) -> Self:
        total = sum(knobs.data_ratio for knobs in self.sizes.values())
        if total <= 0:
            raise ValueError("data_ratio: at least one map size needs a data_ratio above 0")
        scale = 1.0 if abs(total - 1.0) < 1e-9 else total
        sizes = {
            size: knobs.model_copy(update={"data_ratio": knobs.data_ratio / scale})
            for size, knobs in sorted(self.sizes.items())
        }
        object.__setattr__(self, "sizes", sizes)
        return self


class AgentTask(Contract):
    start: Cell
    goal: Cell


class WaitProof(StrEnum):
    """How `needs_wait` was decided; the first three can be re-checked without a solver."""

    ZERO_EXCESS = "zero_excess"
    WITNESS = "witness"
    PARITY = "parity"
    EXHAUSTED = "exhausted"


class Provenance(Contract):
    """Generation is pure in these: any replica rebuilds the instance from them and the configuration."""

    generator_version: str
    configuration_id: str = Field(
        description="SHA-256 (12 hex digits) of the configuration's canonical JSON."
    )
    seed: int
    index: int = Field(
        description="Address within configuration and seed: 16 * ordinal + 2 * (size - 3) + wait class."
    )
    draw: int = Field(
        default=0, description="Which draw of the index's stream it is, so that it is rebuilt alone."
    )
    sampler: Sampler = Sampler.UNIFORM


class Instance(Contract):
    """A board, its agents, and certificates of what is optimal on it."""

    id: InstanceId
    size: MapSize
    holes: list[Cell]
    agents: list[AgentTask] = Field(min_length=MIN_AGENTS, max_length=MAX_AGENTS)
    optimal_makespan: int
    optimal_sum_of_costs: int
    reference_plan: list[list[Action]] = Field(
        description="One list of actions per agent; sum-of-costs optimal."
    )
    needs_wait: bool = Field(
        description="Every plan of minimal sum of costs has a wait before a final arrival."
    )
    wait_proof: WaitProof
    plan_has_wait: bool
    split: Split
    provenance: Provenance | None = None


class BoardTask(Contract):
    """A board and its agents without certificates: what a caller may send inline to be verified."""

    size: MapSize
    holes: list[Cell] = Field(default_factory=list, max_length=MAX_SIZE * MAX_SIZE)
    agents: list[AgentTask] = Field(min_length=MIN_AGENTS, max_length=MAX_AGENTS)


class GenerateRequest(Contract):
    configuration: EnvironmentConfig
    seed: Seed
    count: int = Field(ge=1, le=MAX_INSTANCES)
    split: Split = Split.TRAIN
    template: str | None = Field(default=None, description="Also return the prompt and the reference answer.")
    sampler: Sampler = Field(
        default=Sampler.UNIFORM,
        description="`conflict_seeded` places two agents to meet: for wait ratios that uniform boards do not reach.",
    )
    best_effort: bool = Field(
        default=False, description="Return what could be made when a quota is out of reach."
    )


class RealisedSize(Contract):
    """What one map size really got, beside what was asked."""

    asked: int
    made: int
    holes: int
    asked_wait: int
    made_wait: int
    draws: int
    rejected: dict[str, int] = Field(description="Draws rejected, by cause.")
    repeated: int = Field(
        default=0, description="Instances whose canonical form occurs before: too few forms exist."
    )


class Realised(Contract):
    count: int
    sizes: dict[MapSize, RealisedSize]


class InstanceRow(Contract):
    instance: Instance
    prompt: list[Message] | None = None
    answer: str | None = Field(default=None, description="The reference plan in the template's answer form.")


class GeneratedBatch(Contract):
    rows: list[InstanceRow]
    realised: Realised


class RewardWeights(Contract):
    """Reward of an outcome: a setting of the stage that nothing an engineer writes can touch."""

    optimal: Ratio = 1.0
    valid: Ratio = 0.7
    failure: Ratio = 0.0


class VerifyItem(Contract):
    """One answer to one instance; give the instance by id or inline, the answer as text or as a plan."""

    instance_id: InstanceId | None = None
    instance: BoardTask | None = None
    answer: ModelText | None = Field(default=None, max_length=MAX_ANSWER_CHARS)
    plan: list[list[Action]] | None = None

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.instance_id is None) == (self.instance is None):
            raise ValueError("give exactly one of instance_id and instance")
        if (self.answer is None) == (self.plan is None):
            raise ValueError("give exactly one of answer and plan")
        return self


class VerifyRequest(VerifyItem):
    rewards: RewardWeights = RewardWeights()


class VerifyBatchRequest(Contract):
    items: list[VerifyItem] = Field(min_length=1, max_length=MAX_VERIFY_BATCH)
    rewards: RewardWeights = RewardWeights()


class ConflictKind(StrEnum):
    VERTEX = "vertex"
    EDGE = "edge"


class Violation(Contract):
    """The first broken rule: in which step (0 is the first move), by whom, where."""

    category: FailureCategory
    step: int
    agents: list[int]
    cells: list[Cell]
    conflict: ConflictKind | None = None


class Outcome(Contract):
    """The verdict on one answer. `scored` is false, and `reward` null, only when *we* failed to judge it."""

    instance_id: str | None
    scored: bool = True
    valid: bool
    optimal: bool
    soc_optimal: bool
    reward: float | None
    failure: FailureCategory | None = Field(description="The first failure; null when valid.")
    flags: list[FailureCategory] = Field(description="Every failure found.")
    violation: Violation | None
    makespan: int | None
    sum_of_costs: int | None
    plan: list[list[Action]] | None = Field(description="The plan as it was read from the answer.")
    trajectory: list[list[Cell]] = Field(
        description="Executed cells, per step, per agent, up to the violation."
    )


class VerifyBatchResponse(Contract):
    outcomes: list[Outcome]


class Knob(Contract):
    """One thing an engineer may set, per map size."""

    name: str
    minimum: float
    maximum: float
    default: float
    description: str


class EnvironmentFamily(Contract):
    """What an environment offers to be configured: engineers read this, not our code."""

    name: Literal["mapf-frozenlake"]
    generator_version: str
    sizes: list[int]
    agents: list[int]
    knobs: list[Knob]
    templates: list[str]
    default_configuration: EnvironmentConfig
    configuration_schema: dict[str, object]


class EnvironmentList(Contract):
    items: list[EnvironmentFamily]
