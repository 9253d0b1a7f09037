"""The append-only log of a subject, numbered from 1 without a gap."""

from collections.abc import Sequence
from typing import Any

import structlog
from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import Event, EventKind
from trainee2trainer.store.tables import EventRecord

log = structlog.get_logger()

Data = dict[str, Any]
PAGE = 500


async def append(session: AsyncSession, subject_id: str, kind: EventKind, **data: Any) -> None:
    """Adds one event in the transaction of its effect."""
    await append_all(session, subject_id, kind, [data])


async def append_all(session: AsyncSession, subject_id: str, kind: EventKind, rows: Sequence[Data]) -> None:
    """Adds events of one kind. `session` has written the subject's row before: that lock orders writers."""
    last = await session.scalar(
        select(func.max(EventRecord.number)).where(EventRecord.subject_id == subject_id)
    )
    for number, data in enumerate(rows, start=(last or 0) + 1):
        session.add(EventRecord(subject_id=subject_id, number=number, kind=kind.value, data=data))
        log.info(kind.value, subject=subject_id, **_short(data))
    await session.flush()


async def after(session: AsyncSession, subject_id: str, number: int) -> list[Event]:
    """At most `PAGE` events after `number`, in order."""
    query = (
        select(EventRecord)
        .where(EventRecord.subject_id == subject_id, EventRecord.number > number)
        .order_by(EventRecord.number)
        .limit(PAGE)
    )
    return [
        Event(id=row.number, campaign_id=row.subject_id, kind=row.kind, data=row.data, at=row.at)
        for row in await session.scalars(query)
    ]


def _short(data: Data) -> Data:
    # The log line is for reading along: nested values are in the event itself.
    return {
        key: round(value, 4) if isinstance(value, float) else value
        for key, value in data.items()
        if not isinstance(value, dict | list) and key not in {"kind", "event"}
    }
