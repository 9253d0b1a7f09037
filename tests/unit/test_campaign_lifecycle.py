"""The state machine of campaigns under any order of wishes, workers and crashes."""

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from campaign_world import new_campaign, new_store
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from rfc9457 import Problem

from trainee2trainer.contracts.campaign import CampaignStatus as Status
from trainee2trainer.jobs import Lease, StaleLease, SubjectKind, claim, due, hold, release
from trainee2trainer.store import Store
from trainee2trainer.store.tables import CampaignRecord
from trainer_service import events, lifecycle

KIND = SubjectKind.CAMPAIGN
Result = TypeVar("Result")


class CampaignLife(RuleBasedStateMachine):
    """Keeps a model of one campaign beside the store's row: status, and who may write."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.store: Store = self.run(new_store(Path(self.folder.name)))
        self.campaign = self.run(new_campaign(self.store))
        self.status = Status.QUEUED
        self.owner: Lease | None = None
        self.former: list[Lease] = []

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return self.loop.run_until_complete(coroutine)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.run(self.store.close())
            self.loop.close()
            self.folder.cleanup()

    def wish(self, to: Status) -> int:
        try:
            self.run(lifecycle.wish(self.store, KIND, self.campaign, to))
        except Problem as problem:
            return int(problem.status)
        return 200

    def take_the_pen_away(self) -> None:
        if self.owner:
            self.former.append(self.owner)
            self.owner = None

    @rule()
    def pause(self) -> None:
        before = self.status
        assert self.wish(Status.PAUSED) == (409 if before.terminal else 200)
        if before in {Status.QUEUED, Status.RUNNING}:
            self.status = Status.PAUSED
            self.take_the_pen_away()

    @rule()
    def resume(self) -> None:
        assert self.wish(Status.QUEUED) == (409 if self.status.terminal else 200)
        if self.status is Status.PAUSED:
            self.status = Status.QUEUED

    @rule()
    def cancel(self) -> None:
        over = self.status in {Status.SUCCEEDED, Status.FAILED}
        assert self.wish(Status.CANCELLED) == (409 if over else 200)
        if not over and self.status is not Status.CANCELLED:
            self.status = Status.CANCELLED
            self.take_the_pen_away()

    @rule()
    def a_worker_claims(self) -> None:
        lease = self.run(claim(self.store, KIND, self.campaign, "worker", 3_600))
        free = self.status in {Status.QUEUED, Status.RUNNING} and self.owner is None
        assert (lease is not None) == free
        self.owner = lease or self.owner

    @precondition(lambda self: self.owner)
    @rule()
    def the_worker_is_silent_for_too_long(self) -> None:
        async def expire() -> None:
            async with self.store.session() as session:
                record = await session.get_one(CampaignRecord, self.campaign)
                record.lease_until = record.created_at

        self.run(expire())
        # Until somebody else claims, it may still write: nobody else is at it.
        self.former.append(self.owner)  # type: ignore[arg-type]
        self.owner = self.run(claim(self.store, KIND, self.campaign, "another", 3_600))
        assert self.owner is not None

    @precondition(lambda self: self.owner)
    @rule()
    def the_worker_gives_it_back(self) -> None:
        assert self.owner
        self.run(release(self.store, self.owner))
        self.owner = None

    @precondition(lambda self: self.owner and self.status is Status.QUEUED)
    @rule()
    def the_worker_begins(self) -> None:
        assert self.written(self.owner, Status.RUNNING)
        self.status = Status.RUNNING

    @precondition(lambda self: self.owner and self.status is Status.RUNNING)
    @rule()
    def the_worker_succeeds(self) -> None:
        assert self.written(self.owner, Status.SUCCEEDED)
        self.status = Status.SUCCEEDED
        self.take_the_pen_away()

    @precondition(lambda self: self.owner and self.status is Status.RUNNING)
    @rule()
    def the_worker_gives_up(self) -> None:
        assert self.written(self.owner, Status.FAILED)
        self.status = Status.FAILED
        self.take_the_pen_away()

    @precondition(lambda self: self.former)
    @rule()
    def a_zombie_writes(self) -> None:
        assert not any(self.written(lease, Status.SUCCEEDED) for lease in self.former)

    def written(self, lease: Lease | None, to: Status) -> bool:
        async def write() -> bool:
            assert lease
            async with self.store.session() as session:
                await hold(session, lease)
                return await lifecycle.move(session, KIND, self.campaign, to)

        try:
            return self.run(write())
        except StaleLease:
            return False

    @invariant()
    def the_store_agrees(self) -> None:
        if not hasattr(self, "store"):
            return

        async def look() -> tuple[CampaignRecord, list[int]]:
            async with self.store.session() as session:
                record = await session.get_one(CampaignRecord, self.campaign)
                numbers = [event.id for event in await events.after(session, self.campaign, 0)]
            return record, numbers

        record, numbers = self.run(look())
        assert Status(record.status) is self.status
        assert (record.finished_at is not None) == self.status.terminal
        assert (record.lease_until is not None) == (self.owner is not None)
        assert numbers == list(range(1, len(numbers) + 1))
        free = self.status in {Status.QUEUED, Status.RUNNING} and self.owner is None
        assert self.run(due(self.store)) == ([(KIND, self.campaign)] if free else [])


TestCampaignLife = CampaignLife.TestCase
TestCampaignLife.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
