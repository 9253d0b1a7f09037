"""Checkpoints to go on from: whole or not there, told apart, and gone when nobody needs them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from campaign_world import SMALL
from hypothesis import given
from hypothesis import strategies as st

from trainee2trainer.artefacts import MANIFEST, seal
from trainee2trainer.contracts.base import Contract
from trainer_service import resumption
from trainer_service.failures import Hopeless
from trainer_service.training import lines, progress
from trainer_service.training import spec as names
from trainer_service.training.lines import Lines
from trainer_service.training.spec import Identity, Mark, Position

IDENTITY = Identity(settings=SMALL, seed=1, instances_sha256="1" * 64, start_sha256="2" * 64)


class Said(Contract):
    text: str


class Attempt:
    """An attempt's folder, with lines that grow and checkpoints that are left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.metrics, self.rollouts = Lines(folder / names.METRICS), Lines(folder / names.ROLLOUTS)

    def leave(self, step: int, identity: Identity = IDENTITY) -> Path:
        for file in (self.metrics, self.rollouts):
            file.write([Said(text=f"step {step}")])
        draft = self.folder / names.DRAFTS / f"checkpoint-{step}"
        (draft / "shards").mkdir(parents=True)
        (draft / "weights").write_bytes(bytes([step]) * 100)
        (draft / "shards" / "0").write_bytes(b"shard")
        marks = {"metrics": self.metrics.mark(), "rollouts": self.rollouts.mark()}
        progress.bring_in(draft, self.folder, Position(step=step, identity=identity, **marks))
        return self.folder / names.PROGRESS / f"step-{step:08}"


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    return Attempt(tmp_path / "attempt-1")


def steps(attempt: Attempt) -> list[str]:
    return sorted(folder.name for folder in (attempt.folder / names.PROGRESS).iterdir())


def test_the_last_two_are_kept_and_the_newest_is_found(attempt: Attempt) -> None:
    for step in (5, 10, 15):
        attempt.leave(step)
    assert steps(attempt) == ["step-00000010", "step-00000015"]
    found, refused = progress.newest([attempt.folder])
    assert found is not None
    assert (found.position.step, found.attempt, refused) == (15, attempt.folder, [])


def test_an_earlier_attempt_may_have_got_further(attempt: Attempt, tmp_path: Path) -> None:
    attempt.leave(30)
    later = Attempt(tmp_path / "attempt-2")
    later.leave(20)
    found, _ = progress.newest([attempt.folder, later.folder])
    assert found is not None
    assert found.attempt == attempt.folder


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


SPOILT: dict[str, Callable[[Path], object]] = {
    "flipped": lambda folder: flip(folder / "weights"),
    "flipped inside a folder": lambda folder: flip(folder / "shards" / "0"),
    "torn": lambda folder: (folder / "weights").write_bytes(b""),
    "missing": lambda folder: (folder / "weights").unlink(),
    "without manifest": lambda folder: (folder / MANIFEST).unlink(),
    "manifest flipped": lambda folder: flip(folder / MANIFEST),
    "manifest empty": lambda folder: (folder / MANIFEST).write_text(""),
    "manifest without files": lambda folder: (folder / MANIFEST).write_text("{}"),
    "lines lost": lambda folder: (folder.parent.parent / names.ROLLOUTS).write_text("{}\n"),
    "lines changed": lambda folder: flip(folder.parent.parent / names.METRICS),
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_is_not_whole_is_passed_over_and_said(attempt: Attempt, tmp_path: Path, how: str) -> None:
    attempt.leave(5)
    later = Attempt(tmp_path / "attempt-2")
    SPOILT[how](later.leave(10))
    found, refused = progress.newest([attempt.folder, later.folder])
    assert found is not None
    assert found.position.step == 5
    assert len(refused) == 1
    assert refused[0].startswith("step-00000010: ")


def test_a_draft_that_was_never_finished_is_not_seen(attempt: Attempt) -> None:
    (attempt.folder / names.DRAFTS / "checkpoint-5").mkdir(parents=True)
    assert progress.newest([attempt.folder]) == (None, [])


def test_cleared_nothing_is_left_but_the_lines(attempt: Attempt) -> None:
    attempt.leave(5)
    progress.clear([attempt.folder])
    assert sorted(path.name for path in attempt.folder.iterdir()) == [names.METRICS, names.ROLLOUTS]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 2}, "seed was 1 and is 2"),
        ({"instances_sha256": "3" * 64}, f"instances_sha256 was {'1' * 64} and is {'3' * 64}"),
        ({"start_sha256": "3" * 64}, "start_sha256 was"),
        ({"settings": SMALL.model_copy(update={"clip_low": 0.1})}, "settings.clip_low was 0.2 and is 0.1"),
    ],
)
def test_another_configuration_is_refused_with_what_changed(
    attempt: Attempt, changed: dict[str, object], words: str
) -> None:
    attempt.leave(5)
    now = IDENTITY.model_copy(update=changed)
    with pytest.raises(Hopeless) as refusal:
        resumption.look_back([attempt.folder], now, afresh=False)
    assert words in str(refusal.value)
    assert steps(attempt) == ["step-00000005"]
    back = resumption.look_back([attempt.folder], now, afresh=True)
    assert back.found is None
    assert words in back.refused[0]
    assert not (attempt.folder / names.PROGRESS).exists()


def test_of_all_attempts_only_the_last_two_checkpoints_stay(attempt: Attempt, tmp_path: Path) -> None:
    attempt.leave(5)
    attempt.leave(10)
    later = Attempt(tmp_path / "attempt-2")
    later.leave(15)
    back = resumption.look_back([attempt.folder, later.folder], IDENTITY, afresh=False)
    assert back.found is not None
    assert back.found.position.step == 15
    assert (steps(attempt), steps(later)) == (["step-00000010"], ["step-00000015"])


def test_what_a_result_hangs_on_is_data_and_start(tmp_path: Path) -> None:
    instances, start = tmp_path / "instances.jsonl", tmp_path / "start"
    instances.write_text("a")
    start.mkdir()
    (start / "config.json").write_text("{}")
    seal(start)
    before = resumption.identity(SMALL, 1, instances, start)
    assert resumption.identity(SMALL, 1, instances, start) == before
    instances.write_text("b")
    other = resumption.identity(SMALL, 1, instances, start)
    assert other.instances_sha256 != before.instances_sha256
    (start / "config.json").write_text("[]")
    seal(start)
    assert resumption.identity(SMALL, 1, instances, start).start_sha256 != before.start_sha256


@given(written=st.lists(st.text(max_size=40), max_size=30), cut=st.integers(0, 30))
def test_lines_marked_and_copied_go_on_as_one_file(
    tmp_path_factory: pytest.TempPathFactory, written: list[str], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    with Lines(folder / "whole") as whole:
        whole.write(Said(text=text) for text in written[:cut])
        mark = whole.mark()
        whole.write(Said(text=text) for text in written[cut:])
        end = whole.mark()
    assert lines.holds(folder / "whole", mark)
    lines.copy(folder / "whole", mark, folder / "second")
    with Lines(folder / "second") as second:
        assert second.mark() == mark
        second.write(Said(text=text) for text in written[cut:])
        assert second.mark() == end
    texts = [json.loads(line)["text"] for line in (folder / "second").read_bytes().splitlines()]
    assert texts == written


def test_a_longer_mark_than_the_file_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("{}\n")
    assert not lines.holds(tmp_path / "lines", Mark(size=4, sha256="0" * 64))
    assert not lines.holds(tmp_path / "nowhere", Mark(size=0, sha256="0" * 64))
