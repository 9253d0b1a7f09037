"""Checkpoint directories: equal content has one digest, and no fault goes unnoticed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from trainee2trainer import artefacts
from trainee2trainer.models import checkpoints


@pytest.fixture
def saved(make_tiny: Callable[..., Any], tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    checkpoints.save(*make_tiny(), folder)
    return folder


def test_what_is_loaded_is_what_was_saved(make_tiny: Callable[..., Any], saved: Path) -> None:
    model, tokenizer = make_tiny()
    loaded, loaded_tokenizer = checkpoints.load(saved)
    assert not loaded.training
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), loaded.parameters(), strict=True))
    assert loaded_tokenizer("w3 w5").input_ids == tokenizer("w3 w5").input_ids
    assert checkpoints.end_tokens(loaded, loaded_tokenizer) == [1]


def test_digest_hangs_on_content_alone(make_tiny: Callable[..., Any], saved: Path, tmp_path: Path) -> None:
    digest = artefacts.seal(saved)
    assert artefacts.seal(saved) == digest == artefacts.manifest_digest(saved)
    for name, parts in {"again": make_tiny(), "copied": checkpoints.load(saved)}.items():
        checkpoints.save(*parts, tmp_path / name)
        assert artefacts.seal(tmp_path / name) == digest
    checkpoints.save(*make_tiny(seed=1), tmp_path / "other")
    assert artefacts.seal(tmp_path / "other") != digest


def _write_nothing(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"nothing")


def _drop_a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def _widen(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 64}))


def _empty_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


@pytest.mark.parametrize("spoil", [_write_nothing, _drop_a_weight, _widen, _empty_tokenizer])
def test_what_is_no_whole_model_is_refused(saved: Path, spoil: Callable[[Path], None]) -> None:
    spoil(saved)
    with pytest.raises(ValueError, match=saved.name):
        checkpoints.load(saved)


def test_sealed_checkpoint_verifies(saved: Path) -> None:
    artefacts.verify(saved, artefacts.seal(saved))


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("harm", [flip_a_byte, truncate, Path.unlink])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", artefacts.MANIFEST])
def test_every_fault_is_found_and_its_file_named(
    saved: Path, name: str, harm: Callable[[Path], None]
) -> None:
    digest = artefacts.seal(saved)
    harm(saved / name)
    with pytest.raises(artefacts.CheckpointDamagedError, match=name) as raised:
        artefacts.verify(saved, digest)
    assert raised.value.file == name


def test_a_file_slipped_in_later_is_refused(saved: Path) -> None:
    digest = artefacts.seal(saved)
    (saved / "adapter_config.json").write_text("{}")
    with pytest.raises(
        artefacts.CheckpointDamagedError, match=r"adapter_config\.json is not in the manifest"
    ):
        artefacts.verify(saved, digest)


def test_a_manifest_rewritten_to_fit_is_refused(saved: Path) -> None:
    digest = artefacts.seal(saved)
    flip_a_byte(saved / "model.safetensors")
    artefacts.seal(saved)
    with pytest.raises(artefacts.CheckpointDamagedError, match="not the one that was registered"):
        artefacts.verify(saved, digest)


@pytest.mark.parametrize("name", ["optimizer.pt", "pytorch_model.bin", "rng_state.pkl", "run.py"])
def test_pickles_and_code_are_never_sealed(saved: Path, name: str) -> None:
    (saved / name).write_bytes(b"")
    with pytest.raises(artefacts.ForbiddenFileError, match=name):
        artefacts.seal(saved)


def test_links_are_never_sealed(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.json").write_text("{}")
    (saved / "extra.json").symlink_to(tmp_path / "outside.json")
    with pytest.raises(artefacts.ForbiddenFileError):
        artefacts.seal(saved)


def test_publishing_twice_is_publishing_once(make_tiny: Callable[..., Any], tmp_path: Path) -> None:
    final = artefacts.checkpoint_folder(tmp_path, "base")
    for attempt in ("first", "second"):
        checkpoints.save(*make_tiny(), tmp_path / attempt)
        digest = artefacts.seal(tmp_path / attempt)
        artefacts.publish(tmp_path / attempt, final)
        assert not (tmp_path / attempt).exists()
        artefacts.verify(final, digest)
    checkpoints.save(*make_tiny(seed=1), tmp_path / "other")
    artefacts.seal(tmp_path / "other")
    with pytest.raises(FileExistsError):
        artefacts.publish(tmp_path / "other", final)
    artefacts.verify(final, digest)


def test_unsealed_directories_are_not_published(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(artefacts.CheckpointDamagedError, match="missing"):
        artefacts.publish(saved, tmp_path / "final")


@pytest.mark.parametrize("id_", ["../base", "a/b", "", "Base", ".hidden", "x" * 129])
def test_ids_are_plain_names(tmp_path: Path, id_: str) -> None:
    with pytest.raises(ValueError, match="no checkpoint id"):
        artefacts.checkpoint_folder(tmp_path, id_)


def test_manifest_has_neither_times_nor_paths(saved: Path) -> None:
    artefacts.seal(saved)
    manifest = json.loads((saved / artefacts.MANIFEST).read_text())
    assert set(manifest) == {"version", "files"}
    assert all(set(entry) == {"sha256", "size"} for entry in manifest["files"].values())
    assert str(saved.parent) not in "".join(
        path.read_text() for path in saved.iterdir() if path.suffix == ".json"
    )
