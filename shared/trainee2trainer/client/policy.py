"""Client of policy_service."""

from trainee2trainer.client.http import LONG_READ_TIMEOUT, ServiceClient
from trainee2trainer.contracts.policy import (
    ChatCompletion,
    ChatCompletionRequest,
    CheckpointPage,
    CheckpointState,
    Completion,
    CompletionRequest,
    ModelCard,
    ModelList,
    RolloutRequest,
    RolloutResponse,
)


class PolicyClient(ServiceClient):
    """Sampled text from named checkpoints. Sampling is pure in its seed, so it may be repeated."""

    async def rollouts(self, request: RolloutRequest) -> RolloutResponse:
        return await self._post("/v1/rollouts", RolloutResponse, request, read_timeout=LONG_READ_TIMEOUT)

    async def chat(self, request: ChatCompletionRequest) -> ChatCompletion:
        """Not streamed: for that, point OpenAI's own client here."""
        return await self._post(
            "/v1/chat/completions", ChatCompletion, request, read_timeout=LONG_READ_TIMEOUT
        )

    async def completions(self, request: CompletionRequest) -> Completion:
        return await self._post("/v1/completions", Completion, request, read_timeout=LONG_READ_TIMEOUT)

    async def models(self) -> list[ModelCard]:
        return (await self._get("/v1/models", ModelList)).data

    async def model(self, model_id: str) -> ModelCard:
        return await self._get(f"/v1/models/{model_id}", ModelCard)

    async def checkpoints(self, *, cursor: str | None = None, size: int | None = None) -> CheckpointPage:
        return await self._get("/v1/checkpoints", CheckpointPage, {"cursor": cursor, "size": size})

    async def checkpoint(self, checkpoint_id: str) -> CheckpointState:
        return await self._get(f"/v1/checkpoints/{checkpoint_id}", CheckpointState)

    async def activate(self, checkpoint_id: str) -> CheckpointState:
        """Load it and let it answer requests that name no checkpoint."""
        return await self._post(f"/v1/checkpoints/{checkpoint_id}:activate", CheckpointState)
