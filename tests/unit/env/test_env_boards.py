"""Identity, symmetries and the split."""

import random
from itertools import permutations

import pytest
from env_oracles import random_task
from hypothesis import given
from hypothesis import strategies as st

from env_service.boards import BrokenBoard, Task, form, instance_id, split_of, symmetries, to_task
from env_service.grid import bit_set, members
from trainee2trainer.contracts.environment import BoardTask, Split


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    size = draw(st.integers(3, 10))
    agents = draw(st.integers(2, min(5, size * size // 2)))
    holes = draw(st.integers(0, min(size * size // 2, size * size - 2 * agents)))
    return random_task(random.Random(draw(st.integers(0, 2**32))), size, agents, holes)


def moved(task: Task, turn: tuple[int, ...], order: tuple[int, ...]) -> Task:
    return Task(
        task.size,
        bit_set([turn[hole] for hole in members(task.holes)]),
        tuple(turn[task.starts[agent]] for agent in order),
        tuple(turn[task.goals[agent]] for agent in order),
    )


@given(tasks())
def test_no_rotated_mirrored_or_relabelled_copy_changes_side(task: Task) -> None:
    forms = {
        form(moved(task, turn, order))
        for turn in symmetries(task.size)
        for order in list(permutations(range(len(task.starts))))[:24]
    }
    assert forms == {form(task)}


def test_the_eight_symmetries_are_distinct_and_keep_neighbours_together() -> None:
    turns = symmetries(4)
    assert len(set(turns)) == 8
    for turn in turns:
        assert sorted(turn) == list(range(16))
        for cell in range(15):
            if cell % 4 < 3:
                (r1, c1), (r2, c2) = divmod(turn[cell], 4), divmod(turn[cell + 1], 4)
                assert abs(r1 - r2) + abs(c1 - c2) == 1


def test_other_boards_have_other_forms() -> None:
    rng = random.Random(5)
    seen = {form(random_task(rng, 6, 3, 7)) for _ in range(2_000)}
    assert len(seen) == 2_000


def test_about_a_fifth_is_held_out() -> None:
    rng = random.Random(6)
    sides = [split_of(form(random_task(rng, 6, 2, 7))) for _ in range(4_000)]
    assert 0.18 < sides.count(Split.HELD_OUT) / len(sides) < 0.22


def test_identity_and_side_are_frozen() -> None:
    # Whoever changes these moves boards between training and evaluation.
    task = Task(3, bit_set([2]), (7, 3), (4, 0))
    assert instance_id(task) == "2agents_3x3_14907e2d665e"
    assert form(task) == 12732933047494171817
    assert split_of(form(task)) is Split.TRAIN


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"holes": [[0, 3]]}, ["holes", 0]),
        ({"holes": [[-1, 0]]}, ["holes", 0]),
        ({"holes": [[0, 0]]}, ["agents", 0, "start"]),
        (
            {"agents": [{"start": [0, 0], "goal": [9, 0]}, {"start": [1, 1], "goal": [2, 2]}]},
            ["agents", 0, "goal"],
        ),
        (
            {"agents": [{"start": [0, 0], "goal": [0, 1]}, {"start": [0, 1], "goal": [2, 2]}]},
            ["agents", 1, "start"],
        ),
    ],
)
def test_a_broken_board_names_the_field(change: dict[str, object], loc: list[str | int]) -> None:
    good = {"size": 3, "agents": [{"start": [0, 0], "goal": [0, 1]}, {"start": [1, 1], "goal": [2, 2]}]}
    to_task(BoardTask.model_validate(good))
    with pytest.raises(BrokenBoard) as error:
        to_task(BoardTask.model_validate(good | change))
    assert error.value.loc == loc
