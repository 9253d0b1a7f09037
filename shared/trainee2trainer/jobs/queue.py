"""The queue: tells workers that there is something to do. It may forget everything at any time."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from types import TracebackType
from typing import Self

import structlog
from docket import Docket, Worker
from redis.exceptions import RedisError

from trainee2trainer.jobs.subjects import SubjectKind

log = structlog.get_logger()

Handler = Callable[[SubjectKind, str], Awaitable[None]]

NAME = "trainee2trainer"
TASK = "work_on"
ENQUEUE_SECONDS = 2.0
REDELIVERY = timedelta(seconds=10)
"""After this long without a sign of life, what a worker was given goes to another one."""


class Queue:
    """Subjects on their way to workers. `handler` is called with each; who only adds needs none."""

    def __init__(self, url: str, handler: Handler | None = None) -> None:
        # Records of finished tasks are of no use here: the store holds what came of them.
        self._docket = Docket(name=NAME, url=url, execution_ttl=timedelta(minutes=1))
        self._stack = AsyncExitStack()
        self._handler = handler

        async def work_on(kind: str, subject_id: str) -> None:
            if self._handler is not None:
                await self._handler(SubjectKind(kind), subject_id)

        self._docket.register(work_on, names=[TASK])

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._docket)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def enqueue(self, kind: SubjectKind, subject_id: str) -> bool:
        """Tells a worker; call it after the commit. Nothing happens when the subject is on its way already.

        False when Redis does not answer: the reconciler will see to it.
        """
        try:
            async with asyncio.timeout(ENQUEUE_SECONDS):
                await self._docket.add(TASK, key=subject_id)(kind.value, subject_id)
        except (RedisError, TimeoutError, OSError) as error:
            log.warning("queue.unreachable", subject=subject_id, error=str(error) or type(error).__name__)
            return False
        return True

    async def alive(self) -> bool:
        """Whether Redis answers."""
        try:
            async with asyncio.timeout(ENQUEUE_SECONDS), self._docket.redis() as redis:
                await redis.ping()
        except (RedisError, TimeoutError, OSError):
            return False
        return True

    async def work(self, name: str, slots: int) -> None:
        """Hands subjects to the handler, `slots` at a time, until cancelled; then waits for those at work."""
        async with Worker(
            self._docket, name=name, concurrency=slots, redelivery_timeout=REDELIVERY
        ) as worker:
            await worker.run_forever()
