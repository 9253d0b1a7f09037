"""engineer-compact-v1: few words from a closed vocabulary, single spaces between them, for the small model.

A wording never changes once it has a version: checkpoints were trained on it.
"""

from collections.abc import Mapping, Sequence

from engineer_service.numbers import STEPS, SizeNumbers
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.environment import MAX_SIZE, MIN_SIZE, FailureCategory, SizeKnobs

NONE = "none"
KEEP = "keep"
_RATES = ("data", "hole", "wait", "valid", "plain", "waits", "optimal", "train", "dead")
_KNOBS = ("data_ratio", "hole_ratio", "wait_ratio")
_MORE = ("more", "fewer", "less")
_OF_WHAT = ("waits", "holes", "data")
_SIZES = range(MIN_SIZE, MAX_SIZE + 1)
_GRID = [f"{step / STEPS:.2f}" for step in range(STEPS + 1)]


def compact_words() -> list[str]:
    """Every word that prompts and answers of this template can hold, each once, in a fixed order."""
    prompt = ["engineer", "size", *map(str, _SIZES), *_RATES, *FailureCategory, *_GRID, NONE]
    prompt += ["history", "up", "down", "same", "configure"]
    quoted = [f'"{word}"' for word in ("sizes", *map(str, _SIZES), *_KNOBS, "reason", KEEP)]
    reason = [*(f'"{word}' for word in _MORE), *_OF_WHAT, "on", *(f'{size}"' for size in _SIZES)]
    words = [*prompt, "{", "}", ":", ",", *quoted, *reason]
    return list(dict.fromkeys(map(str, words)))


def compact_prompt(sizes: Sequence[SizeNumbers]) -> list[Message]:
    """One message: the numbers size by size, then how each size's valid rate moved since the stage before."""
    words = ["engineer"]
    for numbers in sizes:
        words += _size(numbers)
    words.append("history")
    moved = [(str(numbers.size), numbers.trend) for numbers in sizes if numbers.trend]
    words += [word for pair in moved for word in pair] or [NONE]
    words.append("configure")
    return [Message(role="user", content=" ".join(words))]


def _size(numbers: SizeNumbers) -> list[str]:
    words = ["size", str(numbers.size)]
    for name in _RATES:
        words += [name, _word(getattr(numbers, name))]
    for category, share in zip(FailureCategory, numbers.failures, strict=True):
        words += [category.value, _word(share)]
    return words


def compact_answer(sizes: Mapping[int, SizeKnobs], reason: str) -> str:
    """A configuration as JSON whose tokens stand apart. `reason`: words of the vocabulary, such as `keep`."""
    parts = [f'"{size}" : {{ {_knobs(knobs)} }}' for size, knobs in sorted(sizes.items())]
    return f'{{ "sizes" : {{ {" , ".join(parts)} }} , "reason" : "{reason}" }}'


def _knobs(knobs: SizeKnobs) -> str:
    return " , ".join(f'"{name}" : {_word(getattr(knobs, name))}' for name in _KNOBS)


def _word(rate: float | None) -> str:
    return NONE if rate is None else _GRID[int(rate * STEPS + 0.5)]
