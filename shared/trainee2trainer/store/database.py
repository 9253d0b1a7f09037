"""One async engine per process, on SQLite or PostgreSQL."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

BUSY_TIMEOUT_MS = 30_000
_CLOCKS = {
    "sqlite": "SELECT strftime('%Y-%m-%d %H:%M:%f+00:00', 'now')",
    "postgresql": "SELECT clock_timestamp()",
}


def utcnow() -> datetime:
    return datetime.now(UTC)


async def database_now(session: AsyncSession) -> datetime:
    """The time by the database's clock: that of a process may be wrong."""
    now = await session.scalar(text(_CLOCKS[session.get_bind().dialect.name]))
    return now if isinstance(now, datetime) else datetime.fromisoformat(str(now))


def new_id(prefix: str) -> str:
    """A fresh identifier such as `campaign-1f0c…`. Identity only: nothing is seeded by it."""
    return f"{prefix}-{secrets.token_hex(8)}"


class RawJson(str):
    """JSON that is text already: a JSON column keeps it as it is."""

    __slots__ = ()


class Store:
    """Sessions on the store. A `session()` is one transaction: committed on success, rolled back on error."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = create_async_engine(url, pool_pre_ping=True, json_serializer=_to_json)
        if self.engine.dialect.name == "sqlite":
            event.listen(self.engine.sync_engine, "connect", _sqlite_pragmas)
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False)
        self._in_use: set[asyncio.Event] = set()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AsyncSession]:
        over = asyncio.Event()
        self._in_use.add(over)
        try:
            async with self._sessions() as session, session.begin():
                yield session
        finally:
            self._in_use.discard(over)
            over.set()

    async def alive(self) -> bool:
        """Whether the store answers a trivial query."""
        try:
            async with self.engine.connect() as connection:
                await connection.execute(text("SELECT 1"))
        except Exception:  # any failure to answer means the same: not alive
            return False
        return True

    async def close(self) -> None:
        """Waits until no session is open, then closes the connections."""
        # A cancelled session still closes its connection: closing that a second time never returns.
        for over in list(self._in_use):
            await over.wait()
        await self.engine.dispose()


def _to_json(value: Any) -> str:
    return value if isinstance(value, RawJson) else json.dumps(value)


def _sqlite_pragmas(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "foreign_keys=ON",
        "synchronous=NORMAL",
        f"busy_timeout={BUSY_TIMEOUT_MS}",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
