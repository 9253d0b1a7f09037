"""Real training processes on the shipped nano checkpoint, beside a real env_service."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from support import served

from env_service.app import create_app as create_env
from env_service.settings import EnvSettings
from trainee2trainer.artefacts import seal
from trainee2trainer.client import EnvClient
from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs
from trainee2trainer.store import migrate
from trainer_service import boards, checkpoints, profiles, resumption
from trainer_service.failures import StepFailed
from trainer_service.resumption import Resumption
from trainer_service.settings import SinkName, TrainerSettings
from trainer_service.training.spec import StepMetrics
from trainer_service.training_run import Order, Trained, train

SEED = 5
CONFIGURATION = EnvironmentConfig(
    sizes={
        3: SizeKnobs(data_ratio=0.5, hole_ratio=0.1, wait_ratio=0.2),
        4: SizeKnobs(data_ratio=0.5, hole_ratio=0.1, wait_ratio=0),
    }
)
STEPS = 12
SETTINGS = TrainingSettings(
    rollouts=STEPS * 16, group_size=4, prompts_per_step=4, max_tokens=20, kl_coefficient=0.01
)


@contextmanager
def env_service(folder: Path) -> Iterator[str]:
    url = f"sqlite+aiosqlite:///{folder / 'store.db'}"
    asyncio.run(migrate.upgrade(url))
    app = create_env(EnvSettings(env_workers=1, data_dir=folder, store_url=url))
    with served(app) as url:
        yield url


@dataclass
class Stage:
    """One stage's attempts, one after the other, as a worker makes them."""

    folder: Path
    env_url: str
    start: Path
    template: str = "compact-v1"
    settings: TrainingSettings = SETTINGS
    save_steps: int = 3
    sinks: list[SinkName] = field(default_factory=list)
    told: list[StepMetrics] = field(default_factory=list)

    @property
    def attempts(self) -> list[Path]:
        return sorted(self.folder.glob("attempt-*"))

    async def boards(self) -> Path:
        path = self.folder / "instances.jsonl"
        if not path.exists():
            request = boards.training_request(CONFIGURATION, self.settings, 1, self.template)
            async with EnvClient(self.env_url) as env:
                await boards.make(env, request, path)
        return path

    async def back(self, afresh: bool = False) -> Resumption:
        identity = resumption.identity(self.settings, SEED, await self.boards(), self.start)
        return resumption.look_back(self.attempts, identity, afresh)

    async def attempt(self, end: signal.Signals | None = None, at: int = STEPS) -> Trained:
        """Trains to the end; with `end`, sends that signal to the process once it told of step `at`."""
        self.told, sent = [], False

        async def tell(new: list[StepMetrics]) -> None:
            nonlocal sent
            self.told += new
            if end and not sent and self.told[-1].step >= at:
                sent = True
                os.kill(training_process(), end)

        instances, found = await self.boards(), (await self.back()).found
        order = Order(
            folder=self.folder / f"attempt-{len(self.attempts)}",
            instances=instances,
            start=self.start,
            identity=resumption.identity(self.settings, SEED, instances, self.start),
            name="stage",
            resume=found,
        )
        settings = TrainerSettings(
            data_dir=self.folder,
            env_url=self.env_url,
            training_save_steps=self.save_steps,
            training_sinks=self.sinks,
        )
        return await train(order, settings, tell)

    async def broken_off(self, end: signal.Signals, at: int) -> str:
        """An attempt that ends early: how it ended, in words."""
        try:
            await self.attempt(end, at)
        except StepFailed as failure:
            return str(failure)
        raise AssertionError("it got to its end")


def nano(folder: Path) -> Path:
    """A sealed copy of the shipped checkpoint."""
    checkpoints._copy_in(profiles.shipped("nano-v1"), folder, "nano-v1")
    return folder / "checkpoints" / "nano-v1"


def training_process() -> int:
    (process,) = [
        child for child in psutil.Process().children() if "trainer_service.training" in child.cmdline()
    ]
    return process.pid


def digest(trained: Trained) -> str:
    return seal(trained.checkpoint)
