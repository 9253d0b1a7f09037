"""Measuring a checkpoint on the campaign's validation set: what the baseline and the stages share."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import EventKind, ValidationResult
from trainee2trainer.contracts.environment import EnvironmentConfig, InstanceRow
from trainee2trainer.store.tables import RolloutRecord
from trainer_service import boards, events, validation
from trainer_service.campaigns.position import Position
from trainer_service.validation import TRANSFER_PHASE, Judged
from trainer_service.work import Work


@dataclass(frozen=True, slots=True)
class Measured:
    """What came out, and every answer: on the validation set, and with other numbers of agents."""

    result: ValidationResult
    judged: list[Judged]
    transfer: list[Judged]


async def measure(
    work: Work, position: Position, checkpoint: str, stage: int, configuration: EnvironmentConfig | None
) -> Measured:
    """Judges the checkpoint on the campaign's sets, telling how far it is with the first."""
    started, tools, settings = time.perf_counter(), work.tools, position.settings
    agents, path = settings.configuration.agents, position.validation_set(tools.settings)
    rows = await _boards(work, position, agents, path)
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
    others: dict[int, list[Judged]] = {}
    for agents in settings.validation.more_agents:
        rows = await _boards(work, position, agents, position.transfer_set(tools.settings, agents))
        chunks = validation.judge(tools.policy, tools.env, rows, checkpoint, settings)
        others[agents] = [one async for chunk in chunks for one in chunk]
    result = validation.result(judged, checkpoint, configuration, time.perf_counter() - started)
    transfer = [validation.transfer(agents, answers) for agents, answers in others.items()]
    return Measured(
        result.model_copy(update={"transfer": transfer}),
        judged,
        [one for answers in others.values() for one in answers],
    )


async def _boards(work: Work, position: Position, agents: int, path: Path) -> list[InstanceRow]:
    """A fixed set of held-out boards, made where it is missing: the same settings give the same boards again."""
    if not await asyncio.to_thread(path.exists):
        settings = position.settings
        request = boards.validation_request(agents, settings.validation, settings.template)
        await boards.make(work.tools.env, request, path)
    return await boards.read(path)


async def keep(session: AsyncSession, campaign_id: str, stage: int, measured: Measured) -> None:
    """Adds the answers and the event that says what came out, in the step's own transaction."""
    result = measured.result
    rows = [validation.rollout_row(one, campaign_id, stage) for one in measured.judged]
    rows += [validation.rollout_row(one, campaign_id, stage, TRANSFER_PHASE) for one in measured.transfer]
    await session.execute(insert(RolloutRecord), rows)
    await events.append(
        session,
        campaign_id,
        EventKind.VALIDATE_DONE,
        stage=stage,
        checkpoint=result.checkpoint,
        overall=result.overall.model_dump(),
        sizes=validation.progress(measured.judged),
        transfer=[one.model_dump(mode="json") for one in result.transfer],
        seconds=result.seconds,
    )
