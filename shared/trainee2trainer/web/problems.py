"""The errors services raise; each becomes one RFC 9457 problem+json answer with the request id."""

import json
from typing import Any

from asgi_correlation_id import correlation_id
from fastapi import FastAPI
from fastapi_problem.handler import add_exception_handler, new_exception_handler
from rfc9457 import Problem
from sqlalchemy.exc import OperationalError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trainee2trainer.web.described import MEDIA_TYPE, describe_problems


def not_found(what: str, id_: str) -> Problem:
    """404: `what` has no member called `id_`."""
    return Problem(f"No such {what}.", f"{what}-not-found", f"There is no {what} with the id {id_!r}.", 404)


def invalid(loc: list[str | int], rule: str, kind: str = "value_error") -> Problem:
    """422 in the shape of request validation, for rules that a schema cannot say."""
    errors = [{"loc": loc, "msg": rule, "type": kind}]
    return Problem("Request validation error.", "request-validation-failed", rule, 422, errors=errors)


def conflict(detail: str) -> Problem:
    """409: the request is well formed, but not possible in the present state."""
    return Problem("Not possible in the present state.", "conflict", detail, 409)


def busy(detail: str, retry_after: int) -> Problem:
    """429: more work than is taken on at once; try again after `retry_after` seconds."""
    return Problem("Too much at once.", "busy", detail, 429, headers={"Retry-After": str(retry_after)})


def unavailable(detail: str, retry_after: int = 5) -> Problem:
    """503: something we need is not there now."""
    return Problem(
        "Not available now.", "unavailable", detail, 503, headers={"Retry-After": str(retry_after)}
    )


def install(app: FastAPI) -> None:
    """Turn every error of `app` into a problem, in answers and in the OpenAPI document."""
    handler = new_exception_handler(
        post_hooks=[_add_request_id],
        handlers={OperationalError: _store_unavailable},
    )
    add_exception_handler(app, handler, generic_swagger_defaults=False)
    describe_problems(app)


def _add_request_id(
    content: dict[str, Any], _request: Request, response: Response
) -> tuple[dict[str, Any], Response]:
    content["request_id"] = correlation_id.get()
    for error in content.get("errors") or []:
        # The input may be megabytes, and `ctx` and `url` belong to pydantic, not to our contract.
        for key in ("input", "ctx", "url"):
            error.pop(key, None)
    # The body was rendered before this hook: render it again.
    response.body = json.dumps(content).encode()
    return content, response


def _store_unavailable(_handler: Any, _request: Request, _error: Exception) -> Problem:
    return unavailable("The store does not answer.")


class TooLargeAsProblem:
    """The framework's 413 leaves as text/plain: give it the one shape of every other error.

    It must stand around the whole app: the framework's limit stands outside of every added middleware.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        replacing = False

        async def send_problem(message: Message) -> None:
            nonlocal replacing
            if message["type"] == "http.response.start" and message["status"] == 413:
                replacing = True
                body = _too_large_body()
                headers = [
                    (b"content-type", MEDIA_TYPE.encode()),
                    (b"content-length", str(len(body)).encode()),
                ]
                await send({"type": "http.response.start", "status": 413, "headers": headers})
                await send({"type": "http.response.body", "body": body})
            elif not (replacing and message["type"] == "http.response.body"):
                await send(message)

        await self.app(scope, receive, send_problem if scope["type"] == "http" else send)


def _too_large_body() -> bytes:
    problem = Problem(
        "Request body too large.", "body-too-large", "The body is larger than this service takes.", 413
    )
    rule = {"loc": ["body"], "msg": "larger than the limit of this service", "type": "too_large"}
    return json.dumps(problem.marshal() | {"errors": [rule], "request_id": correlation_id.get()}).encode()
