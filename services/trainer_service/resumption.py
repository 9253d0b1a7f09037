"""Whether a stage's training goes on from where an earlier attempt was killed, or starts at its beginning."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from trainee2trainer.artefacts import manifest_digest
from trainee2trainer.contracts.campaign import TrainingSettings
from trainer_service.failures import Hopeless
from trainer_service.training import progress
from trainer_service.training.progress import Found
from trainer_service.training.spec import Identity

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Resumption:
    """`found`: what to go on from, if anything. `refused`: which checkpoints were passed over, and why."""

    found: Found | None
    refused: list[str]


def identity(settings: TrainingSettings, seed: int, instances: Path, start: Path) -> Identity:
    """Raises CheckpointDamagedError where the starting checkpoint has no manifest."""
    with instances.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Identity(
        settings=settings, seed=seed, instances_sha256=digest, start_sha256=manifest_digest(start)
    )


def look_back(attempts: list[Path], wanted: Identity, afresh: bool) -> Resumption:
    """Finds the newest whole checkpoint of a stage's earlier attempts and removes all but the last two.

    One of another configuration is never gone on from: Hopeless says what differs, unless `afresh` says to
    start at the beginning then.
    """
    found, refused = progress.newest(attempts)
    if found and (changed := list(_differences(found.position.identity, wanted))):
        words = (
            f"{found.folder.name} belongs to another configuration "
            f"({_digest(found.position.identity)}, now {_digest(wanted)}): {'; '.join(changed)}"
        )
        if not afresh:
            raise Hopeless(f"Training cannot go on from its checkpoint. {words}.")
        progress.clear(attempts)
        found, refused = None, [*refused, words]
    progress.forget(attempts, progress.KEPT)
    for words in refused:
        log.warning("training.checkpoint_refused", reason=words)
    return Resumption(found, refused)


def _digest(identity: Identity) -> str:
    content = json.dumps(identity.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _differences(before: Identity, now: Identity) -> Iterator[str]:
    old, new = dict(_flat(before.model_dump(mode="json"))), dict(_flat(now.model_dump(mode="json")))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} was {old.get(name)} and is {new.get(name)}"


def _flat(values: dict[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value
