"""Instances as a Parquet table, one row each; cells are [row, column]."""

import io
from collections.abc import Iterable
from typing import Any

import pyarrow
import pyarrow.parquet

from env_service.prompts import drawn
from env_service.records import task_of
from trainee2trainer.contracts.environment import InstanceRow

_CELL = pyarrow.list_(pyarrow.int8(), 2)

SCHEMA = pyarrow.schema(
    [
        ("id", pyarrow.string()),
        ("agents", pyarrow.int8()),
        ("size", pyarrow.int8()),
        ("board", pyarrow.string()),
        ("holes", pyarrow.list_(_CELL)),
        ("starts", pyarrow.list_(_CELL)),
        ("goals", pyarrow.list_(_CELL)),
        ("optimal_makespan", pyarrow.int16()),
        ("optimal_sum_of_costs", pyarrow.int16()),
        ("reference_plan", pyarrow.list_(pyarrow.list_(pyarrow.string()))),
        ("needs_wait", pyarrow.bool_()),
        ("wait_proof", pyarrow.string()),
        ("plan_has_wait", pyarrow.bool_()),
        ("split", pyarrow.string()),
        ("prompt", pyarrow.string()),
        ("answer", pyarrow.string()),
    ]
)


def to_parquet(rows: Iterable[InstanceRow]) -> bytes:
    """The table as a file. A prompt of several turns is joined by blank lines."""
    table = pyarrow.Table.from_pylist([_record(row) for row in rows], schema=SCHEMA)
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _record(row: InstanceRow) -> dict[str, Any]:
    instance = row.instance
    return {
        "id": instance.id,
        "agents": len(instance.agents),
        "size": instance.size,
        "board": drawn(task_of(instance)),
        "holes": instance.holes,
        "starts": [agent.start for agent in instance.agents],
        "goals": [agent.goal for agent in instance.agents],
        "optimal_makespan": instance.optimal_makespan,
        "optimal_sum_of_costs": instance.optimal_sum_of_costs,
        "reference_plan": instance.reference_plan,
        "needs_wait": instance.needs_wait,
        "wait_proof": instance.wait_proof,
        "plan_has_wait": instance.plan_has_wait,
        "split": instance.split,
        "prompt": "\n\n".join(turn.content for turn in row.prompt) if row.prompt else None,
        "answer": row.answer,
    }
