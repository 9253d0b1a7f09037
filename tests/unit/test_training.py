"""A training stage's parts: what is counted, and what is never made up."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.environment import (
    Outcome,
    RewardWeights,
    VerifyBatchRequest,
    VerifyBatchResponse,
)
from trainer_service.training.grpo import configuration
from trainer_service.training.judging import Judge
from trainer_service.training.lines import Lines
from trainer_service.training.spec import TrainedRollout


class Verdicts:
    """Stands where env_service answers; gives out prepared rewards, None where judging failed."""

    def __init__(self, rewards: list[float | None]) -> None:
        self.rewards = rewards

    def verify_batch(self, request: VerifyBatchRequest) -> VerifyBatchResponse:
        return VerifyBatchResponse(
            outcomes=[_outcome(reward) for reward in self.rewards[: len(request.items)]]
        )


def _outcome(reward: float | None) -> Outcome:
    return Outcome(
        instance_id="2agents_3x3_000000000000",
        scored=reward is not None,
        valid=bool(reward),
        optimal=reward == 1.0,
        soc_optimal=False,
        reward=reward,
        failure=None,
        flags=[],
        violation=None,
        makespan=2,
        sum_of_costs=3,
        plan=None,
        trajectory=[],
    )


def ask(rewards: list[float | None], groups: list[int], path: Path) -> Judge:
    env: Any = Verdicts(rewards)
    judge = Judge(env, RewardWeights(), Lines(path))
    count = len(rewards)
    judge(
        completions=[[{"role": "assistant", "content": "UP"}]] * count,
        completion_ids=[[1, 2]] * count,
        trainer_state=SimpleNamespace(global_step=4),
        group=groups,
        instance_id=["2agents_3x3_000000000000"] * count,
        size=[3] * count,
        needs_wait=[False] * count,
    )
    return judge


def test_a_groups_equal_rewards_teach_nothing_and_are_counted(tmp_path: Path) -> None:
    record = ask([1.0, 1.0, 0.0, 0.7], [0, 0, 1, 1], tmp_path / "rollouts").record
    assert record.dead_group_share == 0.5
    assert record.share("valid") == 0.75
    assert record.share("optimal") == 0.5
    assert record.tokens == 8


def test_every_judged_sample_is_written_down(tmp_path: Path) -> None:
    path = tmp_path / "rollouts"
    ask([1.0, 0.0], [0, 0], path)
    lines = [TrainedRollout.model_validate_json(line) for line in path.read_text().splitlines()]
    assert [line.reward for line in lines] == [1.0, 0.0]
    assert {line.step for line in lines} == {4}


def test_a_sample_we_could_not_judge_is_no_reward_of_nought(tmp_path: Path) -> None:
    path = tmp_path / "rollouts"
    with pytest.raises(RuntimeError, match="1 of 2 samples could not be judged"):
        ask([1.0, None], [0, 0], path)
    assert path.read_text() == ""


@pytest.mark.parametrize(("prompts", "group", "pieces"), [(32, 8, 2), (4, 4, 1), (3, 50, 2), (1, 2, 1)])
def test_a_step_is_one_update_of_all_its_samples(
    prompts: int, group: int, pieces: int, tmp_path: Any
) -> None:
    settings = TrainingSettings(rollouts=10 * prompts * group, prompts_per_step=prompts, group_size=group)
    made = configuration(settings, tmp_path, 1)
    assert made.per_device_train_batch_size * made.gradient_accumulation_steps == prompts * group
    assert made.gradient_accumulation_steps == made.steps_per_generation == pieces
    assert made.max_steps == 10
