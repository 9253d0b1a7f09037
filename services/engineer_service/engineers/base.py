"""The one interface of all engineers."""

import hashlib
import json
from dataclasses import dataclass
from typing import Protocol

from engineer_service.context import Context
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import EngineerCard, StageSummary
from trainee2trainer.contracts.environment import EnvironmentConfig, EnvironmentFamily


@dataclass(frozen=True, slots=True)
class Question:
    """Everything an engineer may go by. `profile` is that of the checkpoint that answers, if one does."""

    summary: StageSummary
    family: EnvironmentFamily
    checkpoint: str | None
    profile: str | None
    seed: int

    def attempt_seed(self, attempt: int) -> int:
        """A seed of its own for each attempt, hashed so that streams never overlap."""
        digest = hashlib.sha256(json.dumps([self.seed, "attempt", attempt]).encode()).digest()
        return int.from_bytes(digest[:8]) >> 1


class Engineer(Protocol):
    """Stateless: what it goes by is in the question."""

    @property
    def card(self) -> EngineerCard: ...

    @property
    def attempts(self) -> bool:
        """Whether another attempt may give another answer."""
        ...

    def prompt(self, question: Question) -> list[Message]:
        """What a model is asked; empty for rules."""
        ...

    async def answer(self, context: Context, question: Question, attempt: int) -> str:
        """The raw answer. Raises problems where something of ours fails, Unusable where there is none."""
        ...


def written(configuration: EnvironmentConfig, reason: str) -> str:
    """A configuration in the form a model is asked to answer in."""
    sizes = {str(size): knobs.model_dump() for size, knobs in configuration.sizes.items()}
    return json.dumps({"sizes": sizes, "reason": reason})
