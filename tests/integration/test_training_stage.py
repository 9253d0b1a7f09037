"""Real training processes: what they record, and that a killed one ends with the very bytes of one that was not."""

import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import pytest
from training_world import STEPS, Stage, digest, nano

from trainer_service.failures import Hopeless
from trainer_service.training import spec as names
from trainer_service.training.spec import StepMetrics, TrainedRollout

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def start(home: Path) -> Path:
    return nano(home)


@pytest.fixture
def stage(tmp_path: Path, env_url: str, start: Path) -> Stage:
    return Stage(tmp_path, env_url, start)


@dataclass
class Undisturbed:
    """A training that nothing happened to, and that saved nothing but its result."""

    digest: str
    metrics: list[StepMetrics]
    rollouts: str

    @property
    def rewards(self) -> list[float]:
        return [metrics.reward for metrics in self.metrics]


@pytest.fixture(scope="module")
async def undisturbed(home: Path, env_url: str, start: Path) -> Undisturbed:
    stage = Stage(home / "undisturbed", env_url, start, save_steps=STEPS)
    trained = await stage.attempt()
    return Undisturbed(digest(trained), stage.told, (stage.attempts[0] / names.ROLLOUTS).read_text())


def test_every_step_is_recorded_with_what_a_researcher_asks_for(undisturbed: Undisturbed) -> None:
    steps = undisturbed.metrics
    assert [step.step for step in steps] == list(range(1, STEPS + 1))
    rollouts = [TrainedRollout.model_validate_json(line) for line in undisturbed.rollouts.splitlines()]
    for step in steps:
        own = [rollout for rollout in rollouts if rollout.step == step.step - 1]
        lengths = [rollout.tokens for rollout in own]
        assert (step.tokens, step.tokens_min, step.tokens_max) == (sum(lengths), min(lengths), max(lengths))
        assert step.tokens_mean == pytest.approx(fmean(lengths))
        assert step.tokens_per_second == pytest.approx(step.tokens / step.seconds)
        assert sum(size.samples for size in step.sizes.values()) == step.samples == 16
        assert step.grad_norm is not None and step.kl_missing is None
        # The same weights by two roads: far less than a sampled token's probability could hide.
        assert step.gap_mean is not None and step.gap_max is not None
        assert 0 < step.gap_mean <= step.gap_max < 1e-3
    assert {size for step in steps for size in step.sizes} == {3, 4}
    assert any(step.truncated > 0 for step in steps)
    assert steps[0].kl == pytest.approx(0, abs=1e-6)
    assert steps[-1].kl is not None and steps[-1].kl > 1e-5


async def test_broken_sinks_change_nothing(
    stage: Stage, tmp_path: Path, undisturbed: Undisturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wandb.py").write_text("def init(**_): raise SystemExit('the network is gone')")
    (tmp_path / "trackio.py").write_text("import time\ndef init(**_): time.sleep(600)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    stage.sinks = ["wandb", "trackio", "tensorboard"]
    assert digest(await stage.attempt()) == undisturbed.digest
    told = (stage.attempts[0] / "child.log").read_text()
    assert told.count("sink.dropped") == 2
    assert list((tmp_path / "curves" / "tensorboard" / "stage").iterdir())


async def test_killed_it_goes_on_and_ends_with_the_same_bytes(stage: Stage, undisturbed: Undisturbed) -> None:
    kills = sorted(random.Random(11).sample(range(4, STEPS - 1), 2))
    for at in kills:
        assert "SIGKILL" in await stage.broken_off(signal.SIGKILL, at)
    went_on_from = (await stage.back()).found
    assert went_on_from is not None
    trained = await stage.attempt()
    assert stage.told[0].step == went_on_from.position.step + 1 > 1
    assert digest(trained) == undisturbed.digest
    assert trained.rewards == undisturbed.rewards
    assert (stage.attempts[-1] / names.ROLLOUTS).read_text() == undisturbed.rollouts


async def test_told_to_end_it_leaves_a_checkpoint_of_its_last_step(
    stage: Stage, undisturbed: Undisturbed
) -> None:
    stage.save_steps = STEPS
    assert f"exit code {names.EXIT_DRAINED}" in await stage.broken_off(signal.SIGTERM, 2)
    found = (await stage.back()).found
    assert found is not None
    assert found.position.step == len((found.attempt / names.METRICS).read_text().splitlines()) >= 2
    assert digest(await stage.attempt()) == undisturbed.digest


async def test_a_spoilt_checkpoint_is_passed_over_for_the_one_before(
    stage: Stage, undisturbed: Undisturbed
) -> None:
    await stage.broken_off(signal.SIGKILL, 7)
    newest, before = sorted((stage.attempts[0] / names.PROGRESS).iterdir(), reverse=True)
    weights = newest / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[len(content) // 2] ^= 1
    weights.write_bytes(content)
    back = await stage.back()
    assert back.found is not None
    assert back.found.folder == before
    assert len(back.refused) == 1
    assert "model.safetensors has other content" in back.refused[0]
    assert digest(await stage.attempt()) == undisturbed.digest


async def test_another_configuration_is_not_gone_on_with(stage: Stage) -> None:
    await stage.broken_off(signal.SIGKILL, 4)
    stage.settings = stage.settings.model_copy(update={"learning_rate": 1e-4})
    with pytest.raises(Hopeless, match=r"settings\.learning_rate was 0\.0003 and is 0\.0001"):
        await stage.attempt()
    assert (await stage.back(afresh=True)).found is None
    trained = await stage.attempt()
    assert stage.told[0].step == 1
    assert len(trained.rewards) == STEPS
