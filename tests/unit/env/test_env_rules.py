"""What executing a plan says, against named cases and an independent judge."""

import random

import pytest
from env_oracles import random_task, verdict
from hypothesis import given
from hypothesis import strategies as st

from env_service.boards import Task
from env_service.grid import bit_set
from env_service.rules import execute
from trainee2trainer.contracts.environment import ConflictKind, FailureCategory

U, D, L, R, W = range(5)
CROSS = Task(3, 0, starts=(3, 1), goals=(5, 7))  # one agent goes right through the centre, one down


def test_a_valid_plan_has_makespan_and_sum_of_costs() -> None:
    run = execute(CROSS, [[R, R], [W, D, D]])
    assert run.valid
    assert (run.makespan, run.sum_of_costs) == (3, 5)
    assert run.trajectory == [(3, 1), (4, 1), (5, 4), (5, 7)]
    assert run.flags == set()


def test_trailing_waits_do_not_count() -> None:
    run = execute(CROSS, [[R, R, W, W, W, W], [W, D, D]])
    assert (run.makespan, run.sum_of_costs) == (3, 5)


def test_leaving_the_goal_and_coming_back_counts_to_the_last_arrival() -> None:
    run = execute(CROSS, [[R, R, W, U, D], [W, D, D]])
    assert (run.makespan, run.sum_of_costs) == (5, 8)


def test_two_on_one_cell_is_a_vertex_conflict() -> None:
    run = execute(CROSS, [[R, R], [D, D]])
    assert run.first is not None
    assert (run.first.category, run.first.conflict) == (FailureCategory.AGENT_CONFLICT, ConflictKind.VERTEX)
    assert (run.first.step, run.first.agents, run.first.cells) == (0, (0, 1), (4,))
    assert run.trajectory == [(3, 1)]
    assert run.makespan is None


def test_exchanging_cells_is_an_edge_conflict() -> None:
    run = execute(Task(3, 0, (3, 4), (4, 3)), [[R], [L]])
    assert run.first is not None
    assert (run.first.conflict, run.first.cells) == (ConflictKind.EDGE, (3, 4))


def test_following_is_allowed() -> None:
    assert execute(Task(3, 0, (0, 1), (1, 2)), [[R], [R]]).valid


def test_turning_in_a_circle_is_allowed() -> None:
    four = Task(3, 0, (0, 1, 4, 3), (1, 4, 3, 0))
    # Starts and goals coincide here, which no instance has; the rule is what is tested.
    assert execute(four, [[R], [D], [L], [U]]).first is None


def test_an_agent_whose_list_has_ended_still_fills_its_cell() -> None:
    run = execute(Task(3, 0, (0, 2), (1, 0)), [[R], [W, L, L]])
    assert run.first is not None
    assert (run.first.category, run.first.step, run.first.cells) == (FailureCategory.AGENT_CONFLICT, 1, (1,))


@pytest.mark.parametrize(("action", "cell"), [(U, 0), (L, 0)])
def test_leaving_the_board_is_an_illegal_move(action: int, cell: int) -> None:
    run = execute(Task(3, 0, (0, 8), (1, 7)), [[action], [L]])
    assert run.first is not None
    assert (run.first.category, run.first.agents, run.first.cells) == (
        FailureCategory.ILLEGAL_MOVE,
        (0,),
        (cell,),
    )


def test_entering_a_hole_is_a_hole_collision() -> None:
    run = execute(Task(3, bit_set([1]), (0, 8), (2, 7)), [[R], [L]])
    assert run.first is not None
    assert (run.first.category, run.first.cells) == (FailureCategory.HOLE_COLLISION, (1,))


def test_in_one_step_an_illegal_move_comes_before_a_hole_and_a_hole_before_a_conflict() -> None:
    task = Task(3, bit_set([1]), (0, 8, 3, 5), (6, 2, 7, 4))
    both = execute(task, [[R], [R], [R], [L]])
    assert both.first is not None and both.first.category is FailureCategory.ILLEGAL_MOVE
    hole = execute(task, [[R], [W], [R], [L]])
    assert hole.first is not None and hole.first.category is FailureCategory.HOLE_COLLISION


def test_all_failures_are_flagged_but_the_first_is_the_verdict() -> None:
    run = execute(Task(3, bit_set([1]), (0, 8), (2, 7)), [[R, U], [W]])
    assert run.flags == {
        FailureCategory.HOLE_COLLISION,
        FailureCategory.ILLEGAL_MOVE,
        FailureCategory.GOAL_NOT_REACHED,
    }
    assert run.first is not None and run.first.category is FailureCategory.HOLE_COLLISION


def test_an_empty_plan_reaches_no_goal() -> None:
    run = execute(CROSS, [[], []])
    assert run.first is not None
    assert (run.first.category, run.first.step, run.first.agents) == (
        FailureCategory.GOAL_NOT_REACHED,
        0,
        (0, 1),
    )


@st.composite
def executions(draw: st.DrawFn) -> tuple[Task, list[list[int]]]:
    size, agents = draw(st.integers(3, 5)), draw(st.integers(2, 4))
    task = random_task(random.Random(draw(st.integers(0, 2**32))), size, agents, draw(st.integers(0, 1)))
    lane = st.lists(st.integers(0, 4), max_size=12)
    return task, draw(st.lists(lane, min_size=agents, max_size=agents))


@given(executions())
def test_an_independent_judge_agrees(case: tuple[Task, list[list[int]]]) -> None:
    task, plan = case
    run, expected = execute(task, plan), verdict(task, plan)
    if expected is None:
        assert run.first is None
    else:
        assert run.first is not None
        name = run.first.conflict or run.first.category
        assert (str(name), run.first.step, run.first.agents) == expected
        assert len(run.trajectory) == min(run.first.step, max(map(len, plan), default=0)) + 1
