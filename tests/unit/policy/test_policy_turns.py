"""Taking turns: nobody starves, nothing is mixed that must not be, every row is handed out once."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy_service.backend import Job, Loaded
from policy_service.turns import Share, Turns
from trainee2trainer.models.rows import Row


def job(checkpoint: str, rows: int) -> Job:
    loaded = Loaded(checkpoint, cast(Any, None), None)
    return Job(loaded, [Row((place % 3, place % 7), place) for place in range(rows)])


def checkpoints(batch: list[Share]) -> set[str]:
    return {share.job.loaded.checkpoint_id for share in batch}


def test_checkpoints_take_turns() -> None:
    turns = Turns(4)
    for _ in range(3):
        turns.add(job("busy", 4))
    turns.add(job("other", 1))
    assert [checkpoints(turns.take()) for _ in range(4)] == [{"busy"}, {"other"}, {"busy"}, {"busy"}]
    assert not turns
    assert turns.take() == []


def test_small_jobs_share_a_batch_in_the_order_they_came() -> None:
    turns = Turns(8)
    jobs = [job("a", 3) for _ in range(3)]
    for one in jobs:
        turns.add(one)
    assert [share.job for share in turns.take()] == jobs[:2]
    assert [share.job for share in turns.take()] == jobs[2:]


def test_a_large_job_is_alone_and_lets_others_in_between() -> None:
    turns = Turns(8)
    large, small = job("a", 20), job("a", 2)
    turns.add(large)
    turns.add(small)
    batches = [turns.take() for _ in range(4)]
    assert [[share.job for share in batch] for batch in batches] == [[large], [small], [large], [large]]
    assert sorted(
        place for batch in batches for share in batch if share.job is large for place in share.places
    ) == [*range(20)]


def test_what_was_given_up_is_skipped() -> None:
    turns = Turns(8)
    gone, there = job("a", 3), job("b", 3)
    turns.add(gone)
    turns.add(there)
    gone.done.cancel()
    assert [share.job for share in turns.take()] == [there]
    assert not turns


@given(
    jobs=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 40)), max_size=12),
    max_rows=st.integers(1, 16),
)
def test_every_row_once_and_no_batch_of_two_checkpoints(jobs: list[tuple[str, int]], max_rows: int) -> None:
    turns = Turns(max_rows)
    added = [job(checkpoint, rows) for checkpoint, rows in jobs]
    for one in added:
        turns.add(one)
    assert turns.rows == sum(rows for _, rows in jobs)
    handed: dict[Job, list[int]] = {one: [] for one in added}
    while batch := turns.take():
        assert len(checkpoints(batch)) == 1
        assert 0 < sum(len(share.places) for share in batch) <= max_rows
        for share in batch:
            handed[share.job] += share.places
    assert all(sorted(places) == [*range(len(one.rows))] for one, places in handed.items())


@pytest.mark.parametrize("before", [0, 1, 5])
def test_batches_of_a_large_job_hang_on_it_alone(before: int) -> None:
    turns = Turns(8)
    large = job("a", 20)
    for _ in range(before):
        turns.add(job("a", 3))
    turns.add(large)
    turns.add(job("a", 3))
    batches = []
    while batch := turns.take():
        if batch[0].job is large:
            [share] = batch
            batches.append(share.places)
    places = sorted(range(20), key=lambda place: large.rows[place].prompt)
    assert [sorted(batch) for batch in batches] == [
        sorted(places[:8]),
        sorted(places[8:16]),
        sorted(places[16:]),
    ]
