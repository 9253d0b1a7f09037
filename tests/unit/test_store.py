"""The store on both databases: one tree of migrations that says exactly what the tables say."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from trainee2trainer.store import Store, migrate
from trainee2trainer.store.tables import Base, CheckpointRecord, ProposalRecord, SummaryRecord


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store without tables, on each database."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'folder' / 'store.db'}"
    return str(request.getfixturevalue("postgres_url"))


def _tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names()) - {"alembic_version"}


async def _look(url: str, look: Callable[[Connection], Any]) -> Any:
    store = Store(url)
    try:
        async with store.engine.connect() as connection:
            return await connection.run_sync(look)
    finally:
        await store.close()


async def test_up_down_up_leaves_exactly_our_tables(empty_url: str) -> None:
    expected = set(Base.metadata.tables)
    await migrate.upgrade(empty_url)
    assert await _look(empty_url, _tables) == expected
    await migrate.downgrade(empty_url, "base")
    assert await _look(empty_url, _tables) == set()
    await migrate.upgrade(empty_url)
    assert await _look(empty_url, _tables) == expected


async def test_the_migrations_say_what_the_tables_say(empty_url: str) -> None:
    await migrate.upgrade(empty_url)

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, Base.metadata))

    assert await _look(empty_url, differences) == []


async def test_a_store_knows_whether_it_is_migrated(empty_url: str) -> None:
    store = Store(empty_url)
    await migrate.upgrade(empty_url)
    assert await migrate.at_head(store.engine)
    await migrate.require_head(empty_url)
    await migrate.downgrade(empty_url, "base")
    assert not await migrate.at_head(store.engine)
    with pytest.raises(migrate.NotMigratedError, match="t2t migrate"):
        await migrate.require_head(empty_url)
    await store.close()


async def test_many_may_migrate_at_once(empty_url: str) -> None:
    await asyncio.gather(*(migrate.upgrade(empty_url) for _ in range(5)))
    assert await _look(empty_url, _tables) == set(Base.metadata.tables)


async def test_a_failed_migration_leaves_nothing(empty_url: str) -> None:
    # What the last statement of the revision makes is there already.
    async with migrate.connected(empty_url) as connection:
        await connection.exec_driver_sql("CREATE TABLE stages (id INTEGER)")
    with pytest.raises(Exception, match="stages"):
        await migrate.upgrade(empty_url)
    assert await _look(empty_url, _tables) == {"stages"}


async def test_rows_come_back_as_they_were(empty_url: str) -> None:
    await migrate.upgrade(empty_url)
    store = Store(empty_url)
    at = datetime(2026, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    async with store.session() as session:
        session.add(CheckpointRecord(id="nano", profile="nano", manifest_sha256="0" * 64, created_at=at))
        session.add(
            SummaryRecord(id="summary", campaign_id="c", stage_index=0, content={"umlaut": "ä\u2028"})
        )
        await session.flush()
        session.add(
            ProposalRecord(
                id="proposal",
                campaign_id="c",
                stage_index=0,
                summary_id="summary",
                engineer="self",
                seed=2**63 - 1,
                status="accepted",
                content={},
            )
        )
    async with store.session() as session:
        checkpoint = await session.get_one(CheckpointRecord, "nano")
        assert checkpoint.created_at == at
        assert checkpoint.created_at.utcoffset() == timedelta(0)
        assert (await session.get_one(SummaryRecord, "summary")).content == {"umlaut": "ä\u2028"}
        assert (await session.get_one(ProposalRecord, "proposal")).seed == 2**63 - 1
    await store.close()


async def test_an_error_undoes_the_whole_session(store: Store) -> None:
    with pytest.raises(ValueError, match="no"):
        async with store.session() as session:
            session.add(CheckpointRecord(id="x", profile="nano", manifest_sha256="0" * 64))
            await session.flush()
            raise ValueError("no")
    async with store.session() as session:
        assert await session.get(CheckpointRecord, "x") is None


async def test_readers_are_not_stopped_by_a_writer(store: Store) -> None:
    async with store.session() as writing:
        writing.add(CheckpointRecord(id="x", profile="nano", manifest_sha256="0" * 64))
        await writing.flush()
        async with asyncio.timeout(2), store.session() as reading:
            assert await reading.get(CheckpointRecord, "x") is None


async def test_a_store_that_is_not_there_is_not_alive() -> None:
    store = Store("postgresql+asyncpg://nobody@127.0.0.1:1/none")
    assert not await store.alive()
    assert not await migrate.at_head(store.engine)
    await store.close()


async def test_closing_waits_for_open_transactions(tmp_path: Path) -> None:
    store = Store(f"sqlite+aiosqlite:///{tmp_path / 'store.db'}")
    async with store.session() as session:
        await session.execute(text("SELECT 1"))
        closing = asyncio.create_task(store.close())
        await asyncio.sleep(0.05)
        assert not closing.done()
    async with asyncio.timeout(10):
        await closing
