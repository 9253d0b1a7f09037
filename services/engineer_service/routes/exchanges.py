"""Worked exchanges, as the small model's warm start reads them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from engineer_service.exchanges import lines
from trainee2trainer.contracts.engineer import ExchangeRequest

router = APIRouter(prefix="/v1", tags=["exchanges"])

JSON_LINES = "application/jsonl"
_CHUNK = 250
_ROWS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One exchange a line: `prompt` and `answer`.",
        "content": {JSON_LINES: {"schema": {"type": "string"}}},
    }
}


@router.post("/exchanges:generate", response_class=StreamingResponse, responses=_ROWS)
async def generate(request: ExchangeRequest) -> StreamingResponse:
    """Invented evidence with a teacher's answer. Pure in seed, sizes and index in the list."""
    return StreamingResponse(_chunks(request), media_type=JSON_LINES)


async def _chunks(request: ExchangeRequest) -> AsyncIterator[bytes]:
    for first in range(0, request.count, _CHUNK):
        last = min(first + _CHUNK, request.count)
        yield await asyncio.to_thread(lines, request.seed, first, last, request.sizes)
