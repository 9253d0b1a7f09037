"""Checkpoints as the trainer makes them: published directories, and the row that makes one exist."""

import asyncio
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.artefacts import (
    CheckpointDamagedError,
    checkpoint_folder,
    has_place,
    manifest_digest,
    publish,
    seal,
    verify,
)
from trainee2trainer.store import Store
from trainee2trainer.store.tables import CheckpointRecord
from trainer_service.failures import Hopeless
from trainer_service.profiles import PROFILES, shipped

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Published:
    """A checkpoint whose directory is in place; its row is still to be written."""

    id: str
    manifest_sha256: str


def name(subject_id: str, stage: int | None = None) -> str:
    """The id of what a campaign's stage, or a training job, makes."""
    return subject_id if stage is None else f"{subject_id}-stage-{stage}"


async def find(store: Store, data_dir: Path, checkpoint_id: str) -> Path:
    """The directory of a registered checkpoint, every byte of it compared with what was sealed.

    Raises Hopeless when it is not there or damaged.
    """
    async with store.session() as session:
        record = await session.get(CheckpointRecord, checkpoint_id)
    if record is None:
        raise Hopeless(f"There is no checkpoint {checkpoint_id}.")
    folder = checkpoint_folder(data_dir, checkpoint_id)
    try:
        await asyncio.to_thread(verify, folder, record.manifest_sha256)
    except CheckpointDamagedError as error:
        raise Hopeless(str(error)) from error
    return folder


async def bring_in(data_dir: Path, made: Path, checkpoint_id: str, token: int) -> Published:
    """Seals a finished directory and moves it among the checkpoints.

    Where an attempt that never got its row left something else under this id, the fencing token makes the
    name a new one: deleting could hit what another worker is about to register.
    """
    return await asyncio.to_thread(_bring_in, data_dir, made, checkpoint_id, token)


def _bring_in(data_dir: Path, made: Path, checkpoint_id: str, token: int) -> Published:
    digest = seal(made)
    try:
        publish(made, checkpoint_folder(data_dir, checkpoint_id))
    except FileExistsError:
        checkpoint_id = f"{checkpoint_id}-{token}"
        publish(made, checkpoint_folder(data_dir, checkpoint_id))
    return Published(checkpoint_id, digest)


async def register(
    session: AsyncSession,
    published: Published,
    *,
    profile: str,
    parent_id: str,
    campaign_id: str | None = None,
    stage_index: int | None = None,
) -> None:
    """Adds the row, in the transaction of what made the checkpoint."""
    session.add(
        CheckpointRecord(
            id=published.id,
            profile=profile,
            parent_id=parent_id,
            campaign_id=campaign_id,
            stage_index=stage_index,
            manifest_sha256=published.manifest_sha256,
        )
    )
    await session.flush()


async def register_shipped(store: Store, data_dir: Path, models: Mapping[str, Path]) -> None:
    """Registers the checkpoints that profiles start from: those in the package, and `models` by profile.

    Doing it again changes nothing.
    """
    insert = postgresql.insert if store.engine.dialect.name == "postgresql" else sqlite.insert
    for rung in PROFILES.values():
        source = models.get(rung.name) or shipped(rung.checkpoint)
        if not source.is_dir():
            log.info("profile.without_checkpoint", profile=rung.name, remedy=rung.remedy)
            continue
        digest = await asyncio.to_thread(_copy_in, source, data_dir, rung.checkpoint)
        row = {"id": rung.checkpoint, "profile": rung.name, "manifest_sha256": digest}
        async with store.session() as session:
            await session.execute(insert(CheckpointRecord).values(row).on_conflict_do_nothing())


def _without_a_place(folder: str, names: list[str]) -> list[str]:
    """What a model's directory also holds and a checkpoint may not: other formats, folders, papers."""
    return [name for name in names if not has_place(Path(folder) / name)]


def _copy_in(source: Path, data_dir: Path, checkpoint_id: str) -> str:
    """The digest of the checkpoint in the data folder, copied there first if it is not yet."""
    final = checkpoint_folder(data_dir, checkpoint_id)
    draft = final.with_name(f".{checkpoint_id}.{secrets.token_hex(4)}")
    shutil.copytree(source, draft, ignore=_without_a_place)
    digest = seal(draft)
    try:
        publish(draft, final)
    except FileExistsError:
        # What was trained on so far stays valid: a new starting checkpoint wants a new data folder, or name.
        log.warning("profile.checkpoint_differs", checkpoint=checkpoint_id, kept=str(final))
        digest = manifest_digest(final)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return digest
