"""The engineers that can be asked."""

from fastapi import APIRouter

from engineer_service.engineers import ENGINEERS
from trainee2trainer.contracts.engineer import EngineerList

router = APIRouter(prefix="/v1/engineers", tags=["engineers"])


@router.get("")
async def list_engineers() -> EngineerList:
    """Their names, and what each goes by."""
    return EngineerList(items=[engineer.card for engineer in ENGINEERS.values()])
