"""The stage's instances as a dataset for the trainer."""

from pathlib import Path
from typing import Any

from datasets import Dataset

from trainee2trainer.contracts.environment import InstanceRow


def read_dataset(path: Path) -> Dataset:
    """One row per instance: its prompt as messages, and what the recorder wants to know of it."""
    with path.open(encoding="utf-8") as file:
        rows = [_row(group, InstanceRow.model_validate_json(line)) for group, line in enumerate(file)]
    return Dataset.from_list(rows)


def _row(group: int, row: InstanceRow) -> dict[str, Any]:
    if not row.prompt:
        raise ValueError(f"instance {row.instance.id} has no prompt: generate with a template")
    return {
        "prompt": [message.model_dump() for message in row.prompt],
        "group": group,
        "instance_id": row.instance.id,
        "size": row.instance.size,
        "needs_wait": row.instance.needs_wait,
    }
