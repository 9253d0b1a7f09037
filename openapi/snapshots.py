"""`python openapi/snapshots.py`: writes the OpenAPI document of each service beside this file.

They are committed, so that a change of the interface shows in the diff; a test says when they are stale.
"""

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trainee2trainer.settings import SERVICES

FOLDER = Path(__file__).parent


def services() -> list[str]:
    """Those installed here."""
    return [name for name in SERVICES if find_spec(f"{name}_service") and find_spec(f"{name}_service.app")]


def document(service: str) -> dict[str, Any]:
    app = import_module(f"{service}_service.app").create_app()
    openapi: dict[str, Any] = app.openapi()
    return openapi


def snapshot(service: str) -> str:
    """The document as text that is the same for the same interface."""
    return json.dumps(document(service), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def path(service: str) -> Path:
    return FOLDER / f"{service}.json"


if __name__ == "__main__":
    for name in services():
        path(name).write_text(snapshot(name), encoding="utf-8")
        print(f"Written: {path(name).name}")
