"""Checkpoints to go on from: whatever a killed training needs to end as if nothing had happened.

Each is the library's own (model, optimiser, schedule, random states, place in the data) with our position
beside it, sealed by a manifest. It is written under another name and renamed when every byte is on disk, so
what a kill leaves half-written is never seen, and what the disk spoils later is noticed.
"""

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from trainee2trainer.artefacts import CheckpointDamagedError, manifest_digest, publish, verify, write_manifest
from trainer_service.training import lines
from trainer_service.training import spec as names
from trainer_service.training.spec import Position

POSITION = "position.json"
KEPT = 2
"""The newest may be spoilt; then there is one more."""


@dataclass(frozen=True, slots=True)
class Found:
    """A whole checkpoint. `attempt` is the folder of the attempt that left it, with the lines written by then."""

    folder: Path
    attempt: Path
    position: Position


def bring_in(draft: Path, attempt: Path, position: Position) -> None:
    """Makes a finished directory the attempt's newest checkpoint; all but the last two are removed."""
    (draft / POSITION).write_text(position.model_dump_json(indent=2) + "\n", encoding="utf-8")
    write_manifest(draft)
    publish(draft, attempt / names.PROGRESS / f"step-{position.step:08}")
    forget([attempt], KEPT)


def newest(attempts: Iterable[Path]) -> tuple[Found | None, list[str]]:
    """The one furthest on that is whole, and why those before it are not."""
    refused: list[str] = []
    for folder in _all(attempts):
        try:
            return _whole(folder), refused
        except (CheckpointDamagedError, OSError, ValueError, LookupError, TypeError) as error:
            refused.append(f"{folder.name}: {_reason(error)}")
    return None, refused


def forget(attempts: Iterable[Path], kept: int) -> None:
    """Removes all but the `kept` furthest on."""
    for folder in _all(attempts)[kept:]:
        shutil.rmtree(folder, ignore_errors=True)


def clear(attempts: Iterable[Path]) -> None:
    """Removes all of them, and what was half-written when an attempt was killed."""
    for attempt in attempts:
        for name in (names.PROGRESS, names.DRAFTS):
            shutil.rmtree(attempt / name, ignore_errors=True)


def discard(attempt: Path) -> None:
    """Removes what a failed attempt left half-written; what it can be gone on from stays."""
    for name in (names.DRAFTS, names.CHECKPOINT):
        shutil.rmtree(attempt / name, ignore_errors=True)


def _all(attempts: Iterable[Path]) -> list[Path]:
    """The furthest on first."""
    folders = [folder for attempt in attempts for folder in (attempt / names.PROGRESS).glob("step-*")]
    return sorted(folders, key=lambda folder: folder.name, reverse=True)


def _whole(folder: Path) -> Found:
    """Raises CheckpointDamagedError or OSError; for what was JSON once ValueError, LookupError or TypeError."""
    verify(folder, manifest_digest(folder))
    position = Position.model_validate_json((folder / POSITION).read_bytes())
    attempt = folder.parent.parent
    for name, mark in ((names.METRICS, position.metrics), (names.ROLLOUTS, position.rollouts)):
        if not lines.holds(attempt / name, mark):
            raise CheckpointDamagedError(folder, name, "is not what was written by then")
    return Found(folder, attempt, position)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return f"{POSITION} cannot be read: {error.errors()[0]['msg']}"
    return str(error) if isinstance(error, CheckpointDamagedError) else repr(error)
