"""The engine inside this process: one thread that samples batch after batch for all callers."""

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import cast

import structlog
import torch

from policy_service.backend import Answer, EngineBusyError, Job, Loaded, Token
from policy_service.settings import PolicySettings
from policy_service.turns import Share, Turns
from policy_service.vocabulary import Vocabulary
from trainee2trainer.contracts.policy import FinishReason
from trainee2trainer.models import checkpoints
from trainee2trainer.models.attention import Workspace
from trainee2trainer.models.rows import Step
from trainee2trainer.models.sampler import Sampler

log = structlog.get_logger()

_MAX_RETRY_AFTER = 60
_CLOSE_SECONDS = 10.0
CLOSED = "the service is stopping"


class InProcessEngine:
    """Samples with transformers on this machine's CPU or GPU. Its thread lives from the start to `close`.

    torch lets go of the interpreter while it computes, so the service answers meanwhile.
    """

    def __init__(self, settings: PolicySettings) -> None:
        self._settings = settings
        self._workspace = Workspace()
        self._turns = Turns(settings.policy_max_rows)
        self._jobs: set[Job] = set()
        self._pings: list[Future[None]] = []
        self._news = threading.Condition()
        self._closed = False
        self._seconds_per_row = 0.0
        self._thread = threading.Thread(target=self._work, name="sampling", daemon=True)
        self._thread.start()

    def load(self, checkpoint_id: str, folder: Path) -> Loaded:
        model, tokenizer = checkpoints.load(folder, self._settings.policy_device)
        sampler = Sampler(
            model,
            checkpoints.end_tokens(model, tokenizer),
            max_rows=self._settings.policy_max_rows,
            cache_bytes=self._settings.policy_cache_bytes,
            workspace=self._workspace,
        )
        vocabulary = Vocabulary(tokenizer, int(model.config.vocab_size), sampler.context)
        return Loaded(checkpoint_id, vocabulary, sampler)

    def submit(self, job: Job) -> None:
        with self._news:
            self._jobs = {job for job in self._jobs if not job.given_up}
            rows = self._turns.rows
            if len(self._jobs) >= self._settings.policy_max_requests:
                raise EngineBusyError(f"{len(self._jobs)} requests are waiting or at work.", self._wait(rows))
            if rows + len(job.rows) > self._settings.policy_max_waiting_rows:
                raise EngineBusyError(f"{rows} answers are waiting to be sampled.", self._wait(rows))
            self._jobs.add(job)
            if self._closed:
                self._finish(job, CLOSED)
                return
            self._turns.add(job)
            self._news.notify()

    def _wait(self, rows: int) -> int:
        return max(1, min(_MAX_RETRY_AFTER, round(rows * self._seconds_per_row)))

    async def responsive(self, seconds: float) -> bool:
        ping: Future[None] = Future()
        with self._news:
            self._pings.append(ping)
            self._news.notify()
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wrap_future(ping)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        with self._news:
            self._closed = True
            self._news.notify()
        self._thread.join(_CLOSE_SECONDS)

    # From here on: the engine's thread.

    def _work(self) -> None:
        torch.set_num_threads(self._settings.policy_threads)
        while batch := self._next():
            started = time.perf_counter()
            self._sample(batch)
            rows = sum(len(share.places) for share in batch)
            self._seconds_per_row = (time.perf_counter() - started) / rows
        for job in list(self._jobs):
            self._finish(job, CLOSED)

    def _next(self) -> list[Share]:
        """The next batch, as soon as there is one. Empty when the engine is closed."""
        while not self._closed:
            with self._news:
                self._news.wait_for(lambda: self._turns or self._pings or self._closed)
                batch = self._turns.take()
            self._answer_pings()
            if batch and not self._closed:
                return batch
        return []

    def _answer_pings(self) -> None:
        with self._news:
            pings, self._pings = self._pings, []
        for ping in pings:
            if ping.set_running_or_notify_cancel():
                ping.set_result(None)

    def _sample(self, batch: list[Share]) -> None:
        owners = [(share.job, place) for share in batch for place in share.places]
        sampler = cast(Sampler, batch[0].job.loaded.model)
        error = "sampling ended before the answer did"
        try:
            with closing(sampler.stream([job.rows[place] for job, place in owners])) as steps:
                for step in steps:
                    self._deliver(step, owners)
                    self._answer_pings()
                    if self._closed or all(share.job.given_up for share in batch):
                        error = CLOSED
                        break
        except Exception as failure:  # whatever it was, it must not end the thread that serves everybody
            log.exception("sampling failed", checkpoint=batch[0].job.loaded.checkpoint_id, rows=len(owners))
            error = f"sampling failed: {type(failure).__name__}"
        for share in batch:
            self._account(share, error)

    def _deliver(self, step: Step, owners: Sequence[tuple[Job, int]]) -> None:
        """Hands each token to the answer it belongs to."""
        heard: dict[Job, list[Token]] = {}
        columns = (step.rows, step.tokens, step.logprobs, step.stopped, step.exhausted)
        for row, token, logprob, stopped, exhausted in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            job, place = owners[row]
            reason: FinishReason | None = "stop" if stopped else "length" if exhausted else None
            answer = job.answers[place]
            answer.token_ids.append(token)
            answer.logprobs.append(logprob)
            answer.finish_reason = reason
            if job.listener is not None:
                heard.setdefault(job, []).append(Token(place, token, reason))
        for job, tokens in heard.items():
            if job.listener is not None:
                job.listener(tokens)

    def _account(self, share: Share, error: str) -> None:
        """Counts the rows of a batch as answered; what has no end yet gets the error."""
        for place in share.places:
            _unless_finished(share.job.answers[place], error)
        share.job.unanswered -= len(share.places)
        if share.job.unanswered == 0:
            self._finish(share.job, error)

    def _finish(self, job: Job, error: str) -> None:
        for answer in job.answers:
            _unless_finished(answer, error)
        with self._news:
            self._jobs.discard(job)
        if job.done.set_running_or_notify_cancel():
            job.done.set_result(None)


def _unless_finished(answer: Answer, error: str) -> None:
    if answer.finish_reason is None and answer.error is None:
        answer.error = error
