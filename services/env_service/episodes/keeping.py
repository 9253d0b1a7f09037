"""Episodes in the store. No process holds one, so any worker of the service may take the next step."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

import structlog
from prometheus_client import Counter
from sqlalchemy import CursorResult, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from env_service.episodes.playing import Position, Setup
from trainee2trainer.contracts.episode import EndReason
from trainee2trainer.store import Store, database_now, new_id
from trainee2trainer.store.tables import EpisodeRecord as Record

log = structlog.get_logger()

ENDED = Counter("t2t_episodes_ended_total", "Episodes that are over, by reason.", ["reason"])
_KEPT_AFTER_THE_END = timedelta(hours=1)


class Full(Exception):
    """As many episodes are open as may be."""


class Episodes:
    """Begins, finds and moves on episodes; ends those nobody has touched for `idle_seconds`."""

    def __init__(self, store: Store, idle_seconds: float, most: int) -> None:
        self.idle_seconds = idle_seconds
        self._store = store
        self._idle = timedelta(seconds=idle_seconds)
        self._most = most

    async def begin(self, setup: Setup) -> Position:
        """A new episode. Raises Full."""
        id_ = new_id("episode")
        async with self._store.session() as session:
            now = await database_now(session)
            await self._reap(session)
            open_ = await session.scalar(select(func.count()).where(Record.ended.is_(None)))
            if (open_ or 0) >= self._most:
                raise Full
            row = {"id": id_, "setup": setup.model_dump(mode="json"), "actions": "", "steps": 0}
            await session.execute(insert(Record).values(**row, created_at=now, touched_at=now))
        return Position(id_, setup, "", None)

    async def get(self, id_: str) -> Position | None:
        """The episode as it is; one that has been idle too long is over."""
        async with self._store.session() as session:
            record = await session.get(Record, id_)
            if record is None:
                return None
            late = record.ended is None and record.touched_at < await database_now(session) - self._idle
        # Only now a write: most reads must not wait for the store's one writer.
        if late:
            await self.close(id_, EndReason.IDLE)
            return await self.get(id_)
        ended = EndReason(record.ended) if record.ended else None
        return Position(record.id, Setup.model_validate(record.setup), record.actions, ended)

    async def move(self, before: Position, after: Position) -> bool:
        """Writes a step if nobody else has written one since `before` was read."""
        async with self._store.session() as session:
            moved = await session.execute(
                update(Record)
                .where(Record.id == before.id, Record.steps == before.steps, Record.ended.is_(None))
                .values(
                    actions=after.actions,
                    steps=after.steps,
                    ended=after.ended,
                    touched_at=await database_now(session),
                )
            )
        return _count(moved, after.ended)

    async def close(self, id_: str, reason: EndReason = EndReason.CLOSED) -> None:
        """Ends an episode; one that is over stays as it ended."""
        async with self._store.session() as session:
            closed = await session.execute(
                update(Record).where(Record.id == id_, Record.ended.is_(None)).values(ended=reason)
            )
        _count(closed, reason)

    async def sweep(self, stop: asyncio.Event) -> None:
        """Ends idle episodes and forgets those that ended long ago, again and again until `stop` is set.

        Not to be cancelled: a transaction that is cut off may keep its connection, and with it the process.
        """
        pause = min(60.0, self.idle_seconds / 2)
        while not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), pause)
                return
            try:
                async with self._store.session() as session:
                    await self._reap(session)
                    old = await database_now(session) - _KEPT_AFTER_THE_END - self._idle
                    await session.execute(
                        delete(Record).where(Record.ended.is_not(None), Record.touched_at < old)
                    )
            except (DBAPIError, OSError) as error:
                log.warning("episodes_not_swept", error=str(error))

    async def _reap(self, session: AsyncSession) -> None:
        late = await database_now(session) - self._idle
        idle = update(Record).where(Record.ended.is_(None), Record.touched_at < late)
        _count(await session.execute(idle.values(ended=EndReason.IDLE)), EndReason.IDLE)


def _count(result: Any, reason: EndReason | None) -> bool:
    assert isinstance(result, CursorResult)
    changed = int(result.rowcount)
    if changed and reason is not None:
        ENDED.labels(reason=reason.value).inc(changed)
    return changed > 0
