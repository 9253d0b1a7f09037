"""The report of a campaign as files."""

import asyncio
from pathlib import Path

from rich.console import Console

from trainee2trainer.client import TrainerClient


async def write(trainer: TrainerClient, campaign_id: str, folder: Path, console: Console) -> None:
    """Writes report.json and report.html into `folder` and says where."""
    figures = (await trainer.report(campaign_id)).model_dump_json(indent=2) + "\n"
    page = await trainer.report_html(campaign_id)
    for name, content in (("report.json", figures), ("report.html", page)):
        path = await asyncio.to_thread(_write, folder / name, content)
        console.print(f"Written: {path}", soft_wrap=True)


def _write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path.resolve()
