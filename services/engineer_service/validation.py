"""From an answer as it was read to a configuration that keeps every rule, with a record of what was moved.

- Every knob's bounds are those of the environment's catalogue; a value outside is clamped, and that is noted.
- Data ratios above 1 are parts of their sum (40, 35, 25 means what it says); in the end all are normalised.
- A size left out keeps its knobs of the stage before, and so does a knob left out. A size that had none
  starts at the catalogue's defaults, without data. What is not to be trained on gets the data ratio 0.
- A name that is no size or no knob, and a value that is no finite number, make the whole answer unusable:
  guessing what was meant would put words into the engineer's mouth.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from engineer_service.reading import Answer, size_of
from trainee2trainer.contracts.engineer import Change, Clamp
from trainee2trainer.contracts.environment import EnvironmentConfig, EnvironmentFamily, Knob, SizeKnobs

DATA = "data_ratio"
_PLACES = 4
"""Normalised shares are no round numbers; nobody means the rest."""
_SHOWN_CHARS = 40

Values = dict[int, dict[str, float]]
"""Knobs by size and name."""


class Unusable(ValueError):
    """The answer cannot be made into a configuration; the message says why."""


@dataclass(frozen=True, slots=True)
class Checked:
    configuration: EnvironmentConfig
    clamps: list[Clamp]


def check(answer: Answer, before: EnvironmentConfig, family: EnvironmentFamily) -> Checked:
    """The configuration an answer asks for. Raises Unusable."""
    asked = _parts(_asked(answer, family))
    clamps = [clamp for size, knobs in asked.items() for clamp in _clamps(size, knobs, family)]
    for clamp in clamps:
        asked[clamp.size][clamp.knob] = clamp.used
    sizes: Values = {size: knobs.model_dump() for size, knobs in before.sizes.items()}
    for size, knobs in asked.items():
        sizes[size] = sizes.get(size, _start(family)) | knobs
    if not any(knobs[DATA] > 0 for knobs in sizes.values()):
        raise Unusable("no size has a data_ratio above 0")
    configuration = EnvironmentConfig.model_validate({"agents": before.agents, "sizes": sizes})
    return Checked(configuration, clamps)


def _asked(answer: Answer, family: EnvironmentFamily) -> Values:
    """The numbers of the answer, by the names they really have."""
    asked: Values = {}
    for name, knobs in answer.sizes.items():
        size = size_of(name)
        if size is None or size not in family.sizes:
            raise Unusable(f"{_shown(name)} is not a map size ({family.sizes[0]} to {family.sizes[-1]})")
        if size in asked:
            raise Unusable(f"size {size} is there twice")
        given = {_knob(key, family, size): _number(value, size, key) for key, value in knobs.items()}
        asked[size] = {knob: value for knob, value in given.items() if value is not None}
    return asked


def _knob(name: str, family: EnvironmentFamily, size: int) -> str:
    """The knob called `name`: `hole_ratio` also as `hole`, `holes`, `hole-ratio` or `Hole ratio`."""
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    for knob in family.knobs:
        short = knob.name.removesuffix("_ratio")
        if plain in {knob.name, short, f"{short}s"}:
            return knob.name
    known = ", ".join(knob.name for knob in family.knobs)
    raise Unusable(f"size {size}: {_shown(name)} is not a knob ({known})")


def _number(value: Any, size: int, name: str) -> float | None:
    """None: left out. A number in quotes is a number, `true` is none."""
    if value is None:
        return None
    number = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            number = _written(value) if isinstance(value, str) else float(value)
    if not math.isfinite(number):
        raise Unusable(f"size {size}: {name[:_SHOWN_CHARS]} is not a finite number: {_shown(value)}")
    return number


def _written(text: str) -> float:
    """A number as text, also with a percent sign. Raises ValueError."""
    if len(text) > _SHOWN_CHARS:
        raise ValueError
    bare = text.strip()
    return float(bare[:-1]) / 100 if bare.endswith("%") else float(bare)


def _parts(asked: Values) -> Values:
    """Data ratios above 1 as parts of their sum. Scaled by the largest first: their sum may be infinite."""
    data = {size: knobs[DATA] for size, knobs in asked.items() if DATA in knobs}
    largest = max(data.values(), default=0.0)
    if largest <= 1:
        return asked
    total = sum(max(0.0, value / largest) for value in data.values())
    return {
        size: knobs | ({DATA: data[size] / largest / total} if data.get(size, -1) >= 0 else {})
        for size, knobs in asked.items()
    }


def _clamps(size: int, knobs: Mapping[str, float], family: EnvironmentFamily) -> list[Clamp]:
    return [
        _clamp(size, knob, knobs[knob.name])
        for knob in family.knobs
        if knob.name in knobs and not knob.minimum <= knobs[knob.name] <= knob.maximum
    ]


def _clamp(size: int, knob: Knob, asked: float) -> Clamp:
    low = asked < knob.minimum
    used, rule = (knob.minimum, "at least") if low else (knob.maximum, "at most")
    return Clamp(size=size, knob=knob.name, asked=asked, used=used, rule=f"{rule} {used:g}")


def _start(family: EnvironmentFamily) -> dict[str, float]:
    return {knob.name: 0.0 if knob.name == DATA else knob.default for knob in family.knobs}


def changes(before: EnvironmentConfig, after: EnvironmentConfig) -> list[Change]:
    """Every knob that differs by more than rounding, size by size in rising order."""
    found = []
    for size in sorted({*before.sizes, *after.sizes}):
        for knob in SizeKnobs.model_fields:
            old, new = _value(before, size, knob), _value(after, size, knob)
            if old is None or new is None or abs(old - new) > 10**-_PLACES:
                found.append(Change(size=size, knob=knob, before=_rounded(old), after=_rounded(new)))
    return found


def _value(configuration: EnvironmentConfig, size: int, knob: str) -> float | None:
    knobs = configuration.sizes.get(size)
    return None if knobs is None else float(getattr(knobs, knob))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _PLACES)


def _shown(value: Any) -> str:
    """As a person can read it in a sentence, and no more of it: it may be as long as an answer."""
    text = str(value) if isinstance(value, int | float | str) else type(value).__name__
    return f"'{text[:_SHOWN_CHARS]}...'" if len(text) > _SHOWN_CHARS else f"'{text}'"
