"""Watching a campaign live on the terminal; without a terminal, a line for each thing of note."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from trainee2trainer.cli import words
from trainee2trainer.cli.progress import Progress
from trainee2trainer.client import TrainerClient
from trainee2trainer.contracts.campaign import BASELINE_STAGE

FRAMES_PER_SECOND = 4


async def watch(
    trainer: TrainerClient, campaign_id: str, console: Console, check: Callable[[], None] = lambda: None
) -> Progress:
    """Follows a campaign to its end. `check` is called now and then and may raise to stop the watching."""
    progress = Progress()
    with Live(console=console, auto_refresh=False, transient=True) as live:
        following = asyncio.create_task(_follow(trainer, campaign_id, progress, live.console))
        try:
            while not following.done():
                check()
                if console.is_terminal:
                    live.update(_screen(progress), refresh=True)
                await asyncio.wait({following}, timeout=1 / FRAMES_PER_SECOND)
            following.result()
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({following})
    return progress


async def _follow(trainer: TrainerClient, campaign_id: str, progress: Progress, console: Console) -> None:
    async for event in trainer.campaign_events(campaign_id):
        progress.take(event)
        if line := words.of_note(event, progress):
            at = event.at.astimezone().strftime("%H:%M:%S")
            console.print(f"[dim]{at}[/] {line}", soft_wrap=not console.is_terminal)


def _screen(progress: Progress) -> RenderableType:
    now = datetime.now(UTC)
    parts: list[RenderableType] = [Text(""), _headline(progress, now)]
    if progress.training:
        parts += [_training(progress)]
    if progress.rates:
        parts += [Text("Valid rate on held-out boards"), _rates(progress)]
    return Group(*parts)


def _headline(progress: Progress, now: datetime) -> Text:
    where = words.stage(progress.stage)
    if progress.stage != BASELINE_STAGE:
        where += f" of {progress.stages}"
    text = Text.assemble((where, "bold"), f" · {progress.step}")
    if progress.begun:
        text.append(f" · {words.duration((now - progress.begun).total_seconds())} gone", "dim")
    if (left := progress.seconds_left(now)) is not None:
        text.append(f", about {words.duration(left)} left", "dim")
    return text


def _training(progress: Progress) -> Table:
    last = progress.training[-1]
    grid = Table.grid(padding=(0, 2))
    figures = [f"step {last['step']} of {last['steps']}"]
    for name in ("reward", "valid"):
        if (value := progress.recent(name)) is not None:
            figures.append(f"{name} {value:.3f}")
    if (speed := progress.samples_per_second) is not None:
        figures.append(f"{speed:,.0f} samples/s")
    grid.add_row(ProgressBar(total=last["steps"], completed=last["step"], width=30), *figures)
    return grid


def _rates(progress: Progress) -> Table:
    table = Table(box=None)
    table.add_column("")
    shown = sorted(progress.rates)
    for stage in shown:
        table.add_column(words.stage(stage), justify="right")
    for size in sorted({size for rates in progress.rates.values() for size in rates}, key=int):
        rates = [progress.rates[stage].get(size) for stage in shown]
        table.add_row(f"{size}x{size}", *(f"{rate['valid']:.1%}" if rate else "" for rate in rates))
    if progress.overall:
        overall = [progress.overall.get(stage) for stage in shown]
        table.add_row("all", *("" if rate is None else f"{rate:.1%}" for rate in overall), style="bold")
    return table
