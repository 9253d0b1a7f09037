"""Alembic runs this file, with the connection that `store.migrate` gives it or one from the settings."""

import asyncio
from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection

from trainee2trainer.settings import Settings
from trainee2trainer.store.migrate import connected
from trainee2trainer.store.tables import Base, Timestamp


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",  # it can change a table only by copying it
        render_item=_render,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def _render(kind: str, item: Any, _autogenerate: object) -> str | Literal[False]:
    # A revision must not change its meaning when our code does: it names the database's own type.
    if kind == "type" and isinstance(item, Timestamp):
        return "sa.DateTime(timezone=True)"
    return False


async def _run_from_settings() -> None:
    async with connected(Settings().database) as connection:
        await connection.run_sync(_run)


given = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    asyncio.run(_run_from_settings())
