"""Training processes: followed while they run, gone whatever happens, and their end told in words."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from campaign_world import SMALL, until

from trainer_service.failures import StepFailed
from trainer_service.settings import TrainerSettings
from trainer_service.training.spec import Identity, StepMetrics
from trainer_service.training_run import Order, Trained, train

IDENTITY = Identity(settings=SMALL, seed=1, instances_sha256="0" * 64, start_sha256="0" * 64)
STEP = dict.fromkeys(
    ("reward_std", "valid", "optimal", "dead_group_share", "tokens_mean", "truncated", "tokens_per_second"),
    0.1,
) | dict.fromkeys(("loss", "grad_norm", "learning_rate", "kl", "kl_missing", "gap_mean", "gap_max"))
STEP |= {"steps": 3, "reward": 0.5, "sizes": {}, "samples": 16, "seconds": 0.1}
STEP |= {"tokens": 100, "tokens_min": 1, "tokens_max": 9}
PRELUDE = f"""
import json, os, signal, subprocess, sys, time
from pathlib import Path
folder = Path(json.loads(Path(sys.argv[1]).read_text())["folder"])
(folder / "pid").write_text(str(os.getpid()))
def step(number):
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({{"step": number, **json.loads({json.dumps(STEP)!r})}}) + "\\n")
"""
FINISH = """
(folder / "rollouts.jsonl").write_text("")
(folder / "done.json").write_text("{}")
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Makes a module that plays the training process; its name."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    def write(body: str) -> str:
        (tmp_path / "played.py").write_text(PRELUDE + textwrap.dedent(body))
        return "played"

    return write


class Following:
    """A run of a played module, with what it told."""

    def __init__(self, tmp_path: Path, module: str, **settings: float) -> None:
        (tmp_path / "instances.jsonl").write_text("")
        self.folder = tmp_path / "attempt"
        self.settings = TrainerSettings(data_dir=tmp_path, **settings)
        self.module = module
        self.told: list[int] = []

    async def run(self) -> Trained:
        async def tell(new: list[StepMetrics]) -> None:
            self.told += [metrics.step for metrics in new]

        instances = self.folder.parent / "instances.jsonl"
        order = Order(self.folder, instances, self.folder.parent, IDENTITY, "name")
        return await train(order, self.settings, tell, self.module)

    async def pid(self) -> int:
        path = self.folder / "pid"
        await until(lambda: path.exists() and path.read_text())
        return int(path.read_text())


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


async def test_every_step_is_told_once_while_it_runs(tmp_path: Path, script: Callable[[str], str]) -> None:
    body = "for number in range(1, 4): step(number); time.sleep(0.4)" + FINISH
    following = Following(tmp_path, script(body))
    running = asyncio.create_task(following.run())
    await until(lambda: following.told)
    assert not running.done()
    trained = await running
    assert following.told == [1, 2, 3]
    assert trained.rewards == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("print('out of luck'); sys.exit(3)", ["exit code 3", "out of luck"]),
        ("step(1); os.kill(os.getpid(), signal.SIGSEGV)", ["SIGSEGV"]),
        ("raise ValueError('no such loss')", ["exit code 1", "ValueError: no such loss"]),
        ("sys.exit(0)", ["exit code 0"]),  # it did not say that it is done
    ],
)
async def test_a_bad_end_is_told_with_its_last_words(
    tmp_path: Path, script: Callable[[str], str], body: str, words: list[str]
) -> None:
    with pytest.raises(StepFailed) as failure:
        await Following(tmp_path, script(body)).run()
    assert all(word in str(failure.value) for word in words)


async def test_a_silent_process_is_stopped(tmp_path: Path, script: Callable[[str], str]) -> None:
    following = Following(tmp_path, script("time.sleep(60)"), training_silence_seconds=1.0)
    with pytest.raises(StepFailed, match="reported nothing"):
        await following.run()
    assert gone(await following.pid())


async def test_cancelling_leaves_no_process_of_the_group(
    tmp_path: Path, script: Callable[[str], str]
) -> None:
    body = """
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    (folder / "other").write_text(str(other.pid))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    time.sleep(60)
    """
    following = Following(tmp_path, script(body))
    running = asyncio.create_task(following.run())
    pid = await following.pid()
    await until((following.folder / "other").exists)
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert gone(pid)
    assert gone(int((following.folder / "other").read_text()))


def test_a_killed_worker_takes_its_training_process_along(
    tmp_path: Path, script: Callable[[str], str]
) -> None:
    module = script("time.sleep(60)")
    (tmp_path / "instances.jsonl").write_text("")
    worker_code = f"""
    import asyncio
    from pathlib import Path
    from trainer_service.settings import TrainerSettings
    from trainer_service.training.spec import Identity
    from trainer_service.training_run import Order, train
    folder = Path({str(tmp_path)!r})
    identity = Identity.model_validate_json({IDENTITY.model_dump_json()!r})
    order = Order(folder / "attempt", folder / "instances.jsonl", folder, identity, "name")
    async def tell(new): pass
    asyncio.run(train(order, TrainerSettings(), tell, {module!r}))
    """
    worker = subprocess.Popen([sys.executable, "-c", textwrap.dedent(worker_code)])
    pid_file = tmp_path / "attempt" / "pid"
    deadline = time.monotonic() + 20
    while not (pid_file.exists() and pid_file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    assert gone(int(pid_file.read_text()))
