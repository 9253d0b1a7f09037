"""The rungs of the policy ladder: where each starts, and the settings that suit it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import trainee2trainer
from trainee2trainer.contracts.campaign import (
    CampaignCreate,
    Profile,
    TrainingJobCreate,
    TrainingSettings,
    ValidationSettings,
)
from trainee2trainer.contracts.training import LoraSettings

Request = TypeVar("Request", CampaignCreate, TrainingJobCreate)
Settings = TypeVar("Settings", TrainingSettings, ValidationSettings)


@dataclass(frozen=True, slots=True)
class Rung:
    """A profile before it is known whether its checkpoint is there."""

    name: str
    description: str
    checkpoint: str
    template: str
    remedy: str
    training: TrainingSettings = field(default_factory=TrainingSettings)
    validation: ValidationSettings = field(default_factory=ValidationSettings)

    def card(self, available: bool) -> Profile:
        return Profile(
            name=self.name,
            description=self.description,
            starting_checkpoint=self.checkpoint,
            available=available,
            template=self.template,
            training=self.training,
            validation=self.validation,
        )


PROFILES = {
    rung.name: rung
    for rung in (
        Rung(
            name="nano",
            description="Less than a million parameters: trains on a laptop's CPU in minutes.",
            checkpoint="nano-v1",
            template="compact-v1",
            remedy="run `t2t warmstart`",
        ),
        Rung(
            name="small",
            description="A small local model, such as SmolLM2-135M-Instruct: adapters, CPU or one GPU.",
            checkpoint="small-start",
            template="plain-v1",
            remedy="name a local model in T2T_PROFILE_MODELS",
            training=TrainingSettings(
                rollouts=512,
                group_size=8,
                prompts_per_step=4,
                learning_rate=1e-4,
                max_tokens=96,
                lora=LoraSettings(),
                samples_at_once=8,
            ),
            validation=ValidationSettings(sizes=[3, 4], boards_per_size=20, samples=2),
        ),
        Rung(
            name="paper",
            description="Qwen3-4B as in the paper: all weights, sampled by vLLM, on GPUs of 80 GB and more.",
            checkpoint="paper-start",
            template="plain-v1",
            remedy="name a local Qwen3-4B in T2T_PROFILE_MODELS",
            training=TrainingSettings(
                rollouts=32_000,  # the paper's 4,000 training samples a stage, in groups of eight
                group_size=8,
                prompts_per_step=32,
                learning_rate=1e-6,
                max_tokens=4_096,
                sampler="vllm",
                samples_at_once=4,
                recompute=True,
            ),
            validation=ValidationSettings(
                sizes=list(range(3, 11)), boards_per_size=50, samples=1, more_agents=[3]
            ),
        ),
    )
}


def filled(request: Request) -> Request:
    """The request with what it leaves out taken from its profile, field by field."""
    rung = PROFILES.get(request.profile)
    if rung is None:
        return request
    values: dict[str, Any] = {"training": _over(rung.training, request.training)}
    if "template" not in request.model_fields_set:
        values["template"] = rung.template
    if isinstance(request, CampaignCreate):
        values["validation"] = _over(rung.validation, request.validation)
    return request.model_copy(update=values)


def _over(usual: Settings, asked: Settings) -> Settings:
    return usual.model_copy(update={name: getattr(asked, name) for name in asked.model_fields_set})


def shipped(checkpoint: str) -> Path:
    """Where the package carries a starting checkpoint; the folder need not exist."""
    return Path(trainee2trainer.__file__).parent / "models" / "pretrained" / checkpoint
