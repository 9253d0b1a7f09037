"""OpenAI's plain completions."""

import asyncio
import secrets
import time
from typing import Any, cast

from fastapi import APIRouter, Request, Response

from policy_service import asking, streaming
from policy_service.asking import Asked, Located, Sampling, Tokens
from policy_service.backend import Answer
from policy_service.context import ContextDep
from policy_service.routes.common import EVENTS, SAMPLING
from policy_service.streaming import Chunk
from policy_service.usage import usage
from trainee2trainer.contracts.policy import (
    MAX_PROMPTS,
    Completion,
    CompletionChoice,
    CompletionRequest,
    FinishReason,
    Prompt,
)
from trainee2trainer.web import problems

router = APIRouter(prefix="/v1", tags=["openai"])


@router.post("/completions", response_model=Completion, responses=SAMPLING | EVENTS)
async def create_completion(body: CompletionRequest, request: Request, context: ContextDep) -> Response:
    """Continues text or token ids. `model` is a checkpoint id; null or "active" is the active one.

    With a seed the same request gets the same answer. With `stream` the answer comes as server-sent events.
    """
    loaded = await asking.find(context, body.model)
    how = Sampling(body.n, body.temperature, body.max_tokens, body.seed)
    tokens = Tokens() if body.stream else None
    asked = await asking.ask(context, loaded, _prompts(body.prompt), how, tokens.hear if tokens else None)
    id_, created = f"cmpl-{secrets.token_hex(12)}", int(time.time())
    if tokens is not None:
        return streaming.respond(context, asked, tokens, _chunks(asked, id_, created))
    answers = await asking.answers(context, asked, request)
    content = await asyncio.to_thread(_render, asked, answers, id_, created)
    return Response(content, media_type="application/json", headers=asked.headers)


def _prompts(prompt: str | list[str] | list[int] | list[list[int]]) -> list[Located]:
    """One prompt or several: a list of numbers is one prompt of token ids."""
    loc: list[str | int] = ["body", "prompt"]
    if isinstance(prompt, str) or (prompt and isinstance(prompt[0], int)):
        return [(loc, cast(Prompt, prompt))]
    if not 1 <= len(prompt) <= MAX_PROMPTS:
        raise problems.invalid(loc, f"must be 1 to {MAX_PROMPTS} prompts; these are {len(prompt)}")
    return [([*loc, place], cast(Prompt, one)) for place, one in enumerate(prompt)]


def _chunks(asked: Asked, id_: str, created: int) -> Chunk:
    def chunk(index: int, text: str | None, reason: FinishReason | None) -> dict[str, Any]:
        return {
            "id": id_,
            "object": "text_completion",
            "created": created,
            "model": asked.loaded.checkpoint_id,
            "choices": [{"index": index, "text": text or "", "finish_reason": reason}],
        }

    return chunk


def _render(asked: Asked, answers: list[Answer], id_: str, created: int) -> str:
    choices = [
        CompletionChoice(
            index=index,
            text=asked.loaded.vocabulary.decode(answer.token_ids),
            finish_reason=answer.finish_reason,
        )
        for index, answer in enumerate(answers)
    ]
    return Completion(
        id=id_,
        created=created,
        model=asked.loaded.checkpoint_id,
        choices=choices,
        usage=usage(asked.prompts, answers),
    ).model_dump_json()
