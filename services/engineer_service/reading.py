"""Reads an engineer's answer out of whatever it wrote: thoughts, prose, code fences, almost-JSON.

Thoughts are no answer: what stands up to the last `</think>` is left out, and what follows a `<think>` that
stays open. In the rest, the last complete object that names map sizes is the answer. Accepted:

- `{"sizes": {"3": {...}, "4": {...}}, "reason": "..."}`, the form asked for;
- the same with `map_sizes`, `per_size`, `maps` or `boards` for `sizes`, or with the sizes directly;
- all of it inside `configuration`, `config`, `environment` or `answer`;
- a list under `sizes` whose objects name theirs: `[{"size": 3, ...}]`;
- a size as `3`, `3x3`, `size 3`, `size_3` or `map_3`; `rationale`, `explanation` or `why` for `reason`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engineer_service.lenient_json import JsonLike, objects

MAX_REASON_CHARS = 2_000

_SIZE = re.compile(r"(?:(?:map|board)[ _-]?)?(?:size[ _-]?)?(\d{1,3})(?: ?[x×*] ?(\d{1,3}))?", re.IGNORECASE)
_UNDER = ("sizes", "map_sizes", "per_size", "maps", "boards")
_AROUND = ("configuration", "config", "environment", "answer")
_REASONS = ("reason", "rationale", "explanation", "why")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read, not yet looked at: knobs as written, by the size as written."""

    sizes: Mapping[str, Mapping[str, Any]]
    reason: str | None


def read_answer(text: str) -> Answer | None:
    """The last complete answer in `text`, or None."""
    found = None
    for candidate in objects(_without_thoughts(text)):
        found = _as_answer(candidate) or found
    return found


def size_of(name: str) -> int | None:
    """The map size that is called `name`; None if that is no size."""
    match = _SIZE.fullmatch(name.strip())
    if match is None or (match[2] is not None and match[2] != match[1]):
        return None
    return int(match[1])


def _without_thoughts(text: str) -> str:
    return text.rpartition("</think>")[2].partition("<think>")[0]


def _as_answer(candidate: JsonLike) -> Answer | None:
    inside = _first(candidate, _AROUND)
    sizes = _sizes(candidate) or (_sizes(inside) if isinstance(inside, dict) else None)
    if sizes is None:
        return None
    reason = _first(candidate, _REASONS) or (_first(inside, _REASONS) if isinstance(inside, dict) else None)
    return Answer(sizes, reason[:MAX_REASON_CHARS] if isinstance(reason, str) else None)


def _sizes(candidate: JsonLike) -> dict[str, dict[str, Any]] | None:
    """The objects by size; under `sizes` a name that is none stays, to be told that it is none."""
    under = _first(candidate, _UNDER)
    if isinstance(under, list):
        named = [(_first(one, ("size", "map_size")), one) for one in under if isinstance(one, dict)]
        under = {_size_name(size): _without_size(one) for size, one in named if size is not None}
    if isinstance(under, dict):
        return {name: one for name, one in under.items() if isinstance(one, dict)} or None
    return {
        name: one for name, one in candidate.items() if isinstance(one, dict) and size_of(name) is not None
    } or None


def _size_name(size: Any) -> str:
    return f"{size:g}" if isinstance(size, float) else str(size)


def _without_size(one: JsonLike) -> JsonLike:
    return {name: value for name, value in one.items() if name not in {"size", "map_size"}}


def _first(candidate: JsonLike, names: tuple[str, ...]) -> Any:
    return next((candidate[name] for name in names if candidate.get(name) is not None), None)
