"""Worked exchanges to learn an engineer's task from: invented evidence, and the teacher's answer to it.

Each exchange is pure in (seed, index, sizes). The evidence is made to hang together as a real stage's does:
larger boards and boards that need a wait are harder, failures add up to what is not valid, training rates
follow from the configured mix, and groups are dead where nearly everything succeeds or fails.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from engineer_service.numbers import SizeNumbers, Trend, on_grid
from engineer_service.prompts.compact import compact_answer, compact_prompt
from engineer_service.teacher import decide, shares
from trainee2trainer.contracts.engineer import Exchange

_TRENDS: tuple[Trend, ...] = ("up", "up", "up", "same", "same", "down")


def exchange(seed: int, index: int, sizes: Sequence[int]) -> Exchange:
    """The exchange at `index`. `sizes` are the map sizes it may be about, mostly all of them."""
    digest = hashlib.sha256(f"exchange/{seed}/{index}".encode()).digest()
    random = Random(int.from_bytes(digest[:8]))
    numbers = invent(random, sorted(set(sizes)))
    decision = decide(numbers, random)
    return Exchange(prompt=compact_prompt(numbers), answer=compact_answer(decision.sizes, decision.reason))


def lines(seed: int, first: int, last: int, sizes: Sequence[int]) -> bytes:
    """The exchanges from `first` up to, but without, `last` as JSON Lines."""
    rows = (exchange(seed, index, sizes) for index in range(first, last))
    return b"".join(row.model_dump_json().encode() + b"\n" for row in rows)


@dataclass(frozen=True, slots=True)
class _Stage:
    """What the sizes of one invented stage have in common."""

    wait_share: float  # of the validation boards
    easy: bool  # it was configured without waits and with few holes
    first: bool  # nothing came before it


def invent(random: Random, sizes: Sequence[int]) -> list[SizeNumbers]:
    """Evidence of a stage that could have been, on all or some of `sizes`, in rising order."""
    chosen = _some(random, sizes)
    stage = _Stage(random.uniform(0.15, 0.5), random.random() < 0.25, random.random() < 0.1)
    skill, slope, handling = random.uniform(0.1, 1.1), random.uniform(0.0, 0.2), random.random()
    data = shares([random.expovariate(1.0) + 0.05 for _ in chosen])
    invented = []
    for place, size in enumerate(chosen):
        plain = _clip(skill - slope * place + random.uniform(-0.12, 0.12))
        waits = _clip(plain * (handling + random.uniform(-0.25, 0.25)))
        invented.append(_size(random, stage, size, plain=plain, waits=waits, data=data[place]))
    return invented


def _some(random: Random, sizes: Sequence[int]) -> list[int]:
    if random.random() < 0.7:
        return list(sizes)
    kept = [size for size in sizes if random.random() < 0.6]
    return kept or [sizes[int(random.random() * len(sizes))]]


def _size(
    random: Random, stage: _Stage, size: int, *, plain: float, waits: float, data: float
) -> SizeNumbers:
    hole = random.uniform(0.0, 0.12 if stage.easy else 0.45)
    wait = random.uniform(0.0, 0.08 if stage.easy else 0.75)
    valid = stage.wait_share * waits + (1 - stage.wait_share) * plain
    train = _clip(wait * waits + (1 - wait) * plain + (0.2 - hole) * random.uniform(0.0, 0.5))
    dead = _clip((2 * train - 1) ** 2 * random.uniform(0.4, 1.1))
    trained = random.random() > 0.04  # else it was validated only
    return SizeNumbers(
        size=size,
        data=on_grid(data) if trained else 0.0,
        hole=on_grid(hole) if trained else None,
        wait=on_grid(wait) if trained else None,
        valid=on_grid(valid),
        plain=on_grid(plain),
        waits=on_grid(waits),
        optimal=on_grid(valid * random.uniform(0.6, 1.0)),
        train=on_grid(train) if trained else None,
        dead=on_grid(dead) if trained else None,
        failures=_failures(random, 1 - valid, stage.wait_share * (1 - waits)),
        trend=None if stage.first else _TRENDS[int(random.random() * len(_TRENDS))],
    )


def _failures(random: Random, failed: float, failed_waits: float) -> tuple[float, ...]:
    """Shares of the samples by category, summing to `failed`; boards that need a wait end in conflicts."""
    parse = random.random() ** 6
    illegal, hole, goal = (random.random() ** 2 for _ in range(3))
    conflict = 0.3 * random.random() + failed_waits / max(failed, 0.05)
    weights = (parse, illegal, hole, conflict, goal)
    scale = failed / sum(weights)
    return tuple(on_grid(weight * scale) for weight in weights)


def _clip(rate: float) -> float:
    return min(max(rate, 0.0), 1.0)
