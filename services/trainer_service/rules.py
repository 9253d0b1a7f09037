"""What a request must fulfil beyond its schema. A broken rule is a problem that names field and rule; all
are checked before anything is written.
"""

import asyncio

from rfc9457 import Problem
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.client import EnvClient, ProblemError, UnreachableError
from trainee2trainer.contracts.campaign import CampaignCreate, TrainingJobCreate, TrainingSettings
from trainee2trainer.contracts.environment import MAX_INSTANCES, EnvironmentConfig, GenerateRequest
from trainee2trainer.store.tables import CheckpointRecord
from trainee2trainer.web import problems
from trainer_service import boards, profiles

PROBE_SECONDS = 30.0
PROBE_BOARDS_PER_SIZE = 2

Loc = list[str | int]
BODY: Loc = ["body"]
"""Where the settings stand in a request, unless it carries them further inside."""


async def starting_checkpoint(
    session: AsyncSession, profile: str, asked: str | None, field: str, under: Loc = BODY
) -> CheckpointRecord:
    """The checkpoint named in `field`, or the one its profile starts from."""
    known = profiles.PROFILES.get(profile)
    if known is None:
        raise problems.invalid(
            [*under, "profile"], f"must be one of {', '.join(profiles.PROFILES)}", "unknown_profile"
        )
    found = await session.get(CheckpointRecord, asked or known.checkpoint)
    if found:
        return found
    if asked:
        rule = f"there is no checkpoint with the id {asked!r}"
        raise problems.invalid([*under, field], rule, "checkpoint_not_found")
    raise problems.conflict(
        f"The profile {profile} has no starting checkpoint: {known.remedy}, then start again."
    )


def budget(training: TrainingSettings, under: Loc = BODY) -> None:
    """A stage's rollouts are whole steps, and its boards can be generated at once."""
    step = training.group_size * training.prompts_per_step
    field: Loc = [*under, "training", "rollouts"]
    if training.rollouts % step:
        rule = f"must be a multiple of group_size * prompts_per_step = {step}"
        raise problems.invalid(field, rule, "multiple_of")
    if boards.prompts(training) > MAX_INSTANCES:
        rule = f"rollouts / group_size must be at most {MAX_INSTANCES}, the boards of one stage"
        raise problems.invalid(field, rule, "less_than_equal")


def validation_sets(request: CampaignCreate, under: Loc = BODY) -> None:
    """Nothing is judged on twice."""
    sizes = request.validation.sizes
    if len(set(sizes)) < len(sizes):
        raise problems.invalid([*under, "validation", "sizes"], "each size must occur once", "unique")
    agents = [request.configuration.agents, *request.validation.more_agents]
    if len(set(agents)) < len(agents):
        rule = "each number of agents must occur once, and that of the configuration not at all"
        raise problems.invalid([*under, "validation", "more_agents"], rule, "unique")


async def campaign_boards(env: EnvClient, request: CampaignCreate, under: Loc = BODY) -> None:
    """The first stage's and the validation sets' boards can be made."""
    await training_boards(env, request, under)
    for agents in (request.configuration.agents, *request.validation.more_agents):
        wanted = boards.validation_request(agents, request.validation, request.template)
        few = wanted.model_copy(update={"count": _few(wanted.configuration)})
        await _probe(env, few, [*under, "validation"])


async def training_boards(
    env: EnvClient, request: CampaignCreate | TrainingJobCreate, under: Loc = BODY
) -> None:
    """The configuration's boards can be made, and the template exists: tried on a few of each size."""
    wanted = boards.training_request(request.configuration, request.training, request.seed, request.template)
    await _probe(env, wanted.model_copy(update={"count": _few(request.configuration)}), under)


def _few(configuration: EnvironmentConfig) -> int:
    return PROBE_BOARDS_PER_SIZE * len(configuration.sizes)


async def _probe(env: EnvClient, request: GenerateRequest, under: Loc) -> None:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            batch = await env.generate(request)
    except ProblemError as error:
        raise _ours(error, under) from error
    except (UnreachableError, TimeoutError) as error:
        raise problems.unavailable(
            "env_service does not answer, so the configuration cannot be checked."
        ) from error
    if not batch.rows:
        raise problems.invalid([*under, "configuration"], "there is no board that fits it", "out_of_reach")


def _ours(error: ProblemError, under: Loc) -> Problem:
    """The environment's problem, as one with the request that was made to us."""
    if error.status != 422 or not error.errors:
        return problems.unavailable(
            f"env_service could not check the configuration: {error.detail or error.title}"
        )
    first = error.errors[0]
    return problems.invalid([*under, *first.loc[1:]], first.msg, first.type)
