"""The wrappers by the checkers of their own libraries, and against the service's judge."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

from env_service.candidates import find
from env_service.generator import draw_one
from env_service.gym import MapfEnv, MapfParallelEnv
from env_service.quotas import configuration_id
from env_service.records import to_instance
from trainee2trainer.contracts.environment import EnvironmentConfig, Instance, SizeKnobs, Split

KNOBS = SizeKnobs(data_ratio=1.0, hole_ratio=0.2, wait_ratio=0.3)
CONFIGURATION = EnvironmentConfig(agents=3, sizes={4: KNOBS, 5: KNOBS})
NUMBERS = {"UP": 0, "DOWN": 1, "LEFT": 2, "RIGHT": 3, "WAIT": 4}


def instance_of(seed: int) -> Instance:
    made = draw_one(CONFIGURATION, seed, split=Split.TRAIN, find=find)
    return to_instance(made, configuration_id(CONFIGURATION), seed)


def joint_actions(instance: Instance) -> list[list[int]]:
    steps = max(map(len, instance.reference_plan))
    padded = [[*lane, *["WAIT"] * (steps - len(lane))] for lane in instance.reference_plan]
    return [[NUMBERS[lane[step]] for lane in padded] for step in range(steps)]


@pytest.mark.filterwarnings("ignore")
def test_gymnasium_s_checker_is_content() -> None:
    check_env(MapfEnv(CONFIGURATION, render_mode="ansi"), skip_render_check=True)


def test_pettingzoo_s_api_test_is_passed() -> None:
    parallel_api_test(MapfParallelEnv(CONFIGURATION), num_cycles=200)


def test_pettingzoo_s_seed_test_is_passed() -> None:
    parallel_seed_test(lambda: MapfParallelEnv(CONFIGURATION))


@pytest.mark.parametrize("seed", range(6))
def test_a_reference_plan_earns_at_the_end_what_the_judge_gives(seed: int) -> None:
    instance = instance_of(seed)
    env = MapfEnv(CONFIGURATION)
    seen, info = env.reset(seed=seed)
    assert seen["positions"].tolist() == [list(agent.start) for agent in instance.agents]
    rewards, done = [], False
    for actions in joint_actions(instance):
        assert not done
        seen, reward, done, truncated, info = env.step(np.array(actions))
        rewards.append(reward)
    assert done and not truncated
    assert rewards[:-1] == [0.0] * (len(rewards) - 1)
    assert rewards[-1] == (1.0 if len(rewards) == instance.optimal_makespan else 0.7)
    assert info["outcome"]["valid"]
    assert (seen["positions"] == seen["goals"]).all()
    with pytest.raises(ValueError, match="call reset first"):
        env.step(np.array([4, 4, 4]))


def test_a_fixed_instance_is_played_again_and_again() -> None:
    env = MapfParallelEnv(instance=instance_of(3), max_steps=2)
    first, _ = env.reset(seed=1)
    second, _ = env.reset(seed=2)
    assert all((first["agent_0"][key] == second["agent_0"][key]).all() for key in first["agent_0"])
    waiting = dict.fromkeys(env.agents, 4)
    assert set(env.step(waiting)[3].values()) == {False}
    assert set(env.step(waiting)[3].values()) == {True}
    assert env.agents == []


def test_a_small_board_is_padded_to_the_largest_size() -> None:
    env = MapfEnv(CONFIGURATION)
    sides = {int((env.reset(seed=seed)[0]["board"] != 0).sum()) for seed in range(12)}
    assert sides == {16, 25}


def test_what_to_play_must_be_said_once() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        MapfEnv()
    with pytest.raises(ValueError, match="exactly one"):
        MapfEnv(CONFIGURATION, instance=instance_of(1))
