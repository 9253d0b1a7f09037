"""Settings of the policy service, read from T2T_* variables."""

from pydantic import Field

from trainee2trainer.settings import Settings


class PolicySettings(Settings):
    """What every process knows, and how much work this service takes on."""

    policy_device: str = Field(default="cpu", pattern=r"^(cpu|cuda(:\d+)?)$")
    policy_threads: int = Field(
        default=1, ge=1, le=256, description="torch threads: more than idle cores collapses the speed."
    )
    policy_max_models: int = Field(
        default=4, ge=1, le=64, description="Checkpoints held in memory; the one used longest ago makes room."
    )
    policy_max_rows: int = Field(default=512, ge=1, le=65_536, description="Answers sampled at a time.")
    policy_cache_bytes: int = Field(
        default=1 << 30, ge=1 << 20, description="Memory for the answers sampled at a time."
    )
    policy_max_requests: int = Field(
        default=256, ge=1, le=100_000, description="Requests waiting or at work; one more is answered 429."
    )
    policy_max_waiting_rows: int = Field(
        default=4_096 * 64,
        ge=1,
        description="Answers waiting; a request that would exceed it is answered 429.",
    )
    policy_timeout_seconds: float = Field(
        default=600.0, gt=0, description="Longest time for one request; then it is given up and answered 504."
    )
    policy_ready_seconds: float = Field(
        default=5.0, gt=0, description="An engine that takes longer to say that it works is not ready."
    )
