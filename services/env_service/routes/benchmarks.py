"""Benchmark sets by name: listed, downloaded, and answered."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic_core import to_json

from env_service.benchmarks.building import BuiltSet
from env_service.benchmarks.definitions import DEFINITIONS
from env_service.benchmarks.scoring import table
from env_service.context import Context, ContextDep
from env_service.exchange.parquet import to_parquet
from env_service.pool import WorkerLost
from env_service.prompts import TEMPLATES
from trainee2trainer.contracts.base import Problem
from trainee2trainer.contracts.benchmark import (
    Benchmark,
    BenchmarkDefinition,
    BenchmarkEvaluation,
    BenchmarkEvaluationRequest,
    BenchmarkList,
)
from trainee2trainer.contracts.environment import Instance, InstanceRow
from trainee2trainer.web import problems

router = APIRouter(prefix="/v1/benchmarks", tags=["benchmarks"])

JSON_LINES, PARQUET = "application/jsonl", "application/vnd.apache.parquet"
_LINES_AT_ONCE = 256

Name = Annotated[str, Path(pattern=r"^[a-z0-9-]{1,32}$")]
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
async def get_parquet(name: Name, context: ContextDep, template: Template = "plain-v1") -> Response:
    """The instances as a Parquet file, with prompts."""
    built = await _built(_definition(name), context)
    _check(template)
    content = await asyncio.to_thread(lambda: to_parquet(_rows(built, template)))
    return Response(content, media_type=PARQUET)


@router.get("/{name}", responses=_RESPONSES)
async def get_benchmark(name: Name, context: ContextDep) -> Benchmark:
    """A set's definition, and what was realised of it per number of agents and map size."""
    definition = _definition(name)
    built = await _built(definition, context)
    return Benchmark(definition=definition, statistics=built.statistics)


@router.get(
    "/{name}/instances",
    response_class=StreamingResponse,
    responses=_RESPONSES | {200: {"content": {JSON_LINES: {"schema": {"type": "string"}}}}},
)
async def get_instances(name: Name, context: ContextDep, template: Template = None) -> StreamingResponse:
    """The instances as JSON Lines, an `InstanceRow` each."""
    built = await _built(_definition(name), context)
    _check(template)
    return StreamingResponse(_lines(built, template), media_type=JSON_LINES)


@router.post("/{name}:evaluate", responses=_RESPONSES)
async def evaluate(
    name: Name, request: BenchmarkEvaluationRequest, context: ContextDep
) -> BenchmarkEvaluation:
    """The table of a model: its answers are read and judged as by `/v1/verify`."""
    definition = _definition(name)
    built = await _built(definition, context)
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


async def _built(definition: BenchmarkDefinition, context: Context) -> BuiltSet:
    try:
        return await context.shelf.get(definition)
    except WorkerLost as error:
        raise problems.unavailable("A worker process was lost; ask again.") from error


def _check(template: str | None) -> None:
    if template is not None and template not in TEMPLATES:
        raise problems.invalid(
            ["query", "template"], f"must be one of {', '.join(TEMPLATES)}", "unknown_template"
        )


def _rows(built: BuiltSet, template: str | None, start: int = 0, end: int | None = None) -> list[InstanceRow]:
    rows = []
    for rendered in built.rows[start:end]:
        task = built.boards[rendered.id].task
        written = TEMPLATES[template] if template else None
        row = InstanceRow(
            instance=Instance.model_validate_json(rendered.content),
            prompt=written.prompt(task) if written else None,
            answer=written.answer(task, built.plans[rendered.id]) if written else None,
        )
        rows.append(row)
    return rows


async def _lines(built: BuiltSet, template: str | None) -> AsyncIterator[bytes]:
    for start in range(0, len(built.rows), _LINES_AT_ONCE):
        if template is None:
            # As they were made: these are the bytes of the set's hash.
            yield b"".join(row.line + b"\n" for row in built.rows[start : start + _LINES_AT_ONCE])
            continue
        rows = await asyncio.to_thread(_rows, built, template, start, start + _LINES_AT_ONCE)
        yield b"".join(to_json(row) + b"\n" for row in rows)
