"""How a model is trained beyond the algorithm: which weights, and who samples."""

from typing import Literal

from pydantic import Field

from trainee2trainer.contracts.base import Contract

SamplerName = Literal["own", "generate", "vllm"]


class LoraSettings(Contract):
    """Low-rank adapters on every linear layer (Hu et al. 2021), merged into the checkpoint at a stage's end."""

    rank: int = Field(default=16, ge=1, le=512)
    alpha: int = Field(default=32, ge=1, le=1_024, description="Their weight is alpha / rank.")


class VllmSettings(Contract):
    """vLLM beside the trainer on the same GPUs (`colocate`), or a server of its own (`server`)."""

    mode: Literal["colocate", "server"] = "colocate"
    memory_share: float = Field(default=0.3, gt=0, lt=1, description="Of each GPU's memory; colocate only.")
    tensor_parallel: int = Field(
        default=1, ge=1, le=64, description="GPUs that share a model; colocate only."
    )
