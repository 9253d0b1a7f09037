"""Child processes of a worker: in a process group of their own, ended with the worker, never left behind."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

TAIL_BYTES = 4_000
TAIL_LINES = 30


@asynccontextmanager
async def child(
    python: str, module: str, *args: str, log: Path, environment: Mapping[str, str], grace_seconds: float
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs `python -m module args`, all it prints going to `log`. After the block its whole group is gone.

    It is asked to end first, and has `grace_seconds` for that.
    """
    command = [python, "-m", "trainer_service.leash", str(os.getpid()), module, *args]
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
            start_new_session=True,
        )
    try:
        yield process
    finally:
        await asyncio.shield(_stop(process, grace_seconds))


async def _stop(process: asyncio.subprocess.Process, grace_seconds: float) -> None:
    _signal(process.pid, signal.SIGTERM)
    with suppress(TimeoutError):
        async with asyncio.timeout(grace_seconds):
            await process.wait()
    # Also for what the process itself may have started: the group outlives its leader.
    _signal(process.pid, signal.SIGKILL)
    await process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def how_it_ended(process: asyncio.subprocess.Process, log: Path) -> str:
    """The exit code or signal in words, and the last lines it printed."""
    code = process.returncode
    if code is None:
        end = "was stopped"
    elif code < 0:
        end = f"was killed by {signal.Signals(-code).name}"
    else:
        end = f"ended with exit code {code}"
    return f"{end}\n{tail(log)}".rstrip()


def tail(log: Path) -> str:
    """The last lines of a text file."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.splitlines()[-TAIL_LINES:])
