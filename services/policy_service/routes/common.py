"""The problems that every sampling route may answer with, for the OpenAPI document."""

from typing import Any

from trainee2trainer.contracts.base import Problem

Responses = dict[int | str, dict[str, Any]]

NOT_FOUND: Responses = {404: {"model": Problem, "description": "No such checkpoint."}}
UNUSABLE: Responses = {
    409: {"model": Problem, "description": "The checkpoint is damaged, or none is active."}
}
SAMPLING: Responses = {
    **NOT_FOUND,
    **UNUSABLE,
    429: {"model": Problem, "description": "Too much is waiting; `Retry-After` says when to come again."},
    503: {"model": Problem, "description": "The engine failed."},
    504: {"model": Problem, "description": "It took too long and was given up."},
}
EVENTS: Responses = {200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}}
