"""A made-up campaign for the tests of its report: three stages that get better, and a few judged answers."""

from functools import cache
from random import Random

from env_service import candidates
from env_service.generator import Batch
from env_service.prompts import TEMPLATES
from env_service.records import optima_of, task_of, to_instance, to_plan
from env_service.verifier import Item, judge, read
from trainee2trainer.contracts.campaign import (
    BASELINE_STAGE,
    CampaignReport,
    CampaignStatus,
    ProposalReport,
    SizeReport,
    StageReport,
)
from trainee2trainer.contracts.engineer import EngineerName
from trainee2trainer.contracts.environment import (
    EnvironmentConfig,
    FailureCategory,
    Instance,
    RewardWeights,
    Split,
)
from trainer_service.report.replay import JudgedAnswer

SIZES = (3, 4, 5)


def campaign(
    start: float = 0.45, gain: float = 0.04, stages: int = 3, reason: str = "more waits on 4"
) -> CampaignReport:
    return CampaignReport(
        campaign_id="campaign-0123456789abcdef",
        name="demo",
        status=CampaignStatus.SUCCEEDED,
        engineer=EngineerName.SELF,
        seed=7,
        versions={"trainee2trainer": "0.1.0", "torch": "2.13.0"},
        baseline=stage(BASELINE_STAGE, start, None),
        stages=[
            stage(index, start + gain * (index + 1), proposal(reason) if index < stages - 1 else None)
            for index in range(stages)
        ],
    )


def stage(index: int, valid: float, proposed: ProposalReport | None) -> StageReport:
    random = Random(index)
    return StageReport(
        index=index,
        configuration=configuration(index),
        proposal=proposed,
        checkpoint=f"checkpoint-{index + 1}",
        manifest_sha256=f"{index + 1:064x}",
        valid_rate=valid,
        optimal_rate=valid * 0.95,
        per_size=[
            SizeReport(
                size=size,
                valid_rate=valid + (4 - size) * 0.15,
                optimal_rate=valid * 0.9,
                wait_valid_rate=valid * 0.4,
                plain_valid_rate=valid * 1.3,
            )
            for size in SIZES
        ],
        failures={category: random.randrange(5, 400) for category in FailureCategory},
        reward_curve=[]
        if index == BASELINE_STAGE
        else [valid + random.uniform(-0.05, 0.05) for _ in range(40)],
        seconds=72.5,
    )


def configuration(index: int) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate(
        {
            "sizes": {
                size: {
                    "data_ratio": 1 + size * (index + 1),
                    "hole_ratio": 0.1,
                    "wait_ratio": 0.1 * (index + 1),
                }
                for size in SIZES
            }
        }
    )


def proposal(reason: str) -> ProposalReport:
    return ProposalReport(
        engineer=EngineerName.SELF,
        status="accepted",
        reason=reason,
        fallback_reason=None,
        configuration=configuration(1),
        changes=[{"size": 4, "knob": "wait_ratio", "before": 0.1, "after": 0.4}],
        clamps=[{"size": 5, "knob": "hole_ratio", "asked": 0.9, "used": 0.5, "rule": "0 to 0.5"}],
    )


@cache
def boards() -> list[Instance]:
    """Real boards, half of them needing a wait."""
    knobs = {size: {"data_ratio": 1, "hole_ratio": 0.2, "wait_ratio": 0.5} for size in SIZES}
    batch = Batch(
        EnvironmentConfig.model_validate({"sizes": knobs}), 5, 12, split=Split.HELD_OUT, find=candidates.find
    )
    return [to_instance(made, batch.configuration_id, 5) for chunk in batch.chunks() for made in chunk]


def judged(stage_index: int, instance: Instance, answer: str) -> JudgedAnswer:
    task = task_of(instance)
    outcome = judge(Item(task, optima_of(instance), read(task, answer), instance.id), RewardWeights())
    return JudgedAnswer(stage_index, instance, answer, outcome)


def solved(stage_index: int, instance: Instance) -> JudgedAnswer:
    plan = to_plan(instance.reference_plan)
    return judged(stage_index, instance, TEMPLATES["compact-v1"].answer(task_of(instance), plan))


def failed(stage_index: int, instance: Instance, seed: int) -> JudgedAnswer:
    """An aimless walk: off the board, into a hole, into one another, or nowhere."""
    random = Random(seed)
    walks = (" ".join(random.choice("UDLRW") for _ in range(random.randrange(1, 5))) for _ in instance.agents)
    return judged(stage_index, instance, "\n".join(f"Agent {n}: {walk}" for n, walk in enumerate(walks)))


def answers() -> list[JudgedAnswer]:
    """Half of the boards are solved at the start, all of them at the end; and every way to fail."""
    found = []
    for number, board in enumerate(boards()):
        found += [solved(2, board), failed(2, board, number), failed(BASELINE_STAGE, board, 100 + number)]
        if number % 2:
            found.append(solved(BASELINE_STAGE, board))
    return [*found, judged(2, boards()[0], "<script>alert(1)</script> I do not know")]
