"""`fixed`: the same configuration for ever, what any engineer has to beat first."""

from engineer_service.context import Context
from engineer_service.engineers.base import Question, written
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName


class Fixed:
    card = EngineerCard(
        name=EngineerName.FIXED,
        description="Keeps the configuration as it is.",
        needs_policy=False,
    )
    attempts = False

    def prompt(self, question: Question) -> list[Message]:
        return []

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        return written(question.summary.configuration, "keep")
