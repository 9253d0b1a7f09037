"""Pictures: what is on them, and that none grows with the answer."""

import io
import itertools
import re
from xml.etree import ElementTree

import pytest
from PIL import Image

from env_service.boards import Task
from env_service.grid import bit_set
from env_service.pictures.ansi import board_text
from env_service.pictures.gif import MOST_STEPS, board_gif
from env_service.pictures.palette import AGENT_COLOURS, FAULT
from env_service.pictures.svg import board_svg

U, D, L, R, W = range(5)
TASK = Task(3, bit_set([6]), starts=(3, 1), goals=(5, 7))
SOLUTION = [[R, R], [W, D, D]]
CLASH = [[R, R], [D, D]]
LARGEST = Task(10, 0, starts=(0, 1, 2, 3, 4), goals=(95, 96, 97, 98, 99))


def frames(gif: bytes) -> list[tuple[Image.Image, int]]:
    image = Image.open(io.BytesIO(gif))
    result = []
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        result.append((image.convert("RGB"), int(image.info["duration"])))
    return result


def amount(image: Image.Image, colour: str) -> int:
    """Pixels of about this colour."""
    wanted = tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))
    near = [
        count
        for count, pixel in image.getcolors(1 << 20) or []
        if all(abs(a - b) < 24 for a, b in zip(pixel, wanted, strict=True))
    ]
    return sum(near)


def test_every_agent_walks_to_its_goal() -> None:
    shown = frames(board_gif(TASK, SOLUTION))
    first, last = shown[0][0], shown[-1][0]
    assert len(shown) >= 3 * len(SOLUTION[1])
    assert shown[-1][1] >= 1_000
    assert first.tobytes() != last.tobytes()
    # On its goal an agent covers the ring: less of its colour is left.
    for agent in range(2):
        assert 0 < amount(last, AGENT_COLOURS[agent]) < amount(first, AGENT_COLOURS[agent])


def test_the_first_violation_flashes_and_stays() -> None:
    shown = [amount(image, FAULT) for image, _ in frames(board_gif(TASK, CLASH))]
    assert shown[0] < 50
    assert shown[-1] > 300
    assert sum(a > 300 > b for a, b in itertools.pairwise(shown)) >= 2


def test_without_a_plan_the_board_stands_still() -> None:
    assert len({image.tobytes() for image, _ in frames(board_gif(TASK))}) == 1


@pytest.mark.parametrize("plan", [[[R, L] * 50_000, []], [[W] * 200_000, [W]]], ids=["walking", "waiting"])
def test_an_endless_plan_makes_no_endless_picture(plan: list[list[int]]) -> None:
    assert len(board_gif(TASK, plan)) < 400_000
    assert len(frames(board_gif(TASK, plan))) <= 3 * MOST_STEPS + 10
    assert len(board_text(TASK, plan)) < 5_000


def test_the_largest_board_has_five_agents_on_it() -> None:
    (image, _), *_ = frames(board_gif(LARGEST, [[D]] * 5))
    assert all(amount(image, colour) > 200 for colour in AGENT_COLOURS)


def test_text_shows_starts_goals_holes_moves_and_the_end() -> None:
    text = board_text(TASK, SOLUTION)
    assert text.splitlines() == [
        "+---+---+---+",
        "|   | 1 |   |",
        "+---+---+---+",
        "| 0 |   |(0)|",
        "+---+---+---+",
        "|###|(1)|   |",
        "+---+---+---+",
        " 0  →→",
        " 1  ·↓↓",
        "valid: makespan 3, sum of costs 5",
    ]


def test_text_marks_the_first_violation() -> None:
    text = board_text(TASK, CLASH)
    assert text.splitlines()[3] == "| 0 | ! |(0)|"
    assert text.splitlines()[-1] == "agent_conflict (vertex) in step 0: agents 0, 1 at (1, 1)"


def test_colours_change_nothing_but_colours() -> None:
    for plan in (None, SOLUTION, CLASH):
        coloured = board_text(TASK, plan, colour=True)
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == board_text(TASK, plan)


def test_an_svg_says_how_the_plan_ended() -> None:
    for plan, words, unreadable in (
        (SOLUTION, "valid: makespan 3", False),
        (CLASH, "agents 0, 1 at (1, 1)", False),
        (None, "no plan could be read", True),
    ):
        svg = board_svg(TASK, plan, unreadable)
        ElementTree.fromstring(svg)
        assert words in svg
    assert "no plan" in board_text(TASK, None, unreadable=True)
    assert len(frames(board_gif(TASK, None, unreadable=True))) >= 1
