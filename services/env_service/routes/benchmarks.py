"""Benchmark sets by name: listed, downloaded, and answered."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from env_service.benchmarks.building import BuiltSet
from env_service.benchmarks.definitions import DEFINITIONS
from env_service.benchmarks.scoring import table
from env_service.context import Context, ContextDep
from env_service.exchange.parquet import to_parquet
from env_service.generator import CHUNK
from env_service.routes.instances import JSON_LINES, check_template
from trainee2trainer.contracts.base import Problem
from trainee2trainer.contracts.benchmark import (
    Benchmark,
    BenchmarkDefinition,
    BenchmarkEvaluation,
    BenchmarkEvaluationRequest,
    BenchmarkList,
    BenchmarkName,
)
from trainee2trainer.contracts.environment import InstanceRow
from trainee2trainer.web import problems

router = APIRouter(prefix="/v1/benchmarks", tags=["benchmarks"])

PARQUET = "application/vnd.apache.parquet"

Template = Annotated[
    str | None, Query(max_length=64, description="Also the prompt and the reference answer.")
]
_RESPONSES: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "No benchmark set has this name."},
    503: {"model": Problem, "description": "A worker was lost; ask again."},
}


@router.get("")
async def list_benchmarks() -> BenchmarkList:
    """The sets by name, and what each follows from."""
    return BenchmarkList(items=list(DEFINITIONS.values()))


@router.get("/{name}.parquet", responses=_RESPONSES, response_class=Response)
async def get_parquet(name: BenchmarkName, context: ContextDep, template: Template = "plain-v1") -> Response:
    """The instances as a Parquet file, with prompts."""
    check_template(template, "query")
    built = await context.shelf.get(_definition(name))
    lines = b"".join([chunk async for chunk in _lines(built, template, context)]).splitlines()
    content = await asyncio.to_thread(lambda: to_parquet(map(InstanceRow.model_validate_json, lines)))
    return Response(content, media_type=PARQUET)


@router.get("/{name}", responses=_RESPONSES)
async def get_benchmark(name: BenchmarkName, context: ContextDep) -> Benchmark:
    """A set's definition, and what was realised of it per number of agents and map size."""
    definition = _definition(name)
    built = await context.shelf.get(definition)
    return Benchmark(definition=definition, statistics=built.statistics)


@router.get(
    "/{name}/instances",
    response_class=StreamingResponse,
    responses=_RESPONSES | {200: {"content": {JSON_LINES: {"schema": {"type": "string"}}}}},
)
async def get_instances(
    name: BenchmarkName, context: ContextDep, template: Template = None
) -> StreamingResponse:
    """The instances as JSON Lines, an `InstanceRow` each."""
    check_template(template, "query")
    built = await context.shelf.get(_definition(name))
    return StreamingResponse(_lines(built, template, context), media_type=JSON_LINES)


@router.post("/{name}:evaluate", responses=_RESPONSES)
async def evaluate(
    name: BenchmarkName, request: BenchmarkEvaluationRequest, context: ContextDep
) -> BenchmarkEvaluation:
    """The table of a model: its answers are read and judged as by `/v1/verify`."""
    definition = _definition(name)
    built = await context.shelf.get(definition)
    for place, completion in enumerate(request.completions):
        if completion.instance_id not in built.boards:
            loc: list[str | int] = ["body", "completions", place, "instance_id"]
            raise problems.invalid(loc, f"{completion.instance_id!r} is not in {name}", "not_in_benchmark")
    run_all = context.pool.core.execute_all
    rows = await asyncio.to_thread(table, built.boards, request.completions, run_all)
    complete = all(row.missing == 0 for row in rows)
    return BenchmarkEvaluation(benchmark=name, sha256=definition.sha256, complete=complete, rows=rows)


def _definition(name: str) -> BenchmarkDefinition:
    if name not in DEFINITIONS:
        raise problems.not_found("benchmark", name)
    return DEFINITIONS[name]


async def _lines(built: BuiltSet, template: str | None, context: Context) -> AsyncIterator[bytes]:
    """An `InstanceRow` each, some hundred at a time. Without a template they have the bytes of the set's hash."""
    for origin, made in built.parts:
        for start in range(0, len(made), CHUNK):
            chunk = made[start : start + CHUNK]
            rows = await asyncio.to_thread(context.pool.render, chunk, origin._replace(template=template))
            yield b"".join(row.line + b"\n" for row in rows)
