"""Answers as server-sent events, the way OpenAI's clients read them: a chunk per token, last `[DONE]`."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi.responses import StreamingResponse
from rfc9457 import Problem

from policy_service.asking import Asked, Tokens
from policy_service.context import Context
from policy_service.vocabulary import Writer
from trainee2trainer.contracts.policy import FinishReason

Chunk = Callable[[int, str | None, FinishReason | None], dict[str, Any]]
"""Makes a chunk of choice number …, with more text or with the reason why it ends."""


def respond(context: Context, asked: Asked, tokens: Tokens, chunk: Chunk) -> StreamingResponse:
    """Streams the answers to `asked`, whose listener is `tokens`."""
    return StreamingResponse(
        _events(context, asked, tokens, chunk), media_type="text/event-stream", headers=asked.headers
    )


async def _events(context: Context, asked: Asked, tokens: Tokens, chunk: Chunk) -> AsyncIterator[str]:
    writers = [Writer(asked.loaded.vocabulary) for _ in asked.job.rows]
    try:
        async for some in tokens.of(context, asked):
            for token in some:
                ends = token.finish_reason is not None
                if text := writers[token.row].add(token.token_id, last=ends):
                    yield _event(chunk(token.row, text, None))
                if ends:
                    yield _event(chunk(token.row, None, token.finish_reason))
    except Problem as problem:
        # The status line is long gone: an error event is what the clients look for.
        yield _error(problem.detail or problem.title, problem.marshal()["type"])
        return
    failed = next((answer.error for answer in asked.job.answers if answer.error), None)
    yield _error(failed, "unavailable") if failed else "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _error(message: str, kind: str) -> str:
    return _event({"error": {"message": message, "type": kind}})
