"""Verdicts on answers. Whatever a model wrote is data: it is read, executed, classified and scored, never an
error.
"""

import asyncio
from collections.abc import Sequence

from fastapi import APIRouter

from env_service.boards import BrokenBoard, Task, to_task
from env_service.context import Context, ContextDep
from env_service.pool import WorkerLost
from env_service.records import to_plan
from env_service.rules import Plan
from env_service.solver.certificate import Cause
from env_service.verifier import Optima, judge, read
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


@router.post("/verify")
async def verify(request: VerifyRequest, context: ContextDep) -> Outcome:
    """The verdict on one answer."""
    boards = await _boards([request], [["body"]], context)
    return (await _outcomes([request], boards, request.rewards, context))[0]


@router.post("/verify:batch")
async def verify_batch(request: VerifyBatchRequest, context: ContextDep) -> VerifyBatchResponse:
    """The verdicts on many answers, in their order."""
    locs: list[Loc] = [["body", "items", place] for place in range(len(request.items))]
    boards = await _boards(request.items, locs, context)
    return VerifyBatchResponse(outcomes=await _outcomes(request.items, boards, request.rewards, context))


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
    items: Sequence[VerifyItem], boards: list[Board], rewards: RewardWeights, context: Context
) -> list[Outcome]:
    plans, outcomes = await asyncio.to_thread(_judge_all, items, boards, rewards)
    # Only a valid plan on a board without certificates needs to know what is optimal there.
    for place, outcome in enumerate(outcomes):
        if not outcome.scored:
            task = boards[place][0]
            optima = await _optima(task, context)
            outcomes[place] = judge(task, optima, plans[place], rewards)
    return outcomes


def _judge_all(
    items: Sequence[VerifyItem], boards: list[Board], rewards: RewardWeights
) -> tuple[list[Plan | None], list[Outcome]]:
    plans = [_plan(item, board[0]) for item, board in zip(items, boards, strict=True)]
    outcomes = [
        judge(task, optima, plan, rewards, item.instance_id)
        for item, (task, optima), plan in zip(items, boards, plans, strict=True)
    ]
    return plans, outcomes


def _plan(item: VerifyItem, task: Task) -> Plan | None:
    if item.plan is not None:
        return to_plan(item.plan)
    return read(task, item.answer or "")


async def _optima(task: Task, context: Context) -> Optima | None:
    try:
        certificate = await context.pool.certify(task)
    except WorkerLost as error:
        raise problems.unavailable("A worker process was lost; ask again.") from error
    return None if isinstance(certificate, Cause) else Optima(certificate.makespan, certificate.sum_of_costs)
