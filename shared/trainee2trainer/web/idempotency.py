"""`Idempotency-Key`: a creating POST that is sent again gets the first one's answer and creates nothing."""

import hashlib
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Header
from fastapi.routing import APIRoute
from rfc9457 import Problem
from sqlalchemy import delete, insert, update
from sqlalchemy.exc import IntegrityError
from starlette.requests import Request
from starlette.responses import Response

from trainee2trainer.store import Store, utcnow
from trainee2trainer.store.tables import IdempotencyRecord as Record

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
MAX_KEY = 200
KEPT_HEADERS = ("content-type", "location", "retry-after")
CREATING = {201, 202}
FORGOTTEN_AFTER = timedelta(hours=48)
ABANDONED_AFTER = timedelta(minutes=15)
"""No request takes longer: whoever claimed the key before that was killed."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def _documented(
    _key: Annotated[
        str | None,
        Header(
            alias=HEADER, min_length=1, max_length=MAX_KEY, description="Makes sending it again harmless."
        ),
    ] = None,
) -> None: ...


class IdempotentRoute(APIRoute):
    """A router's `route_class`: those of its POSTs that answer 201 or 202 take an `Idempotency-Key`.

    Same key and body: the same answer. Another body: 422. Still at work: 409. Only success is remembered;
    after anything else the key is free again. Expects the store at `app.state.context.store`.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        methods, status = options.get("methods") or (), options.get("status_code")
        self.creating = "POST" in methods and status in CREATING
        if self.creating:
            options["dependencies"] = [*(options.get("dependencies") or []), Depends(_documented)]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        return _once(handle) if self.creating else handle


def _once(handle: Handler) -> Handler:
    async def handle_once(request: Request) -> Response:
        key = request.headers.get(HEADER)
        if not key or len(key) > MAX_KEY:
            return await handle(request)
        attempt = _Attempt(request.app.state.context.store, f"{request.method} {request.url.path}", key)
        if earlier := await attempt.claim(hashlib.sha256(await request.body()).hexdigest()):
            return earlier
        kept = False
        try:
            response = await handle(request)
            if response.status_code < 400:
                await attempt.keep(response)
                kept = True
            return response
        finally:
            if not kept:
                await attempt.free()

    return handle_once


class _Attempt:
    """One request's hold on a key."""

    def __init__(self, store: Store, scope: str, key: str) -> None:
        self.store = store
        self.place = {"scope": scope, "key": key}
        self.here = (Record.scope == scope, Record.key == key)

    async def claim(self, fingerprint: str) -> Response | None:
        """The answer given to this key before; or None, and the key is ours. Raises a problem otherwise."""
        async with self.store.session() as session:
            await session.execute(delete(Record).where(Record.created_at < utcnow() - FORGOTTEN_AFTER))
        try:
            async with self.store.session() as session:
                await session.execute(
                    insert(Record).values(fingerprint=fingerprint, headers={}, **self.place)
                )
            return None
        except IntegrityError:
            return await self._earlier(fingerprint)

    async def _earlier(self, fingerprint: str) -> Response | None:
        async with self.store.session() as session:
            found = await session.get(Record, (self.place["scope"], self.place["key"]))
        if found is None:
            # It has just failed: as good as never sent.
            return await self.claim(fingerprint)
        if found.fingerprint != fingerprint:
            raise _other_body()
        if found.status is None:
            if await self._take_over(found):
                return None
            raise _at_work()
        headers = {**found.headers, REPLAYED: "true"}
        return Response(found.body, found.status, headers)

    async def _take_over(self, found: Record) -> bool:
        if found.created_at > utcnow() - ABANDONED_AFTER:
            return False
        same = update(Record).where(*self.here, Record.created_at == found.created_at)
        async with self.store.session() as session:
            taken = await session.execute(same.values(created_at=utcnow()).returning(Record.key))
            return taken.first() is not None

    async def keep(self, response: Response) -> None:
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        answer = {"status": response.status_code, "headers": headers, "body": bytes(response.body).decode()}
        async with self.store.session() as session:
            await session.execute(update(Record).where(*self.here).values(answer))

    async def free(self) -> None:
        async with self.store.session() as session:
            await session.execute(delete(Record).where(*self.here, Record.status.is_(None)))


def _other_body() -> Problem:
    rule = "was used before with another body; a new request needs a new key"
    errors = [{"loc": ["header", HEADER], "msg": rule, "type": "idempotency_key_reused"}]
    return Problem(
        "Idempotency key reused.", "idempotency-key-reused", f"This key {rule}.", 422, errors=errors
    )


def _at_work() -> Problem:
    return Problem(
        "The first request is still at work.",
        "idempotency-key-in-use",
        "A request with this key is being worked on; ask again for its answer.",
        409,
        headers={"Retry-After": "1"},
    )
