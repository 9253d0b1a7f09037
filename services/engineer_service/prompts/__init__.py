"""How an engineer is asked: named, versioned templates. A new wording is a new name."""

from collections.abc import Callable

from engineer_service.numbers import size_numbers
from engineer_service.prompts.compact import compact_prompt
from engineer_service.prompts.plain import plain_prompt
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import StageSummary
from trainee2trainer.contracts.environment import EnvironmentFamily

COMPACT, PLAIN = "engineer-compact-v1", "engineer-plain-v1"
_NANO = "nano"

Template = Callable[[StageSummary, EnvironmentFamily], list[Message]]

TEMPLATES: dict[str, Template] = {
    COMPACT: lambda summary, _family: compact_prompt(size_numbers(summary)),
    PLAIN: plain_prompt,
}


def template_for(profile: str | None) -> str:
    """Name of the template that checkpoints of this profile read: a nano one knows only the compact words."""
    return COMPACT if profile == _NANO else PLAIN
