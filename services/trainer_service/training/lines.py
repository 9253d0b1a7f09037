"""Files of JSON lines that only grow, and that can say how much of them was there at some time."""

import hashlib
import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from trainee2trainer.contracts.base import Contract
from trainer_service.training.spec import Mark

_CHUNK = 1 << 20


class Lines(AbstractContextManager["Lines"]):
    """Appends to `path`, each time to be read at once, and keeps the checksum of all of it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        self._size = self._file.tell()
        self._sha256 = _sha256(path, self._size)

    def write(self, lines: Iterable[Contract]) -> None:
        content = "".join(line.model_dump_json() + "\n" for line in lines).encode()
        self._file.write(content)
        self._file.flush()
        self._sha256.update(content)
        self._size += len(content)

    def mark(self) -> Mark:
        """What is there now, forced to disk."""
        os.fsync(self._file.fileno())
        return Mark(size=self._size, sha256=self._sha256.hexdigest())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def holds(path: Path, mark: Mark) -> bool:
    """Whether the file still begins with what was marked."""
    enough = path.is_file() and path.stat().st_size >= mark.size
    return enough and _sha256(path, mark.size).hexdigest() == mark.sha256


def copy(source: Path, mark: Mark, target: Path) -> None:
    """Writes what was marked to a new file."""
    with source.open("rb") as old, target.open("wb") as new:
        for length in _chunks(mark.size):
            new.write(old.read(length))


def _sha256(path: Path, size: int) -> "hashlib._Hash":
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for length in _chunks(size):
            digest.update(file.read(length))
    return digest


def _chunks(size: int) -> Iterable[int]:
    return (min(_CHUNK, size - start) for start in range(0, size, _CHUNK))
