"""`self`: the checkpoint that was just trained writes its own next environment, as in the paper."""

from engineer_service.context import Context
from engineer_service.engineers.base import Question
from engineer_service.neighbours import needed
from engineer_service.numbers import size_numbers
from engineer_service.prompts.compact import compact_prompt
from engineer_service.prompts.plain import plain_prompt
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName
from trainee2trainer.contracts.policy import RolloutRequest
from trainee2trainer.web import problems

_COMPACT_PROFILES = {"nano"}
_COMPACT_TOKENS = 256


class Itself:
    card = EngineerCard(
        name=EngineerName.SELF,
        description="The current checkpoint, asked through the policy service.",
        needs_policy=True,
    )
    attempts = True

    def prompt(self, question: Question) -> list[Message]:
        """A nano checkpoint knows only the words of the compact template."""
        if question.profile in _COMPACT_PROFILES:
            return compact_prompt(size_numbers(question.summary))
        return plain_prompt(question.summary, question.family)

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        compact = question.profile in _COMPACT_PROFILES
        request = RolloutRequest(
            checkpoint=question.checkpoint,
            prompts=[self.prompt(question)],
            temperature=context.settings.engineer_temperature,
            max_tokens=_COMPACT_TOKENS if compact else context.settings.engineer_max_tokens,
            seed=question.attempt_seed(attempt),
        )
        with needed("policy"):
            response = await context.policy.rollouts(request)
        sample = response.groups[0].samples[0]
        if sample.error is not None:
            raise problems.unavailable(f"The policy service could not sample: {sample.error}")
        return sample.text
