"""Leases: who may work on a subject. Each claim raises the fencing token, and a write that carries an older
token is refused, so a worker that was taken for dead can do no harm when it wakes. All times are the
database's: a worker's clock may be wrong.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from prometheus_client import Counter
from sqlalchemy import CursorResult, or_, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.jobs.subjects import WORKABLE, LeasedRecord, SubjectKind
from trainee2trainer.store import Store, database_now

log = structlog.get_logger()

REFUSED = Counter("t2t_stale_writes_refused_total", "Writes refused because another worker holds the lease.")
BEATS_PER_LEASE = 5


class StaleLease(Exception):
    """The lease went to somebody else, or the subject was paused, cancelled or ended."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one subject. `seconds` is how long it lasts without being renewed."""

    kind: SubjectKind
    subject_id: str
    token: int
    seconds: float


async def claim(store: Store, kind: SubjectKind, subject_id: str, owner: str, seconds: float) -> Lease | None:
    """The lease of a subject, if there is work on it and nobody else is at it."""
    table: type[LeasedRecord] = kind.table
    async with store.session() as session:
        now = await database_now(session)
        free = or_(table.lease_until.is_(None), table.lease_until < now)
        token = await session.scalar(
            update(table)
            .where(table.id == subject_id, table.status.in_(WORKABLE), free)
            .values(
                lease_owner=owner,
                lease_until=now + timedelta(seconds=seconds),
                fencing_token=table.fencing_token + 1,
            )
            .returning(table.fencing_token),
            execution_options={"synchronize_session": False},
        )
    return None if token is None else Lease(kind, subject_id, token, seconds)


async def hold(session: AsyncSession, lease: Lease) -> None:
    """Renews the lease as the first write of a transaction. From here to its end the subject is ours alone.

    Raises StaleLease when the lease is no longer ours: the transaction must come to nothing.
    """
    table: type[LeasedRecord] = lease.kind.table
    now = await database_now(session)
    if not await _update(session, lease, lease_until=now + timedelta(seconds=lease.seconds)):
        REFUSED.inc()
        status = await session.scalar(select(table.status).where(table.id == lease.subject_id))
        log.warning("lease.stale", subject=lease.subject_id, token=lease.token, status=status)
        raise StaleLease(f"{lease.subject_id}: token {lease.token} is stale, it is {status}")


async def renew(store: Store, lease: Lease) -> None:
    """Renews the lease by itself. Raises StaleLease."""
    async with store.session() as session:
        await hold(session, lease)


async def release(store: Store, lease: Lease) -> None:
    """Gives the lease back, if it is still ours, so that nobody has to wait until it runs out."""
    async with store.session() as session:
        await _update(session, lease, lease_owner=None, lease_until=None)


async def _update(session: AsyncSession, lease: Lease, **values: Any) -> bool:
    table: type[LeasedRecord] = lease.kind.table
    result = await session.execute(
        update(table)
        .where(table.id == lease.subject_id, table.fencing_token == lease.token)
        .values(**values),
        execution_options={"synchronize_session": False},
    )
    assert isinstance(result, CursorResult)
    return result.rowcount == 1


async def working(store: Store, lease: Lease, work: Coroutine[Any, Any, None], stop: asyncio.Event) -> None:
    """Runs `work` to its end while renewing the lease. Cancels it when `stop` is set or the lease is lost.

    Raises what `work` raises, and StaleLease when the lease was lost.
    """
    task = asyncio.ensure_future(work)
    beat = asyncio.ensure_future(_beat(store, lease))
    halt = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, beat, halt}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        elif beat.done():
            beat.result()
    finally:
        task.cancel()
        # Work may take a while to put things down: until it has, the lease is still needed.
        await asyncio.gather(task, return_exceptions=True)
        for waiting in (beat, halt):
            waiting.cancel()
        await asyncio.gather(beat, halt, return_exceptions=True)


async def _beat(store: Store, lease: Lease) -> None:
    while True:
        await asyncio.sleep(lease.seconds / BEATS_PER_LEASE)
        try:
            await renew(store, lease)
        except DBAPIError as error:
            # The store may be gone for a moment; the token decides in the end, not this clock.
            log.warning("lease.renewal_failed", subject=lease.subject_id, error=str(error.orig))
