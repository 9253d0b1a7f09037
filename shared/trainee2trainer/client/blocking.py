"""The same clients for code without `await`: calls run in a thread with an event loop of its own."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import wraps
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from trainee2trainer.client.http import ServiceClient

Client = TypeVar("Client", bound=ServiceClient)


class Blocking(Generic[Client]):
    """Every method of the client, blocking. Works inside Jupyter, which has a running loop already."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._entered = start_blocking_portal()
        self._portal: BlockingPortal = self._entered.__enter__()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        @wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            if iscoroutinefunction(method):
                return self._portal.call(lambda: method(*args, **kwargs))
            return self._drain(method(*args, **kwargs))

        return call

    def _drain(self, rows: AsyncIterator[Any]) -> Iterator[Any]:
        while True:
            try:
                yield self._portal.call(rows.__anext__)
            except StopAsyncIteration:
                return

    def close(self) -> None:
        self._portal.call(self._client.aclose)
        self._entered.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.close()


def blocking(client: Client) -> Blocking[Client]:
    """`with blocking(EnvClient(url)) as env: env.environments()`."""
    return Blocking(client)
