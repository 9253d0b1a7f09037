"""A configuration is tried before it is used: the environment has to make a few boards of it."""

from engineer_service.context import Context
from engineer_service.neighbours import needed
from engineer_service.validation import Unusable
from trainee2trainer.client import ProblemError
from trainee2trainer.contracts.environment import EnvironmentConfig, GenerateRequest

_MIN_BOARDS_PER_SIZE = 4
_REFUSED = 422


async def try_out(context: Context, configuration: EnvironmentConfig, seed: int) -> None:
    """Makes a few boards of every size. Raises Unusable where the environment cannot make what is asked."""
    even = _even(configuration)
    count = max(context.settings.engineer_probe_boards, _MIN_BOARDS_PER_SIZE * len(even.sizes))
    with needed("env"):
        try:
            await context.env.generate(GenerateRequest(configuration=even, seed=seed, count=count))
        except ProblemError as error:
            if error.status != _REFUSED:
                raise
            raise Unusable(f"such boards cannot be made: {error.detail or error.title}") from error


def _even(configuration: EnvironmentConfig) -> EnvironmentConfig:
    """The sizes in use with equal shares: a size with a small share must be tried as well."""
    sizes = {
        size: knobs.model_copy(update={"data_ratio": 1.0})
        for size, knobs in configuration.sizes.items()
        if knobs.data_ratio > 0
    }
    return EnvironmentConfig(agents=configuration.agents, sizes=sizes)
