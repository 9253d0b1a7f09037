"""How many tokens went in and came out."""

from collections.abc import Sequence

from policy_service.backend import Answer
from trainee2trainer.contracts.policy import Usage


def usage(prompts: Sequence[Sequence[int]], answers: Sequence[Answer]) -> Usage:
    """Counts each prompt once, however many answers it got."""
    asked = sum(map(len, prompts))
    sampled = sum(len(answer.token_ids) for answer in answers)
    return Usage(prompt_tokens=asked, completion_tokens=sampled, total_tokens=asked + sampled)
