"""A rule that rewrites a configuration from a summary's numbers: what the small model's engineer is taught.

Per map size, in the spirit of what the paper found to work:

- **data** goes where there is something to learn: a weight of success that is neither sure nor hopeless,
  p(1-p), and of weakness, 1-p; less where training groups were dead. No size is left out.
- **waits** rise where plain boards mostly work and boards that need a wait do not, the wider the gap the
  more; they fall where that gap is closed, and where not even plain boards work. Always between 0.2 and 0.6,
  since one-sided mixes forget.
- **holes** fall where running into holes and walls is the main failure, and rise slowly where it is rare and
  most boards are solved.
- A size that is getting better keeps its data and waits unless they are far from where they should be.
- No knob moves far in one stage.

A pure function of the numbers and, for a spread of answers to learn from, of a source of randomness.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from engineer_service.numbers import STEPS, SizeNumbers, on_grid
from trainee2trainer.contracts.environment import FailureCategory, SizeKnobs

START_HOLES, START_WAITS = 0.1, 0.2
"""Of a size that was not trained on."""
MIN_WAITS, MAX_WAITS, WAIT_STEP = 0.2, 0.6, 0.3
MAX_HOLES, HOLE_STEP = 0.35, 0.1
DATA_STEP = 0.15
FAR = 0.15
"""What is getting better is left alone unless it is further than this from where it should be."""

_CATEGORIES = list(FailureCategory)
_ILLEGAL = _CATEGORIES.index(FailureCategory.ILLEGAL_MOVE)
_HOLE = _CATEGORIES.index(FailureCategory.HOLE_COLLISION)
_KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Decision:
    """The next stage's knobs by size, every value a multiple of 0.05, and the largest change in words."""

    sizes: dict[int, SizeKnobs]
    reason: str


def decide(sizes: Sequence[SizeNumbers], noise: Random | None = None) -> Decision:
    """What the next stage should be made of, from at least one size. Without `noise`: the rule itself."""
    waits = [_jittered(_waits(numbers), MIN_WAITS, MAX_WAITS, noise) for numbers in sizes]
    holes = [_jittered(_holes(numbers), 0.0, MAX_HOLES, noise) for numbers in sizes]
    data = _data(sizes, noise)
    knobs = {
        numbers.size: SizeKnobs(data_ratio=share, hole_ratio=hole, wait_ratio=wait)
        for numbers, share, hole, wait in zip(sizes, data, holes, waits, strict=True)
    }
    return Decision(knobs, _reason(sizes, knobs))


def _jittered(value: float, low: float, high: float, noise: Random | None) -> float:
    """On the grid, and with noise now and then one step beside."""
    if noise is not None and (chance := noise.random()) < 0.1:
        value += (1 if chance < 0.05 else -1) / STEPS
    return on_grid(min(max(value, low), high))


# --- waits ----------------------------------------------------------------------------------------


def _waits(numbers: SizeNumbers) -> float:
    now = START_WAITS if numbers.wait is None else numbers.wait
    target = _waits_target(numbers, now)
    if numbers.trend == "up" and MIN_WAITS <= now <= MAX_WAITS and abs(target - now) < FAR:
        return now
    return _towards(now, target, WAIT_STEP)


def _waits_target(numbers: SizeNumbers, now: float) -> float:
    if numbers.plain is None or numbers.waits is None:
        return now
    gap = numbers.plain - numbers.waits
    if numbers.plain < 0.25:
        return MIN_WAITS
    if gap > 0.12:
        return max(now, MIN_WAITS + gap / 2)
    return min(now, 0.3) if gap < 0.07 else now


# --- holes ----------------------------------------------------------------------------------------


def _holes(numbers: SizeNumbers) -> float:
    now = START_HOLES if numbers.hole is None else numbers.hole
    bumps = numbers.failures[_HOLE] + numbers.failures[_ILLEGAL]
    if bumps >= 0.2 and bumps >= sum(numbers.failures) / 2:
        return max(0.0, now - (HOLE_STEP if bumps >= 0.4 else HOLE_STEP / 2))
    if numbers.valid is not None and numbers.valid >= 0.6 and bumps <= 0.1:
        return max(now, min(now + HOLE_STEP / 2, MAX_HOLES))
    return now


# --- data -----------------------------------------------------------------------------------------


def _data(sizes: Sequence[SizeNumbers], noise: Random | None) -> list[float]:
    weights = [_weight(numbers) * (noise.uniform(0.85, 1.15) if noise else 1.0) for numbers in sizes]
    total = sum(weights)
    targets = [weight / total for weight in weights]
    return shares([_share(numbers, target) for numbers, target in zip(sizes, targets, strict=True)])


def _weight(numbers: SizeNumbers) -> float:
    """How much there is to be learned on this size."""
    if numbers.valid is None:
        return 0.3
    signal, weakness = 4 * numbers.valid * (1 - numbers.valid), 1 - numbers.valid
    return (0.1 + 0.6 * signal + 0.4 * weakness) * (1 - (numbers.dead or 0.0) / 2)


def _share(numbers: SizeNumbers, target: float) -> float:
    if numbers.trend == "up" and numbers.data and abs(target - numbers.data) < FAR:
        return numbers.data
    return _towards(numbers.data, target, DATA_STEP)


def shares(weights: Sequence[float]) -> list[float]:
    """Shares in proportion to the weights, each a multiple of 0.05 and at least that, that sum to 1."""
    total = sum(weights)
    quotas = [weight / total * STEPS for weight in weights]
    steps = [max(1, int(quota)) for quota in quotas]
    while sum(steps) < STEPS:
        steps[_largest(quota - step for quota, step in zip(quotas, steps, strict=True))] += 1
    while sum(steps) > STEPS:
        # The floor of one step has taken too much: given back where most is.
        steps[_largest(steps)] -= 1
    return [step / STEPS for step in steps]


def _largest(values: Iterable[float]) -> int:
    ranked = list(values)
    return ranked.index(max(ranked))


def _towards(now: float, target: float, step: float) -> float:
    return now + min(max(target - now, -step), step)


# --- the reason -----------------------------------------------------------------------------------


def _reason(sizes: Sequence[SizeNumbers], knobs: dict[int, SizeKnobs]) -> str:
    """The largest change, in words of a closed set. Equal changes: waits before holes before data."""
    largest, words = 0.0, _KEEP
    for numbers in sizes:
        after = knobs[numbers.size]
        for change, more, fewer in (
            (after.wait_ratio - (numbers.wait or 0.0), "more waits", "fewer waits"),
            (2 * (after.hole_ratio - (numbers.hole or 0.0)), "more holes", "fewer holes"),
            (after.data_ratio - numbers.data, "more data", "less data"),
        ):
            if abs(change) > largest + 1e-9:
                largest, words = abs(change), f"{more if change > 0 else fewer} on {numbers.size}"
    return words
