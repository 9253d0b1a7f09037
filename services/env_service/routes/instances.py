"""Instances: made by configuration, found by id."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request
from fastapi.responses import Response, StreamingResponse
from rfc9457 import Problem as ProblemRaised

from env_service.boards import Task
from env_service.context import Context, ContextDep
from env_service.generator import Batch, OutOfReach
from env_service.prompts import TEMPLATES
from env_service.quotas import Impossible
from env_service.rendering import Origin
from trainee2trainer.contracts.base import Problem
from trainee2trainer.contracts.environment import (
    GeneratedBatch,
    GenerateRequest,
    Instance,
    InstanceId,
)
from trainee2trainer.web import problems

router = APIRouter(prefix="/v1", tags=["instances"])

JSON_LINES = "application/jsonl"
_WAYS_OUT = " Or ask for best_effort, or for more waits by the sampler conflict_seeded."
_GONE = 499
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "No instance with this id was ever generated."}
}


@router.post(
    "/instances:generate",
    response_model=GeneratedBatch,
    responses={
        200: {"content": {JSON_LINES: {"schema": {"type": "string"}}}},
        429: {"model": Problem, "description": "Too many generations are under way."},
        503: {"model": Problem, "description": "A worker was lost; ask again."},
    },
)
async def generate(
    request: GenerateRequest,
    context: ContextDep,
    http: Request,
    accept: Annotated[str | None, Header()] = None,
) -> Response:
    """Makes a batch: pure in configuration, seed and split, with exact quotas.

    With `Accept: application/jsonl` the rows come as they are made, one a line, and last a line `{"realised":
    ...}`. Only that line says that the batch is complete: when it fails half-way, the last line is
    `{"problem": ...}`.
    """
    check_template(request.template, "body")
    rows = _rows(request, context)
    first = await anext(rows)
    if JSON_LINES in (accept or ""):
        return StreamingResponse(_as_lines(first, rows), media_type=JSON_LINES)
    lines = first
    async for chunk in rows:
        lines += chunk
        if await http.is_disconnected():
            # Nobody reads it any more: give the place to somebody else.
            await rows.aclose()
            return Response(status_code=_GONE)
    body = b'{"rows":[' + b",".join(lines[:-1]) + b'],"realised":' + lines[-1] + b"}"
    return Response(body, media_type="application/json")


def check_template(template: str | None, where: str) -> None:
    """422 for a template that there is not."""
    if template is not None and template not in TEMPLATES:
        rule = f"must be one of {', '.join(TEMPLATES)}"
        raise problems.invalid([where, "template"], rule, "unknown_template")


async def board(instance_id: InstanceId, context: ContextDep) -> Task:
    """The board of the instance in the path."""
    known = (await context.library.known([instance_id])).get(instance_id)
    if known is None:
        raise problems.not_found("instance", instance_id)
    return known.task


BoardDep = Annotated[Task, Depends(board)]


async def _rows(request: GenerateRequest, context: Context) -> AsyncGenerator[list[bytes]]:
    """The rows as JSON, chunk by chunk, each saved before it is handed on; last, what was realised."""
    with context.generations.one():
        try:
            batch = await asyncio.to_thread(_batch, request, context)
            origin = Origin(batch.configuration_id, batch.seed, batch.sampler, request.template)
            chunks = batch.chunks()
            while (made := await asyncio.to_thread(next, chunks, None)) is not None:
                rows = await asyncio.to_thread(context.pool.render, made, origin)
                await context.library.save(rows)
                yield [row.line for row in rows]
        except (Impossible, OutOfReach) as error:
            hint = _WAYS_OUT if isinstance(error, OutOfReach) else ""
            raise unreachable(error, hint) from error
        yield [batch.realised().model_dump_json().encode()]


def unreachable(error: Impossible | OutOfReach, hint: str = "") -> ProblemRaised:
    """422 naming the size, and the knob where one is to blame."""
    loc: list[str | int] = ["body", "configuration", "sizes", error.size]
    if isinstance(error, Impossible):
        return problems.invalid(loc, str(error), "no_room")
    return problems.invalid([*loc, error.knob], f"{error}{hint}", "out_of_reach")


def _batch(request: GenerateRequest, context: Context) -> Batch:
    return Batch(
        request.configuration,
        request.seed,
        request.count,
        split=request.split,
        find=context.pool.find,
        sampler=request.sampler,
        best_effort=request.best_effort,
        max_draws=context.max_draws,
    )


async def _as_lines(first: list[bytes], rest: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    chunk = first
    try:
        async for following in rest:
            yield b"".join(line + b"\n" for line in chunk)
            chunk = following
        yield b'{"realised":' + chunk[-1] + b"}\n"
    except ProblemRaised as problem:
        # The status line is long gone: the last line has to say it.
        yield b"".join(line + b"\n" for line in chunk)
        yield b'{"problem":' + json.dumps(problem.marshal()).encode() + b"}\n"


@router.get("/instances/{instance_id}", responses=NOT_FOUND)
async def get_instance(instance_id: InstanceId, context: ContextDep) -> Instance:
    """An instance that was generated before, by any replica."""
    instance = await context.library.get(instance_id)
    if instance is None:
        raise problems.not_found("instance", instance_id)
    return instance
