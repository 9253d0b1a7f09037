"""Verdicts on answers. Whatever a model wrote is data: it is read, executed, classified and scored, never an
error.
"""

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter
from fastapi.responses import Response

from env_service.boards import BrokenBoard, Task, to_task
from env_service.context import Context, ContextDep
from env_service.records import to_plan
from env_service.rules import ExecuteAll, Plan
from env_service.solver.certificate import Cause, Optima
from env_service.verifier import Item, judge_all, read
from trainee2trainer.contracts.environment import (
    Outcome,
    RewardWeights,
    VerifyBatchRequest,
    VerifyBatchResponse,
    VerifyItem,
    VerifyRequest,
)
from trainee2trainer.web import problems

router = APIRouter(prefix="/v1", tags=["verify"])

Loc = list[str | int]
Board = tuple[Task, Optima | None]


@router.post("/verify", response_model=Outcome)
async def verify(request: VerifyRequest, context: ContextDep) -> Response:
    """The verdict on one answer."""
    boards = await _boards([request], [["body"]], context)
    outcomes = await _outcomes([request], boards, request.rewards, context)
    return Response(outcomes[0].model_dump_json(), media_type="application/json")


@router.post("/verify:batch", response_model=VerifyBatchResponse)
async def verify_batch(request: VerifyBatchRequest, context: ContextDep) -> Response:
    """The verdicts on many answers, in their order."""
    locs: list[Loc] = [["body", "items", place] for place in range(len(request.items))]
    boards = await _boards(request.items, locs, context)
    outcomes = await _outcomes(request.items, boards, request.rewards, context)
    return Response(await asyncio.to_thread(_as_json, outcomes), media_type="application/json")


def _as_json(outcomes: list[Outcome]) -> bytes:
    return VerifyBatchResponse.model_construct(outcomes=outcomes).model_dump_json().encode()


async def _boards(items: Sequence[VerifyItem], locs: list[Loc], context: Context) -> list[Board]:
    """The board of each item. A missing instance or a broken board is an error that names the field."""
    known = await context.library.known(item.instance_id for item in items if item.instance_id is not None)
    boards: list[Board] = []
    for item, loc in zip(items, locs, strict=True):
        if item.instance is not None:
            try:
                boards.append((to_task(item.instance), None))
            except BrokenBoard as error:
                raise problems.invalid([*loc, "instance", *error.loc], error.rule, "broken_board") from error
        elif item.instance_id in known:
            found = known[item.instance_id]
            boards.append((found.task, found.optima))
        else:
            rule = f"there is no instance with the id {item.instance_id!r}"
            raise problems.invalid([*loc, "instance_id"], rule, "instance_not_found")
    return boards


async def _outcomes(
    requests: Sequence[VerifyItem], boards: list[Board], rewards: RewardWeights, context: Context
) -> list[Outcome]:
    run_all = context.pool.core.execute_all
    items, outcomes = await asyncio.to_thread(_judge_all, requests, boards, rewards, run_all)
    # Only a valid plan on a board without certificates needs to know what is optimal there.
    places = [place for place, outcome in enumerate(outcomes) if not outcome.scored]
    tasks = list({items[place].task for place in places})
    found = dict(zip(tasks, await asyncio.gather(*(_optima(task, context) for task in tasks)), strict=True))
    again = [items[place]._replace(optima=found[items[place].task]) for place in places]
    judged = await asyncio.to_thread(judge_all, again, rewards, run_all) if again else []
    for place, outcome in zip(places, judged, strict=True):
        outcomes[place] = outcome
    return outcomes


def _judge_all(
    requests: Sequence[VerifyItem], boards: list[Board], rewards: RewardWeights, run_all: ExecuteAll
) -> tuple[list[Item], list[Outcome]]:
    items = [
        Item(task, optima, _plan(request, task), request.instance_id)
        for request, (task, optima) in zip(requests, boards, strict=True)
    ]
    return items, judge_all(items, rewards, run_all)


def _plan(item: VerifyItem, task: Task) -> Plan | None:
    if item.plan is not None:
        return to_plan(item.plan)
    return read(task, item.answer or "")


async def _optima(task: Task, context: Context) -> Optima | None:
    certificate = await context.pool.certify(task)
    return None if isinstance(certificate, Cause) else certificate.optima
