"""Reading bodies that arrive bit by bit: JSON Lines and server-sent events."""

from collections.abc import AsyncIterator
from dataclasses import dataclass


@dataclass(frozen=True)
class ServerEvent:
    """One server-sent event. `id` is what `Last-Event-ID` resumes after."""

    id: str | None
    kind: str
    data: str


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Lines of a byte stream, split at line feeds only: a JSON string may hold other line ends raw."""
    pending = b""
    async for chunk in chunks:
        *complete, pending = (pending + chunk).split(b"\n")
        for line in complete:
            yield line.rstrip(b"\r").decode()
    if pending:
        yield pending.decode()


async def server_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[ServerEvent]:
    """The events of a `text/event-stream` body; comments and events cut short by the end are dropped."""
    id_: str | None = None
    kind, data = "message", list[str]()
    async for line in lines(chunks):
        if not line:
            if data:
                yield ServerEvent(id_, kind, "\n".join(data))
            kind, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            id_ = value
        elif field == "event":
            kind = value
        elif field == "data":
            data.append(value)
