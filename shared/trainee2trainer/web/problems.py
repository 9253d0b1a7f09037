"""The errors services raise; each becomes one RFC 9457 problem+json answer with the request id."""

import json
from typing import Any

from asgi_correlation_id import correlation_id
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
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
        request_validation_handler=_not_valid,
    )
    add_exception_handler(app, handler, generic_swagger_defaults=False)
    describe_problems(app)


def _add_request_id(
    content: dict[str, Any], _request: Request, response: Response
) -> tuple[dict[str, Any], Response]:
    content["request_id"] = correlation_id.get()
    # The body was rendered before this hook: render it again.
    response.body = json.dumps(content).encode()
    return content, response


def _not_valid(_handler: Any, _request: Request, error: RequestValidationError) -> Problem:
    """What was wrong where, without what was sent: that may be megabytes, or no JSON at all, such as NaN."""
    errors = [
        {
            "loc": [_printable(part) if isinstance(part, str) else part for part in found["loc"]],
            "msg": _printable(found["msg"]),
            "type": found["type"],
        }
        for found in error.errors()
    ]
    return Problem("Request validation error.", "request-validation-failed", None, 422, errors=errors)


def _printable(text: str) -> str:
    """Half of a surrogate pair, which JSON can say and UTF-8 cannot, becomes a question mark."""
    return text.encode(errors="replace").decode()


def _store_unavailable(_handler: Any, _request: Request, _error: Exception) -> Problem:
    return unavailable("The store does not answer.")


class TooLargeAsProblem:
    """The framework's 413 leaves as text/plain: give it the one shape of every other error.

    It must stand around the whole app: the framework's limit stands outside of every added middleware.
    """

    def __init__(self, app: ASGIApp, max_body_bytes: int) -> None:
        self.app = app
        self.max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        replacing = False

        async def send_problem(message: Message) -> None:
            nonlocal replacing
            if message["type"] == "http.response.start" and message["status"] == 413:
                replacing = True
                body = _too_large_body(self.max_body_bytes)
                headers = [
                    (b"content-type", MEDIA_TYPE.encode()),
                    (b"content-length", str(len(body)).encode()),
                ]
                await send({"type": "http.response.start", "status": 413, "headers": headers})
                await send({"type": "http.response.body", "body": body})
            elif not (replacing and message["type"] == "http.response.body"):
                await send(message)

        await self.app(scope, receive, send_problem if scope["type"] == "http" else send)


def _too_large_body(most: int) -> bytes:
    detail = f"The body is larger than the {most:,} bytes that this service takes."
    problem = Problem("Request body too large.", "body-too-large", detail, 413)
    rule = {"loc": ["body"], "msg": f"must have at most {most:,} bytes", "type": "too_large"}
    return json.dumps(problem.marshal() | {"errors": [rule], "request_id": correlation_id.get()}).encode()
