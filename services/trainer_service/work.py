"""What a worker works with, and the one way in which its work takes effect."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.client import EngineerClient, EnvClient, PolicyClient
from trainee2trainer.contracts.campaign import EventKind
from trainee2trainer.jobs import Lease, hold
from trainee2trainer.store import Store
from trainer_service import events
from trainer_service.settings import TrainerSettings


@dataclass(frozen=True, slots=True)
class Tools:
    """The store and the other services."""

    settings: TrainerSettings
    store: Store
    env: EnvClient
    policy: PolicyClient
    engineer: EngineerClient

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: TrainerSettings) -> AsyncIterator[Self]:
        store = Store(settings.database)
        try:
            async with (
                EnvClient(settings.url("env")) as env,
                PolicyClient(settings.url("policy")) as policy,
                EngineerClient(settings.url("engineer")) as engineer,
            ):
                yield cls(settings, store, env, policy, engineer)
        finally:
            await store.close()


@dataclass(frozen=True, slots=True)
class Work:
    """One subject in the hands of a worker."""

    tools: Tools
    lease: Lease

    @property
    def id(self) -> str:
        return self.lease.subject_id

    @asynccontextmanager
    async def effect(self) -> AsyncIterator[AsyncSession]:
        """A transaction that carries the fencing token: raises StaleLease, and comes to nothing, if stale."""
        async with self.tools.store.session() as session:
            await hold(session, self.lease)
            yield session

    async def tell(self, kind: EventKind, **data: Any) -> None:
        """An event by itself."""
        await self.tell_all(kind, [data])

    async def tell_all(self, kind: EventKind, rows: Sequence[events.Data]) -> None:
        async with self.effect() as session:
            await events.append_all(session, self.id, kind, rows)
