"""Checkpoints: which exist, which are loaded, and which one answers requests that name none."""

from typing import Annotated

from fastapi import APIRouter, Query

from policy_service.context import Context, ContextDep
from policy_service.routes.common import NOT_FOUND, UNUSABLE
from trainee2trainer.contracts.policy import Checkpoint, CheckpointPage, CheckpointState
from trainee2trainer.web import problems

router = APIRouter(prefix="/v1", tags=["checkpoints"])

Cursor = Annotated[str | None, Query(max_length=128, description="`next_page` of the page before.")]
Size = Annotated[int, Query(ge=1, le=200, description="Rows of a page.")]


@router.get("/checkpoints")
async def list_checkpoints(context: ContextDep, cursor: Cursor = None, size: Size = 50) -> CheckpointPage:
    """The registered checkpoints, newest first."""
    after = None if cursor is None else await context.registry.find(cursor)
    if cursor is not None and after is None:
        raise problems.invalid(["query", "cursor"], "is not a cursor of this list", "unknown_cursor")
    found = await context.registry.page(after, size + 1)
    items = [_state(context, checkpoint) for checkpoint in found[:size]]
    return CheckpointPage(items=items, next_page=items[-1].checkpoint.id if len(found) > size else None)


@router.get("/checkpoints/{checkpoint_id}", responses=NOT_FOUND)
async def get_checkpoint(checkpoint_id: str, context: ContextDep) -> CheckpointState:
    """One checkpoint."""
    return _state(context, await context.registry.get(checkpoint_id))


@router.post("/checkpoints/{checkpoint_id}:activate", responses=NOT_FOUND | UNUSABLE)
async def activate_checkpoint(checkpoint_id: str, context: ContextDep) -> CheckpointState:
    """Verifies and loads it; then it answers requests that name no checkpoint.

    When it is damaged, the one that was active before stays active.
    """
    return _state(context, await context.registry.activate(checkpoint_id))


def _state(context: Context, checkpoint: Checkpoint) -> CheckpointState:
    return CheckpointState(
        checkpoint=checkpoint,
        loaded=context.registry.is_loaded(checkpoint.id),
        active=context.registry.is_active(checkpoint.id),
    )
