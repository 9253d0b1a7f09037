"""What every sampling route does: find the checkpoint, read the prompts, queue the rows, wait."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import Request
from rfc9457 import Problem

from policy_service.backend import Answer, EngineBusyError, Job, Listener, Loaded, Token
from policy_service.context import Context
from policy_service.vocabulary import PromptRefusedError
from trainee2trainer.contracts.policy import Prompt
from trainee2trainer.models.rows import Row
from trainee2trainer.models.uniforms import row_seed
from trainee2trainer.web import problems

ACTIVE = "active"
CHECKPOINT_HEADER = "X-Checkpoint"

Located = tuple[list[str | int], Prompt]
"""A prompt and where in the request it stands."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How each prompt is to be answered."""

    n: int
    temperature: float
    max_tokens: int
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request in the queue: its prompts' token ids, and the job that answers them, `n` rows to a prompt."""

    loaded: Loaded
    prompts: list[list[int]]
    job: Job

    @property
    def headers(self) -> dict[str, str]:
        return {CHECKPOINT_HEADER: self.loaded.checkpoint_id}


async def find(context: Context, model: str | None) -> Loaded:
    """The checkpoint called `model`; the active one for null and "active"."""
    async with _bounded(context):
        if model is None or model == ACTIVE:
            return await context.registry.active()
        return await context.registry.load(model)


async def ask(
    context: Context,
    loaded: Loaded,
    prompts: Sequence[Located],
    how: Sampling,
    listener: Listener | None = None,
) -> Asked:
    """Queues a request. Raises 422 for a prompt this checkpoint cannot take, 429 where too much waits."""
    ids = await asyncio.to_thread(_encode, loaded, prompts)
    seed = secrets.randbits(63) if how.seed is None else how.seed
    rows = [
        Row(tuple(prompt), row_seed(seed, place, sample), how.temperature, how.max_tokens)
        for place, prompt in enumerate(ids)
        for sample in range(how.n)
    ]
    job = Job(loaded, rows, listener)
    try:
        context.engine.submit(job)
    except EngineBusyError as error:
        raise problems.busy(str(error), error.retry_after) from error
    return Asked(loaded, ids, job)


def _encode(loaded: Loaded, prompts: Sequence[Located]) -> list[list[int]]:
    ids = []
    for loc, prompt in prompts:
        try:
            ids.append(loaded.vocabulary.encode(prompt))
        except PromptRefusedError as error:
            raise problems.invalid(loc, str(error), "prompt_refused") from error
    return ids


async def answers(context: Context, asked: Asked, request: Request) -> list[Answer]:
    """Waits until every row has its answer. A caller who went away is not worked for any longer.

    Raises 504 where it takes too long, 503 where not a single row could be answered.
    """
    done = asyncio.wrap_future(asked.job.done)
    watch = asyncio.create_task(_gone(request))
    try:
        async with _bounded(context):
            await asyncio.wait({done, watch}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        watch.cancel()
        done.cancel()
    found = asked.job.answers
    if asked.job.given_up or all(answer.error for answer in found):
        raise problems.unavailable(found[0].error or "The caller went away.")
    return found


async def _gone(request: Request) -> None:
    """Returns when the caller hangs up. The body was read: nothing else is left to come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Tokens:
    """A job's tokens as they come, across from the engine's thread. Pass `hear` as the job's listener."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[list[Token] | None] = asyncio.Queue()

    def hear(self, tokens: list[Token]) -> None:
        self._loop.call_soon_threadsafe(self._queue.put_nowait, tokens)

    async def of(self, context: Context, asked: Asked) -> AsyncIterator[list[Token]]:
        """Raises 504 where it takes too long. Left early, it gives the job up."""
        done = asyncio.wrap_future(asked.job.done)
        done.add_done_callback(lambda _: self._queue.put_nowait(None))
        deadline = self._loop.time() + context.settings.policy_timeout_seconds
        try:
            # Not around the yield: there the time-out would hit whoever is sending.
            while (tokens := await self._next(context, deadline)) is not None:
                yield tokens
        finally:
            done.cancel()

    async def _next(self, context: Context, deadline: float) -> list[Token] | None:
        async with _bounded(context, deadline):
            return await self._queue.get()


@asynccontextmanager
async def _bounded(context: Context, deadline: float | None = None) -> AsyncIterator[None]:
    """Raises 504 at the deadline (the loop's clock); without one, after the longest time for a request."""
    seconds = context.settings.policy_timeout_seconds
    try:
        async with asyncio.timeout_at(deadline or asyncio.get_running_loop().time() + seconds):
            yield
    except TimeoutError as error:
        raise Problem("Took too long.", "timed-out", f"Not done after {seconds:g} seconds.", 504) from error
