"""OpenAI's list of models: the checkpoints."""

from fastapi import APIRouter

from policy_service.context import ContextDep
from policy_service.routes.common import NOT_FOUND
from trainee2trainer.contracts.policy import Checkpoint, ModelCard, ModelList

router = APIRouter(prefix="/v1", tags=["openai"])

_MOST = 1_000


@router.get("/models")
async def list_models(context: ContextDep) -> ModelList:
    """The newest checkpoints, at most 1000. All of them, page by page: `/v1/checkpoints`."""
    return ModelList(data=[_card(checkpoint) for checkpoint in await context.registry.page(None, _MOST)])


@router.get("/models/{model_id}", responses=NOT_FOUND)
async def get_model(model_id: str, context: ContextDep) -> ModelCard:
    """One checkpoint, as a model."""
    return _card(await context.registry.get(model_id))


def _card(checkpoint: Checkpoint) -> ModelCard:
    return ModelCard(id=checkpoint.id, created=int(checkpoint.created_at.timestamp()))
