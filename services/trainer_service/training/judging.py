"""Rewards: env_service's verdicts, and the record of what was judged."""

from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from accelerate.utils import gather_object

from trainee2trainer.client import EnvClient
from trainee2trainer.client.blocking import Blocking
from trainee2trainer.contracts.environment import Outcome, RewardWeights, VerifyBatchRequest, VerifyItem
from trainer_service.training.lines import Lines
from trainer_service.training.spec import TrainedRollout

_BATCH = 1_024


@dataclass(slots=True)
class StepRecord:
    """What one step's samples came to, in the order sampled."""

    rollouts: list[TrainedRollout] = field(default_factory=list)

    @property
    def rewards(self) -> list[float]:
        return [rollout.reward or 0.0 for rollout in self.rollouts]

    @property
    def reward(self) -> float:
        return fmean(self.rewards)

    def share(self, name: str) -> float:
        return sum(bool(getattr(rollout, name)) for rollout in self.rollouts) / max(1, len(self.rollouts))

    @property
    def dead_group_share(self) -> float:
        """Groups whose rewards are all equal: no advantage, no gradient."""
        groups: dict[int, set[float]] = {}
        for rollout in self.rollouts:
            groups.setdefault(rollout.group, set()).add(rollout.reward or 0.0)
        return sum(len(rewards) == 1 for rewards in groups.values()) / max(1, len(groups))

    @property
    def tokens(self) -> int:
        return sum(rollout.tokens for rollout in self.rollouts)

    @property
    def sizes(self) -> dict[int, "StepRecord"]:
        """The same record by map size, ascending."""
        by_size: dict[int, StepRecord] = {}
        for rollout in sorted(self.rollouts, key=lambda rollout: rollout.size):
            by_size.setdefault(rollout.size, StepRecord()).rollouts.append(rollout)
        return by_size


class Judge:
    """TRL's reward function. Writes each judged sample to `lines` and keeps the step's for the metrics."""

    __name__ = "verdict"

    def __init__(self, env: Blocking[EnvClient], weights: RewardWeights, lines: Lines) -> None:
        self.env = env
        self.weights = weights
        self.lines = lines
        self.record = StepRecord()

    def __call__(
        self,
        *,
        completions: list[list[dict[str, str]]],
        completion_ids: list[list[int]],
        trainer_state: Any,
        **columns: list[Any],
    ) -> list[float]:
        """A reward per completion. Raises when a sample could not be judged: that is never the model's fault,
        and a made-up reward would be learnt from."""
        answers = [completion[0]["content"] for completion in completions]
        outcomes = self._verdicts(columns["instance_id"], answers)
        own = [
            TrainedRollout(
                step=trainer_state.global_step,
                group=columns["group"][place],
                instance_id=columns["instance_id"][place],
                size=columns["size"][place],
                needs_wait=columns["needs_wait"][place],
                valid=outcome.valid,
                optimal=outcome.optimal,
                failure=outcome.failure,
                reward=outcome.reward,
                makespan=outcome.makespan,
                tokens=len(completion_ids[place]),
            )
            for place, outcome in enumerate(outcomes)
        ]
        # Several processes share a step: the record is of all of it.
        self.record = StepRecord(gather_object(own))
        self.lines.write(self.record.rollouts)
        return StepRecord(own).rewards

    def _verdicts(self, instance_ids: list[str], answers: list[str]) -> list[Outcome]:
        items = [
            VerifyItem(instance_id=instance_id, answer=answer)
            for instance_id, answer in zip(instance_ids, answers, strict=True)
        ]
        outcomes: list[Outcome] = []
        for start in range(0, len(items), _BATCH):
            request = VerifyBatchRequest(items=items[start : start + _BATCH], rewards=self.weights)
            outcomes += self.env.verify_batch(request).outcomes
        if unscored := sum(not outcome.scored for outcome in outcomes):
            raise RuntimeError(f"{unscored} of {len(outcomes)} samples could not be judged")
        return outcomes
