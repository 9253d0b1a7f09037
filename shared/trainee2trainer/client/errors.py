"""What a call to a service can end in, other than its answer."""

from typing import Self

import httpx
from pydantic import ValidationError

from trainee2trainer.contracts.base import Problem
from trainee2trainer.contracts.base import ProblemError as BrokenRule


class ClientError(Exception):
    """Base of everything a client raises on purpose."""


class UnreachableError(ClientError):
    """No answer: nobody listens there, the connection broke, or it took too long."""


class ProblemError(ClientError):
    """The service answered with a problem (RFC 9457)."""

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        self.type = problem.type
        self.title = problem.title
        self.status = problem.status
        self.detail = problem.detail
        self.request_id = problem.request_id
        self.errors: list[BrokenRule] = problem.errors or []
        self.retry_after = retry_after
        super().__init__(self._message())

    @classmethod
    def of(cls, response: httpx.Response) -> Self:
        """The problem in `response`, whose body has been read. A proxy's plain answer becomes one too."""
        try:
            problem = Problem.model_validate_json(response.content)
        except ValidationError:
            problem = Problem(
                type="about:blank",
                title=response.reason_phrase or "Error",
                status=response.status_code,
                detail=response.text[:500] or None,
                request_id=response.headers.get("X-Request-ID"),
            )
        return cls(problem, _seconds(response.headers.get("Retry-After")))

    def _message(self) -> str:
        lines = [f"{self.status} {self.detail or self.title}"]
        lines += [f"  {'.'.join(map(str, rule.loc))}: {rule.msg}" for rule in self.errors]
        if self.request_id:
            lines.append(f"  request id {self.request_id}")
        return "\n".join(lines)


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isdecimal() else None
