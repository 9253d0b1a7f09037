"""Interactive episodes over REST, and over one WebSocket that speaks OpenEnv's messages."""

import asyncio
from typing import Annotated, Any

from anyio import CancelScope
from asgi_correlation_id import correlation_id
from fastapi import APIRouter, Path, Response, WebSocket, WebSocketDisconnect
from pydantic import TypeAdapter, ValidationError
from rfc9457 import Problem as ProblemRaised
from sqlalchemy.exc import OperationalError

from env_service.context import Context, ContextDep
from env_service.episodes import serving
from trainee2trainer.contracts.base import Problem
from trainee2trainer.contracts.episode import (
    CloseMessage,
    EndReason,
    Episode,
    EpisodeCreate,
    EpisodeStep,
    ResetMessage,
    SocketError,
    SocketMessage,
    SocketObservation,
    StepMessage,
)
from trainee2trainer.web import problems
from trainee2trainer.web.idempotency import IdempotentRoute

router = APIRouter(prefix="/v1/episodes", tags=["episodes"], route_class=IdempotentRoute)

MAX_MESSAGE_CHARS = 65_536

EpisodeId = Annotated[str, Path(pattern=r"^episode-[0-9a-f]{16}$", max_length=64)]
_NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Problem, "description": "No such episode."}}
_CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"model": Problem, "description": "The episode is over, or the step is not the next one."}
}
_CREATING: dict[int | str, dict[str, Any]] = {
    409: {"model": Problem, "description": "A request with this key is at work."},
    429: {"model": Problem, "description": "Too many episodes are open."},
    503: {"model": Problem, "description": "A worker was lost; ask again."},
}
_MESSAGES: TypeAdapter[SocketMessage] = TypeAdapter(SocketMessage)


@router.post("", status_code=201, responses=_CREATING)
async def create(request: EpisodeCreate, context: ContextDep, response: Response) -> Episode:
    """Begins an episode. What it is played on is certified, so that its reward is known at the end."""
    episode = await serving.create(request, context)
    response.headers["Location"] = f"/v1/episodes/{episode.id}"
    return episode


@router.get("/{episode_id}", responses=_NOT_FOUND)
async def get(episode_id: EpisodeId, context: ContextDep) -> Episode:
    """The episode after its last step."""
    return await serving.get(episode_id, context)


@router.post("/{episode_id}/step", responses=_NOT_FOUND | _CONFLICT)
async def step(episode_id: EpisodeId, request: EpisodeStep, context: ContextDep) -> Episode:
    """All agents act at once. The first broken rule, everybody on their goals, or the step limit ends it."""
    return await serving.step(episode_id, request, context)


@router.delete("/{episode_id}", status_code=204, responses=_NOT_FOUND)
async def close(episode_id: EpisodeId, context: ContextDep) -> None:
    """Ends an episode early, without a reward."""
    await serving.close(episode_id, context)


@router.websocket("/ws")
async def play(socket: WebSocket) -> None:
    """One episode at a time, as many as wanted after one another.

    `reset`, `step`, `state` and `close` as in OpenEnv: `{"type": "step", "data": {"actions": ["UP", "WAIT"]}}` is
    answered by `{"type": "observation", "data": {"observation": ..., "reward": null, "done": false, ...}}`.
    """
    context: Context = socket.app.state.context
    await socket.accept()
    session, reason = _Session(context), EndReason.CLOSED
    try:
        while (text := await _receive(socket, context)) is not None:
            answer = await session.answer(text)
            if answer is None:
                break
            await socket.send_json(answer)
        else:
            reason = EndReason.IDLE
        await socket.close(reason=reason)
    except WebSocketDisconnect:
        pass
    finally:
        # Also when the server is stopping: an episode of nobody would count as open.
        with CancelScope(shield=True):
            await session.end(reason)


async def _receive(socket: WebSocket, context: Context) -> str | None:
    """The next message, or None when there was none for too long."""
    try:
        async with asyncio.timeout(context.episodes.idle_seconds):
            message = await socket.receive()
    except TimeoutError:
        return None
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    # A binary frame is no message of ours: the answer to it says so.
    return message.get("text") or ""


class _Session:
    """The episode of one connection."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.episode_id: str | None = None

    async def answer(self, text: str) -> dict[str, Any] | None:
        """The answer to a message; None ends the connection."""
        try:
            if len(text) > MAX_MESSAGE_CHARS:
                rule = f"must have at most {MAX_MESSAGE_CHARS} characters"
                raise problems.invalid(["message"], rule, "too_long")
            message = _MESSAGES.validate_json(text)
            if isinstance(message, CloseMessage):
                return None
            episode = await self._do(message)
        except OperationalError:
            return _error("SESSION_ERROR", problems.unavailable("The store does not answer."))
        except ValidationError as error:
            first = error.errors()[0]
            loc: list[str | int] = ["message", *first["loc"]]
            return _error("VALIDATION_ERROR", problems.invalid(loc, first["msg"], first["type"]))
        except ProblemRaised as problem:
            return _error("EXECUTION_ERROR", problem)
        if isinstance(message, ResetMessage | StepMessage):
            return {"type": "observation", "data": _observed(episode)}
        return {"type": "state", "data": episode.model_dump(mode="json")}

    async def _do(self, message: SocketMessage) -> Episode:
        if isinstance(message, ResetMessage):
            episode = await serving.create(message.data, self.context)
            await self.end()
            self.episode_id = episode.id
            return episode
        if self.episode_id is None:
            raise problems.conflict("There is no episode yet: send reset first.")
        if isinstance(message, StepMessage):
            return await serving.step(self.episode_id, message.data, self.context)
        return await serving.get(self.episode_id, self.context)

    async def end(self, reason: EndReason = EndReason.CLOSED) -> None:
        if self.episode_id is not None:
            await self.context.episodes.close(self.episode_id, reason)
            self.episode_id = None


def _observed(episode: Episode) -> dict[str, Any]:
    rest = episode.model_dump(mode="json", exclude={"observation", "reward", "done"})
    observed = SocketObservation(
        observation=episode.observation, reward=episode.reward, done=episode.done, metadata=rest
    )
    return observed.model_dump(mode="json")


def _error(code: str, problem: ProblemRaised) -> dict[str, Any]:
    told = Problem.model_validate(problem.marshal() | {"request_id": correlation_id.get()})
    error = SocketError(code=code, message=told.detail, problem=told)
    return {"type": "error", "data": error.model_dump(mode="json")}
