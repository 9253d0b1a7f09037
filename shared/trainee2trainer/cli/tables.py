"""Tables for the terminal: campaigns, and what came of one."""

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from trainee2trainer.cli import words
from trainee2trainer.contracts.campaign import Campaign, CampaignReport, ProposalReport, StageReport


def campaigns(items: Iterable[Campaign]) -> Table:
    table = Table("id", "name", "status", "stage", "engineer", "seed", "created")
    for one in items:
        table.add_row(
            one.id,
            escape(one.settings.name),
            one.status.value,
            f"{one.stage_index + 1} of {one.settings.stages}",
            one.settings.engineer.value,
            str(one.settings.seed),
            one.created_at.astimezone().strftime("%Y-%m-%d %H:%M"),
        )
    return table


def show_report(report: CampaignReport, console: Console) -> None:
    """Per stage: configuration and rates per size, failures by category; then what the engineer did."""
    rows = [report.baseline, *report.stages] if report.baseline else list(report.stages)
    console.print(_rates(rows))
    console.print(_failures(rows))
    for stage in report.stages:
        if stage.proposal:
            _show_proposal(stage.index, stage.proposal, console)
    if len(rows) > 1:
        first, last = rows[0], rows[-1]
        console.print(
            f"Valid on held-out boards: {first.valid_rate:.1%} → [bold]{last.valid_rate:.1%}[/], "
            f"optimal: {first.optimal_rate:.1%} → [bold]{last.optimal_rate:.1%}[/] "
            f"(campaign {report.campaign_id}, {report.status.value}, seed {report.seed})"
        )


def _rates(rows: Iterable[StageReport]) -> Table:
    table = _table("Stages: what was trained on, and rates on held-out boards", "", "size")
    for heading in ("boards", "holes", "waits", "valid", "optimal", "if wait", "no wait"):
        table.add_column(heading, justify="right")
    for row in rows:
        title = words.stage(row.index)
        for size in row.per_size:
            knobs = row.configuration.sizes.get(size.size)
            trained = row.index >= 0 and knobs is not None
            asked = (
                [f"{knobs.data_ratio:.0%}", f"{knobs.hole_ratio:.0%}", f"{knobs.wait_ratio:.0%}"]
                if trained and knobs
                else ["", "", ""]
            )
            rates = (size.valid_rate, size.optimal_rate, size.wait_valid_rate, size.plain_valid_rate)
            table.add_row(title, f"{size.size}x{size.size}", *asked, *(f"{rate:.1%}" for rate in rates))
            title = ""
        table.add_row("", "all", "", "", "", f"{row.valid_rate:.1%}", f"{row.optimal_rate:.1%}", style="bold")
        table.add_section()
    return table


def _table(title: str, *columns: str) -> Table:
    return Table(
        *columns, title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )


def _failures(rows: list[StageReport]) -> Table:
    table = _table("Failures on held-out boards", "")
    categories = list(rows[0].failures) if rows else []
    for category in categories:
        table.add_column(category.value.replace("_", " "), justify="right")
    for row in rows:
        counts = (str(row.failures.get(category, 0)) for category in categories)
        table.add_row(words.stage(row.index), *counts)
    return table


def _show_proposal(index: int, proposal: ProposalReport, console: Console) -> None:
    console.print(f"After {words.stage(index)} the engineer ({proposal.engineer.value}) wrote:", style="bold")
    lines = words.changes(proposal.changes) or ["no change"]
    lines += [
        f"clamped {words.knob(clamp)}: {clamp['asked']} → {clamp['used']} ({clamp['rule']})"
        for clamp in proposal.clamps
    ]
    if proposal.fallback_reason:
        lines.append(f"not used, the configuration stays: {proposal.fallback_reason}")
    if proposal.reason:
        lines.append(f"its reason: {proposal.reason}")
    for line in lines:
        console.print(f"  {escape(line)}")
