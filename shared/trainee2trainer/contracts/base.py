"""What every contract shares: strict fields, one error shape."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Seed = Annotated[int, Field(ge=0, lt=2**63, description="Everything random hangs on it.")]
Ratio = Annotated[float, Field(ge=0.0, le=1.0)]


def _whole(text: object) -> object:
    return text.encode(errors="replace").decode() if isinstance(text, str) else text


ModelText = Annotated[str, BeforeValidator(_whole)]
"""What a model wrote, whatever it is: half of a surrogate pair, which no UTF-8 can say, becomes a question mark."""


class Contract(BaseModel):
    """A message between services. Unknown fields are refused, so a typo is an error and never a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemError(Contract):
    """One broken rule: where it was found and what the rule is."""

    loc: list[str | int] = Field(
        description="Path of the field, for example ['body', 'configuration', 'sizes']."
    )
    msg: str
    type: str


class Problem(BaseModel):
    """RFC 9457 problem details, the one shape of every error answer."""

    type: str
    title: str
    status: int
    detail: str | None = None
    request_id: str | None = None
    errors: list[ProblemError] | None = None


class Message(Contract):
    """One turn of a chat prompt."""

    role: str = Field(pattern="^(system|user|assistant)$")
    content: str = Field(max_length=200_000)
