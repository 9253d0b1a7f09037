"""Instances, and what an answer does on them, for people to look at."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import PlainTextResponse, Response

from env_service.boards import Task
from env_service.pictures.ansi import board_text
from env_service.pictures.gif import board_gif
from env_service.pictures.svg import board_svg
from env_service.routes.instances import NOT_FOUND, BoardDep
from env_service.verifier import read

router = APIRouter(prefix="/v1/instances", tags=["pictures"])

MAX_SHOWN_CHARS = 4_000
"""As much as fits into an address."""

Answer = Annotated[
    str | None,
    Query(alias="plan", max_length=MAX_SHOWN_CHARS, description="An answer, read as by /v1/verify."),
]


@router.get("/{instance_id}.svg", responses=NOT_FOUND, response_class=Response)
async def draw_svg(board: BoardDep, answer: Answer = None) -> Response:
    """The board as SVG; with a plan, what it does up to its first violation, which is marked in red."""
    picture = await asyncio.to_thread(lambda: board_svg(board, *_read(board, answer)))
    return Response(picture, media_type="image/svg+xml")


@router.get("/{instance_id}.gif", responses=NOT_FOUND, response_class=Response)
async def draw_gif(board: BoardDep, answer: Answer = None) -> Response:
    """The plan as an animated GIF, its first 60 steps; the first violation flashes."""
    picture = await asyncio.to_thread(lambda: board_gif(board, *_read(board, answer)))
    return Response(picture, media_type="image/gif")


@router.get("/{instance_id}.txt", responses=NOT_FOUND, response_class=PlainTextResponse)
async def draw_text(board: BoardDep, answer: Answer = None, colour: bool = False) -> PlainTextResponse:
    """The board and the plan for a terminal, with ANSI colours if wanted."""
    plan, unreadable = await asyncio.to_thread(_read, board, answer)
    return PlainTextResponse(board_text(board, plan, colour=colour, unreadable=unreadable))


def _read(task: Task, answer: str | None) -> tuple[list[list[int]] | None, bool]:
    """The plan, and whether there was an answer without one."""
    plan = read(task, answer) if answer is not None else None
    return [list(lane) for lane in plan] if plan is not None else None, answer is not None and plan is None
