"""Checkpoint directories: sealed by a manifest of checksums, published by a rename, verified before use.

A manifest says nothing but names, sizes and checksums, so equal files give an equal digest. The digest stands
in the store's `checkpoints` table: that row, not the directory, is what makes a checkpoint exist.
"""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

MANIFEST = "manifest.json"
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")
_SUFFIXES = {".safetensors", ".json"}
_TOKENIZER_FILES = {"merges.txt", "vocab.txt", "tokenizer.model", "spiece.model", "chat_template.jinja"}


class CheckpointDamagedError(Exception):
    """A checkpoint is not what was sealed. `file` is its first broken file, `reason` says how."""

    def __init__(self, folder: Path, file: str, reason: str) -> None:
        self.file = file
        self.reason = reason
        super().__init__(f"Checkpoint {folder.name}: {file} {reason}.")


class ForbiddenFileError(ValueError):
    """A file that has no place in a checkpoint, such as a pickle: loading one runs whatever it says."""


def is_checkpoint_id(text: str) -> bool:
    """Whether a checkpoint may be called so: a plain name, never a path."""
    return _ID.fullmatch(text) is not None


def checkpoint_folder(data_dir: Path, checkpoint_id: str) -> Path:
    """Where the checkpoint lies. Raises ValueError for an id that is not a plain name."""
    if not is_checkpoint_id(checkpoint_id):
        raise ValueError(f"{checkpoint_id!r} is no checkpoint id.")
    return data_dir / "checkpoints" / checkpoint_id


def seal(folder: Path) -> str:
    """Writes the manifest of a finished directory and gives back its digest. Sealing again changes nothing.

    Raises ForbiddenFileError for anything but safetensors, JSON and a tokenizer's own files.
    """
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not has_place(path):
            raise ForbiddenFileError(f"{path.name} has no place in a checkpoint.")
    return write_manifest(folder)


def has_place(path: Path) -> bool:
    """Whether this is a file of a kind that checkpoints are made of."""
    return path.is_file() and (path.suffix in _SUFFIXES or path.name in _TOKENIZER_FILES)


def write_manifest(folder: Path) -> str:
    """Seals a directory of any files, folders inside included, that is no checkpoint to be loaded as a model."""
    files = {
        name: {"sha256": _sha256(path), "size": path.stat().st_size}
        for name, path in _contents(folder).items()
    }
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps({"version": 1, "files": files}, indent=2, sort_keys=True) + "\n")
    return _sha256(manifest)


def manifest_digest(folder: Path) -> str:
    """SHA-256 of the manifest, in hex. Raises CheckpointDamagedError where there is none."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise CheckpointDamagedError(folder, MANIFEST, "is missing")
    return _sha256(manifest)


def verify(folder: Path, digest: str) -> None:
    """Compares every byte with what was sealed under `digest`.

    Raises CheckpointDamagedError, naming the file.
    """
    if manifest_digest(folder) != digest:
        raise CheckpointDamagedError(folder, MANIFEST, "is not the one that was registered")
    files = json.loads((folder / MANIFEST).read_text())["files"]
    present = _contents(folder)
    for name in sorted(files.keys() | present.keys()):
        if name not in files:
            raise CheckpointDamagedError(folder, name, "is not in the manifest")
        if name not in present:
            raise CheckpointDamagedError(folder, name, "is missing")
        size = present[name].stat().st_size
        if size != files[name]["size"]:
            raise CheckpointDamagedError(folder, name, f"has {size} bytes instead of {files[name]['size']}")
        if _sha256(present[name]) != files[name]["sha256"]:
            raise CheckpointDamagedError(folder, name, "has other content than its checksum says")


def publish(temporary: Path, final: Path) -> None:
    """Moves a sealed directory to its final name in one step that survives a crash.

    Publishing the same content again, as a repeated job does, is no error. Raises FileExistsError where
    `final` holds something else, CheckpointDamagedError where `temporary` was not sealed.
    """
    digest = manifest_digest(temporary)
    for path in [*temporary.rglob("*"), temporary]:
        _flush(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary.rename(final)
    except OSError as error:
        if not final.is_dir():
            raise
        if not (final / MANIFEST).is_file() or manifest_digest(final) != digest:
            raise FileExistsError(f"{final.name} exists and holds something else.") from error
        shutil.rmtree(temporary)
    _flush(final.parent)


def _contents(folder: Path) -> dict[str, Path]:
    """What a manifest speaks of: every file but itself, by its path in the directory."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir()]
    return {path.relative_to(folder).as_posix(): path for path in paths if path != folder / MANIFEST}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    """Forces a file or the names in a directory to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
