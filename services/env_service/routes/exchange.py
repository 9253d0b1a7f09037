"""Single instances in MovingAI's formats, and boards from elsewhere."""

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from env_service.boards import form, split_of
from env_service.context import Context, ContextDep
from env_service.exchange.movingai import to_map, to_scenario
from env_service.exchange.published import ReadLine, Unreadable, read_line, sample_id_of
from env_service.records import certified
from env_service.rendering import Rendered
from env_service.routes.instances import JSON_LINES, NOT_FOUND, BoardDep
from env_service.solver.certificate import Cause
from trainee2trainer.contracts.base import Message, Problem
from trainee2trainer.contracts.benchmark import MAX_IMPORT_LINES, ImportedBatch, ImportedRow, ImportProblem
from trainee2trainer.contracts.environment import InstanceId
from trainee2trainer.web import problems

router = APIRouter(prefix="/v1", tags=["exchange"])

_AT_ONCE = 64
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {JSON_LINES: {"schema": {"type": "string"}}},
    }
}


@router.get("/instances/{instance_id}.map", responses=NOT_FOUND, response_class=PlainTextResponse)
async def get_map(board: BoardDep) -> PlainTextResponse:
    """The board as a MovingAI map."""
    return PlainTextResponse(to_map(board))


@router.get("/instances/{instance_id}.scen", responses=NOT_FOUND, response_class=PlainTextResponse)
async def get_scenario(instance_id: InstanceId, board: BoardDep) -> PlainTextResponse:
    """The agents as a MovingAI scenario on the map `{instance_id}.map`."""
    return PlainTextResponse(to_scenario(board, f"{instance_id}.map"))


@router.post(
    "/instances:import",
    openapi_extra=_BODY,
    responses={503: {"model": Problem, "description": "A worker was lost; ask again."}},
)
async def import_instances(request: Request, context: ContextDep) -> ImportedBatch:
    """Certifies boards from JSON Lines, of the published data set or of our own export, and keeps them by id.

    A line that cannot be taken is told with its number and the rule it breaks; the others are taken. Only when
    there are no others, it is an error.
    """
    lines = _lines_of(await request.body())
    rows: list[ImportedRow] = []
    faults: list[ImportProblem] = []
    for start in range(0, len(lines), _AT_ONCE):
        chunk = lines[start : start + _AT_ONCE]
        for result in await asyncio.gather(*(_import(number, line, context) for number, line in chunk)):
            if isinstance(result, ImportedRow):
                rows.append(result)
            else:
                faults.append(result)
    if not rows:
        raise problems.invalid(
            ["body", faults[0].line], f"no line can be taken; {faults[0].rule}", "no_board"
        )
    await context.library.save(Rendered(row.instance.id, row.instance.model_dump_json(), b"") for row in rows)
    return ImportedBatch(rows=rows, problems=faults)


def _lines_of(body: bytes) -> list[tuple[int, str]]:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise problems.invalid(["body"], "must be UTF-8 text", "not_text") from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise problems.invalid(["body"], "must have at least one line", "too_short")
    if len(lines) > MAX_IMPORT_LINES:
        raise problems.invalid(["body"], f"must have at most {MAX_IMPORT_LINES} lines", "too_long")
    return lines


async def _import(number: int, line: str, context: Context) -> ImportedRow | ImportProblem:
    try:
        read = await asyncio.to_thread(read_line, line)
    except Unreadable as error:
        return ImportProblem(line=number, sample_id=sample_id_of(line), rule=str(error))
    certificate = await context.pool.certify(read.task)
    if isinstance(certificate, Cause):
        return ImportProblem(line=number, sample_id=read.sample_id, rule=_RULES[certificate])
    instance = certified(read.task, certificate, split_of(form(read.task)))
    return ImportedRow(line=number, sample_id=read.sample_id, instance=instance, prompt=_prompt(read))


_RULES = {
    Cause.UNREACHABLE: "every goal must be reachable from its start",
    Cause.UNSOLVABLE: "the board must have a solution, and has none",
    Cause.UNDECIDED: "the board is too hard for the solver's limits",
}


def _prompt(read: ReadLine) -> list[Message] | None:
    return [Message(role="user", content=read.text)] if read.text is not None else None
