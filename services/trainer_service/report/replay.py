"""Which answers the report plays back, and what it knows of each."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from trainee2trainer.contracts.base import Contract
from trainee2trainer.contracts.environment import FailureCategory, Instance, Outcome
from trainer_service.report.words import FAILURES, when

_SPARE_STEPS = 2
"""A plan that wanders further beyond the optimum is tiresome to step through."""


class Replay(Contract):
    """One answer to one board, played back step by step."""

    title: str
    stage_index: int
    """Which checkpoint answered; `BASELINE_STAGE` is the one before any training."""
    instance: Instance
    answer: str
    """Model text: never trusted."""
    outcome: Outcome
    note: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """A validation rollout together with its board and verdict: the raw material of replays."""

    stage_index: int
    instance: Instance
    answer: str
    outcome: Outcome


def choose_replays(answers: Iterable[JudgedAnswer]) -> list[Replay]:
    """A few instructive replays, at most nine; the same answers in any order give the same replays.

    In this order, each where there is one: a board failed at the first stage given and solved at the last (two
    replays), then of the last stage a solved board that needs a wait and one that needs none, then one failure per
    category from the latest stage that has one.

    Give the validation rollouts of the first and the last checkpoint (`BASELINE_STAGE` and the last stage), or of
    all. Where the store keeps answers but not outcomes, `/v1/verify:batch` gives the same outcomes again.
    """
    scored = sorted((answer for answer in answers if answer.outcome.scored), key=_identity)
    if not scored:
        return []
    last = _of_stage(scored, scored[-1].stage_index)
    solved = [answer for answer in last if answer.outcome.valid]
    chosen = _learned(_of_stage(scored, scored[0].stage_index), last)
    for title, needs_wait in (("Solved by waiting", True), ("Solved without waiting", False)):
        chosen += _best(
            title, [answer for answer in solved if answer.instance.needs_wait is needs_wait], chosen
        )
    for category in FailureCategory:
        failed = [answer for answer in scored if answer.outcome.failure is category]
        latest = _of_stage(failed, failed[-1].stage_index) if failed else []
        chosen += _best(f"Failed: {FAILURES[category]}", latest, chosen)
    return chosen


def _learned(first: list[JudgedAnswer], last: list[JudgedAnswer]) -> list[Replay]:
    """The board whose answers improved most from the first stage to the last: one answer of each."""
    if first[0].stage_index == last[0].stage_index:
        return []
    before, after = _by_board(first), _by_board(last)
    improved = [
        board
        for board in before.keys() & after.keys()
        if _share(before[board]) < 1 and _share(after[board]) > _share(before[board])
    ]
    if not improved:
        return []

    def rank(board: str) -> tuple[float, bool, str]:
        return _share(before[board]) - _share(after[board]), not before[board][0].instance.needs_wait, board

    board = min(improved, key=rank)
    return [
        _replay(f"The same board {when(group[0].stage_index)}", _pick(group, valid), _tally(group))
        for group, valid in ((before[board], False), (after[board], True))
    ]


def _pick(group: list[JudgedAnswer], valid: bool) -> JudgedAnswer:
    return min((answer for answer in group if answer.outcome.valid is valid), key=_dullness)


def _tally(group: list[JudgedAnswer]) -> str:
    valid = sum(answer.outcome.valid for answer in group)
    return f"{valid} of {len(group)} sampled answers to this board were valid {when(group[0].stage_index)}."


def _best(title: str, candidates: list[JudgedAnswer], chosen: list[Replay]) -> list[Replay]:
    seen = {replay.instance.id for replay in chosen}
    # A board shown already is second choice; an answer shown already is none.
    fresh = [answer for answer in candidates if not any(_shows(replay, answer) for replay in chosen)]
    if not fresh:
        return []
    return [_replay(title, min(fresh, key=lambda answer: (answer.instance.id in seen, *_dullness(answer))))]


def _dullness(answer: JudgedAnswer) -> tuple[bool | int | str, ...]:
    """Low is worth showing: not aimless, optimal, much to see, on a large board, short to read."""
    steps = len(answer.outcome.trajectory)
    aimless = steps > answer.instance.optimal_makespan + 1 + _SPARE_STEPS
    return (
        answer.outcome.failure is FailureCategory.PARSE_ERROR,
        aimless,
        not answer.outcome.optimal,
        -steps,
        -answer.instance.size,
        len(answer.answer),
        *_identity(answer),
    )


def _replay(title: str, answer: JudgedAnswer, note: str | None = None) -> Replay:
    return Replay(
        title=title,
        stage_index=answer.stage_index,
        instance=answer.instance,
        answer=answer.answer,
        outcome=answer.outcome,
        note=note,
    )


def _shows(replay: Replay, answer: JudgedAnswer) -> bool:
    shown = (replay.stage_index, replay.instance.id, replay.answer)
    return shown == _identity(answer)


def _identity(answer: JudgedAnswer) -> tuple[int, str, str]:
    return answer.stage_index, answer.instance.id, answer.answer


def _of_stage(answers: list[JudgedAnswer], index: int) -> list[JudgedAnswer]:
    return [answer for answer in answers if answer.stage_index == index]


def _by_board(answers: list[JudgedAnswer]) -> dict[str, list[JudgedAnswer]]:
    boards: dict[str, list[JudgedAnswer]] = defaultdict(list)
    for answer in answers:
        boards[answer.instance.id].append(answer)
    return boards


def _share(group: list[JudgedAnswer]) -> float:
    return sum(answer.outcome.valid for answer in group) / len(group)
