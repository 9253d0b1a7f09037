"""Boards to and from elsewhere: each format read back by a small parser of the test's own."""

import contextlib
import io
import json
import random

import pyarrow.parquet
import pytest
from env_oracles import random_task
from hypothesis import given
from hypothesis import strategies as st

from env_service.boards import Task
from env_service.exchange.movingai import to_map, to_scenario
from env_service.exchange.parquet import SCHEMA, to_parquet
from env_service.exchange.published import ReadLine, Unreadable, read_line, sample_id_of, task_of_text
from env_service.grid import bit_set
from env_service.prompts import drawn
from trainee2trainer.contracts.environment import InstanceRow

PUBLISHED = {
    "3ag_3x3_hr0.1_000": ("a s g\nG S F\nA F F", [((1, 1), (1, 0)), ((0, 1), (0, 2)), ((2, 0), (0, 0))]),
    "3ag_3x3_hr0.1_001": ("F s F\nS g F\na A G", [((1, 0), (2, 2)), ((0, 1), (1, 1)), ((2, 1), (2, 0))]),
    "3ag_3x3_hr0.1_002": ("G S g\nF a s\nF F A", [((0, 1), (0, 0)), ((1, 2), (0, 2)), ((2, 2), (1, 1))]),
}
TEXT = """You are given a 3x3 lake.
Agents: 3

{board}

Agent 0: start (1, 1). Give every agent's actions."""


def line_of(sample: str, **changes: object) -> str:
    row = {"sample_id": sample, "num_agents": 3, "text": TEXT.format(board=PUBLISHED[sample][0])}
    return json.dumps(row | changes)


@pytest.mark.parametrize("sample", PUBLISHED)
def test_the_published_boards_are_read(sample: str) -> None:
    read = read_line(line_of(sample))
    pairs = [
        (divmod(start, 3), divmod(goal, 3))
        for start, goal in zip(read.task.starts, read.task.goals, strict=True)
    ]
    assert (read.sample_id, read.task.holes, pairs) == (sample, 0, PUBLISHED[sample][1])
    assert read.text == TEXT.format(board=PUBLISHED[sample][0])


@given(st.integers(0, 2**32), st.integers(3, 10), st.integers(2, 5))
def test_what_is_drawn_is_read_back(seed: int, size: int, agents: int) -> None:
    agents = min(agents, size * size // 2)
    task = random_task(random.Random(seed), size, agents, min(size, size * size - 2 * agents))
    assert task_of_text(TEXT.format(board=drawn(task))) == task


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("{", "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "text: must be a string"),
        ('{"text": "no board"}', "text: draws no square board"),
        ('{"text": "S F\\nF G"}', "text: draws no square board"),
        ('{"text": "S F F\\nF F F\\nF F G"}', "must have 2 to 5 agents, and has 1"),
        ('{"text": "S s F\\nF F F\\nF F G"}', "need each of S s G g once"),
        ('{"text": "S s F\\nG F F\\nG F g"}', "need each of S s G g once"),
        (line_of("3ag_3x3_hr0.1_000", num_agents=2), "num_agents: must be 3"),
        ('{"text": "\\ud800 S s F\\nG g F\\nF F F"}', "text: must be Unicode"),
        ('{"instance": 3}', "instance: needs size, holes, agents"),
        ('{"instance": {"size": 99, "holes": [], "agents": []}}', "instance.size"),
        (
            '{"instance": {"size": 3, "holes": [[0, 0]], "agents": '
            '[{"start": [0, 0], "goal": [1, 1]}, {"start": [2, 0], "goal": [2, 1]}]}}',
            "instance.agents.0.start: must be an ice cell",
        ),
    ],
)
def test_a_line_that_cannot_be_taken_says_which_rule_it_breaks(line: str, rule: str) -> None:
    with pytest.raises(Unreadable, match=rule.replace("[", r"\[")):
        read_line(line)


@given(st.text() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_no_line_does_worse_than_be_unreadable(line: str) -> None:
    (sample_id_of(line) or "").encode()
    with contextlib.suppress(Unreadable):
        assert isinstance(read_line(line), ReadLine)


def read_movingai(map_: str, scenario: str) -> tuple[set[tuple[int, int]], list[tuple[int, ...]]]:
    """Blocked (x, y) and, per agent, start x and y, goal x and y, length."""
    head, height, width, word, *rows = map_.splitlines()
    assert (head, word) == ("type octile", "map")
    assert len(rows) == int(height.split()[1])
    assert {len(row) for row in rows} == {int(width.split()[1])}
    version, *agents = scenario.splitlines()
    assert version == "version 1"
    blocked = {(x, y) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark in "@OT"}
    return blocked, [tuple(map(int, agent.split("\t")[4:])) for agent in agents]


def test_a_movingai_map_and_scenario_say_the_same_board() -> None:
    task = Task(4, bit_set([1, 5]), starts=(0, 3), goals=(2, 12))
    blocked, agents = read_movingai(to_map(task), to_scenario(task, "board.map"))
    assert blocked == {(1, 0), (1, 1)}
    assert agents == [(0, 0, 2, 0, 6), (3, 0, 0, 3, 6)]
    assert to_scenario(task, "board.map").splitlines()[1].split("\t")[:4] == ["0", "board.map", "4", "4"]


def test_a_parquet_file_holds_every_row() -> None:
    content = {
        "instance": {
            "id": "2agents_3x3_0a1b2c3d4e5f",
            "size": 3,
            "holes": [[0, 0]],
            "agents": [{"start": [1, 0], "goal": [1, 2]}, {"start": [0, 1], "goal": [2, 1]}],
            "optimal_makespan": 3,
            "optimal_sum_of_costs": 5,
            "reference_plan": [["RIGHT", "RIGHT"], ["WAIT", "DOWN", "DOWN"]],
            "needs_wait": True,
            "wait_proof": "parity",
            "plan_has_wait": True,
            "split": "held_out",
        },
        "prompt": [{"role": "user", "content": "Go."}],
        "answer": "RIGHT",
    }
    row = InstanceRow.model_validate(content)
    table = pyarrow.parquet.read_table(io.BytesIO(to_parquet([row, row])))
    assert table.schema.equals(SCHEMA)
    record = table.to_pylist()[1]
    assert record["starts"] == [[1, 0], [0, 1]]
    assert record["holes"] == [[0, 0]]
    assert record["reference_plan"] == [["RIGHT", "RIGHT"], ["WAIT", "DOWN", "DOWN"]]
    assert (record["id"], record["prompt"], record["board"][:5]) == (row.instance.id, "Go.", "H s F")
