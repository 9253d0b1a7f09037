"""Brings a store to the newest revision, and tells whether it is there."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

MIGRATIONS = Path(__file__).parent / "migrations"
_ADVISORY_LOCK = 7_283_471
"""Any number, as long as every migration of ours asks PostgreSQL for the same."""


class NotMigratedError(RuntimeError):
    """The store has not the tables that this version works with."""


def head() -> str:
    """The newest revision."""
    newest = ScriptDirectory.from_config(_config()).get_current_head()
    assert newest is not None
    return newest


async def current(engine: AsyncEngine) -> str | None:
    """The revision a store is at; null: it has no tables of ours."""
    async with engine.connect() as connection:
        return await connection.run_sync(lambda sync: MigrationContext.configure(sync).get_current_revision())


async def at_head(engine: AsyncEngine) -> bool:
    """Whether the store is at the newest revision. False also when it does not answer."""
    try:
        return await current(engine) == head()
    except Exception:  # for readiness any failure means the same
        return False


async def require_head(url: str) -> None:
    """Raises NotMigratedError, with what to do, unless the store at `url` is at the newest revision."""
    engine = create_async_engine(url)
    try:
        found = await current(engine)
    finally:
        await engine.dispose()
    if found != head():
        where = make_url(url).render_as_string(hide_password=True)
        raise NotMigratedError(
            f"The store {where} is at revision {found or 'none'}, but {head()} is needed. Run: t2t migrate"
        )


def exit_unless_at_head(url: str) -> None:
    """At the start of a process: ends it, with what to do, when the store has not the tables it needs."""
    try:
        asyncio.run(require_head(url))
    except NotMigratedError as error:
        sys.exit(str(error))
    except (OSError, SQLAlchemyError) as error:
        where = make_url(url).render_as_string(hide_password=True)
        sys.exit(f"The store {where} cannot be opened (is it there? t2t migrate makes one): {error}")


async def upgrade(url: str, revision: str = "head") -> None:
    """Brings the store at `url` up to `revision`, in one transaction: a killed migration leaves nothing."""
    await _run(url, lambda config: command.upgrade(config, revision))


async def downgrade(url: str, revision: str) -> None:
    """Takes the store at `url` back to `revision`; `base` removes every table."""
    await _run(url, lambda config: command.downgrade(config, revision))


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[AsyncConnection]:
    """One transaction on the store at `url`, in which tables are changed by nobody else."""
    address = make_url(url)
    if address.get_backend_name() == "sqlite" and address.database:
        Path(address.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_async_engine(url)
    if engine.dialect.name == "sqlite":
        # Left alone, the driver begins a transaction only at the first INSERT, and DDL runs outside of it.
        event.listen(engine.sync_engine, "connect", _no_implicit_begin)
        event.listen(engine.sync_engine, "begin", _begin_immediate)
    try:
        async with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                await connection.execute(text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
            yield connection
    finally:
        await engine.dispose()


async def _run(url: str, step: Callable[[Config], None]) -> None:
    def with_connection(connection: Connection) -> None:
        config = _config()
        config.attributes["connection"] = connection
        step(config)

    async with connected(url) as connection:
        await connection.run_sync(with_connection)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _no_implicit_begin(connection: Any, _record: Any) -> None:
    connection.isolation_level = None


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")
