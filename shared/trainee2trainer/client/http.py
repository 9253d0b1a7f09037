"""One HTTP conversation with a service: retries where repeating is harmless, problems as exceptions."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

import httpx
import stamina
from asgi_correlation_id import correlation_id
from pydantic import BaseModel

from trainee2trainer.client import streams
from trainee2trainer.client.errors import ProblemError, UnreachableError

Model = TypeVar("Model", bound=BaseModel)

RETRIED_STATUSES = {429, 503}
ATTEMPTS = 6
GIVE_UP_AFTER_SECONDS = 60.0
CONNECT_TIMEOUT = 5.0
READ_TIMEOUT = 60.0
"""Of a plain call. Generation and sampling get `LONG_READ_TIMEOUT`."""
LONG_READ_TIMEOUT = 900.0
STREAM_READ_TIMEOUT = 120.0
"""Longest silence on a stream; services send a comment more often than that."""


class ServiceClient:
    """Base of the clients. Use it as an async context manager, or call `aclose()`."""

    def __init__(self, base_url: str, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=self.base_url,
            transport=transport,
            timeout=httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=16),
            trust_env=False,  # our services are addressed directly: a proxy of the user's is not for them
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def live(self) -> bool:
        """Whether the process answers."""
        return (await self._send("GET", "/livez")).is_success

    async def ready(self) -> dict[str, bool]:
        """What the service needs, and whether it is there."""
        checks: dict[str, bool] = (await self._readiness()).json()["checks"]
        return checks

    async def takes_requests(self) -> bool:
        """Whether all is there that the service cannot do without."""
        return (await self._readiness()).is_success

    async def _readiness(self) -> httpx.Response:
        try:
            return await self._http.get("/readyz", headers=_headers())
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    async def _get(
        self,
        path: str,
        answer: type[Model],
        params: Mapping[str, Any] | None = None,
        read_timeout: float = READ_TIMEOUT,
    ) -> Model:
        return _read(answer, await self._send("GET", path, params=params, read_timeout=read_timeout))

    async def _post(
        self,
        path: str,
        answer: type[Model],
        body: BaseModel | None = None,
        *,
        repeatable: bool = True,
        idempotency_key: str | None = None,
        read_timeout: float = READ_TIMEOUT,
    ) -> Model:
        """`repeatable`: doing it twice does no harm, so a lost answer may be asked for again."""
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        response = await self._send(
            "POST", path, body=body, headers=headers, repeatable=repeatable, read_timeout=read_timeout
        )
        return _read(answer, response)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: BaseModel | str | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
        read_timeout: float = READ_TIMEOUT,
    ) -> httpx.Response:
        request = self._request(
            method, path, params=params, body=body, headers=headers, read_timeout=read_timeout
        )
        attempts = stamina.retry_context(
            on=_worth_retrying,
            attempts=ATTEMPTS if repeatable else 1,
            timeout=GIVE_UP_AFTER_SECONDS,
            wait_jitter=0.2,
        )
        async for attempt in attempts:
            with attempt:
                response = await self._answer(request)
        return response

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        try:
            response = await self._http.send(request)
        except httpx.TransportError as error:
            raise self._unreachable(error) from error
        if response.is_error:
            raise ProblemError.of(response)
        return response

    async def _json_lines(self, path: str, body: BaseModel) -> AsyncIterator[str]:
        """Lines of a JSON Lines answer, one at a time. Not retried: some may have been used already."""
        headers = {"Accept": "application/jsonl"}
        request = self._request("POST", path, body=body, headers=headers, read_timeout=LONG_READ_TIMEOUT)
        async with self._streaming(request) as response:
            async for line in streams.lines(response.aiter_bytes()):
                if line:
                    yield line

    async def _events(self, path: str, after: str | None) -> AsyncIterator[streams.ServerEvent]:
        """Server-sent events of one connection, those after the event called `after`."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": after} if after else {})
        request = self._request("GET", path, headers=headers, read_timeout=STREAM_READ_TIMEOUT)
        async with self._streaming(request) as response:
            async for event in streams.server_events(response.aiter_bytes()):
                yield event

    @asynccontextmanager
    async def _streaming(self, request: httpx.Request) -> AsyncIterator[httpx.Response]:
        try:
            response = await self._http.send(request, stream=True)
            try:
                if response.is_error:
                    await response.aread()
                    raise ProblemError.of(response)
                yield response
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def _request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: BaseModel | str | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout: float,
    ) -> httpx.Request:
        content, typed = _encoded(body)
        return self._http.build_request(
            method,
            path,
            params={name: value for name, value in (params or {}).items() if value is not None},
            content=content,
            headers={**typed, **_headers(), **(headers or {})},
            timeout=httpx.Timeout(read_timeout, connect=CONNECT_TIMEOUT),
        )

    def _unreachable(self, error: httpx.TransportError) -> UnreachableError:
        return UnreachableError(f"{self.base_url} gives no answer: {error or type(error).__name__}")


def _encoded(body: BaseModel | str | None) -> tuple[bytes | None, dict[str, str]]:
    """The body and its type; text is JSON Lines."""
    if body is None:
        return None, {}
    if isinstance(body, str):
        return body.encode(), {"Content-Type": "application/jsonl"}
    return body.model_dump_json().encode(), {"Content-Type": "application/json"}


def new_key() -> str:
    """A fresh `Idempotency-Key`: a repeated request with it gets the first one's answer."""
    return secrets.token_hex(16)


def _headers() -> dict[str, str]:
    """The id of the request being served, so that one id follows the work through every service."""
    request_id = correlation_id.get()
    return {"X-Request-ID": request_id} if request_id else {}


def _read(answer: type[Model], response: httpx.Response) -> Model:
    # A newer service may say more than we know of; requests stay strict.
    return answer.model_validate_json(response.content, extra="ignore")


def _worth_retrying(error: Exception) -> bool | float:
    if isinstance(error, UnreachableError):
        return True
    if not isinstance(error, ProblemError):
        return False
    if error.retry_after is not None:
        # With 409: our own earlier attempt is still at work under the same key.
        return error.retry_after if error.status in RETRIED_STATUSES | {409} else False
    return error.status in RETRIED_STATUSES
