"""A full disk, told from other failures whichever library met it."""

import errno
from collections.abc import Iterator

_FULL = {errno.ENOSPC, errno.EDQUOT}
_WORDS = (
    "No space left on device",
    "Disk quota exceeded",
    "database or disk is full",  # SQLite
    "iostream error",  # torch: its own writer drops the system's reason
    "file write failed",
)
"""Libraries that are not written in Python raise errors of their own, without a number."""


class DiskFull(Exception):
    """There is no room left for what had to be written."""


def is_full(error: BaseException) -> bool:
    """Whether this, or what led to it, was a write that found no room."""
    return any(
        isinstance(one, DiskFull)
        or (isinstance(one, OSError) and one.errno in _FULL)
        or tells_of_it(str(one))
        for one in _chain(error)
    )


def tells_of_it(text: str) -> bool:
    """Whether a message or a log speaks of a full disk."""
    return any(words in text for words in _WORDS)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
