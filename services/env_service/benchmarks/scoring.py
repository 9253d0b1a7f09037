"""The table of a model on a benchmark set."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from env_service.library import Known
from env_service.rules import ExecuteAll
from env_service.verifier import Item, judge_all, read
from trainee2trainer.contracts.benchmark import BenchmarkRow, Completion
from trainee2trainer.contracts.environment import FailureCategory, Outcome, RewardWeights

_BATCH = 2_048


@dataclass(slots=True)
class _Tally:
    answered: set[str] = field(default_factory=set)
    instances: int = 0
    answers: int = 0
    valid: int = 0
    optimal: int = 0
    soc_optimal: int = 0
    failures: Counter[FailureCategory] = field(default_factory=Counter)

    def add(self, id_: str, outcome: Outcome) -> None:
        self.answered.add(id_)
        self.answers += 1
        self.valid += outcome.valid
        self.optimal += outcome.optimal
        self.soc_optimal += outcome.soc_optimal
        if outcome.failure is not None:
            self.failures[outcome.failure] += 1


def table(
    boards: Mapping[str, Known], completions: Sequence[Completion], run_all: ExecuteAll
) -> list[BenchmarkRow]:
    """A row per number of agents and map size, and one in sum after those of each number of agents."""
    tallies: dict[tuple[int, int | None], _Tally] = defaultdict(_Tally)
    for known in boards.values():
        for key in _keys(known):
            tallies[key].instances += 1
    for start in range(0, len(completions), _BATCH):
        chunk = completions[start : start + _BATCH]
        for completion, outcome in zip(chunk, _outcomes(boards, chunk, run_all), strict=True):
            for key in _keys(boards[completion.instance_id]):
                tallies[key].add(completion.instance_id, outcome)
    in_order = sorted(tallies, key=lambda key: (key[0], key[1] or 99))
    return [_row(*key, tallies[key]) for key in in_order]


def _keys(known: Known) -> list[tuple[int, int | None]]:
    agents = len(known.task.starts)
    return [(agents, known.task.size), (agents, None)]


def _outcomes(
    boards: Mapping[str, Known], completions: Sequence[Completion], run_all: ExecuteAll
) -> list[Outcome]:
    items = [
        Item(known.task, known.optima, read(known.task, completion.answer))
        for completion in completions
        for known in (boards[completion.instance_id],)
    ]
    return judge_all(items, RewardWeights(), run_all)


def _row(agents: int, size: int | None, tally: _Tally) -> BenchmarkRow:
    answers = tally.answers
    return BenchmarkRow(
        agents=agents,
        size=size,
        instances=tally.instances,
        missing=tally.instances - len(tally.answered),
        answers=answers,
        valid=tally.valid / answers if answers else None,
        optimal=tally.optimal / answers if answers else None,
        soc_optimal=tally.soc_optimal / answers if answers else None,
        failures=dict(sorted(tally.failures.items())),
    )
