"""How good a starting checkpoint is: plans on held-out boards, and engineer answers that can be used."""

import json
import statistics
from collections import Counter, defaultdict
from typing import Any

from pydantic import ValidationError
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from trainee2trainer.client import EngineerClient, EnvClient
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import ExchangeRequest
from trainee2trainer.contracts.environment import (
    EnvironmentConfig,
    GenerateRequest,
    InstanceRow,
    SizeKnobs,
    Split,
    VerifyBatchRequest,
    VerifyItem,
)
from trainee2trainer.models.sampler import Sampler
from trainer_service.seeds import derive
from trainer_service.warmstart.lessons import TEMPLATE
from trainer_service.warmstart.settings import EvaluationSettings

_BATCH = 400
_ANSWER_TOKENS = 160


async def plans(
    env: EnvClient,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    sizes: list[int],
    settings: EvaluationSettings,
) -> dict[str, Any]:
    """Valid and optimal rate over all, per size and per wait class; failures by category."""
    rows = await _held_out(env, sizes, settings)
    seed = derive(settings.seed, "warmstart evaluation")
    answers = _sampled(model, tokenizer, [row.prompt or [] for row in rows], settings.samples, seed)
    asked = [row for row in rows for _ in range(settings.samples)]
    valid: dict[str, list[bool]] = defaultdict(list)
    optimal, failures = [], Counter[str]()
    for start in range(0, len(asked), _BATCH):
        pairs = list(zip(asked[start : start + _BATCH], answers[start : start + _BATCH], strict=True))
        items = [VerifyItem(instance_id=row.instance.id, answer=answer) for row, answer in pairs]
        judged = await env.verify_batch(VerifyBatchRequest(items=items))
        for (row, _), outcome in zip(pairs, judged.outcomes, strict=True):
            wait = "needs_wait" if row.instance.needs_wait else "plain"
            for group in ("all", f"size_{row.instance.size}", wait):
                valid[group].append(outcome.valid)
            optimal.append(outcome.optimal)
            failures.update([outcome.failure.value] if outcome.failure else [])
    rates = {group: round(sum(values) / len(values), 4) for group, values in sorted(valid.items())}
    return {
        "boards": len(rows),
        "samples": len(asked),
        "valid": rates,
        "optimal": round(sum(optimal) / len(optimal), 4),
        "failures": dict(sorted(failures.items())),
    }


async def _held_out(env: EnvClient, sizes: list[int], settings: EvaluationSettings) -> list[InstanceRow]:
    knobs = {
        size: {"data_ratio": 1.0, "hole_ratio": settings.hole_ratio, "wait_ratio": settings.wait_ratio}
        for size in sizes
    }
    request = GenerateRequest(
        configuration=EnvironmentConfig.model_validate({"sizes": knobs}),
        seed=derive(settings.seed, "warmstart held-out boards"),
        count=settings.boards_per_size * len(sizes),
        split=Split.HELD_OUT,
        template=TEMPLATE,
    )
    return (await env.generate(request)).rows


async def exchanges(
    engineer: EngineerClient,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    sizes: list[int],
    settings: EvaluationSettings,
) -> dict[str, Any]:
    """Which share of sampled engineer answers is JSON, and which a valid configuration for the sizes asked."""
    request = ExchangeRequest(
        seed=derive(settings.seed, "warmstart exchanges unseen"), count=settings.exchanges, sizes=sizes
    )
    lessons = [exchange async for exchange in engineer.exchanges(request)]
    prompts = [exchange.prompt for exchange in lessons]
    seed = derive(settings.seed, "warmstart engineer")
    answers = _sampled(model, tokenizer, prompts, 1, seed, temperature=settings.engineer_temperature)
    read = [_configuration(answer) for answer in answers]
    taught = [_configuration(exchange.answer) for exchange in lessons]
    return {
        "answers": len(answers),
        "usable": round(sum(one is not None for one in read) / len(read), 4),
        "agreement": {knob: _agreement(read, taught, knob) for knob in SizeKnobs.model_fields},
        "example": answers[0],
    }


def _configuration(answer: str) -> EnvironmentConfig | None:
    try:
        return EnvironmentConfig.model_validate({"sizes": json.loads(answer)["sizes"]})
    except (ValidationError, ValueError, KeyError, TypeError):
        return None


def _agreement(
    read: list[EnvironmentConfig | None], taught: list[EnvironmentConfig | None], knob: str
) -> float:
    """Correlation of a knob's values with the teacher's, over the sizes that both configure."""
    pairs = [
        (getattr(ours.sizes[size], knob), getattr(theirs.sizes[size], knob))
        for ours, theirs in zip(read, taught, strict=True)
        if ours and theirs
        for size in ours.sizes.keys() & theirs.sizes.keys()
    ]
    return round(statistics.correlation(*zip(*pairs, strict=True)), 4)


def _sampled(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    prompts: list[list[Message]],
    n: int,
    seed: int,
    *,
    temperature: float = 1.0,
) -> list[str]:
    ids = [tokenizer.encode(" ".join(message.content for message in prompt)) for prompt in prompts]
    sampler = Sampler(model, tokenizer.eos_token_id, tokenizer.pad_token_id)
    groups = sampler.sample(ids, n, seed, temperature, _ANSWER_TOKENS)
    return [
        tokenizer.decode(sampled.token_ids, skip_special_tokens=True) for group in groups for sampled in group
    ]
