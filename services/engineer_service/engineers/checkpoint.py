"""`self` and `base`: a checkpoint of the campaign writes the next environment, as in the paper."""

from engineer_service.context import Context
from engineer_service.engineers.base import Question
from engineer_service.neighbours import needed
from engineer_service.prompts import COMPACT, TEMPLATES, template_for
from engineer_service.validation import Unusable
from trainee2trainer.client import ProblemError
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName
from trainee2trainer.contracts.policy import RolloutRequest
from trainee2trainer.web import problems

_COMPACT_TOKENS = 256
"""Eight sizes take 141 words."""
_REFUSED = 422


class Checkpoint:
    """Asked through the policy service. Which checkpoint answers is said in the question."""

    attempts = True

    def __init__(self, name: EngineerName, description: str) -> None:
        self.card = EngineerCard(name=name, description=description, needs_policy=True)

    def prompt(self, question: Question) -> list[Message]:
        return TEMPLATES[template_for(question.profile)](question.summary, question.family)

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        compact = template_for(question.profile) == COMPACT
        request = RolloutRequest(
            checkpoint=question.checkpoint,
            prompts=[self.prompt(question)],
            temperature=context.settings.engineer_temperature,
            max_tokens=_COMPACT_TOKENS if compact else context.settings.engineer_max_tokens,
            seed=question.attempt_seed(attempt),
        )
        with needed("policy"):
            try:
                response = await context.policy.rollouts(request)
            except ProblemError as error:
                if error.status != _REFUSED:
                    raise
                # The evidence does not fit the model's context: asking again cannot help, nor can waiting.
                raise Unusable(f"the checkpoint cannot take the prompt: {error.detail}") from error
        sample = response.groups[0].samples[0]
        if sample.error is not None:
            raise problems.unavailable(f"The policy service could not sample: {sample.error}")
        return sample.text


ITSELF = Checkpoint(EngineerName.SELF, "The current checkpoint: trainee and engineer are one.")
BASE = Checkpoint(
    EngineerName.BASE, "The checkpoint that the campaign started from: an engineer that never trained."
)
