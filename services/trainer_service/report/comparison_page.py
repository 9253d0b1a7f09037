"""The page of a comparison: curves per engineer, means, and what the intervals say."""

from typing import Any

from trainee2trainer.contracts.campaign import BASELINE_STAGE
from trainee2trainer.contracts.comparison import ComparisonReport, EngineerResult, Verdict
from trainer_service.report import charts, words
from trainer_service.report.charts import WIDE, Series
from trainer_service.report.document import document


def render(report: ComparisonReport) -> str:
    """The whole page as HTML; equal reports give equal bytes."""
    return document(
        "comparison.html",
        report=report,
        headline=headline(report),
        charts=_charts(report),
        sizes=sorted({one.size for result in report.results for one in result.per_size}),
        words=words,
        points=lambda share: f"{share * 100:+.1f}",
    )


def headline(report: ComparisonReport) -> str:
    """The strongest thing that can be said, and no more."""
    if not report.differences:
        return "No two engineers can be compared yet"
    first = report.results[0].engineer.value
    named = {verdict: _names(report, verdict) for verdict in Verdict}
    parts = []
    if named[Verdict.BETTER]:
        parts.append(f"{first} beats {words.listed(named[Verdict.BETTER])}")
    if named[Verdict.WORSE]:
        parts.append(f"{first} loses to {words.listed(named[Verdict.WORSE])}")
    if named[Verdict.NOT_SHOWN]:
        parts.append(f"no difference to {words.listed(named[Verdict.NOT_SHOWN])} is shown")
    return "; ".join(parts)


def _names(report: ComparisonReport, verdict: Verdict) -> list[str]:
    return [one.against.value for one in report.differences if one.verdict is verdict]


def _charts(report: ComparisonReport) -> list[dict[str, Any]]:
    curves = [(place, result) for place, result in enumerate(report.results) if result.curve]
    if not curves:
        return []
    longest = max(len(result.curve) for _, result in curves)
    labels = [words.stage_name(BASELINE_STAGE + column) for column in range(longest)]
    lines = [_line(place, result, longest) for place, result in curves]
    drawing = charts.rates("Valid rate by engineer", labels, lines, WIDE)
    return [
        {
            "title": "Learning curves",
            "text": "Valid plans on the same held-out boards, in per cent: means over the seeds that have ended.",
            "panels": [{"title": "", "drawing": drawing, "legend": lines}],
        }
    ]


def _line(place: int, result: EngineerResult, longest: int) -> Series:
    missing: list[float | None] = [None] * (longest - len(result.curve))
    return Series(result.engineer.value, f"c{place}", [*result.curve, *missing])
