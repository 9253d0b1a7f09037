"""`t2t compare`: engineers from one checkpoint, at equal budget, over several seeds, to a verdict."""

import asyncio
import os
from pathlib import Path

from rich import box
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from trainee2trainer.cli import demo
from trainee2trainer.cli.commands import console, settings_for, started
from trainee2trainer.cli.errors import told
from trainee2trainer.client import TrainerClient
from trainee2trainer.contracts.campaign import CampaignStatus
from trainee2trainer.contracts.comparison import Comparison, ComparisonCreate, ComparisonReport
from trainee2trainer.contracts.engineer import EngineerName
from trainee2trainer.stack import Stack

LOOK_SECONDS = 2.0


def request_from(
    engineers: list[str], seeds: int, stages: int | None, rollouts: int | None
) -> ComparisonCreate:
    """The demo's campaign for every engineer, with seeds 0, 1, ..."""
    return ComparisonCreate(
        engineers=[EngineerName(name) for name in engineers],
        seeds=list(range(seeds)),
        campaign=demo.campaign_from(stages=stages, rollouts=rollouts),
    )


def run(request: ComparisonCreate, data_dir: Path | None, json_file: Path | None) -> None:
    """Everything, start to end: one campaign at a time per core."""
    os.environ.setdefault("T2T_WORKER_JOBS", str(os.cpu_count() or 1))
    settings = settings_for(data_dir)
    with told(), started(settings) as stack:
        asyncio.run(_compare(request, stack, settings.data_dir, json_file))


async def _compare(request: ComparisonCreate, stack: Stack, folder: Path, json_file: Path | None) -> None:
    async with TrainerClient(stack.settings.url("trainer")) as trainer:
        comparison = await trainer.create_comparison(request)
        console.print(
            f"Comparison [bold]{comparison.id}[/]: {len(comparison.arms)} campaigns. Ctrl-C stops everything."
        )
        await _watch(trainer, comparison, stack)
        report = await trainer.comparison_report(comparison.id)
        page = await trainer.comparison_report_html(comparison.id)
    show(report)
    figures = report.model_dump_json(indent=2) + "\n"
    for path, content in (
        (json_file or folder / "comparison.json", figures),
        (folder / "comparison.html", page),
    ):
        await asyncio.to_thread(path.write_text, content, encoding="utf-8")
        console.print(f"Written: {path.resolve()}", soft_wrap=True)


async def _watch(trainer: TrainerClient, comparison: Comparison, stack: Stack) -> None:
    stages = comparison.settings.campaign.stages
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task("stages", total=stages * len(comparison.arms))
        ended: set[str] = set()
        while len(ended) < len(comparison.arms):
            stack.check()
            comparison = await trainer.comparison(comparison.id)
            done = sum(stages if arm.status.terminal else arm.stage_index for arm in comparison.arms)
            progress.update(task, completed=done)
            for arm in comparison.arms:
                if arm.status.terminal and arm.campaign_id not in ended:
                    ended.add(arm.campaign_id)
                    color = "green" if arm.status is CampaignStatus.SUCCEEDED else "red"
                    progress.console.print(
                        f"  {arm.engineer.value}, seed {arm.seed}: [{color}]{arm.status.value}[/]"
                    )
            await asyncio.sleep(LOOK_SECONDS)


def show(report: ComparisonReport) -> None:
    """Means per engineer, then a line for each verdict."""
    table = Table(
        "engineer", title="After the last stage, means over seeds", title_justify="left", box=box.SIMPLE_HEAD
    )
    sizes = sorted({one.size for result in report.results for one in result.per_size})
    for heading in ("seeds", "start", "valid", "optimal", "if wait", *(f"{size}x{size}" for size in sizes)):
        table.add_column(heading, justify="right")
    for result in report.results:
        by_size = {one.size: one.valid for one in result.per_size}
        rates = [
            result.baseline,
            result.valid,
            result.optimal,
            result.waits,
            *(by_size.get(size) for size in sizes),
        ]
        shown = ("" if rate is None else f"{rate:.1%}" for rate in rates)
        table.add_row(result.engineer.value, str(result.seeds), *shown)
    console.print(table)
    for difference in report.differences:
        ratio = "" if difference.ratio is None else f" ({difference.ratio:.2f} times)"
        console.print(f"  {difference.words}{ratio}")
