"""What the worker hands to the training process, and what it finds afterwards."""

from pathlib import Path

from pydantic import Field

from trainee2trainer.contracts.base import Contract, Seed
from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.environment import FailureCategory

INSTANCES = "instances.jsonl"
METRICS = "metrics.jsonl"
ROLLOUTS = "rollouts.jsonl"
CHECKPOINT = "checkpoint"
DONE = "done.json"


class TrainingSpec(Contract):
    """One stage. `folder` holds `instances.jsonl` (an `InstanceRow` with its prompt per line) and takes all output:

    - `metrics.jsonl`: a `StepMetrics` per line, flushed after each step, to be followed while it grows;
    - `rollouts.jsonl`: a `TrainedRollout` per line;
    - `checkpoint/`: the trained model and its tokenizer, safetensors only;
    - `done.json`: written last, renamed into place: without it nothing above is finished.
    """

    folder: Path
    start: Path = Field(description="Directory of the checkpoint to start from.")
    settings: TrainingSettings
    seed: Seed
    env_url: str
    threads: int = Field(
        default=1, ge=1, description="torch threads: more than idle cores collapses the speed."
    )


class StepMetrics(Contract):
    """One optimiser step. Rates and shares are over the step's samples and groups."""

    step: int
    steps: int
    reward: float
    reward_std: float
    valid: float
    optimal: float
    dead_group_share: float
    tokens: int
    samples: int
    seconds: float
    loss: float | None
    grad_norm: float | None
    learning_rate: float | None


class TrainedRollout(Contract):
    """One judged training sample: what the store's `rollouts` table counts."""

    step: int
    group: int
    instance_id: str
    size: int
    needs_wait: bool
    valid: bool
    optimal: bool
    failure: FailureCategory | None
    reward: float | None
    makespan: int | None
    tokens: int
