"""`t2t demo`: the paper's closed loop on this machine, from nothing to a report."""

import asyncio
import json
from pathlib import Path
from typing import Any

from trainee2trainer.cli import reports, tables, watching
from trainee2trainer.cli.commands import console, settings_for, show_addresses, started
from trainee2trainer.cli.errors import told
from trainee2trainer.client import TrainerClient
from trainee2trainer.contracts.campaign import CampaignCreate, CampaignStatus
from trainee2trainer.stack import Stack, StackError

NAME = "demo"
DEMO: dict[str, Any] = {
    "name": NAME,
    "profile": "nano",
    "engineer": "self",
    "stages": 3,
    "configuration": {
        "agents": 2,
        "sizes": {
            3: {"data_ratio": 0.6, "hole_ratio": 0.1, "wait_ratio": 0.0},
            4: {"data_ratio": 0.3, "hole_ratio": 0.1, "wait_ratio": 0.0},
            5: {"data_ratio": 0.1, "hole_ratio": 0.1, "wait_ratio": 0.0},
        },
    },
    "training": {"rollouts": 12_288},
    "validation": {"sizes": [3, 4, 5], "boards_per_size": 200},
}
"""Easy boards to begin with: what to train on next is the engineer's to find out."""


def campaign_from(file: Path | None = None, *, rollouts: int | None = None, **changes: Any) -> CampaignCreate:
    """The demo's campaign, or that of a file, with what differs."""
    settings = json.loads(file.read_text(encoding="utf-8")) if file else DEMO
    given = {name: value for name, value in changes.items() if value is not None}
    if rollouts is not None:
        given["training"] = {**settings.get("training", {}), "rollouts": rollouts}
    return CampaignCreate.model_validate({**settings, **given})


def run(*, seed: int, stages: int | None, rollouts: int | None, data_dir: Path | None) -> None:
    """Everything, start to end."""
    request = campaign_from(seed=seed, stages=stages, rollouts=rollouts)
    settings = settings_for(data_dir)
    with told(), started(settings) as stack:
        show_addresses(settings)
        asyncio.run(_campaign(request, stack, settings.data_dir))


async def _campaign(request: CampaignCreate, stack: Stack, folder: Path) -> None:
    async with TrainerClient(f"http://127.0.0.1:{stack.settings.port('trainer')}") as trainer:
        await _cancel_leftovers(trainer)
        campaign = await trainer.create_campaign(request)
        console.print(
            f"\nCampaign [bold]{campaign.id}[/]\n{request.stages} × {request.training.rollouts:,} rollouts, "
            f"engineer {request.engineer.value}, seed {request.seed}; Ctrl-C stops everything.\n"
        )
        progress = await watching.watch(trainer, campaign.id, console, check=stack.check)
        if progress.ended != CampaignStatus.SUCCEEDED:
            raise StackError(f"The campaign {progress.ended}: {progress.error or 'no error was given'}")
        console.print()
        tables.show_report(await trainer.report(campaign.id), console)
        await reports.write(trainer, campaign.id, folder, console)


async def _cancel_leftovers(trainer: TrainerClient) -> None:
    """A demo that was interrupted would go on now, beside this one, and slow it down."""
    for status in (CampaignStatus.QUEUED, CampaignStatus.RUNNING):
        for campaign in (await trainer.campaigns(status=status, size=200)).items:
            if campaign.settings.name == NAME:
                await trainer.cancel_campaign(campaign.id)
                console.print(f"Cancelled {campaign.id}, left over from an interrupted demo.")
