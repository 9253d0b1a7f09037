"""A disk that fills up while the real training process writes: a small file system of its own, filled for real."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from training_world import CONFIGURATION, SETTINGS

from trainee2trainer.artefacts import checkpoint_folder, verify
from trainee2trainer.client import EngineerClient, EnvClient, PolicyClient
from trainee2trainer.contracts.campaign import (
    CampaignStatus,
    Event,
    EventKind,
    JobStatus,
    TrainingJob,
    TrainingJobCreate,
)
from trainee2trainer.jobs import SubjectKind
from trainee2trainer.store import Store, migrate
from trainee2trainer.store.tables import CheckpointRecord
from trainer_service import checkpoints, events, lifecycle
from trainer_service.runner import Runner
from trainer_service.settings import TrainerSettings
from trainer_service.training_jobs import records
from trainer_service.training_jobs.driver import drive
from trainer_service.work import Tools

pytestmark = pytest.mark.slow

KIND = SubjectKind.TRAINING_JOB
REQUEST = TrainingJobCreate(configuration=CONFIGURATION, training=SETTINGS, checkpoint="nano-v1", seed=5)


class Job:
    """A training job whose data folder lies on one disk and whose store on another."""

    def __init__(self, tools: Tools, job_id: str) -> None:
        self.tools, self.id = tools, job_id

    @classmethod
    @asynccontextmanager
    async def open(cls, data: Path, store_folder: Path, env_url: str) -> AsyncIterator["Job"]:
        url = f"sqlite+aiosqlite:///{store_folder / 'jobs.db'}"
        await migrate.upgrade(url)
        store, settings = Store(url), TrainerSettings(data_dir=data, training_save_steps=3, retry_seconds=0.1)
        await checkpoints.register_shipped(store, settings.home, {})
        async with (
            EnvClient(env_url) as env,
            PolicyClient("http://none") as policy,
            EngineerClient("http://none") as engineer,
        ):
            # The training process finds the env service by the settings.
            settings = settings.model_copy(update={"env_url": env_url})
            tools = Tools(settings, store, env, policy, engineer)
            async with store.session() as session:
                job_id = await records.create(session, REQUEST)
            yield cls(tools, job_id)
        await store.close()

    async def work(self) -> TrainingJob:
        await Runner(self.tools, {KIND: drive}, "worker", asyncio.Event())(KIND, self.id)
        async with self.tools.store.session() as session:
            return await records.get(session, self.id)

    async def events(self) -> list[Event]:
        async with self.tools.store.session() as session:
            return await events.after(session, self.id, 0)

    async def digest(self) -> str:
        async with self.tools.store.session() as session:
            record = await session.get_one(CheckpointRecord, self.id)
        verify(checkpoint_folder(self.tools.settings.home, self.id), record.manifest_sha256)
        return record.manifest_sha256


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory; `mount -o remount,size=...` makes it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def resize(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)


async def test_a_disk_that_fills_up_pauses_training_and_resumed_it_ends_with_the_same_bytes(
    small_disk: Path, tmp_path: Path, env_url: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    async with Job.open(tmp_path / "wide", tmp_path / "a", env_url) as undisturbed:
        assert (await undisturbed.work()).status is JobStatus.SUCCEEDED
        wanted = await undisturbed.digest()

    resize(small_disk, "4m")
    async with Job.open(small_disk, tmp_path / "b", env_url) as job:
        # No room for a first checkpoint to go on from; then for one, not for two; then for everything.
        for size in ("4m", "9m"):
            resize(small_disk, size)
            paused = await job.work()
            assert paused.status is JobStatus.PAUSED
            assert paused.attempts == 0, "a full disk is no failed attempt"
            assert paused.error and paused.error.startswith("The disk is full: make room, then resume.")
            children = psutil.Process().children()
            assert not [one for one in children if "trainer_service.training" in one.cmdline()], "it is gone"
            runs = job.tools.settings.runs_dir / job.id
            assert not list(runs.glob("*/drafts")), "what was half-written is removed"
            assert not list(runs.glob("*/checkpoint"))
            assert not checkpoint_folder(small_disk, job.id).exists()
            assert (await job.work()).status is JobStatus.PAUSED, "nobody works on it until it is resumed"
            await lifecycle.wish(job.tools.store, KIND, job.id, CampaignStatus.QUEUED)
        resize(small_disk, "64m")
        ended = await job.work()
        assert ended.status is JobStatus.SUCCEEDED, ended.error
        assert ended.error is None
        assert await job.digest() == wanted
        told = await job.events()
    steps_gone_on_from = [event.data["step"] for event in told if event.kind == EventKind.TRAIN_RESUMED]
    assert steps_gone_on_from == [3], "it went on from the checkpoint there was room for"
    assert [event.id for event in told] == list(range(1, len(told) + 1))
