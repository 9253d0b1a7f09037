"""Searches a stream of draws for boards that fit a recipe and a split. The plain Python core."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from env_service.boards import Task, form, split_of
from env_service.drawing import Recipe, draw
from env_service.solver.certificate import Cause, Certificate, certify
from trainee2trainer.contracts.environment import Split

MAX_DRAWS = 20_000
"""So many draws in a row without a candidate, and a stream counts as dry, unless told otherwise."""

WRONG_SPLIT, WRONG_WAIT = "split", "wait_class"


class Request(NamedTuple):
    """Find `wanted` candidates in the stream `key`, from draw `first` on."""

    recipe: Recipe
    split: Split
    key: int
    first: int
    wanted: int
    max_draws: int = MAX_DRAWS


class Candidate(NamedTuple):
    """A fitting board, its draw, its canonical form, and the draws rejected just before it, by cause."""

    draw: int
    task: Task
    certificate: Certificate
    form: int
    rejected: dict[str, int]


class Answer(NamedTuple):
    """The candidates in the order of their draws; `dry` the rejected draws at the end of a dry stream."""

    candidates: list[Candidate]
    dry: dict[str, int] | None = None


Find = Callable[[Sequence[Request]], list[Answer]]
"""Answers requests, in their order. Whoever calls may spread the work over processes."""


def find(requests: Sequence[Request]) -> list[Answer]:
    """Answers requests one after the other, in this process."""
    return [_answer(request) for request in requests]


def _answer(request: Request) -> Answer:
    candidates: list[Candidate] = []
    number = request.first
    while len(candidates) < request.wanted:
        rejected: dict[str, int] = {}
        for number in range(number, number + request.max_draws):  # noqa: B020 - goes on where it stopped
            found = _examine(request, number)
            if isinstance(found, Candidate):
                break
            rejected[found] = rejected.get(found, 0) + 1
        else:
            return Answer(candidates, rejected)
        candidates.append(Candidate(found.draw, found.task, found.certificate, found.form, rejected))
        number += 1
    return Answer(candidates)


# Tiny boards come up again and again.
_form = lru_cache(maxsize=1 << 14)(form)
_certify = lru_cache(maxsize=1 << 14)(certify)


def _examine(request: Request, number: int) -> Candidate | str:
    """The candidate of one draw, or why it is none."""
    task = draw(request.recipe, request.key, number)
    form_ = _form(task)
    if split_of(form_) is not request.split:
        return WRONG_SPLIT
    certificate = _certify(task)
    if isinstance(certificate, Cause):
        return certificate.value
    if certificate.needs_wait is not request.recipe.needs_wait:
        return WRONG_WAIT
    return Candidate(number, task, certificate, form_, {})
