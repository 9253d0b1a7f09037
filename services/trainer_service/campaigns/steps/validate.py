"""The stage's checkpoint on the campaign's validation set."""

from trainee2trainer.contracts.campaign import StageStep
from trainer_service.campaigns.position import Position, finish
from trainer_service.campaigns.steps.measuring import keep, measure
from trainer_service.work import Work


async def run(work: Work, position: Position) -> None:
    assert position.checkpoint is not None
    measured = await measure(work, position, position.checkpoint, position.index, position.configuration)
    result = measured.result
    async with work.effect() as session:
        content = result.model_dump(mode="json")
        await finish(session, position, StageStep.SUMMARISE, result.seconds, validation=content)
        await keep(session, work.id, position.index, measured)
