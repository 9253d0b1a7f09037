"""Checkpoints by id: registered in the store, verified, and a few of them loaded."""

import asyncio
from collections import OrderedDict
from pathlib import Path

import structlog
from sqlalchemy import select, tuple_
from sqlalchemy.exc import SQLAlchemyError

from policy_service.backend import Engine, Loaded
from trainee2trainer.artefacts import CheckpointDamagedError, checkpoint_folder, is_checkpoint_id, verify
from trainee2trainer.contracts.policy import Checkpoint
from trainee2trainer.store import Store
from trainee2trainer.store.tables import CheckpointRecord
from trainee2trainer.web import problems

log = structlog.get_logger()


class Registry:
    """Knows which checkpoints exist, which are loaded, and which one is active.

    Where a request names a checkpoint that is not there or damaged, the methods raise the problem to answer.
    """

    def __init__(self, store: Store, engine: Engine, data_dir: Path, max_models: int) -> None:
        self._store = store
        self._engine = engine
        self._data_dir = data_dir
        self._max_models = max_models
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._loading: dict[str, asyncio.Task[Loaded]] = {}
        self._one_load = asyncio.Lock()
        self._active_id: str | None = None
        self._settled = False

    async def settle(self) -> None:
        """Makes the newest checkpoint the active one, once. A store that does not answer is asked later."""
        if self._settled:
            return
        try:
            newest = await self.page(None, 1)
        except SQLAlchemyError as error:
            log.warning("active checkpoint not known yet", error=str(error))
            return
        self._active_id = newest[0].id if newest else None
        self._settled = True

    def is_active(self, checkpoint_id: str) -> bool:
        return checkpoint_id == self._active_id

    def is_loaded(self, checkpoint_id: str) -> bool:
        return checkpoint_id in self._loaded

    async def page(self, after: Checkpoint | None, size: int) -> list[Checkpoint]:
        """The newest checkpoints, at most `size`, from the one that follows `after` on."""
        newest_first = tuple_(CheckpointRecord.created_at, CheckpointRecord.id)
        query = select(CheckpointRecord).order_by(
            CheckpointRecord.created_at.desc(), CheckpointRecord.id.desc()
        )
        if after is not None:
            query = query.where(newest_first < (after.created_at, after.id))
        async with self._store.session() as session:
            return [_contract(record) for record in await session.scalars(query.limit(size))]

    async def find(self, checkpoint_id: str) -> Checkpoint | None:
        if not is_checkpoint_id(checkpoint_id):
            return None
        async with self._store.session() as session:
            record = await session.get(CheckpointRecord, checkpoint_id)
        return None if record is None else _contract(record)

    async def get(self, checkpoint_id: str) -> Checkpoint:
        """Raises 404 where it is not registered."""
        checkpoint = await self.find(checkpoint_id)
        if checkpoint is None:
            raise problems.not_found("checkpoint", checkpoint_id)
        return checkpoint

    async def active(self) -> Loaded:
        """The checkpoint for requests that name none. Raises 409 where there is none."""
        await self.settle()
        if self._active_id is None:
            raise problems.conflict(
                "No checkpoint is active. Name one in the request, or activate one: "
                "POST /v1/checkpoints/{checkpoint_id}:activate."
            )
        return await self.load(self._active_id)

    async def activate(self, checkpoint_id: str) -> Checkpoint:
        """Makes it the active one once it is loaded. On any problem the active one stays what it was."""
        checkpoint = await self.get(checkpoint_id)
        await self.load(checkpoint_id)
        self._active_id, self._settled = checkpoint_id, True
        return checkpoint

    async def load(self, checkpoint_id: str) -> Loaded:
        """Loads it where need be. Raises 404 where it is not registered, 409 where it cannot be used."""
        if checkpoint_id in self._loaded:
            self._loaded.move_to_end(checkpoint_id)
            return self._loaded[checkpoint_id]
        if checkpoint_id not in self._loading:
            task = asyncio.create_task(self._load(checkpoint_id))
            self._loading[checkpoint_id] = task
            task.add_done_callback(lambda _: self._loading.pop(checkpoint_id, None))
        # Who waits may give up; the load goes on for those who ask next.
        return await asyncio.shield(self._loading[checkpoint_id])

    async def _load(self, checkpoint_id: str) -> Loaded:
        checkpoint = await self.get(checkpoint_id)
        async with self._one_load:
            folder = checkpoint_folder(self._data_dir, checkpoint_id)
            try:
                # Nothing makes room for a checkpoint that is damaged.
                await asyncio.to_thread(verify, folder, checkpoint.manifest_sha256)
                self._make_room()
                loaded = await asyncio.to_thread(self._engine.load, checkpoint_id, folder)
            except CheckpointDamagedError as error:
                log.warning(
                    "checkpoint damaged", checkpoint=checkpoint_id, file=error.file, reason=error.reason
                )
                raise problems.conflict(str(error)) from error
            except (OSError, ValueError) as error:
                log.warning("checkpoint not loaded", checkpoint=checkpoint_id, error=str(error))
                raise problems.conflict(
                    f"Checkpoint {checkpoint_id} is no model that can be loaded."
                ) from error
            self._loaded[checkpoint_id] = loaded
            log.info("checkpoint loaded", checkpoint=checkpoint_id)
            return loaded

    def _make_room(self) -> None:
        while len(self._loaded) >= self._max_models:
            gone, _ = self._loaded.popitem(last=False)
            log.info("checkpoint unloaded", checkpoint=gone)


def _contract(record: CheckpointRecord) -> Checkpoint:
    return Checkpoint.model_validate(record, from_attributes=True)
