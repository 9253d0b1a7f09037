"""The page: figures, charts, table and replays, in one file that needs nothing else."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from trainee2trainer.contracts.campaign import CampaignReport, StageReport
from trainee2trainer.contracts.environment import FailureCategory
from trainer_service.report import charts, words
from trainer_service.report.board import board, centre
from trainer_service.report.charts import PANEL, WIDE, Bar, Segment, Series
from trainer_service.report.document import document
from trainer_service.report.playback import frames
from trainer_service.report.replay import Replay

_KNOBS = ("data_ratio", "hole_ratio", "wait_ratio")


def render(report: CampaignReport, replays: Sequence[Replay]) -> str:
    """The whole report as HTML. Equal arguments give equal bytes; all text in it is escaped."""
    return document(
        "report.html",
        report=report,
        headline=headline(report),
        points=_points(report),
        charts=_charts(report),
        failures=words.FAILURES,
        knobs=_KNOBS,
        replays=[_playable(replay) for replay in replays],
        words=words,
    )


def headline(report: CampaignReport) -> str:
    """What happened, from the numbers: said just as plainly when nothing was gained."""
    if not report.stages:
        return "No stage has been validated yet"
    last, stages = report.stages[-1], words.count(len(report.stages), "stage")
    if report.baseline is None:
        return f"{words.percent(last.valid_rate)} of the plans on held-out boards are valid after {stages}"
    before, after = report.baseline.valid_rate, last.valid_rate
    gain = words.change(before, after)
    if gain == "±0.0":
        return f"Valid plans on held-out boards stayed at {words.percent(after)} over {stages}"
    verb = "rose" if after > before else "fell"
    numbers = f"{words.percent(before)} to {words.percent(after)}"
    return f"Valid plans on held-out boards {verb} from {numbers} over {stages}"


def _points(report: CampaignReport) -> list[StageReport]:
    """Every measured checkpoint, the starting one first."""
    return [*([report.baseline] if report.baseline else []), *report.stages]


def _charts(report: CampaignReport) -> list[dict[str, Any]]:
    """The charts in the order of the page: a title, a word on how to read it, panels, a legend."""
    points = _points(report)
    if not points:
        return []
    labels = [words.stage_name(point.index) for point in points]
    sizes = sorted({size.size for point in points for size in point.per_size})
    return [
        _rates(points, labels, sizes),
        _rewards(report),
        _configurations(report, sizes),
        _failures(points, labels),
    ]


def _rates(points: list[StageReport], labels: list[str], sizes: list[int]) -> dict[str, Any]:
    overall = [
        Series("valid", "c0", [point.valid_rate for point in points]),
        Series("optimal", "c1", [point.optimal_rate for point in points]),
    ]
    per_size = [
        Series(words.size_name(size), f"c{place}", [_of_size(point, size, "valid_rate") for point in points])
        for place, size in enumerate(sizes)
    ]
    classes = [
        Series(name, f"c{place}", [_mean_of(point, field) for point in points])
        for place, (name, field) in enumerate(
            (("boards without a wait", "plain_valid_rate"), ("boards that need a wait", "wait_valid_rate"))
        )
    ]
    return {
        "title": "What the policy can do",
        "text": "Sampled plans on the same held-out boards after every stage, in per cent.",
        "panels": [
            _panel("Valid and optimal", charts.rates("Valid and optimal", labels, overall), overall),
            _panel("Valid by map size", charts.rates("Valid by map size", labels, per_size), per_size),
            _panel(
                "Valid by kind of board", charts.rates("Valid by kind of board", labels, classes), classes
            ),
        ],
    }


def _rewards(report: CampaignReport) -> dict[str, Any]:
    curves = [(words.stage_name(stage.index), stage.reward_curve) for stage in report.stages]
    drawing = charts.steps("Mean reward per step", curves, WIDE) if any(curve for _, curve in curves) else ""
    return {
        "title": "How it learnt",
        "text": "Mean reward of each training step. The boards change from stage to stage, so levels do not compare.",
        "panels": [_panel("", drawing, [])] if drawing else [],
    }


def _configurations(report: CampaignReport, sizes: list[int]) -> dict[str, Any]:
    labels = [words.stage_name(stage.index) for stage in report.stages]
    if not labels:
        return {"title": "What it trained on", "text": "Nothing yet.", "panels": []}
    shares = [
        Bar(label, [_segment(stage, size, place) for place, size in enumerate(sizes)])
        for label, stage in zip(labels, report.stages, strict=True)
    ]
    legend = [Series(words.size_name(size), f"c{place}", []) for place, size in enumerate(sizes)]
    panels = [_panel("Share of data", charts.bars("Share of data", shares, PANEL, "%"), legend)]
    for knob, title in (("hole_ratio", "Holes"), ("wait_ratio", "Boards that need a wait")):
        lines = [
            Series(words.size_name(size), f"c{place}", [_knob(stage, size, knob) for stage in report.stages])
            for place, size in enumerate(sizes)
        ]
        panels.append(_panel(title, charts.rates(title, labels, lines), lines))
    return {
        "title": "What it trained on",
        "text": "The configuration of every stage, in per cent: from the second on, its engineer's work.",
        "panels": panels,
    }


def _segment(stage: StageReport, size: int, place: int) -> Segment:
    share = _knob(stage, size, "data_ratio") or 0.0
    return Segment(words.size_name(size), f"c{place}", share, f"{share * 100:.0f}")


def _failures(points: list[StageReport], labels: list[str]) -> dict[str, Any]:
    columns = [
        Bar(
            label,
            [
                Segment(words.FAILURES[category], f"f{place}", amount, f"{amount:,}")
                for place, category in enumerate(FailureCategory)
                if (amount := point.failures.get(category, 0))
            ],
            f"{sum(point.failures.values()):,}",
        )
        for label, point in zip(labels, points, strict=True)
    ]
    legend = [Series(words.FAILURES[category], f"f{n}", []) for n, category in enumerate(FailureCategory)]
    return {
        "title": "How it failed",
        "text": "Validation answers that were not valid, by the first rule they broke.",
        "panels": [_panel("", charts.bars("Failures", columns, WIDE), legend)],
    }


def _panel(title: str, drawing: Markup | str, legend: list[Series]) -> dict[str, Any]:
    return {"title": title, "drawing": drawing, "legend": legend}


def _knob(stage: StageReport, size: int, knob: str) -> float | None:
    knobs = stage.configuration.sizes.get(size)
    return None if knobs is None else float(getattr(knobs, knob))


def _of_size(point: StageReport, size: int, field: str) -> float | None:
    return next((float(getattr(one, field)) for one in point.per_size if one.size == size), None)


def _mean_of(point: StageReport, field: str) -> float | None:
    values = [float(getattr(one, field)) for one in point.per_size]
    return sum(values) / len(values) if values else None


def _playable(replay: Replay) -> dict[str, Any]:
    """A replay with its drawing, and its steps as the script reads them."""
    steps = frames(replay)
    return {
        "replay": replay,
        "drawing": board(replay, steps),
        "verdict": words.verdict(replay.outcome),
        "explained": words.explained(replay.instance, replay.outcome),
        "when": words.when(replay.stage_index),
        "frames": [
            {
                "at": [list(centre(place)) for place in frame.places],
                "caption": frame.caption,
                "fault": frame.fault,
                "moves": _moves(steps[: number + 1]),
            }
            for number, frame in enumerate(steps)
        ],
    }


def _moves(steps: list[Any]) -> list[int]:
    """How many cells each agent has entered so far: the length of its trail."""
    executed = [frame for frame in steps if frame.executed]
    return [
        sum(a.places[agent] != b.places[agent] for a, b in pairwise(executed))
        for agent in range(len(steps[0].places))
    ]
