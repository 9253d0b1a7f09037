"""Who searches for boards: the compiled core, or plain Python with the same answers where that is not ready."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from env_service import candidates, rules
from env_service.boards import Task
from env_service.candidates import Answer, Find, Request
from env_service.rules import ExecuteAll, Execution, Plan
from env_service.solver import certificate
from env_service.solver.certificate import Cause, Certificate


@dataclass(frozen=True, slots=True)
class Core:
    """Functions that take long or are called often; a worker process knows them by their names."""

    find: Find
    certify: Callable[[Task], Certificate | Cause]
    execute_all: ExecuteAll


# numba is imported where it works and nowhere else: it takes half a second and a hundred megabytes.
def _find(requests: Sequence[Request]) -> list[Answer]:
    from env_service.compiled import core  # noqa: PLC0415

    return core.find(requests)


def _certify(task: Task) -> Certificate | Cause:
    from env_service.compiled import core  # noqa: PLC0415

    return core.certify(task)


def _execute_all(pairs: Sequence[tuple[Task, Plan]], keep: int) -> list[Execution]:
    from env_service.compiled import executing  # noqa: PLC0415

    return executing.execute_all(pairs, keep)


SMALLEST = Task(3, 0, (0, 1), (2, 3))
"""A board to load a core with."""

PLAIN = Core(candidates.find, certificate.certify, rules.execute_all)
COMPILED = Core(_find, _certify, _execute_all)


def best() -> Core:
    """The compiled core if numba is installed; its first use may wait for the compiler."""
    return COMPILED if find_spec("numba") else PLAIN


async def compile_core() -> bool:
    """Compiles the core in a process of its own, or finds it compiled on disk; whether it can be used now."""
    if best() is PLAIN:
        return False
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "env_service.compiled")
    try:
        return await process.wait() == 0
    except asyncio.CancelledError:
        process.kill()
        raise
