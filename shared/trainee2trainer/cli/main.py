"""The commands of `t2t`. They load what they need when they run, so that `--help` is quick."""

from pathlib import Path
from typing import Annotated

import typer

from trainee2trainer.cli import campaigns

app = typer.Typer(
    name="t2t",
    help="Trainee2Trainer: language models that redesign their own training environment.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(campaigns.app, name="campaign")

DataDir = Annotated[Path | None, typer.Option(help="Where everything is kept. [default: ./.t2t]")]


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Everything random hangs on it.")] = 0,
    stages: Annotated[int | None, typer.Option(min=1, help="Stages of training.")] = None,
    rollouts: Annotated[int | None, typer.Option(min=8, help="Samples trained on, per stage.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Start everything, run a campaign to its end, show what came of it, stop everything."""
    from trainee2trainer.cli import demo as command  # noqa: PLC0415

    command.run(seed=seed, stages=stages, rollouts=rollouts, data_dir=data_dir)


@app.command()
def compare(
    *,
    engineers: Annotated[
        str, typer.Option(help="Names by commas; the others are held against the first.")
    ] = "self,base,teacher,threshold,progress,random,fixed",
    seeds: Annotated[int, typer.Option(min=1, max=20, help="Campaigns per engineer, seeds 0, 1, ...")] = 3,
    stages: Annotated[int | None, typer.Option(min=1)] = None,
    rollouts: Annotated[int | None, typer.Option(min=8, help="Samples trained on, per stage.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Two seeds of self, random and fixed.")] = False,
    json: Annotated[Path | None, typer.Option(help="Write the figures there.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Start everything and hold engineers against one another, at equal budget, to a verdict."""
    from trainee2trainer.cli import compare as command  # noqa: PLC0415
    from trainee2trainer.contracts.engineer import EngineerName  # noqa: PLC0415

    names = ["self", "random", "fixed"] if quick else [name.strip() for name in engineers.split(",")]
    if unknown := [name for name in names if name not in set(EngineerName)]:
        raise typer.BadParameter(f"{', '.join(unknown)}: choose from {', '.join(EngineerName)}")
    request = command.request_from(names, 2 if quick else seeds, stages, rollouts)
    command.run(request, data_dir, json)


@app.command()
def up(data_dir: DataDir = None) -> None:
    """Start everything on this machine and keep it running until Ctrl-C."""
    from trainee2trainer.cli import commands  # noqa: PLC0415

    commands.up(data_dir)


@app.command()
def migrate(data_dir: DataDir = None) -> None:
    """Bring the store to the newest revision."""
    from trainee2trainer.cli import commands  # noqa: PLC0415

    commands.migrate(data_dir)


@app.command()
def doctor(data_dir: DataDir = None) -> None:
    """Say what is missing on this machine, and what to do about it."""
    from trainee2trainer.cli import doctor as command  # noqa: PLC0415

    command.run(data_dir)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)
def warmstart(context: typer.Context, data_dir: DataDir = None) -> None:
    """Make the nano rung's starting checkpoint. Further options go to trainer_service.warmstart."""
    from trainee2trainer.cli import commands  # noqa: PLC0415

    commands.warmstart(data_dir, context.args)
