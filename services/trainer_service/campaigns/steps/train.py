"""The stage's training; what comes out is a published checkpoint."""

from trainee2trainer.contracts.campaign import StageStep
from trainer_service import checkpoints, stage_training
from trainer_service.campaigns.position import Position, finish
from trainer_service.campaigns.steps import generate
from trainer_service.stage_training import Stint
from trainer_service.work import Work


async def run(work: Work, position: Position) -> None:
    settings = work.tools.settings
    if not position.instances(settings).exists():
        await generate.make(work, position)
    stint = Stint(
        stage=position.index,
        attempt=position.attempts + 1,
        folder=position.folder(settings),
        instances=position.instances(settings),
        parent_id=position.start,
        checkpoint_id=checkpoints.name(work.id, position.index),
        profile=position.settings.profile,
        settings=position.settings.training,
        seed=position.seed("train"),
    )
    made = await stage_training.train(work, stint)
    async with work.effect() as session:
        await stage_training.keep(session, work.id, stint, made, campaign_id=work.id)
        changes = {"checkpoint_id": made.checkpoint.id, "reward_curve": made.rewards}
        await finish(session, position, StageStep.VALIDATE, made.seconds, **changes)
    await stage_training.tidy(stint)
