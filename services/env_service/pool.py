"""Worker processes for what takes long: the event loop never searches for a board."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TypeVar

from rfc9457 import Problem

from env_service.boards import Task
from env_service.candidates import Answer, Request
from env_service.cores import PLAIN, SMALLEST, Core
from env_service.generator import Made
from env_service.rendering import Origin, Rendered, render
from env_service.solver.certificate import Cause, Certificate
from trainee2trainer.web import problems

T = TypeVar("T")
R = TypeVar("R")

_PIECES = 4
"""Pieces per worker: enough to share the work when some take longer, few enough to make the sending cheap."""
_LESS_URGENT = 5


class WorkerLost(Problem):
    """A worker process died; the pool has been replaced, and the work may be asked for again: 503."""

    def __init__(self) -> None:
        lost = problems.unavailable("A worker process was lost; ask again.")
        super().__init__(lost.title, lost.type, lost.detail, lost.status, lost.headers)


class SolverPool:
    """Searches for candidates and certificates in worker processes.

    `core` may be exchanged at any time: what is under way goes on with the old one, and the answers are the same.
    """

    def __init__(self, workers: int, core: Core = PLAIN) -> None:
        self.workers = workers
        self.core = core
        self._lock = threading.Lock()
        self._executor = self._fresh()

    def _fresh(self) -> ProcessPoolExecutor:
        # Spawned, not forked: a forked child would inherit locks that threads hold.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.workers, mp_context=context, initializer=_begin)

    async def warm(self) -> None:
        """Starts every worker and lets it load its core."""
        futures = [self._executor.submit(self.core.certify, SMALLEST) for _ in range(self.workers)]
        await asyncio.gather(*(asyncio.wrap_future(future) for future in futures))

    def find(self, requests: Sequence[Request]) -> list[Answer]:
        """Answers requests in their order. Blocks; call it from a thread."""
        return self._spread(self.core.find, requests)

    def render(self, made: Sequence[Made], origin: Origin) -> list[Rendered]:
        """The rows of generated boards, in their order. Blocks; call it from a thread."""
        return self._spread(partial(render, origin=origin), made)

    def _spread(self, work: Callable[[Sequence[T]], list[R]], items: Sequence[T]) -> list[R]:
        executor = self._executor
        try:
            piece = max(1, len(items) // (self.workers * _PIECES))
            futures = [
                executor.submit(work, items[start : start + piece]) for start in range(0, len(items), piece)
            ]
            return [result for future in futures for result in future.result()]
        except BrokenProcessPool as error:
            self._replace(executor)
            raise WorkerLost from error

    async def certify(self, task: Task) -> Certificate | Cause:
        """The certificate of a task, made in a worker."""
        executor = self._executor
        try:
            return await asyncio.wrap_future(executor.submit(self.core.certify, task))
        except BrokenProcessPool as error:
            self._replace(executor)
            raise WorkerLost from error

    def _replace(self, broken: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._executor is broken:
                self._executor = self._fresh()
        broken.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """A worker leaves Ctrl-C to its parent, and ends when the parent is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Where there are not enough cores, the service answers before its workers search.
    os.nice(_LESS_URGENT)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: "multiprocessing.process.BaseProcess") -> None:
    parent.join()
    os._exit(1)
