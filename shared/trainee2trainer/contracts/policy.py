"""Policy inference: checkpoints, rollouts, and the subset of OpenAI's API that is ours to answer."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from trainee2trainer.contracts.base import Contract, Message, Seed

MAX_PROMPTS = 4_096
MAX_SAMPLES = 64
MAX_NEW_TOKENS = 8_192

CheckpointId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,127}$")]
Prompt = Annotated[str, Field(max_length=200_000)] | list[Message] | list[int]
"""Raw text, a chat (the checkpoint's own template is applied), or token ids."""

FinishReason = Literal["stop", "length"]


class Checkpoint(Contract):
    """A directory of safetensors with a manifest of checksums; named, never addressed by a path."""

    id: CheckpointId
    profile: str
    parent_id: str | None
    campaign_id: str | None
    stage_index: int | None
    manifest_sha256: str
    created_at: datetime


class CheckpointState(Contract):
    checkpoint: Checkpoint
    loaded: bool
    active: bool = Field(description="Answers requests that name no checkpoint.")


class CheckpointPage(Contract):
    items: list[CheckpointState]
    next_page: str | None = None


class RolloutRequest(Contract):
    checkpoint: CheckpointId | None = Field(default=None, description="Null: the active one.")
    prompts: list[Prompt] = Field(min_length=1, max_length=MAX_PROMPTS)
    n: int = Field(default=1, ge=1, le=MAX_SAMPLES, description="Samples per prompt.")
    temperature: float = Field(default=1.0, ge=0.0, le=10.0, description="0 is greedy.")
    max_tokens: int = Field(default=128, ge=1, le=MAX_NEW_TOKENS)
    seed: Seed = 0
    logprobs: bool = False


class Sample(Contract):
    """One sampled answer. `error` says what failed on our side; such a sample is never scored."""

    text: str
    token_ids: list[int]
    logprobs: list[float] | None = Field(
        default=None, description="Of each sampled token, at the temperature used."
    )
    finish_reason: FinishReason | None
    error: str | None = None


class RolloutGroup(Contract):
    prompt_token_ids: list[int]
    samples: list[Sample]


class RolloutResponse(Contract):
    checkpoint: CheckpointId = Field(description="The checkpoint that really produced these tokens.")
    groups: list[RolloutGroup] = Field(description="One per prompt, in the order asked.")


class OpenAIModel(BaseModel):
    """OpenAI's clients send and expect fields of their own; what we do not use is ignored, not refused."""

    model_config = ConfigDict(extra="ignore")


class ChatCompletionRequest(OpenAIModel):
    model: str | None = None
    messages: list[Message] = Field(min_length=1)
    n: int = Field(default=1, ge=1, le=MAX_SAMPLES)
    temperature: float = Field(default=1.0, ge=0.0, le=2.0)
    max_tokens: int | None = Field(default=None, ge=1, le=MAX_NEW_TOKENS)
    max_completion_tokens: int | None = Field(default=None, ge=1, le=MAX_NEW_TOKENS)
    seed: Seed | None = None
    stream: bool = False


class CompletionRequest(OpenAIModel):
    model: str | None = None
    prompt: str | list[str] | list[int] | list[list[int]]
    n: int = Field(default=1, ge=1, le=MAX_SAMPLES)
    temperature: float = Field(default=1.0, ge=0.0, le=2.0)
    max_tokens: int = Field(default=16, ge=1, le=MAX_NEW_TOKENS)
    seed: Seed | None = None
    stream: bool = False


class Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatChoice(BaseModel):
    index: int
    message: Message
    finish_reason: str | None


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str = Field(description="The checkpoint that answered.")
    choices: list[ChatChoice]
    usage: Usage


class CompletionChoice(BaseModel):
    index: int
    text: str
    finish_reason: str | None


class Completion(BaseModel):
    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage


class ModelCard(BaseModel):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "trainee2trainer"


class ModelList(BaseModel):
    object: Literal["list"] = "list"
    data: list[ModelCard]
