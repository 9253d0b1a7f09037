"""Settings of the trainer service and its workers, read from T2T_* variables."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from trainee2trainer.settings import Settings

SinkName = Literal["tensorboard", "wandb", "trackio"]


class TrainerSettings(Settings):
    """What every process knows, and how this service works."""

    worker_jobs: int = Field(
        default=1, ge=1, le=64, description="Campaigns and training jobs at a time, per worker."
    )
    lease_seconds: float = Field(
        default=15.0, gt=0, le=3_600, description="A silent worker loses its work after this."
    )
    reconcile_seconds: float = Field(
        default=2.0, gt=0, le=600, description="Between two looks for work that is due."
    )
    step_attempts: int = Field(
        default=3, ge=1, le=100, description="Failures of one step after which it is given up."
    )
    retry_seconds: float = Field(
        default=2.0, ge=0, le=600, description="Before the second attempt; then doubled."
    )
    training_threads: int = Field(
        default=1, ge=1, le=1_024, description="torch threads of a training process."
    )
    training_processes: int = Field(
        default=1, ge=1, le=64, description="Training processes that share a stage, by `accelerate launch`."
    )
    training_accelerate_config: Path | None = Field(
        default=None, description="accelerate's own configuration: devices, FSDP, DeepSpeed."
    )
    training_python: Path | None = Field(
        default=None, description="Interpreter of training processes; null: the worker's. vLLM wants its own."
    )
    training_vllm_url: str | None = Field(
        default=None, description="Where a vLLM server for training samples, for settings that want one."
    )
    profile_models: dict[str, Path] = Field(
        default={}, description="Local Hugging Face checkpoints that profiles start from, as a JSON object."
    )
    training_silence_seconds: float = Field(
        default=1_800.0, gt=0, description="A training process that reports no step for this long is stopped."
    )
    training_save_steps: int = Field(
        default=10, ge=1, description="Steps between two checkpoints that a killed training goes on from."
    )
    training_afresh: bool = Field(
        default=False,
        description="Where those belong to another configuration: start the stage afresh, not fail.",
    )
    training_grace_seconds: float = Field(
        default=10.0,
        ge=0,
        le=3_600,
        description="For a training process that is told to end: a step and a checkpoint must fit in.",
    )
    training_sinks: list[SinkName] = Field(
        default=[], description="Where a training's curves go besides its files and events; a JSON list."
    )
    event_poll_seconds: float = Field(
        default=0.3, gt=0, le=60, description="Between two looks for new events."
    )

    @property
    def home(self) -> Path:
        """The data folder, wherever the process stands."""
        return self.data_dir.resolve()

    @property
    def runs_dir(self) -> Path:
        """Working files of campaigns and training jobs; all of them can be made again."""
        return self.home / "runs"

    @property
    def curves_dir(self) -> Path:
        """What sinks write on this machine."""
        return self.home / "curves"
