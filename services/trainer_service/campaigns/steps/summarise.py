"""The stage's evidence, put together by engineer_service. The last stage ends here."""

import time

from trainee2trainer.contracts.campaign import CampaignStatus, EventKind, StageStep
from trainee2trainer.contracts.engineer import SummaryRequest
from trainer_service import events, lifecycle
from trainer_service.campaigns.position import Position, finish
from trainer_service.work import Work


async def run(work: Work, position: Position) -> None:
    started = time.perf_counter()
    # One summary per campaign and stage: asking again gives the same one.
    request = SummaryRequest(campaign_id=work.id, stage_index=position.index)
    summary = await work.tools.engineer.summarise(request)
    seconds = time.perf_counter() - started
    to = StageStep.DONE if position.last else StageStep.PROPOSE
    async with work.effect() as session:
        await finish(session, position, to, seconds, summary_id=summary.id)
        await events.append(
            session,
            work.id,
            EventKind.SUMMARISE_DONE,
            stage=position.index,
            summary_id=summary.id,
            seconds=seconds,
        )
        if position.last:
            await lifecycle.move(session, work.lease.kind, work.id, CampaignStatus.SUCCEEDED)
