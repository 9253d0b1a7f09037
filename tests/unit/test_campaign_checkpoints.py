"""Checkpoints the trainer brings in: shipped ones once, trained ones under names nobody else has."""

from pathlib import Path

import pytest

from trainee2trainer.artefacts import checkpoint_folder, manifest_digest, seal
from trainee2trainer.store import Store
from trainee2trainer.store.tables import CheckpointRecord
from trainer_service import checkpoints
from trainer_service.failures import Hopeless


def made(folder: Path, content: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(content)
    return folder


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the package would carry its checkpoints."""
    monkeypatch.setattr(checkpoints, "shipped", (tmp_path / "package").joinpath)
    return tmp_path / "package"


async def test_the_shipped_checkpoint_is_registered_once(data_dir: Path, store: Store, shipped: Path) -> None:
    source = made(shipped / "nano-v1", "{}")
    for _ in range(2):
        await checkpoints.register_shipped(store, data_dir, {})
    folder = await checkpoints.find(store, data_dir, "nano-v1")
    assert manifest_digest(folder) == seal(source)
    assert [path.name for path in folder.parent.iterdir()] == ["nano-v1"]


async def test_another_shipped_checkpoint_leaves_the_registered_one(
    data_dir: Path, store: Store, shipped: Path
) -> None:
    source = made(shipped / "nano-v1", "{}")
    await checkpoints.register_shipped(store, data_dir, {})
    (source / "config.json").write_text('{"newer": true}')
    await checkpoints.register_shipped(store, data_dir, {})
    folder = await checkpoints.find(store, data_dir, "nano-v1")
    assert (folder / "config.json").read_text() == "{}"


async def test_without_a_shipped_checkpoint_nothing_is_registered(
    data_dir: Path, store: Store, shipped: Path
) -> None:
    await checkpoints.register_shipped(store, data_dir, {})
    with pytest.raises(Hopeless):
        await checkpoints.find(store, data_dir, "nano-v1")


async def test_equal_content_comes_in_under_its_name_however_often(tmp_path: Path, data_dir: Path) -> None:
    first = await checkpoints.bring_in(data_dir, made(tmp_path / "a", "{}"), "stage-0", token=1)
    again = await checkpoints.bring_in(data_dir, made(tmp_path / "b", "{}"), "stage-0", token=2)
    assert first == again
    assert first.id == "stage-0"


async def test_what_an_attempt_without_effect_left_is_not_overwritten(tmp_path: Path, data_dir: Path) -> None:
    await checkpoints.bring_in(data_dir, made(tmp_path / "a", "{}"), "stage-0", token=1)
    other = await checkpoints.bring_in(data_dir, made(tmp_path / "b", "[]"), "stage-0", token=2)
    assert other.id == "stage-0-2"
    assert (checkpoint_folder(data_dir, "stage-0") / "config.json").read_text() == "{}"


async def test_a_flipped_byte_is_found(tmp_path: Path, data_dir: Path, store: Store) -> None:
    published = await checkpoints.bring_in(data_dir, made(tmp_path / "a", "{}"), "stage-0", token=1)
    async with store.session() as session:
        session.add(CheckpointRecord(id="stage-0", profile="nano", manifest_sha256=published.manifest_sha256))
    assert await checkpoints.find(store, data_dir, "stage-0") == checkpoint_folder(data_dir, "stage-0")
    (checkpoint_folder(data_dir, "stage-0") / "config.json").write_text("[]")
    with pytest.raises(Hopeless, match=r"config\.json"):
        await checkpoints.find(store, data_dir, "stage-0")
