"""The instances that were generated: kept in the store, so that an id is enough on any replica."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from env_service.boards import Task
from env_service.records import optima_of, task_of
from env_service.rendering import Rendered
from env_service.solver.certificate import Optima
from trainee2trainer.contracts.environment import Instance
from trainee2trainer.store import RawJson, Store
from trainee2trainer.store.tables import InstanceRecord

_CACHED = 50_000
_IDS_PER_QUERY = 500


@dataclass(frozen=True, slots=True)
class Known:
    """What a verdict needs of an instance."""

    task: Task
    optima: Optima


class Library:
    """Saves instances and finds them by id. What an id means never changes, so it may be remembered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: dict[str, Known] = {}
        insert = postgresql.insert if store.engine.dialect.name == "postgresql" else sqlite.insert
        self._insert = insert(InstanceRecord).on_conflict_do_nothing()

    async def save(self, instances: Iterable[Rendered]) -> None:
        """Adds instances; one that is there already stays as it is."""
        rows = {row.id: {"id": row.id, "content": RawJson(row.content)} for row in instances}
        if rows:
            async with self._store.session() as session:
                await session.execute(self._insert, list(rows.values()))

    async def get(self, id_: str) -> Instance | None:
        async with self._store.session() as session:
            record = await session.get(InstanceRecord, id_)
        return Instance.model_validate(record.content) if record else None

    async def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """The instances among `ids` that exist."""
        wanted = set(ids)
        found = {id_: self._cache[id_] for id_ in wanted if id_ in self._cache}
        missing = sorted(wanted - found.keys())
        for start in range(0, len(missing), _IDS_PER_QUERY):
            found |= await self._load(missing[start : start + _IDS_PER_QUERY])
        return found

    async def _load(self, ids: list[str]) -> dict[str, Known]:
        async with self._store.session() as session:
            query = select(InstanceRecord.content).where(InstanceRecord.id.in_(ids))
            contents = (await session.scalars(query)).all()
        instances = [Instance.model_validate(content) for content in contents]
        loaded = {instance.id: Known(task_of(instance), optima_of(instance)) for instance in instances}
        self._cache |= loaded
        while len(self._cache) > _CACHED:
            del self._cache[next(iter(self._cache))]
        return loaded
