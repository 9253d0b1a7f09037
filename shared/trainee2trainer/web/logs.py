"""Structured logs: one line of JSON (or text) per event, with the request id bound."""

import logging
import time

import structlog
from asgi_correlation_id import correlation_id
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import EventDict, WrappedLogger

QUIET_PATHS = {"/livez", "/readyz", "/metrics"}


def configure(level: str = "INFO", form: str = "json") -> None:
    """Set up structlog for this process. `form` is `json` or `text`."""
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _add_request_id,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        cache_logger_on_first_use=True,
    )


def _add_request_id(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    if request_id := correlation_id.get():
        event["request_id"] = request_id
    return event


class AccessLog:
    """Logs each request once it is answered: method, path, status, milliseconds."""

    def __init__(self, app: ASGIApp, service: str) -> None:
        self.app = app
        self.log = structlog.get_logger().bind(service=service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in QUIET_PATHS:
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting_status)
        finally:
            elapsed = round((time.perf_counter() - started) * 1000, 1)
            self.log.info("request", method=scope["method"], path=scope["path"], status=status, ms=elapsed)
