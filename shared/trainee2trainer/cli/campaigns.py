"""`t2t campaign`: campaigns of a running stack."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from trainee2trainer.client import TrainerClient

app = typer.Typer(help="Campaigns of a running stack.", no_args_is_help=True)

CampaignId = Annotated[str, typer.Argument(help="Its id; the newest one without.")]
NEWEST = "newest"


@app.command()
def create(
    *,
    file: Annotated[Path | None, typer.Option(exists=True, help="A JSON file with all its settings.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call it.")] = None,
    engineer: Annotated[
        str | None, typer.Option(help="self, base, llm, teacher, threshold, progress, random or fixed.")
    ] = None,
    stages: Annotated[int | None, typer.Option(min=1)] = None,
    rollouts: Annotated[int | None, typer.Option(min=8, help="Samples trained on, per stage.")] = None,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow it to its end.")] = False,
) -> None:
    """Create a campaign. What is not said is as in the demo."""
    from trainee2trainer.cli import demo, watching  # noqa: PLC0415
    from trainee2trainer.cli.commands import console  # noqa: PLC0415

    changes: dict[str, Any] = {
        "name": name,
        "engineer": engineer,
        "stages": stages,
        "seed": seed,
        "rollouts": rollouts,
    }

    async def go(trainer: "TrainerClient") -> None:
        campaign = await trainer.create_campaign(demo.campaign_from(file, **changes))
        console.print(campaign.id, soft_wrap=True)
        if watch:
            await watching.watch(trainer, campaign.id, console)

    _run(go)


@app.command("list")
def list_campaigns(
    count: Annotated[int, typer.Option(min=1, max=200, help="How many, the newest first.")] = 20,
) -> None:
    """List the newest campaigns."""
    from trainee2trainer.cli import tables  # noqa: PLC0415
    from trainee2trainer.cli.commands import console  # noqa: PLC0415

    async def go(trainer: "TrainerClient") -> None:
        console.print(tables.campaigns((await trainer.campaigns(size=count)).items))

    _run(go)


@app.command()
def watch(campaign: CampaignId = NEWEST) -> None:
    """Follow a campaign to its end. Ctrl-C leaves it running."""
    from trainee2trainer.cli import watching  # noqa: PLC0415
    from trainee2trainer.cli.commands import console  # noqa: PLC0415

    async def go(trainer: "TrainerClient") -> None:
        await watching.watch(trainer, await _resolve(trainer, campaign), console)

    _run(go)


@app.command()
def report(
    campaign: CampaignId = NEWEST,
    folder: Annotated[Path | None, typer.Option(help="Also write report.json and report.html there.")] = None,
) -> None:
    """Show what came of a campaign so far."""
    from trainee2trainer.cli import reports, tables  # noqa: PLC0415
    from trainee2trainer.cli.commands import console  # noqa: PLC0415

    async def go(trainer: "TrainerClient") -> None:
        id_ = await _resolve(trainer, campaign)
        tables.show_report(await trainer.report(id_), console)
        if folder is not None:
            await reports.write(trainer, id_, folder, console)

    _run(go)


async def _resolve(trainer: "TrainerClient", campaign: str) -> str:
    if campaign != NEWEST:
        return campaign
    newest = (await trainer.campaigns(size=1)).items
    if not newest:
        raise typer.BadParameter("there is no campaign yet: t2t campaign create")
    return newest[0].id


def _run(work: "Callable[[TrainerClient], Awaitable[None]]") -> None:
    from trainee2trainer.cli.errors import told  # noqa: PLC0415
    from trainee2trainer.client import TrainerClient  # noqa: PLC0415
    from trainee2trainer.settings import Settings  # noqa: PLC0415

    async def go() -> None:
        async with TrainerClient(Settings().url("trainer")) as trainer:
            await work(trainer)

    with told():
        asyncio.run(go())
