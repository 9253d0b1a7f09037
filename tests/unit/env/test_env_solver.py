"""The solver against independent searches: an exhaustive one on small boards, pymapf on larger ones."""

import random

import pymapf
import pytest
from env_oracles import backward_cost, optima, random_task

from env_service.boards import Task
from env_service.grid import WAIT, bit_set
from env_service.rules import execute
from env_service.solver.certificate import Cause, Certificate, Limits, certify
from trainee2trainer.contracts.environment import WaitProof

KINDS = [
    (3, 2, 0),
    (3, 2, 1),
    (3, 2, 2),
    (3, 3, 0),
    (3, 3, 1),
    (4, 2, 3),
    (4, 2, 6),
    (4, 3, 3),
    (5, 2, 7),
    (6, 2, 12),
]
JOINT_ONLY = Limits(first_nodes=0, last_nodes=0)


def check(task: Task, limits: Limits) -> Certificate | Cause:
    """The certificate of a task, every claim of it checked independently."""
    certificate, expected = certify(task, limits), optima(task)
    if isinstance(certificate, Cause):
        assert certificate is not Cause.UNDECIDED
        assert expected is None
        return certificate
    assert expected == (certificate.makespan, certificate.sum_of_costs)
    run = execute(task, certificate.plan)
    assert run.valid
    assert run.sum_of_costs == certificate.sum_of_costs
    assert sum(map(len, certificate.plan)) == certificate.sum_of_costs
    without = backward_cost(task, waits=False, limit=certificate.sum_of_costs)
    assert certificate.needs_wait == (without is None)
    assert certificate.plan_has_wait == certificate.needs_wait
    return certificate


@pytest.mark.parametrize("limits", [Limits(), JOINT_ONLY], ids=["conflict-based", "joint"])
def test_optima_and_waits_agree_with_an_exhaustive_search(limits: Limits) -> None:
    rng, kinds = random.Random(11), set()
    for kind in KINDS * 12:
        found = check(random_task(rng, *kind), limits)
        kinds.add(found if isinstance(found, Cause) else found.proof)
    assert {Cause.UNREACHABLE, Cause.UNSOLVABLE, WaitProof.ZERO_EXCESS, WaitProof.PARITY} <= kinds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "boards"),
    [
        *((kind, 150) for kind in KINDS if kind[1] == 2),
        # The exhaustive search takes seconds a board here.
        *zip([(3, 3, 1), (4, 3, 5), (4, 4, 4), (5, 3, 9), (6, 3, 18)], [150, 40, 4, 10, 10], strict=True),
    ],
    ids=str,
)
def test_optima_and_waits_agree_on_a_thousand_boards(kind: tuple[int, int, int], boards: int) -> None:
    rng = random.Random(str(kind))
    for _ in range(boards):
        check(random_task(rng, *kind), Limits())


def solved_by_pymapf(task: Task) -> int | None:
    rows = [[task.holes >> (r * task.size + c) & 1 for c in range(task.size)] for r in range(task.size)]
    cells = zip(task.starts, task.goals, strict=True)
    agents = [
        pymapf.Agent(str(n), divmod(s, task.size), divmod(g, task.size)) for n, (s, g) in enumerate(cells)
    ]
    solution = pymapf.solve(pymapf.MAPFProblem(pymapf.GridMap(rows), agents), "cbs", time_limit=1.0)
    return None if solution is None or not solution.is_valid() else int(solution.sum_of_costs)


def test_sum_of_costs_agrees_with_pymapf_up_to_10x10() -> None:
    rng, compared = random.Random(12), 0
    for size, agents, holes in [
        (5, 3, 4),
        (6, 3, 5),
        (7, 4, 8),
        (8, 4, 9),
        (9, 4, 10),
        (10, 4, 15),
        (10, 5, 12),
    ] * 5:
        task = random_task(rng, size, agents, holes)
        certificate = certify(task)
        if isinstance(certificate, Certificate):
            theirs = solved_by_pymapf(task)
            if theirs is not None:
                assert theirs == certificate.sum_of_costs
                compared += 1
    assert compared >= 20


def test_a_swap_in_a_corridor_has_no_solution() -> None:
    corridor = Task(3, bit_set([3, 4, 5, 6, 7, 8]), starts=(0, 1), goals=(1, 2))
    swap = Task(4, bit_set(range(4, 16)), starts=(0, 3), goals=(2, 1))
    assert isinstance(certify(corridor), Certificate)
    assert certify(swap) is Cause.UNSOLVABLE


def test_a_goal_behind_holes_is_unreachable() -> None:
    assert certify(Task(3, bit_set([1, 4, 7]), starts=(0, 3), goals=(2, 6))) is Cause.UNREACHABLE


def test_what_cannot_be_decided_is_said_and_not_guessed() -> None:
    crossing = Task(3, 0, starts=(3, 1), goals=(5, 7))
    nothing = Limits(first_nodes=0, joint_states=0, last_nodes=0)
    assert certify(crossing, nothing) is Cause.UNDECIDED


def test_crossing_paths_need_a_wait_by_parity() -> None:
    found = certify(Task(3, bit_set([0, 2, 6, 8]), starts=(3, 1), goals=(5, 7)))
    assert isinstance(found, Certificate)
    assert (found.needs_wait, found.proof, found.sum_of_costs) == (True, WaitProof.PARITY, 5)
    assert any(WAIT in lane for lane in found.plan)


def test_an_even_excess_without_a_way_round_is_exhausted() -> None:
    """Looks for a board with an even excess whose cheapest plans all wait, and checks the proof."""
    rng = random.Random(13)
    for _ in range(3_000):
        task = random_task(rng, 4, 3, 4)
        found = certify(task)
        if isinstance(found, Certificate) and found.proof is WaitProof.EXHAUSTED:
            assert backward_cost(task, waits=False, limit=found.sum_of_costs) is None
            return
    pytest.fail("no such board was drawn")


def test_the_least_makespan_may_be_less_than_that_of_the_cheapest_plan() -> None:
    rng = random.Random(14)
    for _ in range(500):
        task = random_task(rng, 4, 3, 3)
        found = certify(task)
        if isinstance(found, Certificate) and found.makespan < max(map(len, found.plan)):
            assert optima(task) == (found.makespan, found.sum_of_costs)
            return
    pytest.fail("no such board was drawn")
