"""The sets by name. Whoever changes one, or the generator, changes its hash: a set is its bytes."""

from env_service.drawing import GENERATOR_VERSION
from trainee2trainer.contracts.benchmark import BenchmarkDefinition, BenchmarkPart
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs

SEED = 2606_17682
"""One seed for all, that of the paper's number; every configuration has streams of its own."""


def _part(agents: int, sizes: range, per_size: int, hole_ratio: float, wait_ratio: float) -> BenchmarkPart:
    knobs = SizeKnobs(data_ratio=1.0, hole_ratio=hole_ratio, wait_ratio=wait_ratio)
    configuration = EnvironmentConfig(agents=agents, sizes=dict.fromkeys(sizes, knobs))
    return BenchmarkPart(configuration=configuration, count=per_size * len(sizes))


def _definition(name: str, description: str, sha256: str, *parts: BenchmarkPart) -> BenchmarkDefinition:
    return BenchmarkDefinition(
        name=name,
        description=description,
        generator_version=GENERATOR_VERSION,
        seed=SEED,
        parts=list(parts),
        count=sum(part.count for part in parts),
        sha256=sha256,
    )


_WAIT_SETS = {
    0: "e228bdffc82e1b1f5b7b20948779e090788f27b9e7f4d0fb754a5f6963daeef1",
    25: "ae1a10dc246d61a38b238c6a96d0da6d410fd3877d28d0b036e4c31b48903b67",
    50: "453d604ae4a44458719be8b11e5a8ac72a5263c2d16418a8bdf4a4b1d5756d9d",
    75: "56501cf49c40b290ce793baa8fa94cd91e06812b761b9dd371a5ecb0ff458cce",
    100: "c313d507ed42c7c244de04dbe70f4c2a19863c3ff7bcad166e1c670dc771c594",
}

DEFINITIONS: dict[str, BenchmarkDefinition] = {
    definition.name: definition
    for definition in (
        _definition(
            "small",
            "2 and 3 agents, 50 instances on each of 3x3 to 5x5, for the nano rung.",
            "81a90f5725f1ee981ddea33c17e115fa3b3ada14ec7e7fab20607d6fcdd980bf",
            *(_part(agents, range(3, 6), 50, hole_ratio=0.2, wait_ratio=0.3) for agents in (2, 3)),
        ),
        _definition(
            "published-like",
            "3, 4 and 5 agents, 150 instances per map size, as many as the paper's evaluation has.",
            "0b9268d19cbcdece70dbdb6c77d1431641276b4b6b121c4d8ec9ad9c6d83be8e",
            *(_part(agents, range(agents, 11), 150, hole_ratio=0.1, wait_ratio=0.25) for agents in (3, 4, 5)),
        ),
        *(
            _definition(
                f"wr{percent}",
                f"3 agents, 50 instances on each of 4x4 to 8x8, {percent} % of them needing a wait.",
                sha256,
                _part(3, range(4, 9), 50, hole_ratio=0.2, wait_ratio=percent / 100),
            )
            for percent, sha256 in _WAIT_SETS.items()
        ),
    )
}
