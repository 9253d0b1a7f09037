"""From what an engineer wrote to a configuration: bounds kept, every correction recorded, the rest unusable.

Rules: a size outside the environment's, an unknown knob or a value that is no finite number makes the answer
unusable; a value outside its bounds is clamped; a size that is left out, or a knob that is left out, keeps its
value; data ratios are normalised to sum 1.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from engineer_service.reading import Answer, size_of
from trainee2trainer.contracts.engineer import Change, Clamp
from trainee2trainer.contracts.environment import EnvironmentConfig, EnvironmentFamily, Knob, SizeKnobs

_PLACES = 4
_SAME = 1e-6


class Unusable(ValueError):
    """The answer breaks a rule that no clamp can mend; the text says which."""


@dataclass(frozen=True, slots=True)
class Checked:
    configuration: EnvironmentConfig
    clamps: list[Clamp]


def check(answer: Answer, before: EnvironmentConfig, family: EnvironmentFamily) -> Checked:
    """The configuration that `answer` comes to. Raises Unusable."""
    knobs = {knob.name: knob for knob in family.knobs}
    clamps: list[Clamp] = []
    sizes = {size: one.model_dump() for size, one in before.sizes.items()}
    for name, asked in answer.sizes.items():
        size = size_of(name)
        if size is None or size not in family.sizes:
            raise Unusable(f"size {name!r} is none of {', '.join(map(str, family.sizes))}")
        values = {knob: _value(size, knob, value, knobs, clamps) for knob, value in asked.items()}
        sizes[size] = {knob.name: knob.default for knob in family.knobs} | sizes.get(size, {}) | values
    try:
        configuration = EnvironmentConfig.model_validate({"agents": before.agents, "sizes": sizes})
    except ValidationError as error:
        raise Unusable("; ".join(problem["msg"] for problem in error.errors())) from error
    return Checked(configuration, clamps)


def _value(size: int, name: str, asked: Any, knobs: Mapping[str, Knob], clamps: list[Clamp]) -> float:
    knob = knobs.get(name)
    if knob is None:
        raise Unusable(f"size {size}: {name!r} is none of the knobs {', '.join(knobs)}")
    number = _number(asked)
    if number is None:
        raise Unusable(f"size {size}: {name} is no finite number")
    used = min(max(number, knob.minimum), knob.maximum)
    if used != number:
        rule = f"{knob.minimum:g} to {knob.maximum:g}"
        clamps.append(Clamp(size=size, knob=name, asked=number, used=used, rule=rule))
    return used


def _number(asked: Any) -> float | None:
    """A number, also when written as text or with a percent sign."""
    if isinstance(asked, bool) or not isinstance(asked, int | float | str):
        return None
    try:
        text = asked.strip() if isinstance(asked, str) else asked
        if isinstance(text, str) and text.endswith("%"):
            number = float(text[:-1]) / 100
        else:
            number = float(text)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def changes(before: EnvironmentConfig, after: EnvironmentConfig) -> list[Change]:
    """Every knob that differs, sizes in rising order; data ratios as the shares they come to."""
    found = []
    for size in sorted(before.sizes.keys() | after.sizes.keys()):
        for knob in SizeKnobs.model_fields:
            old, new = _knob(before, size, knob), _knob(after, size, knob)
            if old is None or new is None or abs(old - new) > _SAME:
                found.append(Change(size=size, knob=knob, before=_round(old), after=_round(new)))
    return found


def _knob(configuration: EnvironmentConfig, size: int, knob: str) -> float | None:
    knobs = configuration.sizes.get(size)
    return None if knobs is None else float(getattr(knobs, knob))


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, _PLACES)
