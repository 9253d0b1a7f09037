"""`random`: any configuration within the bounds, the paper's plain comparison."""

from random import Random

from engineer_service.context import Context
from engineer_service.engineers.base import Question, written
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName
from trainee2trainer.contracts.environment import EnvironmentConfig

_PLACES = 2


class RandomChoice:
    card = EngineerCard(
        name=EngineerName.RANDOM,
        description="Draws every knob of the same map sizes uniformly within its bounds.",
        needs_policy=False,
    )
    attempts = True

    def prompt(self, question: Question) -> list[Message]:
        return []

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        random = Random(question.attempt_seed(attempt))
        sizes = {
            size.size: {
                knob.name: round(random.uniform(knob.minimum, knob.maximum), _PLACES)
                for knob in question.family.knobs
            }
            for size in question.summary.sizes
        }
        for knobs in sizes.values():
            # All shares nought would be no configuration at all.
            knobs["data_ratio"] = max(knobs["data_ratio"], 10**-_PLACES)
        agents = question.summary.configuration.agents
        configuration = EnvironmentConfig.model_validate({"agents": agents, "sizes": sizes})
        return written(configuration, "drawn at random")
