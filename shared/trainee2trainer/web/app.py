"""The app factory: error shape, request id, health, metrics, body limits, the same for every service."""

import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager

from asgi_correlation_id import CorrelationIdMiddleware
from fastapi import FastAPI, Response
from fastapi.routing import APIRoute
from prometheus_fastapi_instrumentator import Instrumentator
from pydantic import BaseModel
from starlette.types import ASGIApp

from trainee2trainer import __version__
from trainee2trainer.web import problems
from trainee2trainer.web.logs import AccessLog

API_VERSION = "1.0.0"
Readiness = Callable[[FastAPI], Awaitable[dict[str, bool]]]
Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


class Live(BaseModel):
    status: str = "live"
    version: str = __version__


class Ready(BaseModel):
    """`checks` names what the service needs; `status` is ready, degraded or not ready."""

    status: str
    checks: dict[str, bool]
    seconds: float


class App(FastAPI):
    """An app whose every answer, also a refusal of the framework's, has a request id and the error shape."""

    def build_middleware_stack(self) -> ASGIApp:
        stack = problems.TooLargeAsProblem(super().build_middleware_stack(), self.state.max_body_bytes)
        return CorrelationIdMiddleware(stack, header_name="X-Request-ID", validator=_plain_request_id)


def create_app(
    *,
    name: str,
    description: str,
    lifespan: Lifespan,
    readiness: Readiness,
    dispensable: Collection[str] = (),
    max_body_bytes: int = 4 * 1024 * 1024,
) -> FastAPI:
    """A service's app without its resources: add routers to it.

    Without what `dispensable` names of the readiness checks the service is degraded but takes requests.
    """
    app = App(
        title=f"Trainee2Trainer {name} service",
        version=API_VERSION,
        description=description,
        lifespan=lifespan,
        generate_unique_id_function=_operation_id,
        max_body_size=max_body_bytes,
    )
    app.state.max_body_bytes = max_body_bytes
    app.add_middleware(AccessLog, service=name)
    problems.install(app)
    metrics = Instrumentator(excluded_handlers=["/metrics", "/livez"]).instrument(app)
    metrics.expose(app, include_in_schema=False)
    _add_health(app, readiness, dispensable)
    return app


def _add_health(app: FastAPI, readiness: Readiness, dispensable: Collection[str]) -> None:
    @app.get("/livez", tags=["health"])
    async def live() -> Live:
        """The process answers. Does no I/O."""
        return Live()

    @app.get("/readyz", tags=["health"], responses={503: {"model": Ready}})
    async def ready(response: Response) -> Ready:
        """What the service needs is there."""
        started = time.perf_counter()
        checks = await readiness(app)
        missing = {check for check, there in checks.items() if not there}
        status = "ready" if not missing else "degraded" if missing <= set(dispensable) else "not ready"
        response.status_code = 503 if status == "not ready" else 200
        return Ready(status=status, checks=checks, seconds=time.perf_counter() - started)


def _operation_id(route: APIRoute) -> str:
    """Short names for generated clients: `instances-generate` rather than a path spelled out."""
    tag = route.tags[0] if route.tags else "root"
    return f"{tag}-{route.name}"


def _plain_request_id(value: str) -> bool:
    """A caller's own id is kept when it is short and harmless in a log."""
    return 0 < len(value) <= 128 and value.isascii() and value.isprintable()
