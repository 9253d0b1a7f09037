"""Repair: whatever the store says is due, and nobody is at, goes into the queue again.

A plain loop, not a task of the queue's own: what mends lost deliveries must not itself be delivered.
Adding a subject that is on its way already changes nothing, so any number of loops may run.
"""

import asyncio
from contextlib import suppress

import structlog
from sqlalchemy import or_, select
from sqlalchemy.exc import DBAPIError

from trainee2trainer.jobs.queue import Queue
from trainee2trainer.jobs.subjects import WORKABLE, LeasedRecord, SubjectKind
from trainee2trainer.store import Store, database_now

log = structlog.get_logger()


async def due(store: Store) -> list[tuple[SubjectKind, str]]:
    """The subjects that somebody should work on and nobody does, the oldest first."""
    found = []
    async with store.session() as session:
        now = await database_now(session)
        for kind in SubjectKind:
            table: type[LeasedRecord] = kind.table
            free = or_(table.lease_until.is_(None), table.lease_until < now)
            query = select(table.created_at, table.id).where(table.status.in_(WORKABLE), free)
            found += [(created, kind, id_) for created, id_ in (await session.execute(query)).tuples()]
    return [(kind, id_) for _, kind, id_ in sorted(found)]


async def reconcile(store: Store, queue: Queue) -> None:
    """Adds what is due to the queue, once. Stops early when Redis does not answer."""
    for kind, subject_id in await due(store):
        if not await queue.enqueue(kind, subject_id):
            return


async def reconcile_until(stop: asyncio.Event, store: Store, queue: Queue, seconds: float) -> None:
    """Reconciles every so many `seconds` until `stop` is set."""
    while not stop.is_set():
        try:
            await reconcile(store, queue)
        except DBAPIError as error:
            log.warning("reconciler.store_unreachable", error=str(error.orig))
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
