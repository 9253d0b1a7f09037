"""Before the first stage: the validation set, and how the starting checkpoint does on it."""

from sqlalchemy import update

from trainee2trainer.contracts.campaign import BASELINE_STAGE
from trainee2trainer.store.tables import CampaignRecord
from trainer_service.campaigns import position as positions
from trainer_service.campaigns.position import Position
from trainer_service.campaigns.steps.measuring import keep, measure
from trainer_service.work import Work


async def run(work: Work, position: Position) -> None:
    measured = await measure(work, position, position.base_checkpoint, BASELINE_STAGE, None)
    async with work.effect() as session:
        await session.execute(
            update(CampaignRecord)
            .where(CampaignRecord.id == work.id)
            .values(baseline=measured.result.model_dump(mode="json")),
            execution_options={"synchronize_session": False},
        )
        await positions.note(session, position, attempts=0)
        await keep(session, work.id, BASELINE_STAGE, measured)
