"""A plan on a board as an animated GIF: the agents walk, and the first violation flashes."""

import io
from collections.abc import Iterator
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from env_service.boards import Task
from env_service.grid import members, to_cell
from env_service.pictures.palette import AGENT_COLOURS, EDGE, FAULT, HOLE, ICE, PAPER, UNREADABLE, ending
from env_service.rules import Execution, Plan, execute

_CELL, _MARGIN, _FOOT = 48, 10, 20
_SCALE = 3
_BETWEEN = 3
_WALK_MS, _PAUSE_MS, _FLASH_MS, _END_MS = 70, 260, 220, 2_000
_FLASHES = 3
MOST_STEPS = 60
"""Longer plans are shown so far: a picture must not grow with the answer."""

Point = tuple[float, float]
Frame = tuple[Image.Image, int]


def board_gif(task: Task, plan: Plan | None = None, unreadable: bool = False) -> bytes:
    """The animation; without a plan a single frame."""
    run = execute(task, plan) if plan is not None else None
    caption = UNREADABLE if unreadable else _caption(task, run) if run else ""
    frames = list(_frames(task, run, caption))
    images = [image.quantize(64, dither=Image.Dither.NONE) for image, _ in frames]
    sink = io.BytesIO()
    images[0].save(
        sink,
        "GIF",
        save_all=True,
        append_images=images[1:],
        duration=[milliseconds for _, milliseconds in frames],
        loop=0,
        disposal=1,
    )
    return sink.getvalue()


def _caption(task: Task, run: Execution) -> str:
    if len(run.trajectory) > MOST_STEPS + 1:
        return f"the first {MOST_STEPS} of {len(run.trajectory) - 1} steps"
    return ending(task, run)


def _frames(task: Task, run: Execution | None, caption: str) -> Iterator[Frame]:
    ground = _ground(task)
    sprites = [_sprite(agent) for agent in range(len(task.starts))]
    steps = run.trajectory[: MOST_STEPS + 1] if run else [task.starts]
    yield _frame(ground, sprites, _points(task, steps[0])), _PAUSE_MS
    for before, after in pairwise(steps):
        for part in range(1, _BETWEEN + 1):
            share = part / _BETWEEN
            points = [
                (x + (x2 - x) * share, y + (y2 - y) * share)
                for (x, y), (x2, y2) in zip(_points(task, before), _points(task, after), strict=True)
            ]
            yield _frame(ground, sprites, points), _PAUSE_MS if part == _BETWEEN else _WALK_MS
    last = _frame(ground, sprites, _points(task, steps[-1]))
    _write(last, caption, FAULT if run is None or run.first else HOLE)
    if run and run.first and len(run.trajectory) <= MOST_STEPS + 1:
        marked = last.copy()
        for cell in run.first.cells:
            _mark(marked, task, cell)
        for _ in range(_FLASHES):
            yield marked, _FLASH_MS
            yield last, _FLASH_MS
        last = marked
    yield last, _END_MS


def _ground(task: Task) -> Image.Image:
    side = task.size * _CELL + 2 * _MARGIN
    image = Image.new("RGB", (side * _SCALE, (side + _FOOT) * _SCALE), PAPER)
    draw = ImageDraw.Draw(image)
    for cell in range(task.size**2):
        x, y = _corner(task, cell)
        draw.rectangle(_scaled(x, y, x + _CELL, y + _CELL), fill=ICE, outline=EDGE, width=_SCALE)
    for hole in members(task.holes):
        x, y = _corner(task, hole)
        draw.ellipse(_scaled(x + 5, y + 5, x + _CELL - 5, y + _CELL - 5), fill=HOLE)
    for agent, goal in enumerate(task.goals):
        x, y = _corner(task, goal)
        box = _scaled(x + 7, y + 7, x + _CELL - 7, y + _CELL - 7)
        draw.ellipse(box, outline=AGENT_COLOURS[agent], width=4 * _SCALE)
        _number(draw, (x + _CELL / 2, y + _CELL / 2), agent, AGENT_COLOURS[agent])
    return image.reduce(_SCALE)


def _sprite(agent: int) -> Image.Image:
    image = Image.new("RGBA", (_CELL * _SCALE, _CELL * _SCALE), (0, 0, 0, 0))
    draw = ImageDraw.Draw(image)
    draw.ellipse(_scaled(9, 9, _CELL - 9, _CELL - 9), fill=AGENT_COLOURS[agent])
    _number(draw, (_CELL / 2, _CELL / 2), agent, PAPER)
    return image.reduce(_SCALE)


def _frame(ground: Image.Image, sprites: list[Image.Image], points: list[Point]) -> Image.Image:
    image = ground.copy()
    for sprite, (x, y) in zip(sprites, points, strict=True):
        image.paste(sprite, (round(x), round(y)), sprite)
    return image


def _number(draw: ImageDraw.ImageDraw, centre: Point, agent: int, colour: str) -> None:
    font = ImageFont.load_default(17 * _SCALE)
    draw.text((centre[0] * _SCALE, centre[1] * _SCALE), str(agent), colour, font, anchor="mm")


def _write(image: Image.Image, text: str, colour: str) -> None:
    draw, size = ImageDraw.Draw(image), 13
    while size > 7 and draw.textlength(text, ImageFont.load_default(size)) > image.width - 8:
        size -= 1
    place = (image.width / 2, image.height - _FOOT / 2 - 4)
    draw.text(place, text, colour, ImageFont.load_default(size), anchor="mm")


def _mark(image: Image.Image, task: Task, cell: int) -> None:
    x, y = _corner(task, cell)
    box = (x + 1, y + 1, x + _CELL - 1, y + _CELL - 1)
    ImageDraw.Draw(image).rectangle(box, outline=FAULT, width=4)


def _points(task: Task, cells: tuple[int, ...]) -> list[Point]:
    return [_corner(task, cell) for cell in cells]


def _corner(task: Task, cell: int) -> tuple[int, int]:
    row, column = to_cell(task.size, cell)
    return _MARGIN + column * _CELL, _MARGIN + row * _CELL


def _scaled(*numbers: float) -> tuple[float, ...]:
    return tuple(number * _SCALE for number in numbers)
