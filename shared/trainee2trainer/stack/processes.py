"""Child processes, each with a log of its own, a process group of its own, and the life of its parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")
TAIL_BYTES = 16_384
TAIL_LINES = 25
GRACE_SECONDS = 12.0
"""Longer than a service takes for the requests in its hands, and a worker for its training process."""


class StackError(RuntimeError):
    """The stack cannot start or go on; the message says why and what to do."""


class Child:
    """One process of the stack."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.log = log
        leash = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid())]
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists():
            log.replace(log.with_suffix(".previous.log"))
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*leash, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,  # a Ctrl-C is for the parent, which then stops everything in order
            )

    def check(self) -> None:
        """Raises StackError if it has ended."""
        code = self.process.poll()
        if code is not None:
            end = (
                f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            )
            raise StackError(f"The {self.name} process {end}. The end of {self.log}:\n{self.tail()}")

    def tail(self) -> str:
        """The last lines of its log."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
        return "\n".join(f"  | {line}" for line in lines[-TAIL_LINES:])

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process and whatever it has started in its group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def stop(children: Iterable[Child], grace: float = GRACE_SECONDS) -> None:
    """Asks all to end, waits, and kills what is left. Impatience (a second Ctrl-C) goes straight to that."""
    asked = list(children)
    deadline = time.monotonic() + grace
    try:
        for child in asked:
            child.signal(signal.SIGTERM)
        for child in asked:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.0, deadline - time.monotonic()))
    finally:
        # Also where the leader has ended: its group may outlive it.
        for child in asked:
            child.signal(signal.SIGKILL)
        for child in asked:
            child.process.wait()
