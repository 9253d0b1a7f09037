"""Where compiled code is kept between runs.

numba notices a change of the file that holds a function, not of the files it calls into. So the folder is named
after the content of every file here: a change of any of them compiles anew, and stale code is never run.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Compiled code allocates nothing, so it need not count references to arrays: that made it two to four times slower.
_OPTIONS = {"nogil": True, "_nrt": False}


@lru_cache(maxsize=1)
def directory() -> Path:
    """The cache folder: below NUMBA_CACHE_DIR, else beside the source, else where this user may write."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(here.glob("*.py")):
        digest.update(source.read_bytes())
    given = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(given)] if given else [here / "__pycache__", Path.home() / ".cache" / "trainee2trainer"]
    for place in [*places, Path(tempfile.gettempdir()) / f"trainee2trainer-{os.getuid()}"]:
        folder = place / f"compiled-{digest.hexdigest()[:12]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError(
        "there is no folder to keep compiled code in: set NUMBA_CACHE_DIR to one that can be written"
    )


def compiled(function: F) -> F:
    """Compiles a function that others here call; it runs without the interpreter's lock."""
    dispatcher = numba.njit(**_OPTIONS)(function)
    by_types = dispatcher.get_call_template

    def by_plain_types(args: Any, kws: Any) -> Any:
        # Else numba compiles a function again for every constant it is called with: four times the wait.
        return by_types([numba.types.unliteral(arg) for arg in args], kws)

    dispatcher.get_call_template = by_plain_types
    result: F = dispatcher
    return result


def entry(function: F) -> F:
    """Compiles a function that Python calls, and keeps the result on disk."""
    numba.config.CACHE_DIR = str(directory())
    result: F = numba.njit(**_OPTIONS, cache=True)(function)
    return result
