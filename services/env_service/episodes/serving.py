"""What REST and the socket have in common: the operations on episodes, with their problems."""

import asyncio

from env_service.boards import BrokenBoard, to_task
from env_service.context import Context
from env_service.episodes.keeping import Full
from env_service.episodes.playing import Position, advance, begin, describe, spelled
from env_service.generator import Made, OutOfReach, draw_one
from env_service.library import Known
from env_service.quotas import Impossible, configuration_id
from env_service.rendering import Origin, Rendered
from env_service.routes.instances import unreachable
from env_service.solver.certificate import Cause
from trainee2trainer.contracts.environment import Sampler
from trainee2trainer.contracts.episode import EndReason, Episode, EpisodeCreate, EpisodeStep
from trainee2trainer.web import problems

Loc = list[str | int]


async def create(request: EpisodeCreate, context: Context) -> Episode:
    """Begins an episode."""
    instance_id, known = await _board(request, context)
    setup = begin(known.task, known.optima, instance_id, request.max_steps, request.rewards)
    try:
        return describe(await context.episodes.begin(setup))
    except Full as error:
        raise problems.busy("As many episodes are open as may be.", retry_after=10) from error


async def get(episode_id: str, context: Context) -> Episode:
    return describe(await _position(episode_id, context))


async def step(episode_id: str, request: EpisodeStep, context: Context) -> Episode:
    """Takes a step. With its number given it may be sent again: it is taken once."""
    position = await _position(episode_id, context)
    if len(request.actions) != position.agents:
        rule = f"must have {position.agents} actions, one for each agent"
        raise problems.invalid(["body", "actions"], rule, "wrong_length")
    if _is_repeated(position, request):
        return describe(position)
    if request.step not in (None, position.steps):
        raise problems.conflict(f"The next step is {position.steps}, not {request.step}.")
    if position.ended is not None:
        raise problems.conflict(f"The episode is over: {position.ended}.")
    after = advance(position, request.actions)
    if await context.episodes.move(position, after):
        return describe(after)
    now = await _position(episode_id, context)
    if _is_repeated(now, request):
        return describe(now)
    raise problems.conflict("Another step came first.")


async def close(episode_id: str, context: Context) -> None:
    await _position(episode_id, context)
    await context.episodes.close(episode_id, EndReason.CLOSED)


def _is_repeated(position: Position, request: EpisodeStep) -> bool:
    """Whether the step was taken before, with the same actions, and is the last one."""
    done = request.step is not None and request.step == position.steps - 1
    return done and position.actions.endswith(spelled(request.actions))


async def _position(episode_id: str, context: Context) -> Position:
    position = await context.episodes.get(episode_id)
    if position is None:
        raise problems.not_found("episode", episode_id)
    return position


async def _board(request: EpisodeCreate, context: Context) -> tuple[str | None, Known]:
    if request.instance_id is not None:
        known = (await context.library.known([request.instance_id])).get(request.instance_id)
        if known is None:
            rule = f"there is no instance with the id {request.instance_id!r}"
            raise problems.invalid(["body", "instance_id"], rule, "instance_not_found")
        return request.instance_id, known
    if request.instance is not None:
        return None, await _certified(request, context)
    return await _generated(request, context)


async def _certified(request: EpisodeCreate, context: Context) -> Known:
    assert request.instance is not None
    try:
        task = to_task(request.instance)
        certificate = await context.pool.certify(task)
    except BrokenBoard as error:
        raise problems.invalid(["body", "instance", *error.loc], error.rule, "broken_board") from error
    if isinstance(certificate, Cause):
        rule = f"must be a board that can be solved, and is {certificate}"
        raise problems.invalid(["body", "instance"], rule, "not_solvable")
    return Known(task, certificate.optima)


async def _generated(request: EpisodeCreate, context: Context) -> tuple[str, Known]:
    configuration, seed = request.configuration, request.seed
    assert configuration is not None and seed is not None

    def make() -> tuple[Made, Rendered]:
        find, most = context.pool.find, context.max_draws
        made = draw_one(configuration, seed, split=request.split, find=find, max_draws=most)
        origin = Origin(configuration_id(configuration), seed, Sampler.UNIFORM)
        return made, context.pool.render([made], origin)[0]

    try:
        with context.generations.one():
            made, row = await asyncio.to_thread(make)
    except (Impossible, OutOfReach) as error:
        raise unreachable(error) from error
    await context.library.save([row])
    certificate = made.candidate.certificate
    return row.id, Known(made.candidate.task, certificate.optima)
