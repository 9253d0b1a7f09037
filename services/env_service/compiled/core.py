"""The compiled core as Python calls it: the same answers as `candidates.find` and `solver.certificate.certify`."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np

from env_service.boards import Task
from env_service.candidates import WRONG_SPLIT, WRONG_WAIT, Answer, Candidate, Request
from env_service.compiled import draws
from env_service.compiled.board import Array, tables
from env_service.compiled.certificate import CERTIFIED, Solver, make_solver
from env_service.compiled.draws import Found, make_found
from env_service.drawing import Recipe
from env_service.grid import bit_set
from env_service.solver.certificate import DEFAULT_LIMITS, Cause, Certificate, Limits
from trainee2trainer.contracts.environment import Sampler, Split, WaitProof

_VERDICTS = list(Cause)
_CAUSES = [*(cause.value for cause in _VERDICTS), WRONG_SPLIT, WRONG_WAIT]
_PROOFS = [WaitProof.ZERO_EXCESS, WaitProof.WITNESS, WaitProof.PARITY, WaitProof.EXHAUSTED]
_WORD = (1 << 64) - 1


@lru_cache(maxsize=8)
def _solver(agents: int, limits: Limits = DEFAULT_LIMITS) -> Solver:
    return make_solver(limits, agents)


def find(requests: Sequence[Request]) -> list[Answer]:
    """Answers requests in their order."""
    answers: list[Answer] = []
    for (recipe, split, max_draws), group in groupby(requests, lambda r: (r.recipe, r.split, r.max_draws)):
        answers += _find(recipe, split, max_draws, list(group))
    return answers


def _find(recipe: Recipe, split: Split, max_draws: int, requests: list[Request]) -> list[Answer]:
    rows = sum(request.wanted for request in requests)
    found = make_found(len(requests), rows, recipe.holes)
    draws.find(
        tables(recipe.size),
        _solver(recipe.agents),
        recipe.agents,
        recipe.holes,
        recipe.sampler is Sampler.CONFLICT_SEEDED,
        recipe.needs_wait,
        split is Split.HELD_OUT,
        max_draws,
        np.array([request.key for request in requests], np.uint64),
        np.array([request.first for request in requests], np.int64),
        np.array([request.wanted for request in requests], np.int64),
        found,
    )
    answers, row = [], 0
    for place, request in enumerate(requests):
        made = int(found.count[place])
        candidates = [_candidate(recipe, found, number) for number in range(row, row + made)]
        dry = _causes(found.dry[place]) if made < request.wanted else None
        answers.append(Answer(candidates, dry))
        row += request.wanted
    return answers


def _candidate(recipe: Recipe, found: Found, row: int) -> Candidate:
    cells = found.cells[row].tolist()
    agents = recipe.agents
    task = Task(
        recipe.size,
        bit_set(found.holes[row].tolist()),
        tuple(cells[:agents]),
        tuple(cells[agents : 2 * agents]),
    )
    certificate = _certificate(found.values[row], found.plan[row], found.arrival[row, :agents])
    return Candidate(
        int(found.draw[row]), task, certificate, int(found.form[row]), _causes(found.rejected[row])
    )


def _certificate(values: Array, plan: Array, arrival: Array) -> Certificate:
    makespan, cost, proof = values.tolist()
    lanes = zip(plan.tolist(), arrival.tolist(), strict=False)
    return Certificate(makespan, cost, tuple(tuple(lane[:end]) for lane, end in lanes), _PROOFS[proof])


def _causes(counts: Array) -> dict[str, int]:
    return {cause: count for cause, count in zip(_CAUSES, counts.tolist(), strict=True) if count}


def certify(task: Task, limits: Limits = DEFAULT_LIMITS) -> Certificate | Cause:
    """The certificate of a task, or why there is none."""
    agents = len(task.starts)
    solver = _solver(agents, limits)
    verdict = draws.certify_one(
        tables(task.size),
        solver,
        np.array(task.starts, np.int64),
        np.array(task.goals, np.int64),
        np.uint64(task.holes & _WORD),
        np.uint64(task.holes >> 64),
    )
    if verdict != CERTIFIED:
        return _VERDICTS[verdict - 1]
    return _certificate(solver.found, solver.plan, solver.arrival[:agents])


def warm() -> None:
    """Compiles everything, or loads it from disk."""
    certify(Task(3, 0, (0, 1), (2, 3)))
    find([Request(Recipe(3, 2, 0, False), Split.TRAIN, key=1, first=0, wanted=1)])
