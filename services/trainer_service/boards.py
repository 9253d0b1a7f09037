"""The instances a stage trains or is validated on: asked from env_service, kept as JSON Lines."""

import asyncio
import os
from pathlib import Path

from trainee2trainer.client import EnvClient
from trainee2trainer.contracts.campaign import TrainingSettings, ValidationSettings
from trainee2trainer.contracts.environment import (
    EnvironmentConfig,
    GeneratedBatch,
    GenerateRequest,
    InstanceRow,
    Realised,
    SizeKnobs,
    Split,
)
from trainer_service.failures import Hopeless


def prompts(settings: TrainingSettings) -> int:
    """How many boards a stage trains on: each is one prompt, sampled `group_size` times."""
    return settings.rollouts // settings.group_size


def training_request(
    configuration: EnvironmentConfig, settings: TrainingSettings, seed: int, template: str
) -> GenerateRequest:
    """What is asked for one stage of training."""
    return GenerateRequest(
        configuration=configuration, seed=seed, count=prompts(settings), template=template, best_effort=True
    )


def validation_request(agents: int, settings: ValidationSettings, template: str) -> GenerateRequest:
    """What is asked for a validation set: each size has exactly its number of boards."""
    knobs = SizeKnobs(data_ratio=1.0, hole_ratio=settings.hole_ratio, wait_ratio=settings.wait_ratio)
    return GenerateRequest(
        configuration=EnvironmentConfig(agents=agents, sizes=dict.fromkeys(settings.sizes, knobs)),
        seed=settings.seed,
        count=settings.boards_per_size * len(settings.sizes),
        split=Split.HELD_OUT,
        template=template,
    )


async def make(env: EnvClient, request: GenerateRequest, path: Path) -> Realised:
    """Writes the rows of `request` to `path`, all or nothing. Generation is pure, so it may be done again.

    When fewer boards of a kind exist than were asked for, the ones there are come again, in their order,
    until the count is met. Raises Hopeless when there is none at all.
    """
    batch = await env.generate(request)
    if not batch.rows:
        raise Hopeless("There is no board that fits this configuration.")
    await asyncio.to_thread(_write, batch, request.count, path)
    return batch.realised


async def read(path: Path) -> list[InstanceRow]:
    return await asyncio.to_thread(_read, path)


def _write(batch: GeneratedBatch, count: int, path: Path) -> None:
    lines = [row.model_dump_json() for row in batch.rows]
    rounds = [lines[number % len(lines)] for number in range(count)]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write("\n".join(rounds) + "\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _read(path: Path) -> list[InstanceRow]:
    with path.open(encoding="utf-8") as file:
        return [InstanceRow.model_validate_json(line) for line in file]
