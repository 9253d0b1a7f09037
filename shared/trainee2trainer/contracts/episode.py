"""Interactive episodes: one joint action per step, a reward only at the end."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from trainee2trainer.contracts.base import Contract, Problem, Seed
from trainee2trainer.contracts.environment import (
    MAX_AGENTS,
    MIN_AGENTS,
    Action,
    BoardTask,
    Cell,
    EnvironmentConfig,
    InstanceId,
    Outcome,
    RewardWeights,
    Split,
)

MAX_EPISODE_STEPS = 1_000


class EpisodeCreate(Contract):
    """What to play: an instance by id, a board inline, or one that a seed draws from a configuration."""

    instance_id: InstanceId | None = None
    instance: BoardTask | None = None
    configuration: EnvironmentConfig | None = None
    seed: Seed | None = None
    split: Split = Split.TRAIN
    max_steps: int | None = Field(
        default=None,
        ge=1,
        le=MAX_EPISODE_STEPS,
        description="By default four times the optimal makespan, and at least 16.",
    )
    rewards: RewardWeights = RewardWeights()

    @model_validator(mode="after")
    def _one_board(self) -> Self:
        given = [self.instance_id, self.instance, self.configuration]
        if sum(one is not None for one in given) != 1:
            raise ValueError("give exactly one of instance_id, instance and configuration")
        if (self.configuration is None) != (self.seed is None):
            raise ValueError("seed: goes with a configuration, and a configuration needs one")
        return self


class EpisodeStep(Contract):
    """One action for each agent; all move at once."""

    actions: list[Action] = Field(min_length=MIN_AGENTS, max_length=MAX_AGENTS)
    step: int | None = Field(
        default=None,
        ge=0,
        description="The step this is meant to be, counted from 0: sent twice, it is done once.",
    )


class EndReason(StrEnum):
    """Why an episode is over."""

    SOLVED = "solved"
    VIOLATION = "violation"
    STEP_LIMIT = "step_limit"
    CLOSED = "closed"
    IDLE = "idle"


class Observation(Contract):
    """What the agents see."""

    text: str = Field(description="The board drawn with the agents where they are now, and a line per agent.")
    grid: list[list[str]] = Field(
        description="Rows of marks: F ice, H hole, G a goal, the number of an agent."
    )
    positions: list[Cell]
    goals: list[Cell]


class Episode(Contract):
    """An episode after its last step. `reward` and `outcome` are null until it is over."""

    id: str
    step: int = Field(description="Steps made so far.")
    max_steps: int
    board: BoardTask
    observation: Observation
    done: bool
    ended: EndReason | None
    reward: float | None = Field(description="Null until the end, and when it was closed or idle.")
    outcome: Outcome | None = Field(description="The verdict on the whole plan, as of /v1/verify.")


class ResetMessage(Contract):
    """Begins an episode; then the one before it, if it is open, is closed."""

    type: Literal["reset"]
    data: EpisodeCreate


class StepMessage(Contract):
    type: Literal["step"]
    data: EpisodeStep


class StateMessage(Contract):
    type: Literal["state"]


class CloseMessage(Contract):
    """Ends the connection."""

    type: Literal["close"]


SocketMessage = Annotated[
    ResetMessage | StepMessage | StateMessage | CloseMessage, Field(discriminator="type")
]


class SocketObservation(Contract):
    """The answer to reset and step."""

    observation: Observation
    reward: float | None
    done: bool
    metadata: dict[str, Any] = Field(description="The rest of the episode, as over REST.")


class SocketError(Contract):
    """What was wrong with a message; the episode and the connection are as before."""

    code: str
    message: str | None
    problem: Problem
