"""What a worker does with a subject it was told about: claims it, works on it, gives it back."""

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError

from trainee2trainer.jobs import StaleLease, SubjectKind, claim, release, working
from trainer_service.work import Tools, Work

log = structlog.get_logger()

Driver = Callable[[Work], Coroutine[Any, Any, None]]


def worker_name() -> str:
    """Who holds a lease, for people to read; two workers never have the same name."""
    return f"{socket.gethostname()}#{os.getpid()}-{secrets.token_hex(2)}"


class Runner:
    """Works on one subject per call. Once `stop` is set it lets go of it, and others go on."""

    def __init__(
        self, tools: Tools, drivers: Mapping[SubjectKind, Driver], name: str, stop: asyncio.Event
    ) -> None:
        self._tools = tools
        self._drivers = drivers
        self._name = name
        self._stop = stop

    async def __call__(self, kind: SubjectKind, subject_id: str) -> None:
        """Never raises: what went wrong is in the subject's events or, if it is ours, in the log."""
        try:
            await self._work(kind, subject_id)
        except StaleLease:
            log.info("work.taken_away", subject=subject_id)
        except DBAPIError as error:
            log.warning("work.store_unreachable", subject=subject_id, error=str(error.orig))
        except Exception:
            log.exception("work.broken", subject=subject_id)

    async def _work(self, kind: SubjectKind, subject_id: str) -> None:
        if self._stop.is_set():
            return
        store, seconds = self._tools.store, self._tools.settings.lease_seconds
        lease = await claim(store, kind, subject_id, self._name, seconds)
        if lease is None:
            return
        try:
            await working(store, lease, self._drivers[kind](Work(self._tools, lease)), self._stop)
        finally:
            await release(store, lease)
