"""What the routes answer with, in common."""

from typing import Annotated, Any

from fastapi import Path, Response

from trainee2trainer.contracts.base import Problem

CampaignId = Annotated[str, Path(pattern=r"^campaign-[0-9a-f]{16}$", max_length=64)]
JobId = Annotated[str, Path(pattern=r"^job-[0-9a-f]{16}$", max_length=64)]
Responses = dict[int | str, dict[str, Any]]

NOT_FOUND: Responses = {404: {"model": Problem, "description": "There is none with this id."}}
IN_THE_WAY: Responses = NOT_FOUND | {
    409: {"model": Problem, "description": "Not possible in the present state; terminal states are final."}
}
CREATING: Responses = {
    409: {
        "model": Problem,
        "description": "Not possible now: no starting checkpoint, or the key's request runs.",
    },
    503: {"model": Problem, "description": "env_service does not answer, so the request cannot be checked."},
}
LOOK_AGAIN_SECONDS = "2"


def accepted(response: Response, location: str) -> None:
    """202's headers: where to look, and how soon it is worth it."""
    response.headers["Location"] = location
    response.headers["Retry-After"] = LOOK_AGAIN_SECONDS
