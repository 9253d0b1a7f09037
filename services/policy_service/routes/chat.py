"""OpenAI's chat completions."""

import asyncio
import secrets
import time
from typing import Any

from fastapi import APIRouter, Request, Response

from policy_service import asking, streaming
from policy_service.asking import Asked, Sampling, Tokens
from policy_service.backend import Answer
from policy_service.context import ContextDep
from policy_service.routes.common import EVENTS, SAMPLING
from policy_service.streaming import Chunk
from policy_service.usage import usage
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.policy import (
    MAX_NEW_TOKENS,
    ChatChoice,
    ChatCompletion,
    ChatCompletionRequest,
    FinishReason,
)

router = APIRouter(prefix="/v1", tags=["openai"])


@router.post("/chat/completions", response_model=ChatCompletion, responses=SAMPLING | EVENTS)
async def create_chat_completion(
    body: ChatCompletionRequest, request: Request, context: ContextDep
) -> Response:
    """Continues a chat. `model` is a checkpoint id; null or "active" is the active one.

    With a seed the same request gets the same answer. With `stream` the answer comes as server-sent events.
    """
    loaded = await asking.find(context, body.model)
    # Without a limit, an answer may fill what is left of the context.
    limit = body.max_completion_tokens or body.max_tokens or MAX_NEW_TOKENS
    how = Sampling(body.n, body.temperature, limit, body.seed)
    tokens = Tokens() if body.stream else None
    asked = await asking.ask(
        context, loaded, [(["body", "messages"], body.messages)], how, tokens.hear if tokens else None
    )
    id_, created = f"chatcmpl-{secrets.token_hex(12)}", int(time.time())
    if tokens is not None:
        return streaming.respond(context, asked, tokens, _chunks(asked, id_, created))
    answers = await asking.answers(context, asked, request)
    content = await asyncio.to_thread(_render, asked, answers, id_, created)
    return Response(content, media_type="application/json", headers=asked.headers)


def _chunks(asked: Asked, id_: str, created: int) -> Chunk:
    introduced: set[int] = set()

    def chunk(index: int, text: str | None, reason: FinishReason | None) -> dict[str, Any]:
        delta = {} if text is None else {"content": text}
        if index not in introduced:
            introduced.add(index)
            delta = {"role": "assistant", **delta}
        return {
            "id": id_,
            "object": "chat.completion.chunk",
            "created": created,
            "model": asked.loaded.checkpoint_id,
            "choices": [{"index": index, "delta": delta, "finish_reason": reason}],
        }

    return chunk


def _render(asked: Asked, answers: list[Answer], id_: str, created: int) -> str:
    choices = [
        ChatChoice(
            index=index,
            message=Message(role="assistant", content=asked.loaded.vocabulary.decode(answer.token_ids)),
            finish_reason=answer.finish_reason,
        )
        for index, answer in enumerate(answers)
    ]
    return ChatCompletion(
        id=id_,
        created=created,
        model=asked.loaded.checkpoint_id,
        choices=choices,
        usage=usage(asked.prompts, answers),
    ).model_dump_json()
