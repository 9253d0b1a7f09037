"""Commands around the embedded stack."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from trainee2trainer.cli.errors import told
from trainee2trainer.settings import SERVICES, Settings
from trainee2trainer.stack import Stack

console = Console(highlight=False)


def settings_for(data_dir: Path | None) -> Settings:
    """The settings, with the data folder that was asked for."""
    return Settings() if data_dir is None else Settings(data_dir=data_dir)


@contextmanager
def started(settings: Settings, **options: Any) -> Iterator[Stack]:
    """The stack, telling what is ready; then telling that it stops."""
    begun = time.monotonic()
    console.print(f"Starting everything on this machine; data and logs in {settings.data_dir}")

    def say(what: str) -> None:
        console.print(f"  [green]✓[/] {what} [dim]after {time.monotonic() - begun:.1f} s[/]")

    with Stack(settings, say=say, **options) as stack:
        try:
            yield stack
        finally:
            console.print("Stopping everything.")


def show_addresses(settings: Settings) -> None:
    console.print("OpenAPI pages:")
    for service in SERVICES:
        console.print(f"  {service:9} http://127.0.0.1:{settings.port(service)}/docs")


def up(data_dir: Path | None) -> None:
    settings = settings_for(data_dir)
    with told(), started(settings) as stack:
        show_addresses(settings)
        console.print("Running until Ctrl-C. In another terminal: t2t campaign create --watch")
        while True:
            stack.check()
            time.sleep(1)


def migrate(data_dir: Path | None) -> None:
    from trainee2trainer.store import migrate as migrations  # noqa: PLC0415

    settings = settings_for(data_dir)
    asyncio.run(migrations.upgrade(settings.database))
    console.print(f"The store is at revision {migrations.head()}.")


def warmstart(data_dir: Path | None, arguments: Sequence[str]) -> None:
    command = [sys.executable, "-m", "trainer_service.warmstart", *arguments]
    if "--help" in arguments:
        sys.exit(subprocess.run(command, check=False).returncode)
    with told(), started(settings_for(data_dir), worker=False) as stack:
        result = subprocess.run(command, env=stack.environment, check=False)
    sys.exit(result.returncode)
