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
    0: "b39fdfb81de64a593373e94d60c474bfd33f2e49335d5480307b26caa9cb87b8",
    25: "5d83b45050b915e25c891655629e0a8f3f8070fc6f84e8bdb5907a817537f284",
    50: "b4cf09b97575d97bb61be88192daea7e12dd7614a1e0adc86773d8f5a51926ac",
    75: "9702ab7cf7f66d92f267376c4aceafe114e4937c56738017ff7d49e6c3a2cc5d",
    100: "e84192153b170dd503b2eb4b2ababbe6149ca6e5606f0c0774d921840e30871a",
}

DEFINITIONS: dict[str, BenchmarkDefinition] = {
    definition.name: definition
    for definition in (
        _definition(
            "small",
            "2 and 3 agents, 50 instances on each of 3x3 to 5x5, for the nano rung.",
            "cc0803a7f7b7a8eef3077b575162dde33d1fb20e34a3e9317899a56c8c9ba462",
            *(_part(agents, range(3, 6), 50, hole_ratio=0.2, wait_ratio=0.3) for agents in (2, 3)),
        ),
        _definition(
            "published-like",
            "3, 4 and 5 agents, 150 instances per map size, as many as the paper's evaluation has.",
            "35a6eb9eb179524ff7ffdbb481b6d16d2c24132327b6e6a4fb5d40fb5ce1e805",
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
