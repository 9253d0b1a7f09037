"""A training that is killed goes on, and ends with the very bytes of one that was not."""

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from training_world import STEPS, Stage, digest, env_service, nano

from trainer_service.failures import Hopeless
from trainer_service.training import spec as names

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("training")


@pytest.fixture(scope="module")
def env_url(home: Path) -> Iterator[str]:
    with env_service(home) as url:
        yield url


@pytest.fixture(scope="module")
def start(home: Path) -> Path:
    return nano(home)


@pytest.fixture
def stage(tmp_path: Path, env_url: str, start: Path) -> Stage:
    return Stage(tmp_path, env_url, start)


@pytest.fixture(scope="module")
async def undisturbed(home: Path, env_url: str, start: Path) -> tuple[str, list[float], str]:
    """Digest, rewards and rollouts of a training that nothing happened to, and that saved only its result."""
    stage = Stage(home / "undisturbed", env_url, start, save_steps=STEPS)
    trained = await stage.attempt()
    return digest(trained), trained.rewards, (stage.attempts[0] / names.ROLLOUTS).read_text()


async def test_killed_it_goes_on_and_ends_with_the_same_bytes(
    stage: Stage, undisturbed: tuple[str, list[float], str]
) -> None:
    kills = sorted(random.Random(11).sample(range(4, STEPS - 1), 2))
    for at in kills:
        assert "SIGKILL" in await stage.broken_off(signal.SIGKILL, at)
    went_on_from = (await stage.back()).found
    assert went_on_from is not None
    trained = await stage.attempt()
    assert stage.told[0].step == went_on_from.position.step + 1 > 1
    assert digest(trained) == undisturbed[0]
    assert trained.rewards == undisturbed[1]
    assert (stage.attempts[-1] / names.ROLLOUTS).read_text() == undisturbed[2]


async def test_told_to_end_it_leaves_a_checkpoint_of_its_last_step(
    stage: Stage, undisturbed: tuple[str, list[float], str]
) -> None:
    stage.save_steps = STEPS
    assert f"exit code {names.EXIT_DRAINED}" in await stage.broken_off(signal.SIGTERM, 2)
    found = (await stage.back()).found
    assert found is not None
    assert found.position.step == len((found.attempt / names.METRICS).read_text().splitlines()) >= 2
    assert digest(await stage.attempt()) == undisturbed[0]


async def test_a_spoilt_checkpoint_is_passed_over_for_the_one_before(
    stage: Stage, undisturbed: tuple[str, list[float], str]
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
    assert digest(await stage.attempt()) == undisturbed[0]


async def test_another_configuration_is_not_gone_on_with(stage: Stage) -> None:
    await stage.broken_off(signal.SIGKILL, 4)
    stage.settings = stage.settings.model_copy(update={"learning_rate": 1e-4})
    with pytest.raises(Hopeless, match=r"settings\.learning_rate was 0\.0003 and is 0\.0001"):
        await stage.attempt()
    assert (await stage.back(afresh=True)).found is None
    trained = await stage.attempt()
    assert stage.told[0].step == 1
    assert len(trained.rewards) == STEPS
