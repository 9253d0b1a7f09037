"""What there is to configure: families, knobs, bounds, defaults."""

from fastapi import APIRouter

from env_service.drawing import GENERATOR_VERSION
from env_service.prompts import TEMPLATES
from trainee2trainer.contracts.environment import (
    MAX_AGENTS,
    MAX_HOLE_RATIO,
    MAX_SIZE,
    MIN_AGENTS,
    MIN_SIZE,
    EnvironmentConfig,
    EnvironmentFamily,
    EnvironmentList,
    Knob,
    SizeKnobs,
)

router = APIRouter(prefix="/v1/environments", tags=["environments"])

_DEFAULT = SizeKnobs(data_ratio=1.0, hole_ratio=0.2, wait_ratio=0.2)

_FAMILY = EnvironmentFamily(
    name="mapf-frozenlake",
    generator_version=GENERATOR_VERSION,
    sizes=list(range(MIN_SIZE, MAX_SIZE + 1)),
    agents=list(range(MIN_AGENTS, MAX_AGENTS + 1)),
    knobs=[
        Knob(
            name="data_ratio",
            minimum=0.0,
            maximum=1.0,
            default=_DEFAULT.data_ratio,
            description="Share of the instances with this map size; the shares are normalised to sum to 1.",
        ),
        Knob(
            name="hole_ratio",
            minimum=0.0,
            maximum=MAX_HOLE_RATIO,
            default=_DEFAULT.hole_ratio,
            description="Share of the cells that are holes, rounded down; never a start or a goal.",
        ),
        Knob(
            name="wait_ratio",
            minimum=0.0,
            maximum=1.0,
            default=_DEFAULT.wait_ratio,
            description="Share of the instances in which every cheapest plan has an agent wait.",
        ),
    ],
    templates=list(TEMPLATES),
    default_configuration=EnvironmentConfig(agents=2, sizes=dict.fromkeys((3, 4, 5), _DEFAULT)),
    configuration_schema=EnvironmentConfig.model_json_schema(),
)


@router.get("")
async def list_environments() -> EnvironmentList:
    """The environment families that can be configured here."""
    return EnvironmentList(items=[_FAMILY])
