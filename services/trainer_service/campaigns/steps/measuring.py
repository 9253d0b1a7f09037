"""Measuring a checkpoint on the campaign's validation set: what the baseline and the stages share."""

import time

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import EventKind, ValidationResult
from trainee2trainer.contracts.environment import EnvironmentConfig
from trainee2trainer.store.tables import RolloutRecord
from trainer_service import boards, events, validation
from trainer_service.campaigns.position import Position
from trainer_service.validation import Judged
from trainer_service.work import Work


async def make_validation_set(work: Work, position: Position) -> None:
    """Writes the campaign's fixed set of held-out boards. The same settings give the same boards again."""
    settings = position.settings
    request = boards.validation_request(settings.configuration.agents, settings.validation, settings.template)
    await boards.make(work.tools.env, request, position.validation_set(work.tools.settings))


async def measure(
    work: Work, position: Position, checkpoint: str, stage: int, configuration: EnvironmentConfig | None
) -> tuple[ValidationResult, list[Judged]]:
    """Judges the checkpoint on the set, telling how far it is; made anew where the set is missing."""
    started = time.perf_counter()
    path = position.validation_set(work.tools.settings)
    if not path.exists():
        await make_validation_set(work, position)
    rows = await boards.read(path)
    judged: list[Judged] = []
    chunks = validation.judge(work.tools.policy, work.tools.env, rows, checkpoint, position.settings)
    async for chunk in chunks:
        judged += chunk
        await work.tell(
            EventKind.VALIDATE_PROGRESS,
            stage=stage,
            boards=judged[-1].board + 1,
            of=len(rows),
            sizes=validation.progress(judged),
        )
    return validation.result(judged, checkpoint, configuration, time.perf_counter() - started), judged


async def keep(
    session: AsyncSession, campaign_id: str, stage: int, result: ValidationResult, judged: list[Judged]
) -> None:
    """Adds the answers and the event that says what came out, in the step's own transaction."""
    rows = [validation.rollout_row(one, campaign_id, stage) for one in judged]
    await session.execute(insert(RolloutRecord), rows)
    await events.append(
        session,
        campaign_id,
        EventKind.VALIDATE_DONE,
        stage=stage,
        checkpoint=result.checkpoint,
        overall=result.overall.model_dump(),
        sizes=validation.progress(judged),
        seconds=result.seconds,
    )
