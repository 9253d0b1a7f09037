"""Takes a campaign from step to step until it ends, waits for a person, or is taken away."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from trainee2trainer.contracts.campaign import CampaignStatus, EventKind, StageStep
from trainee2trainer.jobs import StaleLease
from trainer_service import disk, events, lifecycle
from trainer_service.campaigns import position as positions
from trainer_service.campaigns.position import Position
from trainer_service.campaigns.steps import baseline, generate, propose, summarise, train, validate
from trainer_service.failures import Undecided, hopeless, in_words, no_room
from trainer_service.work import Work

log = structlog.get_logger()

Step = Callable[[Work, Position], Awaitable[None]]

STEPS: dict[StageStep, Step] = {
    StageStep.GENERATE: generate.run,
    StageStep.TRAIN: train.run,
    StageStep.VALIDATE: validate.run,
    StageStep.SUMMARISE: summarise.run,
    StageStep.PROPOSE: propose.run,
}


async def drive(work: Work) -> None:
    """Runs steps until there is nothing more to do now."""
    async with work.effect() as session:
        await lifecycle.move(session, work.lease.kind, work.id, CampaignStatus.RUNNING)
    while True:
        async with work.tools.store.session() as session:
            position = await positions.look(session, work.id)
        if position.status is not CampaignStatus.RUNNING:
            return
        if not await _attempt(work, position):
            return


async def _attempt(work: Work, position: Position) -> bool:
    """Runs the present step. False when it waits for a person: the reconciler will look again."""
    step = STEPS[position.step] if position.measured else baseline.run
    if not position.waiting:
        await work.tell(EventKind.STEP_STARTED, attempt=position.attempts + 1, **position.told)
    try:
        await step(work, position)
    except StaleLease:
        raise
    except Undecided:
        return False
    except Exception as error:  # whatever a step died of must not end the worker, nor be tried for ever
        log.warning("step.failed", campaign=work.id, exc_info=error, **position.told)
        await (_pause if disk.is_full(error) else _failed)(work, position, error)
    return True


async def _pause(work: Work, position: Position, error: Exception) -> None:
    """Nothing can be written until a person has made room; the step begins again when resumed."""
    async with work.effect() as session:
        told = {"reason": no_room(error), **position.told}
        await lifecycle.move(session, work.lease.kind, work.id, CampaignStatus.PAUSED, **told)


async def _failed(work: Work, position: Position, error: Exception) -> None:
    """Counts a failure: waits a little for the next attempt, or gives the campaign up."""
    settings, attempt, words = work.tools.settings, position.attempts + 1, in_words(error)
    given_up = hopeless(error) or attempt >= settings.step_attempts
    async with work.effect() as session:
        await positions.note(session, position, attempts=attempt)
        told = {"attempt": attempt, "error": words, **position.told}
        await events.append(session, work.id, EventKind.STEP_FAILED, **told)
        if given_up:
            whole = f"Stage {position.index}, {position.told['step']}: {words}"
            await lifecycle.move(session, work.lease.kind, work.id, CampaignStatus.FAILED, error=whole)
    if not given_up:
        await asyncio.sleep(settings.retry_seconds * 2 ** (attempt - 1))
