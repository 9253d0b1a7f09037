"""The report of a campaign, put together from the store; while it is under way, of what is done."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from trainee2trainer.contracts.campaign import (
    BASELINE_STAGE,
    CampaignCreate,
    CampaignReport,
    CampaignStatus,
    ProposalReport,
    SizeReport,
    StageReport,
    ValidationResult,
)
from trainee2trainer.contracts.engineer import Proposal, SizeSummary
from trainee2trainer.contracts.environment import EnvironmentConfig, FailureCategory
from trainee2trainer.store.tables import CampaignRecord, CheckpointRecord, ProposalRecord, StageRecord
from trainee2trainer.web import problems

PACKAGES = ("trainee2trainer", "torch", "transformers", "trl")


async def report(session: AsyncSession, campaign_id: str) -> CampaignReport:
    """Of every stage that has been validated. Raises the problem `not found`."""
    campaign = await session.get(CampaignRecord, campaign_id)
    if campaign is None:
        raise problems.not_found("campaign", campaign_id)
    settings = CampaignCreate.model_validate(campaign.settings)
    query = select(StageRecord).where(StageRecord.campaign_id == campaign_id).order_by(StageRecord.index)
    stages = [stage for stage in await session.scalars(query) if stage.validation]
    return CampaignReport(
        campaign_id=campaign.id,
        name=settings.name,
        status=CampaignStatus(campaign.status),
        engineer=settings.engineer,
        seed=settings.seed,
        versions=versions(),
        baseline=await _baseline(session, campaign, settings) if campaign.baseline else None,
        stages=[await _stage(session, stage) for stage in stages],
    )


def versions() -> dict[str, str]:
    """Of what has a part in the figures."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


async def _baseline(session: AsyncSession, campaign: CampaignRecord, settings: CampaignCreate) -> StageReport:
    result = ValidationResult.model_validate(campaign.baseline)
    return StageReport(
        index=BASELINE_STAGE,
        configuration=settings.configuration,
        proposal=None,
        reward_curve=[],
        seconds=result.seconds,
        **await _figures(session, result),
    )


async def _stage(session: AsyncSession, stage: StageRecord) -> StageReport:
    return StageReport(
        index=stage.index,
        configuration=EnvironmentConfig.model_validate(stage.configuration),
        proposal=await _proposal(session, stage.proposal_id),
        reward_curve=stage.reward_curve or [],
        seconds=sum(stage.seconds.values()),
        **await _figures(session, ValidationResult.model_validate(stage.validation)),
    )


async def _figures(session: AsyncSession, result: ValidationResult) -> dict[str, Any]:
    checkpoint = await session.get_one(CheckpointRecord, result.checkpoint)
    return {
        "checkpoint": checkpoint.id,
        "manifest_sha256": checkpoint.manifest_sha256,
        "valid_rate": result.overall.valid,
        "optimal_rate": result.overall.optimal,
        "per_size": [_size(size) for size in result.sizes],
        "failures": _failures(result.sizes),
        "transfer": result.transfer,
    }


def _size(size: SizeSummary) -> SizeReport:
    return SizeReport(
        size=size.size,
        valid_rate=size.validation.valid,
        optimal_rate=size.validation.optimal,
        wait_valid_rate=size.validation_wait.valid,
        plain_valid_rate=size.validation_plain.valid,
    )


def _failures(sizes: list[SizeSummary]) -> dict[FailureCategory, int]:
    return {category: sum(size.failures.get(category, 0) for size in sizes) for category in FailureCategory}


async def _proposal(session: AsyncSession, proposal_id: str | None) -> ProposalReport | None:
    """What the engineer made of the stage's evidence: the configuration is the next stage's."""
    record = await session.get(ProposalRecord, proposal_id) if proposal_id else None
    if record is None:
        return None
    proposal = Proposal.model_validate(record.content)
    return ProposalReport(
        engineer=proposal.engineer,
        status=proposal.status.value,
        reason=proposal.reason,
        fallback_reason=proposal.fallback_reason,
        configuration=proposal.configuration,
        changes=[change.model_dump(mode="json") for change in proposal.changes],
        clamps=[clamp.model_dump(mode="json") for clamp in proposal.clamps],
    )
