"""The rungs of the policy ladder that can be trained here."""

from fastapi import APIRouter
from sqlalchemy import select

from trainee2trainer.contracts.campaign import ProfileList
from trainee2trainer.store.tables import CheckpointRecord
from trainer_service.context import ContextDep
from trainer_service.profiles import PROFILES

router = APIRouter(prefix="/v1/profiles", tags=["profiles"])


@router.get("")
async def list_profiles(context: ContextDep) -> ProfileList:
    """Profiles with their starting checkpoints and the settings that suit them."""
    wanted = [rung.checkpoint for rung in PROFILES.values()]
    async with context.store.session() as session:
        there = set(await session.scalars(select(CheckpointRecord.id).where(CheckpointRecord.id.in_(wanted))))
    return ProfileList(items=[rung.card(rung.checkpoint in there) for rung in PROFILES.values()])
