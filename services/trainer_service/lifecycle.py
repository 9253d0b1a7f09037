"""Every change of a subject's status, in one place. Terminal states are final."""

from typing import Any

from sqlalchemy import CursorResult, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import CampaignStatus as Status
from trainee2trainer.contracts.campaign import EventKind
from trainee2trainer.jobs import LeasedRecord, SubjectKind
from trainee2trainer.store import Store, utcnow
from trainee2trainer.web import problems
from trainer_service import events

SOURCES: dict[Status, frozenset[Status]] = {
    Status.QUEUED: frozenset({Status.PAUSED}),
    Status.RUNNING: frozenset({Status.QUEUED}),
    Status.PAUSED: frozenset({Status.QUEUED, Status.RUNNING}),
    Status.SUCCEEDED: frozenset({Status.RUNNING}),
    Status.FAILED: frozenset({Status.RUNNING}),
    Status.CANCELLED: frozenset({Status.QUEUED, Status.RUNNING, Status.PAUSED}),
}
"""From which states each state can be reached, of campaigns and training jobs alike."""

_FULFILLED = {Status.QUEUED: {Status.QUEUED, Status.RUNNING}}
"""States in which a wish is fulfilled already; for the others, that state itself."""


async def move(session: AsyncSession, kind: SubjectKind, subject_id: str, to: Status, **data: Any) -> bool:
    """One transition with its event; false when it is not possible from the present state.

    Whoever works on the subject loses the lease, unless the work begins: the raised token refuses its writes.
    """
    table: type[LeasedRecord] = kind.table
    values: dict[str, Any] = {"status": to.value}
    if to is not Status.RUNNING:
        values |= {"lease_owner": None, "lease_until": None, "fencing_token": table.fencing_token + 1}
    if to in {Status.PAUSED, Status.QUEUED}:
        values["error"] = data.get("reason")  # why it is paused, where no person wished it; gone once resumed
    if to.terminal:
        values |= {"finished_at": utcnow(), "error": data.get("error")}
    result = await session.execute(
        update(table).where(table.id == subject_id, table.status.in_(SOURCES[to])).values(**values),
        execution_options={"synchronize_session": False},
    )
    assert isinstance(result, CursorResult)
    if result.rowcount != 1:
        return False
    await events.append(session, subject_id, event_kind(kind, to), **data)
    return True


async def wish(store: Store, kind: SubjectKind, subject_id: str, to: Status) -> None:
    """A person's wish to pause, resume or cancel; wishing twice does no harm.

    Raises the problems `not found` and `conflict`.
    """
    table: type[LeasedRecord] = kind.table
    async with store.session() as session:
        if await move(session, kind, subject_id, to):
            return
        status = await session.scalar(select(table.status).where(table.id == subject_id))
    if status is None:
        raise problems.not_found(noun(kind), subject_id)
    if Status(status) not in _FULFILLED.get(to, {to}):
        raise problems.conflict(
            f"The {noun(kind).replace('-', ' ')} is {status}: it cannot become {to.value}."
        )


def event_kind(kind: SubjectKind, status: Status) -> EventKind:
    prefix = "campaign" if kind is SubjectKind.CAMPAIGN else "job"
    return EventKind(f"{prefix}.{status.value}")


def noun(kind: SubjectKind) -> str:
    return kind.value.replace("_", "-")
