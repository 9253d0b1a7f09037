"""Where a campaign stands, and how a step moves it on."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import CursorResult, update
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import (
    BASELINE_STAGE,
    CampaignCreate,
    CampaignStatus,
    EventKind,
    StageStep,
)
from trainee2trainer.contracts.environment import EnvironmentConfig
from trainee2trainer.jobs import StaleLease
from trainee2trainer.store.tables import CampaignRecord, StageRecord
from trainer_service import events
from trainer_service.seeds import derive
from trainer_service.settings import TrainerSettings


@dataclass(frozen=True, slots=True)
class Position:
    """A campaign and its present stage as they were read. `start` is the checkpoint the stage trains from."""

    campaign_id: str
    status: CampaignStatus
    settings: CampaignCreate
    base_checkpoint: str
    measured: bool  # the starting checkpoint has its baseline
    index: int
    step: StageStep
    configuration: EnvironmentConfig
    start: str
    checkpoint: str | None
    summary_id: str | None
    proposal_id: str | None
    attempts: int
    seconds: dict[str, Any]

    @property
    def last(self) -> bool:
        return self.index + 1 >= self.settings.stages

    @property
    def waiting(self) -> bool:
        """A proposal was made and is a person's to decide about."""
        return self.step is StageStep.PROPOSE and self.proposal_id is not None

    @property
    def told(self) -> dict[str, Any]:
        """Stage and step as events name them; before the first stage there is the baseline."""
        if self.measured:
            return {"stage": self.index, "step": self.step.value}
        return {"stage": BASELINE_STAGE, "step": "baseline"}

    def seed(self, purpose: str) -> int:
        """The stage's seed for one purpose. The campaign's id is random and has no part in it."""
        return derive(self.settings.seed, self.index, purpose)

    def folder(self, settings: TrainerSettings) -> Path:
        return settings.runs_dir / self.campaign_id / f"stage-{self.index}"

    def instances(self, settings: TrainerSettings) -> Path:
        """The boards the stage trains on."""
        return self.folder(settings) / "instances.jsonl"

    def validation_set(self, settings: TrainerSettings) -> Path:
        return settings.runs_dir / self.campaign_id / "validation.jsonl"

    def transfer_set(self, settings: TrainerSettings, agents: int) -> Path:
        """Further boards to be judged on, with another number of agents."""
        return settings.runs_dir / self.campaign_id / f"validation-{agents}agents.jsonl"


async def look(session: AsyncSession, campaign_id: str) -> Position:
    """Reads where the campaign stands."""
    campaign = await session.get_one(CampaignRecord, campaign_id)
    stage = await session.get_one(StageRecord, (campaign_id, campaign.stage_index))
    before = await session.get(StageRecord, (campaign_id, campaign.stage_index - 1))
    return Position(
        campaign_id=campaign.id,
        status=CampaignStatus(campaign.status),
        settings=CampaignCreate.model_validate(campaign.settings),
        base_checkpoint=campaign.base_checkpoint,
        measured=campaign.baseline is not None,
        index=stage.index,
        step=StageStep(stage.step),
        configuration=EnvironmentConfig.model_validate(stage.configuration),
        start=(before and before.checkpoint_id) or campaign.base_checkpoint,
        checkpoint=stage.checkpoint_id,
        summary_id=stage.summary_id,
        proposal_id=stage.proposal_id,
        attempts=stage.attempts,
        seconds=dict(stage.seconds),
    )


async def finish(
    session: AsyncSession, position: Position, to: StageStep, seconds: float, **values: Any
) -> None:
    """Ends the present step, in the transaction of its effect. Raises StaleLease if it was ended already."""
    spent = {**position.seconds, position.step.value: round(seconds, 3)}
    result = await session.execute(
        update(StageRecord)
        .where(
            StageRecord.campaign_id == position.campaign_id,
            StageRecord.index == position.index,
            StageRecord.step == position.step.value,
        )
        .values(step=to.value, attempts=0, seconds=spent, **values),
        execution_options={"synchronize_session": False},
    )
    assert isinstance(result, CursorResult)
    if result.rowcount != 1:
        raise StaleLease(
            f"{position.campaign_id}: {position.step.value} of stage {position.index} is done already"
        )


async def note(session: AsyncSession, position: Position, **values: Any) -> None:
    """Changes the present stage's row without ending its step."""
    await session.execute(
        update(StageRecord)
        .where(StageRecord.campaign_id == position.campaign_id, StageRecord.index == position.index)
        .values(**values),
        execution_options={"synchronize_session": False},
    )


async def open_stage(
    session: AsyncSession, campaign_id: str, index: int, configuration: EnvironmentConfig
) -> None:
    """Adds a stage and makes it the present one, in the transaction of what led to it."""
    content = configuration.model_dump(mode="json")
    session.add(
        StageRecord(
            campaign_id=campaign_id, index=index, step=StageStep.GENERATE.value, configuration=content
        )
    )
    await session.execute(
        update(CampaignRecord).where(CampaignRecord.id == campaign_id).values(stage_index=index),
        execution_options={"synchronize_session": False},
    )
    await events.append(session, campaign_id, EventKind.STAGE_STARTED, stage=index, configuration=content)
