"""`llm`: any other model behind an OpenAI-compatible endpoint."""

import httpx

from engineer_service.context import Context
from engineer_service.engineers.base import Question
from engineer_service.prompts.plain import plain_prompt
from engineer_service.settings import EngineerSettings
from engineer_service.validation import Unusable
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, EngineerName
from trainee2trainer.web import problems

_SEEDS = 2**31
"""Endpoints differ in how large a seed they take; this much all of them do."""
_REFUSED = {400, 413, 422}
"""Mostly a prompt longer than the model's context: neither asking again nor waiting can help."""
_MALFORMED = "The engineer's endpoint answered something that is no chat completion."


class Endpoint:
    card = EngineerCard(
        name=EngineerName.LLM,
        description="Another model, by T2T_ENGINEER_LLM_URL, T2T_ENGINEER_LLM_MODEL and T2T_ENGINEER_LLM_KEY.",
        needs_policy=False,
    )
    attempts = True

    def prompt(self, question: Question) -> list[Message]:
        return plain_prompt(question.summary, question.family)

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        settings = context.settings
        if settings.engineer_llm_url is None or settings.engineer_llm_model is None:
            raise problems.conflict("The engineer llm needs T2T_ENGINEER_LLM_URL and T2T_ENGINEER_LLM_MODEL.")
        body = {
            "model": settings.engineer_llm_model,
            "messages": [message.model_dump() for message in self.prompt(question)],
            "temperature": settings.engineer_temperature,
            "max_tokens": settings.engineer_max_tokens,
            "seed": question.attempt_seed(attempt) % _SEEDS,
        }
        return _text(await _post(settings, body))


async def _post(settings: EngineerSettings, body: dict[str, object]) -> httpx.Response:
    key = settings.engineer_llm_key
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=settings.engineer_llm_seconds, headers=headers) as client:
            answer = await client.post(f"{settings.engineer_llm_url}/chat/completions", json=body)
            answer.raise_for_status()
            return answer
    except httpx.HTTPStatusError as error:
        code = error.response.status_code
        if code in _REFUSED:
            raise Unusable(f"the endpoint cannot take the prompt: it answered {code}") from error
        raise problems.unavailable(f"The engineer's endpoint answered {code}.") from error
    except httpx.HTTPError as error:
        raise problems.unavailable("The engineer's endpoint gives no answer.") from error


def _text(answer: httpx.Response) -> str:
    try:
        content = answer.json()["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise problems.unavailable(_MALFORMED) from error
    # Null is how some servers say that a model wrote nothing but thoughts.
    return content if isinstance(content, str) else ""
