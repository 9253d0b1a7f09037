"""A checkpoint judged on a validation set: sampled by policy_service, judged by env_service, counted here."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from trainee2trainer.client import EnvClient, PolicyClient
from trainee2trainer.contracts.campaign import CampaignCreate, ValidationResult
from trainee2trainer.contracts.engineer import Rates, SizeSummary
from trainee2trainer.contracts.environment import (
    MAX_VERIFY_BATCH,
    EnvironmentConfig,
    FailureCategory,
    InstanceRow,
    Outcome,
    VerifyBatchRequest,
    VerifyItem,
)
from trainee2trainer.contracts.policy import RolloutGroup, RolloutRequest, Sample
from trainee2trainer.contracts.transfer import TransferResult
from trainer_service.failures import Hopeless, StepFailed
from trainer_service.seeds import derive

BOARDS_PER_REQUEST = 100
PHASE = "validation"
TRANSFER_PHASE = "transfer"
"""Of answers to boards with other numbers of agents: no evidence for engineers, no part in comparisons."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One sampled answer and its verdict; none when sampling it failed on our side."""

    board: int
    row: InstanceRow
    sample: Sample
    outcome: Outcome | None


async def judge(
    policy: PolicyClient,
    env: EnvClient,
    rows: Sequence[InstanceRow],
    checkpoint: str,
    settings: CampaignCreate,
) -> AsyncIterator[list[Judged]]:
    """Samples and judges every board of `rows`, some at a time.

    One request after the other, each with a seed of its own: the same checkpoint gets the same answers again.
    """
    boards = max(1, min(BOARDS_PER_REQUEST, MAX_VERIFY_BATCH // settings.validation.samples))
    for first in range(0, len(rows), boards):
        some = rows[first : first + boards]
        groups = await _sample(policy, some, checkpoint, settings, first)
        yield await _verdicts(env, first, some, groups, settings)


async def _sample(
    policy: PolicyClient, rows: Sequence[InstanceRow], checkpoint: str, settings: CampaignCreate, first: int
) -> list[RolloutGroup]:
    request = RolloutRequest(
        checkpoint=checkpoint,
        prompts=[_prompt(row) for row in rows],
        n=settings.validation.samples,
        temperature=settings.validation.temperature,
        max_tokens=settings.training.max_tokens,
        seed=derive(settings.validation.seed, "sample", first),
    )
    answer = await policy.rollouts(request)
    if answer.checkpoint != checkpoint:
        raise StepFailed(f"policy_service answered with {answer.checkpoint}, asked was {checkpoint}.")
    return answer.groups


def _prompt(row: InstanceRow) -> list[Any]:
    if row.prompt is None:
        raise Hopeless(f"The validation board {row.instance.id} has no prompt.")
    return row.prompt


async def _verdicts(
    env: EnvClient,
    first: int,
    rows: Sequence[InstanceRow],
    groups: Sequence[RolloutGroup],
    settings: CampaignCreate,
) -> list[Judged]:
    answers = [
        (first + place, row, sample)
        for place, (row, group) in enumerate(zip(rows, groups, strict=True))
        for sample in group.samples
    ]
    items = [
        VerifyItem(instance_id=row.instance.id, answer=sample.text)
        for _, row, sample in answers
        if not sample.error
    ]
    if not items:
        raise StepFailed(f"policy_service sampled nothing: {answers[0][2].error}")
    request = VerifyBatchRequest(items=items, rewards=settings.training.rewards)
    verdicts = iter((await env.verify_batch(request)).outcomes)
    return [
        Judged(board, row, sample, None if sample.error else next(verdicts)) for board, row, sample in answers
    ]


def rollout_row(judged: Judged, subject_id: str, stage: int, phase: str = PHASE) -> dict[str, Any]:
    """The row of the store's `rollouts` table."""
    instance, outcome = judged.row.instance, judged.outcome
    return {
        "subject_id": subject_id,
        "stage_index": stage,
        "phase": phase,
        "step": 0,
        "group": judged.board,
        "instance_id": instance.id,
        "size": instance.size,
        "needs_wait": instance.needs_wait,
        "valid": bool(outcome and outcome.valid),
        "optimal": bool(outcome and outcome.optimal),
        "failure": outcome.failure.value if outcome and outcome.failure else None,
        "reward": outcome.reward if outcome else None,
        "makespan": outcome.makespan if outcome else None,
        "tokens": len(judged.sample.token_ids),
        "answer": judged.sample.text,
    }


def result(
    judged: Sequence[Judged], checkpoint: str, configuration: EnvironmentConfig | None, seconds: float
) -> ValidationResult:
    """Rates over what was scored, overall and per size. `configuration`: what was trained on before."""
    sizes = sorted({one.row.instance.size for one in judged})
    return ValidationResult(
        checkpoint=checkpoint,
        overall=rates(judged),
        sizes=[
            _size([one for one in judged if one.row.instance.size == size], size, configuration)
            for size in sizes
        ],
        seconds=seconds,
    )


def transfer(agents: int, judged: Sequence[Judged]) -> TransferResult:
    return TransferResult(agents=agents, overall=rates(judged), sizes=_rates_by_size(judged))


def _size(judged: Sequence[Judged], size: int, configuration: EnvironmentConfig | None) -> SizeSummary:
    outcomes = [one.outcome for one in judged if one.outcome]
    lengths = [outcome.makespan for outcome in outcomes if outcome.valid and outcome.makespan is not None]
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    return SizeSummary(
        size=size,
        configured=configuration.sizes.get(size) if configuration else None,
        validation=rates(judged),
        validation_wait=rates(one for one in judged if one.row.instance.needs_wait),
        validation_plain=rates(one for one in judged if not one.row.instance.needs_wait),
        failures={category: failures.count(category) for category in FailureCategory if category in failures},
        training=None,
        dead_group_share=None,
        mean_plan_length=fmean(lengths) if lengths else None,
    )


def rates(judged: Iterable[Judged]) -> Rates:
    """Over the samples that were scored: what failed on our side counts for nothing."""
    outcomes = [one.outcome for one in judged if one.outcome and one.outcome.scored]
    count = len(outcomes) or 1
    return Rates(
        samples=len(outcomes),
        valid=sum(outcome.valid for outcome in outcomes) / count,
        optimal=sum(outcome.optimal for outcome in outcomes) / count,
    )


def progress(judged: Sequence[Judged]) -> dict[str, Any]:
    """Rates per size, as events tell them."""
    return {str(size): found.model_dump() for size, found in _rates_by_size(judged).items()}


def _rates_by_size(judged: Sequence[Judged]) -> dict[int, Rates]:
    sizes = sorted({one.row.instance.size for one in judged})
    return {size: rates(one for one in judged if one.row.instance.size == size) for size in sizes}
