"""Cursor pages: a cursor is the place of the last row, opaque to callers."""

import base64
import binascii
import json
from datetime import datetime
from typing import Annotated

from fastapi import Query
from rfc9457 import Problem

from trainee2trainer.web import problems

MAX_PAGE = 200

PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Rows of a page.")]
Cursor = Annotated[str | None, Query(max_length=500, description="`next_page` of the page before.")]


def encode(*place: str | int) -> str:
    """The cursor of a row that is found at `place`."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def decode(cursor: str, first: type, second: type) -> tuple[str, str | int]:
    """The place of a cursor. Raises the problem of a cursor that is not one of ours."""
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError):
        place = None
    if not (isinstance(place, list) and [type(part) for part in place] == [first, second]):
        raise _unknown()
    return place[0], place[1]


def place_in_time(cursor: str) -> tuple[datetime, str]:
    """The place of a row in a list by time: when, and which of those at that time."""
    at, id_ = decode(cursor, str, str)
    try:
        when = datetime.fromisoformat(at)
    except ValueError as error:
        raise _unknown() from error
    return when, str(id_)


def _unknown() -> Problem:
    return problems.invalid(["query", "cursor"], "is not a cursor of this list", "unknown_cursor")
