"""The problems that routes may answer with, for the OpenAPI document."""

from typing import Any

from trainee2trainer.contracts.base import Problem

Responses = dict[int | str, dict[str, Any]]

NOT_FOUND: Responses = {404: {"model": Problem, "description": "There is no such thing."}}
CONFLICT: Responses = {409: {"model": Problem, "description": "Not possible in the present state."}}
UNAVAILABLE: Responses = {
    503: {"model": Problem, "description": "A service that is needed does not answer; nothing was recorded."}
}
