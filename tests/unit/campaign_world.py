"""What tests of campaigns start from: a real store with a checkpoint and campaigns in it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from trainee2trainer.contracts.campaign import CampaignCreate, TrainingSettings, ValidationSettings
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs
from trainee2trainer.store import Store
from trainee2trainer.store.tables import Base, CheckpointRecord
from trainer_service.campaigns import records

CHECKPOINT = "nano-v1"
CONFIGURATION = EnvironmentConfig(sizes={3: SizeKnobs(data_ratio=1, hole_ratio=0.1, wait_ratio=0.2)})
SMALL = TrainingSettings(rollouts=32, group_size=4, prompts_per_step=4)
REQUEST = CampaignCreate(
    configuration=CONFIGURATION,
    stages=2,
    training=SMALL,
    validation=ValidationSettings(sizes=[3, 4], boards_per_size=3, samples=2),
)


async def new_store(folder: Path, url: str | None = None) -> Store:
    """A store with all tables and one checkpoint row: the empty one at `url`, else SQLite in `folder`."""
    store = Store(url or f"sqlite+aiosqlite:///{folder / 'store.db'}")
    async with store.engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with store.session() as session:
        session.add(CheckpointRecord(id=CHECKPOINT, profile="nano", manifest_sha256="0" * 64))
    return store


async def new_campaign(store: Store, request: CampaignCreate = REQUEST) -> str:
    async with store.session() as session:
        return await records.create(session, request, CHECKPOINT)


async def until(holds: Callable[[], object], seconds: float = 10) -> None:
    """Waits for something that nobody announces."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
