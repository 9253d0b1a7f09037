"""What a stage of training costs beside TRL's bare loop, and what 20,000 nano rollouts cost, on one thread.

`python benchmarks/grpo_step.py [--json FILE]`. Both loops start from the shipped checkpoint and see the same
samples: ours judges them at a real env_service, records and saves; the bare one is given the rewards that ours
got, and does nothing else. They must end with equal weights. Seconds are CPU seconds of the training process.
"""

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import torch
from transformers import PreTrainedModel, set_seed
from trl import GRPOTrainer

from trainee2trainer.artefacts import seal
from trainee2trainer.client import EnvClient
from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs
from trainee2trainer.models import checkpoints
from trainee2trainer.store import migrate
from trainer_service import boards, profiles, resumption
from trainer_service.checkpoints import _copy_in
from trainer_service.seeds import derive
from trainer_service.settings import TrainerSettings
from trainer_service.training import grpo
from trainer_service.training import spec as names
from trainer_service.training.data import read_dataset
from trainer_service.training.rollouts import RolloutSampler
from trainer_service.training.spec import Run, TrainedRollout, TrainingSpec
from trainer_service.training_run import KEEP_MEMORY

PORT_BASE = 8_790
SEED = 1
STEP = 256
COMPARED_STEPS = 12
ROUNDS = 3
ROLLOUTS = 20_000
CONFIGURATION = EnvironmentConfig(
    sizes={
        size: SizeKnobs(data_ratio=share, hole_ratio=0.2, wait_ratio=0.4)
        for size, share in ((3, 0.3), (4, 0.4), (5, 0.3))
    }
)


@contextlib.contextmanager
def env_service(home: Path) -> Iterator[psutil.Process]:
    """A real one, in a process of its own."""
    environment = {**os.environ, "T2T_DATA_DIR": str(home), "T2T_PORT_BASE": str(PORT_BASE)}
    environment |= {"T2T_LOG_LEVEL": "WARNING", "T2T_ENV_WORKERS": "1"}
    settings = TrainerSettings(data_dir=home, port_base=PORT_BASE)
    asyncio.run(migrate.upgrade(settings.database))
    child = subprocess.Popen([sys.executable, "-m", "env_service"], env=environment)
    try:
        yield psutil.Process(child.pid)
    finally:
        child.terminate()
        child.wait()


def prepared(home: Path, steps: int) -> TrainingSpec:
    """A stage of so many steps of 256 samples, its boards fetched."""
    settings = TrainerSettings(data_dir=home, port_base=PORT_BASE)
    training = TrainingSettings(rollouts=steps * STEP)
    folder = Path(tempfile.mkdtemp(dir=home))
    instances, start = folder / names.INSTANCES, home / "checkpoints" / "nano-v1"
    asyncio.run(_fetch(settings.url("env"), training, instances))
    return TrainingSpec(
        folder=folder,
        start=start,
        identity=resumption.identity(training, SEED, instances, start),
        resume=None,
        save_steps=settings.training_save_steps,
        sinks=[],
        run=Run(name="benchmark", folder=home, after=0),
        env_url=settings.url("env"),
        vllm_url=None,
        threads=1,
    )


async def _fetch(url: str, training: TrainingSettings, path: Path) -> None:
    request = boards.training_request(CONFIGURATION, training, SEED, "compact-v1")
    async with EnvClient(url) as env:
        await boards.make(env, request, path)


def ours(spec: TrainingSpec) -> PreTrainedModel:
    grpo.run(spec)
    return checkpoints.load(spec.folder / names.CHECKPOINT)[0]


def bare(spec: TrainingSpec, rewards: Iterator[float]) -> PreTrainedModel:
    """TRL's trainer by itself, sampling as ours does, with rewards that are known already."""
    torch.set_num_threads(1)
    settings, seed = spec.identity.settings, derive(spec.identity.seed, "training") % 2**31
    set_seed(seed)
    model, tokenizer = checkpoints.load(spec.start)
    sampler = RolloutSampler(tokenizer, spec.identity.seed, settings.temperature, settings.max_tokens)

    def verdict(completions: list[object], **_: object) -> list[float]:
        return [next(rewards) for _ in completions]

    GRPOTrainer(
        model=model,
        args=grpo.configuration(settings, spec.folder, seed),
        reward_funcs=verdict,
        train_dataset=read_dataset(spec.folder / names.INSTANCES),
        processing_class=tokenizer,
        rollout_func=sampler,
    ).train()
    return model


def given(folder: Path) -> Iterator[float]:
    """The rewards of a finished stage, in order."""
    with (folder / names.ROLLOUTS).open(encoding="utf-8") as file:
        for line in file:
            yield TrainedRollout.model_validate_json(line).reward or 0.0


def timed(work: Callable[[], PreTrainedModel]) -> tuple[float, PreTrainedModel]:
    """CPU seconds of this process, and what was made. The library prints every step: not here."""
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        started = time.process_time()
        made = work()
        return time.process_time() - started, made


def equal(one: PreTrainedModel, other: PreTrainedModel) -> bool:
    weights = other.state_dict()
    return all(torch.equal(value, weights[name]) for name, value in one.state_dict().items())


def overhead(home: Path) -> dict[str, object]:
    """Both loops in turn, the best round of each: other work on the machine only ever adds."""
    mine, peer = [], []
    for _ in range(ROUNDS):
        spec = prepared(home, COMPARED_STEPS)
        seconds, trained = timed(lambda: ours(spec))  # noqa: B023 - called at once
        mine.append(seconds)
        seconds, same = timed(lambda: bare(spec, given(spec.folder)))  # noqa: B023 - called at once
        peer.append(seconds)
        if not equal(trained, same):
            raise SystemExit("The two loops learnt different things: there is nothing to compare.")
    best, other = min(mine) / COMPARED_STEPS, min(peer) / COMPARED_STEPS
    return {
        "name": "training: a step of 256 nano rollouts beside TRL's bare loop",
        "value": best,
        "unit": "CPU s",
        "peer": other,
        "ratio": best / other,
    }


def many(home: Path, service: psutil.Process) -> list[dict[str, object]]:
    """A long stage, scaled to the round number; what env_service spent on it beside it."""
    spec = prepared(home, -(-ROLLOUTS // STEP))
    scale = ROLLOUTS / spec.identity.settings.rollouts
    before = spent(service)
    seconds, _ = timed(lambda: ours(spec))
    name = f"training: {ROLLOUTS:,} nano rollouts with gradient steps"
    return [
        {"name": name, "value": seconds * scale, "unit": "CPU s"},
        {"name": f"{name}, env_service", "value": (spent(service) - before) * scale, "unit": "CPU s"},
    ]


def spent(process: psutil.Process) -> float:
    """CPU seconds of a process and its children."""
    family = [process, *process.children(recursive=True)]
    return sum(sum(member.cpu_times()[:2]) for member in family)


def as_a_worker_does() -> None:
    """Starts this again with the environment of a training process, unless it has it."""
    wanted = {
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "ignore",
        "TRL_EXPERIMENTAL_SILENCE": "1",
        **KEEP_MEMORY,
    }
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    target: Path | None = parser.parse_args().json
    as_a_worker_does()
    with tempfile.TemporaryDirectory() as name, env_service(Path(name)) as service:
        home = Path(name)
        _copy_in(profiles.shipped("nano-v1"), home, "nano-v1")
        seal(home / "checkpoints" / "nano-v1")
        timed(lambda: ours(prepared(home, 1)))  # what is done once in a process
        figures = [overhead(home), *many(home, service)]
    for figure in figures:
        beside = f", bare {figure['peer']:.3f}, ratio {figure['ratio']:.3f}" if "peer" in figure else ""
        print(f"{figure['name']}: {figure['value']:.3f} {figure['unit']}{beside}")
    if target is not None:
        target.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
