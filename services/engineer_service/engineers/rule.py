"""`teacher`: the rule that the small model's engineer was taught, by itself: what the model has to beat."""

from engineer_service.context import Context
from engineer_service.engineers.base import Question, written
from engineer_service.numbers import size_numbers
from engineer_service.teacher import decide
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName
from trainee2trainer.contracts.environment import EnvironmentConfig


class Rule:
    card = EngineerCard(
        name=EngineerName.TEACHER,
        description="The rule that the nano engineer was taught to imitate, without noise.",
        needs_policy=False,
    )
    attempts = False

    def prompt(self, question: Question) -> list[Message]:
        return []

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        decision = decide(size_numbers(question.summary))
        agents = question.summary.configuration.agents
        return written(EnvironmentConfig(agents=agents, sizes=decision.sizes), decision.reason)
