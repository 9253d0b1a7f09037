"""The boards of a stage, by its configuration."""

import time

from trainee2trainer.contracts.campaign import EventKind, StageStep
from trainee2trainer.contracts.environment import Realised
from trainer_service import boards, events
from trainer_service.campaigns.position import Position, finish
from trainer_service.work import Work


async def run(work: Work, position: Position) -> None:
    started = time.perf_counter()
    realised = await make(work, position)
    seconds = time.perf_counter() - started
    async with work.effect() as session:
        await finish(session, position, StageStep.TRAIN, seconds)
        await events.append(
            session,
            work.id,
            EventKind.GENERATE_DONE,
            stage=position.index,
            asked=boards.prompts(position.settings.training),
            realised=realised.model_dump(mode="json"),
            seconds=seconds,
        )


async def make(work: Work, position: Position) -> Realised:
    """Writes the stage's boards: the same ones whenever it is done."""
    settings = position.settings
    request = boards.training_request(
        position.configuration, settings.training, position.seed("generate"), settings.template
    )
    return await boards.make(work.tools.env, request, position.instances(work.tools.settings))
