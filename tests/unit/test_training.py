"""A training stage's parts: what is counted, and what is never made up."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate import Accelerator

from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.environment import (
    Outcome,
    RewardWeights,
    VerifyBatchRequest,
    VerifyBatchResponse,
)
from trainer_service.profiles import PROFILES
from trainer_service.training.grpo import configuration
from trainer_service.training.judging import Judge
from trainer_service.training.lines import Lines
from trainer_service.training.reporting import step_metrics
from trainer_service.training.spec import TrainedRollout
from trainer_service.training.watching import GAP_MAX, GAP_MEAN, Gap


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


def ask(rewards: list[float | None], groups: list[int], path: Path, sizes: list[int] | None = None) -> Judge:
    env: Any = Verdicts(rewards)
    judge = Judge(env, RewardWeights(), Lines(path))
    count = len(rewards)
    judge(
        completions=[[{"role": "assistant", "content": "UP"}]] * count,
        completion_ids=[[1, 2]] * count,
        trainer_state=SimpleNamespace(global_step=4),
        group=groups,
        instance_id=["2agents_3x3_000000000000"] * count,
        size=sizes or [3] * count,
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


def test_several_processes_share_a_step(tmp_path: Path) -> None:
    settings = TrainingSettings(rollouts=2_560, prompts_per_step=32, group_size=8, samples_at_once=16)
    made = configuration(settings, tmp_path, 1, processes=4)
    assert made.per_device_train_batch_size * made.gradient_accumulation_steps * 4 == 256
    assert made.per_device_train_batch_size == 16
    with pytest.raises(ValueError, match="256 samples cannot be shared evenly by 3"):
        configuration(settings, tmp_path, 1, processes=3)


def test_the_papers_rung_samples_with_vllm(tmp_path: Path) -> None:
    settings = PROFILES["paper"].training
    made = configuration(settings, tmp_path, 1, vllm_url="http://127.0.0.1:8000")
    assert (made.use_vllm, made.vllm_mode, made.vllm_gpu_memory_utilization) == (True, "colocate", 0.3)
    assert made.vllm_server_base_url == "http://127.0.0.1:8000"
    assert made.activation_checkpointing
    assert made.max_completion_length == 4_096
    assert made.max_steps == 125
    assert made.max_steps * made.gradient_accumulation_steps * made.per_device_train_batch_size == 32_000


LOGS = {
    "loss": 0.25,
    "grad_norm": float("nan"),
    "learning_rate": 3e-4,
    "completions/mean_length": 2.0,
    "completions/min_length": 2.0,
    "completions/max_length": 2.0,
    "completions/clipped_ratio": 0.25,
}
STATE: Any = SimpleNamespace(global_step=5, max_steps=9)


def test_a_steps_record_is_overall_and_by_map_size(tmp_path: Path) -> None:
    rewards: list[float | None] = [1.0, 1.0, 0.0, 0.7]
    record = ask(rewards, [0, 0, 1, 1], tmp_path / "rollouts", sizes=[5, 5, 3, 3]).record
    step = step_metrics(STATE, LOGS, record, seconds=2.0)
    assert (step.step, step.steps, step.samples, step.tokens) == (5, 9, 4, 8)
    assert step.reward == pytest.approx(0.675)
    assert step.reward_std == pytest.approx(0.4085, abs=1e-4)
    assert step.dead_group_share == 0.5
    assert list(step.sizes) == [3, 5]
    assert (step.sizes[3].dead_group_share, step.sizes[5].dead_group_share) == (0.0, 1.0)
    assert (step.sizes[3].valid, step.sizes[3].optimal) == (0.5, 0.0)
    assert step.tokens_per_second == 4.0
    assert step.truncated == 0.25
    assert step.grad_norm is None  # JSON knows no NaN


@pytest.mark.parametrize(
    ("told", "kl", "missing"),
    [
        ({}, None, "kl_coefficient is 0"),
        ({"kl": 0.02}, 0.02, None),
        ({"kl": float("inf")}, None, "no number"),
    ],
)
def test_kl_is_there_or_its_absence_has_a_reason(
    tmp_path: Path, told: dict[str, float], kl: float | None, missing: str | None
) -> None:
    step = step_metrics(STATE, LOGS | told, ask([1.0, 0.0], [0, 0], tmp_path / "rollouts").record, 1.0)
    assert step.kl == kl
    assert (missing or "") in (step.kl_missing or "")
    assert (step.kl_missing is None) == (missing is None)


def test_the_gap_counts_sampled_tokens_only_and_starts_anew() -> None:
    gap, alone = Gap(torch.device("cpu")), Accelerator(cpu=True)
    nothing = float("nan")
    gap.add(torch.tensor([[0.1, -0.3], [nothing, 9.0]]), torch.tensor([[1, 1], [1, 0]]))
    gap.add(torch.tensor([[0.2]]), torch.tensor([[1]]))
    assert gap.take(alone) == {GAP_MEAN: pytest.approx(0.6 / 4), GAP_MAX: pytest.approx(0.3)}
    assert gap.take(alone) == {}
