"""The rungs above nano, as far as a CPU goes: adapters on a Llama, accelerate's launch, several processes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from training_world import Stage, boards_of, digest, nano, small_llama

from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.training import LoraSettings
from trainee2trainer.models import checkpoints
from trainer_service import training_run
from trainer_service.training import spec as names
from trainer_service.training.spec import StepMetrics, TrainedRollout

pytestmark = pytest.mark.slow

STEPS = 6
ADAPTERS = TrainingSettings(
    rollouts=STEPS * 16,
    group_size=4,
    prompts_per_step=4,
    max_tokens=40,
    learning_rate=2e-3,
    lora=LoraSettings(rank=4, alpha=8),
    samples_at_once=8,
)
FULL = ADAPTERS.model_copy(update={"lora": None, "learning_rate": 3e-4})


@pytest.fixture(scope="module")
async def llama(home: Path, env_url: str) -> Path:
    rows = await boards_of(Stage(home / "boards", env_url, home, "plain-v1", ADAPTERS))
    return small_llama(home / "llama", rows)


async def test_adapters_learn_on_a_model_of_another_family_and_go_on_when_killed(
    tmp_path: Path, env_url: str, llama: Path
) -> None:
    stage = Stage(tmp_path / "whole", env_url, llama, "plain-v1", ADAPTERS, save_steps=2)
    trained = await stage.attempt()
    assert len({step.loss for step in stage.told}) > 1
    assert any(0 < step.reward < 1 and step.grad_norm for step in stage.told)
    assert all(step.gap_max is not None and step.gap_max < 1e-3 for step in stage.told)
    before, after = checkpoints.load(llama)[0], checkpoints.load(trained.checkpoint)[0]
    moved = {
        name
        for name, value in before.state_dict().items()
        if not torch.equal(value, after.state_dict()[name])
    }
    assert moved
    assert all("proj" in name for name in moved)  # linear layers, and nothing else
    assert not list(trained.checkpoint.glob("adapter*"))

    killed = Stage(tmp_path / "killed", env_url, llama, "plain-v1", ADAPTERS, save_steps=2)
    await killed.broken_off(signal.SIGKILL, 3)
    again = await killed.attempt()
    assert killed.told[0].step > 1
    assert digest(again) == digest(trained)


@pytest.fixture
def accelerate_config(tmp_path: Path) -> Path:
    config = {"compute_environment": "LOCAL_MACHINE", "distributed_type": "NO", "use_cpu": True}
    path = tmp_path / "accelerate.json"
    path.write_text(json.dumps(config))
    return path


async def test_accelerate_launches_it_and_lets_it_leave_a_checkpoint(
    tmp_path: Path, env_url: str, home: Path, accelerate_config: Path
) -> None:
    start = nano(tmp_path)
    direct = Stage(tmp_path / "direct", env_url, start, settings=FULL)
    launched = Stage(tmp_path / "launched", env_url, start, settings=FULL, save_steps=STEPS)
    launched.accelerate_config = accelerate_config
    await launched.broken_off(signal.SIGTERM, 1)
    found = (await launched.back()).found
    assert found is not None
    assert found.position.step >= 1
    assert digest(await launched.attempt()) == digest(await direct.attempt())


async def test_several_processes_share_a_step_and_record_all_of_it(
    tmp_path: Path, env_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(tmp_path / "stage", env_url, nano(tmp_path), settings=FULL, save_steps=4)
    order, settings = await stage.order()
    training_run._prepare(order, settings)
    # accelerate starts several processes for GPUs only; below it is this.
    command = ["torch.distributed.run", "--standalone", "--nproc_per_node", "2", "--module"]
    await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", *command, training_run.MODULE, str(order.folder / training_run.SPEC)],
        check=True,
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        timeout=300,
    )
    metrics = [
        StepMetrics.model_validate_json(line)
        for line in (order.folder / names.METRICS).open(encoding="utf-8")
    ]
    rollouts = [
        TrainedRollout.model_validate_json(line)
        for line in (order.folder / names.ROLLOUTS).open(encoding="utf-8")
    ]
    assert [step.samples for step in metrics] == [16] * STEPS
    groups = {group: [one for one in rollouts if one.group == group] for group in range(STEPS * 4)}
    assert all(len(group) == 4 for group in groups.values())
    assert (order.folder / names.DONE).exists()
    found = (await stage.back()).found
    assert found is not None
    assert {path.name for path in found.folder.glob("rng_state*")} == {"rng_state_0.pth", "rng_state_1.pth"}
    before, after = checkpoints.load(stage.start)[0], checkpoints.load(order.folder / names.CHECKPOINT)[0]
    assert not torch.equal(before.lm_head.weight, after.lm_head.weight)
