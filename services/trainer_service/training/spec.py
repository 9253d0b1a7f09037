"""What the worker hands to the training process, and what it finds afterwards."""

from pathlib import Path

from pydantic import Field

from trainee2trainer.contracts.base import Contract, Seed
from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.environment import FailureCategory
from trainer_service.settings import SinkName

INSTANCES = "instances.jsonl"
METRICS = "metrics.jsonl"
ROLLOUTS = "rollouts.jsonl"
CHECKPOINT = "checkpoint"
DONE = "done.json"
PROGRESS = "progress"
DRAFTS = "drafts"

EXIT_DRAINED = 75
"""Exit code of a training that was told to end (SIGTERM) and left a checkpoint to go on from: sysexits' EX_TEMPFAIL."""

EXIT_DISK_FULL = 74
"""Exit code of a training that found no room to write: sysexits' EX_IOERR."""


class Identity(Contract):
    """What the bytes of a stage's result hang on, on one machine: training goes on only where all of it is equal."""

    settings: TrainingSettings
    seed: Seed
    instances_sha256: str
    start_sha256: str = Field(description="Digest of the starting checkpoint's manifest.")


class Run(Contract):
    """A stage's curves: under one name whatever becomes of its attempts. `after`: the step gone on from."""

    name: str
    folder: Path
    after: int


class TrainingSpec(Contract):
    """One stage. `folder` holds `instances.jsonl` (an `InstanceRow` with its prompt per line) and takes all output:

    - `metrics.jsonl`: a `StepMetrics` per line, flushed after each step, to be followed while it grows;
    - `rollouts.jsonl`: a `TrainedRollout` per line;
    - `progress/step-NNNNNNNN/`: the last of the checkpoints to go on from, see `progress.py`;
    - `checkpoint/`: the trained model and its tokenizer, safetensors only;
    - `done.json`: written last, renamed into place: without it nothing above is finished.

    On SIGTERM the step under way is finished, a checkpoint is left and the exit code is `EXIT_DRAINED`.
    """

    folder: Path
    start: Path = Field(description="Directory of the checkpoint to start from.")
    identity: Identity
    resume: Path | None = Field(
        description="Checkpoint to go on from; the lines written until then lie in the folder."
    )
    save_steps: int = Field(ge=1, description="Steps between two checkpoints to go on from.")
    sinks: list[SinkName] = Field(description="Where the metrics go besides the file.")
    run: Run
    env_url: str
    vllm_url: str | None = Field(description="Of a vLLM server, where the settings want one.")
    threads: int = Field(
        default=1, ge=1, description="torch threads: more than idle cores collapses the speed."
    )


class Mark(Contract):
    """How much of a file of lines was there: its first `size` bytes and their checksum."""

    size: int
    sha256: str


class Position(Contract):
    """Where a training stood when it left a checkpoint to go on from."""

    step: int
    identity: Identity
    metrics: Mark
    rollouts: Mark


class SizeMetrics(Contract):
    """A step's samples on boards of one size."""

    samples: int
    reward: float
    valid: float
    optimal: float
    dead_group_share: float


class StepMetrics(Contract):
    """One optimiser step. Rates and shares are over the step's samples and groups."""

    step: int
    steps: int
    reward: float
    reward_std: float
    valid: float
    optimal: float
    dead_group_share: float = Field(
        description="Groups whose rewards are all equal: no advantage, no gradient."
    )
    sizes: dict[int, SizeMetrics] = Field(description="The same by map size.")
    samples: int
    tokens: int = Field(description="Sampled in this step.")
    tokens_mean: float = Field(description="Per answer; so are the next two.")
    tokens_min: int
    tokens_max: int
    truncated: float = Field(description="Share of answers cut off at the largest number of tokens.")
    seconds: float
    tokens_per_second: float = Field(description="Sampled tokens over all of the step's time.")
    loss: float | None
    grad_norm: float | None
    learning_rate: float | None
    kl: float | None = Field(description="From the starting checkpoint, per token.")
    kl_missing: str | None = Field(description="Why there is no KL.")
    gap_mean: float | None = Field(
        description="Mean over sampled tokens of |log-probability when sampled - when trained on|."
    )
    gap_max: float | None


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
