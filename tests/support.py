"""What tests of several folders share and what is no fixture."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from env_service.app import create_app
from env_service.settings import EnvSettings


def free_port() -> int:
    """A port of the loopback interface that nobody has now."""
    return free_ports(1)


def free_ports(count: int) -> int:
    """The first of `count` free ports in a row, as a stack needs them."""
    while True:
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            first = _bind(held, 0)
            for port in range(first + 1, first + count):
                _bind(held, port)
            return first


def _bind(held: contextlib.ExitStack, port: int) -> int:
    listener = held.enter_context(socket.socket())
    listener.bind(("127.0.0.1", port))
    return int(listener.getsockname()[1])


@contextlib.contextmanager
def served(app: FastAPI, port: int | None = None) -> Iterator[str]:
    """The app behind a real uvicorn in a thread: streams do not pass through an in-process transport."""
    port = port or free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    assert server.started, "the app did not start"
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def assert_problem(answer: httpx.Response, status: int, *loc: str | int) -> dict[str, Any]:
    """The one shape of every error; with `loc`, the field that the error names."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["type"]
    assert problem["title"]
    assert problem["request_id"]
    if loc:
        assert list(loc) in [error["loc"] for error in problem["errors"]], problem
    return problem


def env_app(folder: Path, store_url: str, **changes: Any) -> FastAPI:
    """The env service on a migrated store, with one worker."""
    return create_app(EnvSettings(data_dir=folder, store_url=store_url, env_workers=1, **changes))
