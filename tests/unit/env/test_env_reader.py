"""Each reading rule, and that no text whatever is too much."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from env_service import plan_reader
from env_service.plan_reader import read_plan

U, D, L, R, W = range(5)
PLAN = [[R, U], [D, W]]


@pytest.mark.parametrize(
    "text",
    [
        "Agent 0: RIGHT, UP\nAgent 1: DOWN, WAIT",
        "agent 0: right up\nagent 1: down wait",
        "Agent 1: DOWN, WAIT\nAgent 0: RIGHT, UP",
        "Agent 1: RIGHT, UP\nAgent 2: DOWN, WAIT",
        "**Agent 0:** RIGHT, UP\n**Agent 1:** DOWN, WAIT",
        "**Agent 0**: RIGHT, UP.\n**Agent 1**: DOWN, WAIT.",
        "Agent 0: RIGHT, UP. Agent 1: DOWN, WAIT.",
        "Agent 0's plan: RIGHT -> UP\nAgent 1's plan: DOWN -> WAIT",
        "Agent 0: RIGHT → UP\nAgent 1: DOWN → WAIT",
        "Agent 0: → ↑\nAgent 1: DOWN STAY",
        "Agent 0: R U\nAgent 1: D W",
        "Agent 0: RU\nAgent 1: DW",
        "Agent 0: R,U\nAgent 1: d,w",
        "Agent 0:\n- RIGHT\n- UP\nAgent 1:\n1. DOWN\n2. WAIT",
        "Agent 0: RIGHT (0, 1), UP (1, 1)\nAgent 1: DOWN, WAIT",
        "Agent 0: [RIGHT, UP] done\nAgent 1: [DOWN, WAIT] done",
        "agent_0 = ['RIGHT', 'UP']\nagent_1 = ['DOWN', 'WAIT']",
        "Agent 0: RIGHT, UP then it stands\nAgent 1: DOWN, WAIT and so on RIGHT",
        '{"0": ["RIGHT", "UP"], "1": ["DOWN", "WAIT"]}',
        '```json\n{"0": ["RIGHT", "UP"],\n "1": ["DOWN", "WAIT"]}\n```',
        '{"plan": {"agent_0": ["RIGHT", "UP"], "agent_1": ["DOWN", "WAIT"]}}',
        '{"0": "RIGHT, UP", "1": "DOWN, WAIT"}',
        "{0: ['RIGHT', 'UP'], 1: ['DOWN', 'WAIT']}",
        '[["RIGHT", "UP"], ["DOWN", "WAIT"]]',
        "[[RIGHT, UP],\n [DOWN, WAIT]]",
        '{"plan": [["R", "U"], ["D", "W"]]}',
        "RIGHT 0,1 DOWN 2,0 / UP 1,1 WAIT 2,0",
        "RIGHT (0,1) DOWN (2,0)\nUP (1,1) WAIT (2,0)",
        "RIGHT DOWN / UP WAIT",
        "The plan:\n\nRIGHT DOWN\nUP WAIT\n\nThat is all.",
        "R D / U W /",
        "<think>Agent 0: LEFT\nAgent 1: LEFT</think>Agent 0: RIGHT, UP\nAgent 1: DOWN, WAIT",
        "<think>a</think>LEFT LEFT<think>b</think>\nRIGHT DOWN / UP WAIT",
        "Agent 0: RIGHT, UP\nAgent 1: DOWN, WAIT\n<think>Agent 0: LEFT\nAgent 1: LEFT",
        "Agent 0: LEFT\nAgent 1: LEFT\n\nBetter:\nAgent 0: RIGHT, UP\nAgent 1: DOWN, WAIT",
        "Agent 0: RIGHT, UP\nAgent 1: DOWN, WAIT\n\nAgent 0: moves right.\nAgent 1: moves down.",
        "Agent 0: RIGHT, UP\nAgent 1: DOWN, WAIT\n\nAgent 0: LEFT",
        "LEFT LEFT\n\nAgent 0: RIGHT, UP\nAgent 1: DOWN, WAIT",
        "Agent 0: LEFT\nAgent 1: LEFT\n\nRIGHT DOWN / UP WAIT",
        "Agent 0:\nRIGHT, UP\nAgent 1:\nDOWN, WAIT",
        "Agent 0: RIGHT, UP\r\nAgent 1: DOWN, WAIT\r\n",
        "Agent 0: (RIGHT, UP)\nAgent 1: (DOWN, WAIT)",
        "Agent 0: RIGHT, (wait for agent 1) UP\nAgent 1: DOWN, WAIT (on the goal)",
    ],
)
def test_a_plan_is_found(text: str) -> None:
    assert read_plan(text, 2) == PLAN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I do not know.",
        "Agent 0: RIGHT, UP",
        "Agent 0: RIGHT\nAgent 1: UP\nAgent 2: UP",
        "Agent 0: RIGHT\nAgent 3: UP",
        "Agent 1: RIGHT\nAgent 3: UP",
        "Agent 0: moves RIGHT\nAgent 1: moves UP",
        "RIGHT DOWN / UP",
        "RIGHT DOWN / UP WAIT WAIT",
        "RIGHT DOWN\nUP",
        "RIGHT, UP, DOWN",
        '[["RIGHT"], ["UP"], ["DOWN"]]',
        '[["RIGHT"]]',
        '[["RIGHT", "JUMP"], ["UP"]]',
        '[["RIGHT"], ["UP"]',
        "<think>RIGHT DOWN",
        "<think>Agent 0: RIGHT\nAgent 1: UP",
        "__import__('os').system('RIGHT')",
        "Agent 99999999999999999999: RIGHT",
        "Agent 0: (1,3) → (0,3) → (0,2)\nAgent 1: (2,0) → (2,1)",
        "Agent 0: (1,3) -> (0,3)\nAgent 1: (2,0) -> (2,1)",
        "Agent 0: RIGHT x2\nAgent 1: DOWN",
        "Agent 0: RIGHT ×2\nAgent 1: DOWN",
    ],
)
def test_no_plan_is_found(text: str) -> None:
    assert read_plan(text, 2) is None


def test_an_empty_list_is_a_plan_that_waits() -> None:
    assert read_plan("Agent 0:\nAgent 1: UP", 2) == [[], [U]]
    assert read_plan('{"0": [], "1": ["UP"]}', 2) == [[], [U]]


def test_a_list_ends_at_a_blank_line() -> None:
    assert read_plan("Agent 0: UP\nAgent 1: DOWN\n\nRIGHT LEFT WAIT", 2) == [[U], [D]]


def test_numbers_of_agents_from_two_to_five() -> None:
    for agents in range(2, 6):
        text = "\n".join(f"Agent {agent}: RIGHT" for agent in range(agents))
        assert read_plan(text, agents) == [[R]] * agents
        assert read_plan(" ".join(["UP"] * agents), agents) == [[U]] * agents


@given(st.text(), st.integers(2, 5))
def test_no_text_raises(text: str, agents: int) -> None:
    read_plan(text, agents)


PIECES = [
    "Agent ",
    "agent_",
    "0",
    "1",
    "2",
    ":",
    "=",
    "[",
    "]",
    "{",
    "}",
    '"',
    ",",
    "\n",
    "/",
    "RIGHT",
    "UP",
    "R",
    "→",
]
PIECES += [" ", "<think>", "</think>", "\x00", "۳", "²", "(", ")", "é", "WAIT 0,1", "plan"]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.integers(2, 5))
@settings(max_examples=300)
def test_no_mixture_of_what_it_looks_for_raises(text: str, agents: int) -> None:
    plan = read_plan(text, agents)
    assert plan is None or (len(plan) == agents and all(0 <= action < 5 for lane in plan for action in lane))


@pytest.mark.parametrize(
    "piece",
    [
        "RIGHT ",
        "U",
        "[",
        "[[",
        '{"0":',
        "Agent 0:",
        "Agent ",
        "agent_",
        "Agent 0: RIGHT\n",
        "\n",
        "/",
        "<think>",
        "</think>",
        "R D\n",
        "R D/",
        "[[R],[",
        '"',
        "\x00",
        "→",
        "0,1 ",
        "Agent 0: U\nAgent 1: D\n",
        "((((",
        "'''",
        "Agent ____",
    ],
)
def test_two_hundred_kilobytes_are_read_in_a_moment(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.perf_counter()
    read_plan(text, 2)
    assert time.perf_counter() - started < 5


WORDS = st.lists(st.sampled_from(["UP", "DOWN", "LEFT", "RIGHT", "WAIT"]), min_size=1, max_size=6)


@given(
    st.lists(WORDS, min_size=2, max_size=5), st.sampled_from(["", " ", "\n", "x", "Agent 0: UP\n", ", UP"])
)
def test_a_bare_answer_is_read_as_any_other(lanes: list[list[str]], tail: str) -> None:
    """The quick way for answers in exactly the asked form gives what the search through the text gives."""
    labelled = "\n".join(f"Agent {agent}: {', '.join(lane)}" for agent, lane in enumerate(lanes))
    shortest = min(map(len, lanes))
    steps = [" ".join(f"{lane[step]} {step},{step}" for lane in lanes) for step in range(shortest)]
    for text in (labelled + tail, " / ".join(steps) + tail):
        for agents in (2, len(lanes)):
            assert read_plan(text, agents) == plan_reader._searched(text, agents)
