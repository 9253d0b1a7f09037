"""Run a service's app with uvicorn."""

import uvicorn
from fastapi import FastAPI

from trainee2trainer.settings import Settings
from trainee2trainer.store import migrate
from trainee2trainer.web import logs

MAX_SOCKET_MESSAGE_BYTES = 1024 * 1024


def serve(app: FastAPI, service: str, settings: Settings) -> None:
    """Serve `app` on the configured host and the service's port until a signal comes."""
    logs.configure(settings.log_level, settings.log_format)
    migrate.exit_unless_at_head(settings.database)
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port(service),
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=5,
        ws_max_size=MAX_SOCKET_MESSAGE_BYTES,
    )
