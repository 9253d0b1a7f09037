"""The compiled core against the plain Python it mirrors: the same answers, board for board."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from env_oracles import optima, random_task
from hypothesis import given, settings
from hypothesis import strategies as st

from env_service import boards, candidates, cores, rules
from env_service.boards import Task
from env_service.candidates import MAX_DRAWS, Request
from env_service.compiled import cache, core, executing
from env_service.compiled.board import tables
from env_service.compiled.forms import form, make_sheet
from env_service.drawing import Recipe
from env_service.grid import members
from env_service.rules import execute
from env_service.solver.certificate import DEFAULT_LIMITS, Certificate, Limits, certify
from trainee2trainer.contracts.environment import Sampler, Split

np = pytest.importorskip("numpy")

RECIPES = [
    (3, 2, 0),
    (3, 2, 4),
    (3, 3, 1),
    (3, 4, 0),
    (4, 2, 3),
    (4, 4, 4),
    (5, 3, 7),
    (6, 3, 12),
    (7, 5, 9),
    (8, 4, 12),
    (8, 2, 32),
    (9, 3, 24),
    (10, 4, 20),
    (10, 5, 40),
]
TIGHT = Limits(first_nodes=6, joint_states=1 << 12, joint_moves=2_000, last_nodes=12)
JOINT_ONLY = Limits(first_nodes=0, last_nodes=0)
CONFLICTS_ONLY = Limits(joint_states=0, last_nodes=60)


@pytest.mark.parametrize(
    "limits",
    [DEFAULT_LIMITS, TIGHT, JOINT_ONLY, CONFLICTS_ONLY],
    ids=["default", "tight", "joint", "conflicts"],
)
def test_certificates_are_the_same_as_in_plain_python(limits: Limits) -> None:
    rng = random.Random(21)
    for size, agents, holes in RECIPES * 8:
        if limits is JOINT_ONLY and size > 6:
            continue
        task = random_task(rng, size, agents, min(holes, size * size - 2 * agents))
        assert core.certify(task, limits) == certify(task, limits), task


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_candidates_are_the_same_as_in_plain_python(recipe: tuple[int, int, int]) -> None:
    rng = random.Random(str(recipe))
    requests = [
        Request(
            Recipe(*recipe, needs_wait, sampler),
            split,
            rng.getrandbits(64),
            rng.randrange(50),
            3,
            max_draws=40,
        )
        for needs_wait in (False, True)
        for split in Split
        for sampler in Sampler
    ]
    assert core.find(requests) == candidates.find(requests)


@settings(deadline=None)  # the first call waits for the compiler
@given(st.integers(0, 2**64 - 1), st.integers(3, 10), st.integers(2, 5), st.floats(0, 0.5))
def test_forms_are_the_same_as_in_plain_python(seed: int, size: int, agents: int, ratio: float) -> None:
    agents = min(agents, size * size // 2)
    holes = min(int(ratio * size * size), size * size - 2 * agents)
    task = random_task(random.Random(seed), size, agents, holes)
    cells = [np.array(list(some), np.int64) for some in (task.starts, task.goals, members(task.holes))]
    assert int(form(tables(size), *cells, make_sheet())) == boards.form(task)


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 4), st.integers(0, 12))
def test_plans_are_executed_as_in_plain_python(seed: int, spoiled: int, keep: int) -> None:
    """Reference plans with some actions changed, lanes of any length, and noise."""
    rng, pairs = random.Random(seed), []
    for size, agents, holes in RECIPES[:12:3]:
        task = random_task(rng, size, agents, holes)
        found = core.certify(task)
        noise = [[rng.randrange(5) for _ in range(rng.randrange(9))] for _ in range(agents)]
        plan = [list(lane) for lane in found.plan] if isinstance(found, Certificate) else noise
        for _ in range(spoiled):
            lane = rng.choice(plan)
            lane[rng.randrange(len(lane) + 1) :] = [rng.randrange(5)] * rng.randrange(3)
        pairs += [(task, plan), (task, noise), (task, [[] for _ in range(agents)])]
    assert executing.execute_all(pairs, keep) == rules.execute_all(pairs, keep)


@pytest.mark.slow
def test_optima_agree_with_an_exhaustive_search_on_thousands_of_boards() -> None:
    rng, kinds = random.Random(22), [(3, 2, 1), (3, 2, 3), (4, 2, 5), (5, 2, 9), (6, 2, 14), (3, 3, 2)]
    kinds += [(3, 4, 0), (4, 3, 6)]
    solved = 0
    for kind in kinds * 300:
        task = random_task(rng, *kind)
        found = core.certify(task)
        expected = optima(task)
        if isinstance(found, Certificate):
            assert (found.makespan, found.sum_of_costs) == expected
            run = execute(task, found.plan)
            assert (run.valid, run.sum_of_costs) == (True, found.sum_of_costs)
            solved += 1
        else:
            assert expected is None
    assert solved > 1_500


def test_the_largest_boards_are_solved() -> None:
    """Cells beyond the 64th lie in the second word of a set."""
    corner = Task(10, 0, starts=(0, 99), goals=(99, 0))
    found = core.certify(corner)
    assert isinstance(found, Certificate)
    assert (found.makespan, found.sum_of_costs) == (18, 36)


def test_a_change_of_any_source_changes_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "given"))
    cache.directory.cache_clear()
    try:
        here = cache.directory()
        assert here.parent == tmp_path / "given"
        monkeypatch.setattr(cache, "__file__", str(tmp_path / "cache.py"))
        (tmp_path / "cache.py").write_text("changed")
        cache.directory.cache_clear()
        assert cache.directory().name != here.name
    finally:
        cache.directory.cache_clear()


def test_without_a_place_to_write_the_cache_goes_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(blocked))
    monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(cache.Path, "home", lambda: blocked)
    cache.directory.cache_clear()
    try:
        assert cache.directory().is_relative_to(tmp_path)
    finally:
        cache.directory.cache_clear()


def test_an_explicit_command_compiles() -> None:
    subprocess.run([sys.executable, "-m", "env_service.compiled"], check=True, timeout=300)


def test_without_numba_plain_python_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "find_spec", lambda name: None)
    request = Request(Recipe(4, 2, 3, False), Split.TRAIN, 5, 0, 2, MAX_DRAWS)
    assert cores.best().find([request]) == cores.COMPILED.find([request])
