"""Small charts as SVG that take their colours from the page: lines over stages, bars over stages, a step curve."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from markupsafe import Markup

from trainer_service.report.svg import picture, points, tag, text
from trainer_service.report.words import percent

PANEL, WIDE, NARROW = 300.0, 940.0, 350.0
"""Widths: one of several panels, the whole page, a phone."""
_LEFT, _TOP, _BOTTOM = 40.0, 14.0, 26.0
_LABEL_GAP = 14.0
_LABEL_ROOM = 44.0
_MOST_TICKS = {PANEL: 8, NARROW: 9, WIDE: 26}
_SHORTEST_INSCRIBED = 15.0


@dataclass(frozen=True, slots=True)
class Series:
    """A named line; `css` is the class that colours it. None is a gap."""

    name: str
    css: str
    values: list[float | None]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar; `ink` is a label for it, shown where it fits."""

    name: str
    css: str
    value: float
    ink: str


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    segments: list[Segment]
    top: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart's data lies in its drawing."""

    width: float
    height: float
    right: float
    low: float = 0.0
    high: float = 1.0
    columns: int = 1
    inset: float = field(default=14.0)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)

    def x(self, column: float) -> float:
        room = self.width - _LEFT - self.right - 2 * self.inset
        return _LEFT + self.inset + (room * column / (self.columns - 1) if self.columns > 1 else room / 2)


def rates(title: str, labels: list[str], series: list[Series], width: float = PANEL) -> Markup:
    """Lines of rates from 0 to 100 % over stages, each with its last value written beside its end."""
    frame = Frame(width, 190, right=_LABEL_ROOM, columns=len(labels))
    return picture(
        width,
        frame.height,
        f"{title}: {_told(labels, series)}",
        *_grid(frame, [(value / 4, f"{value * 25}") for value in range(5)]),
        *_ticks(frame, labels),
        *(mark for line in series for mark in _line(frame, line, labels)),
        *_end_labels(frame, series),
    )


def bars(title: str, columns: list[Bar], width: float, unit: str = "") -> Markup:
    """Stacked bars over stages, the first segment at the bottom."""
    most = max((sum(segment.value for segment in bar.segments) for bar in columns), default=0.0) or 1.0
    frame = Frame(width, 230, right=10, high=most, columns=len(columns), inset=0)
    slot = (width - _LEFT - frame.right) / max(len(columns), 1)
    told = "; ".join(f"{bar.label}: {_contents(bar)}" for bar in columns)
    return picture(
        width,
        frame.height,
        f"{title}. {told}",
        *_grid(frame, _scale(most, unit)),
        *(mark for place, bar in enumerate(columns) for mark in _bar(frame, bar, place, slot, len(columns))),
    )


def steps(title: str, stages: list[tuple[str, list[float]]], width: float) -> Markup:
    """A value per step over all stages, with a border between stages and each stage's mean."""
    values = [value for _, curve in stages for value in curve]
    low, high = _range(values)
    frame = Frame(width, 250, right=12, low=low, high=high, columns=len(values), inset=6)
    ticks = [low + (high - low) * part / 4 for part in range(5)]
    return picture(
        width,
        frame.height,
        f"{title}. " + "; ".join(f"{name}: mean {_mean(curve):.3f}" for name, curve in stages if curve),
        *_grid(frame, [(tick, f"{tick:.2f}") for tick in ticks]),
        *_stage_marks(frame, stages),
    )


def _grid(frame: Frame, ticks: list[tuple[float, str]]) -> Iterator[Markup]:
    for value, label in ticks:
        y = frame.y(value)
        yield tag(
            "line", x1=_LEFT, x2=frame.width - frame.right, y1=y, y2=y, class_="grid" if value else "base"
        )
        yield text(_LEFT - 8, y + 4, label, "axis", "end")


def _ticks(frame: Frame, labels: list[str]) -> Iterator[Markup]:
    every = -(-len(labels) // _MOST_TICKS.get(frame.width, 8))
    for column, label in enumerate(labels):
        if column % every == 0:
            yield text(frame.x(column), frame.height - 7, label, "axis", "middle")


def _line(frame: Frame, series: Series, labels: list[str]) -> Iterator[Markup]:
    places = [(frame.x(n), frame.y(v), v) for n, v in enumerate(series.values) if v is not None]
    yield tag("polyline", points=points([(x, y) for x, y, _ in places]), class_=f"line {series.css}")
    named = [label for label, value in zip(labels, series.values, strict=True) if value is not None]
    for (x, y, value), label in zip(places, named, strict=True):
        title = tag("title", f"{label} · {series.name}: {percent(value)}")
        dot = tag("circle", cx=x, cy=y, r=3.5, class_=f"dot {series.css}")
        yield tag("g", title, tag("circle", cx=x, cy=y, r=10, class_="touch"), dot, class_="point")


def _end_labels(frame: Frame, series: list[Series]) -> Iterator[Markup]:
    ends = [(line, line.values[-1]) for line in series if line.values and line.values[-1] is not None]
    wanted = sorted((frame.y(value or 0.0), line.css, value or 0.0) for line, value in ends)
    heights = _apart([y for y, _, _ in wanted], frame.height - _BOTTOM)
    for height, (_, css, value) in zip(heights, wanted, strict=True):
        x = frame.width - frame.right - frame.inset + 9
        yield text(x, height + 4, f"{value * 100:.1f}", f"end {css}")


def _apart(heights: list[float], lowest: float) -> list[float]:
    """The rising heights moved so that labels do not overlap, none below `lowest`."""
    result: list[float] = []
    for height in heights:
        result.append(max(height, result[-1] + _LABEL_GAP) if result else height)
    limit = lowest
    for place in range(len(result) - 1, -1, -1):
        result[place] = min(result[place], limit)
        limit = result[place] - _LABEL_GAP
    return result


def _bar(frame: Frame, bar: Bar, place: int, slot: float, columns: int) -> Iterator[Markup]:
    width = min(slot * 0.72, 64.0)
    middle = _LEFT + slot * (place + 0.5)
    level = 0.0
    for segment in bar.segments:
        top, bottom = frame.y(level + segment.value), frame.y(level)
        level += segment.value
        title = tag("title", f"{bar.label} · {segment.name}: {segment.ink}")
        box = tag("rect", x=middle - width / 2, y=top, width=width, height=bottom - top, class_=segment.css)
        fits = bottom - top >= _SHORTEST_INSCRIBED and width >= 7.5 * len(segment.ink)
        inscribed = [text(middle, (top + bottom) / 2 + 4, segment.ink, f"ink {segment.css}", "middle")]
        yield tag("g", title, box, *(inscribed if fits else []), class_="segment")
    if bar.top and width >= 7.5 * len(bar.top):
        yield text(middle, frame.y(level) - 5, bar.top, "axis strong", "middle")
    if place % -(-columns // _MOST_TICKS.get(frame.width, 8)) == 0:
        yield text(middle, frame.height - 7, bar.label, "axis", "middle")


def _stage_marks(frame: Frame, stages: list[tuple[str, list[float]]]) -> Iterator[Markup]:
    done, half = 0, (frame.x(1) - frame.x(0)) / 2 if frame.columns > 1 else 6.0
    every = -(-len(stages) // (14 if frame.width == WIDE else 5))
    for number, (name, curve) in enumerate(stages):
        if not curve:
            continue
        left, right = frame.x(done) - half, frame.x(done + len(curve) - 1) + half
        top, bottom = frame.y(frame.high), frame.y(frame.low)
        yield tag(
            "rect", x=left, y=top, width=right - left, height=bottom - top, class_=f"band band-{number % 2}"
        )
        if done:
            yield tag("line", x1=left, x2=left, y1=top, y2=bottom, class_="border")
        if number % every == 0:
            yield text((left + right) / 2, frame.height - 7, name, "axis", "middle")
        yield from _curve(frame, name, curve, done, half)
        done += len(curve)


def _curve(frame: Frame, name: str, curve: list[float], done: int, half: float) -> Iterator[Markup]:
    places = [(frame.x(done + step), frame.y(value)) for step, value in enumerate(curve)]
    mean, top = _mean(curve), frame.y(frame.high)
    yield tag(
        "line",
        x1=places[0][0],
        x2=places[-1][0],
        y1=frame.y(mean),
        y2=frame.y(mean),
        class_="mean",
    )
    yield tag("polyline", points=points(places), class_="line reward")
    for step, ((x, y), value) in enumerate(zip(places, curve, strict=True), start=1):
        title = tag("title", f"{name}, step {step}: reward {value:.3f} (mean of the stage {mean:.3f})")
        touch = tag(
            "rect", x=x - half, y=top, width=2 * half, height=frame.y(frame.low) - top, class_="touch"
        )
        yield tag(
            "g", title, touch, tag("circle", cx=x, cy=y, r=3, class_="dot reward"), class_="point quiet"
        )


def _scale(most: float, unit: str) -> list[tuple[float, str]]:
    if unit == "%":
        return [(part / 4, f"{part * 25}") for part in range(5)]
    step = next(s * 10**p for p in range(12) for s in (1, 2, 5) if s * 10**p * 5 >= most)
    return [(float(value), f"{value:,}") for value in range(0, int(most) + 1, step)]


def _range(values: list[float]) -> tuple[float, float]:
    low = min(values, default=0.0) * 20 // 1 / 20
    high = -(-max(values, default=1.0) * 20 // 1) / 20
    return (low, high) if high > low else (low, low + 0.05)


def _mean(curve: list[float]) -> float:
    return sum(curve) / len(curve)


def _told(labels: list[str], series: list[Series]) -> str:
    return "; ".join(
        f"{line.name} "
        + ", ".join(f"{n}: {percent(v)}" for n, v in zip(labels, line.values, strict=True) if v is not None)
        for line in series
    )


def _contents(bar: Bar) -> str:
    return ", ".join(f"{segment.name} {segment.ink}" for segment in bar.segments) or "nothing"
