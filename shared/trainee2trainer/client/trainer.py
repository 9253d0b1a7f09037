"""Client of trainer_service."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from trainee2trainer.client.errors import UnreachableError
from trainee2trainer.client.http import LONG_READ_TIMEOUT, ServiceClient, new_key
from trainee2trainer.contracts.campaign import (
    Campaign,
    CampaignCreate,
    CampaignPage,
    CampaignReport,
    CampaignStatus,
    Event,
    JobStatus,
    Profile,
    ProfileList,
    StagePage,
    TrainingJob,
    TrainingJobCreate,
    TrainingJobPage,
)
from trainee2trainer.contracts.comparison import (
    Comparison,
    ComparisonCreate,
    ComparisonPage,
    ComparisonReport,
)

RECONNECT_SECONDS = 1.0
RECONNECTS = 30
"""Fruitless connections in a row after which a stream of events is given up."""


class TrainerClient(ServiceClient):
    """Campaigns and training jobs."""

    async def create_campaign(
        self, request: CampaignCreate, *, idempotency_key: str | None = None
    ) -> Campaign:
        return await self._post(
            "/v1/campaigns", Campaign, request, idempotency_key=idempotency_key or new_key()
        )

    async def campaigns(
        self, *, status: CampaignStatus | None = None, cursor: str | None = None, size: int | None = None
    ) -> CampaignPage:
        """The newest first."""
        params = {"status": status, "cursor": cursor, "size": size}
        return await self._get("/v1/campaigns", CampaignPage, params)

    async def campaign(self, campaign_id: str) -> Campaign:
        return await self._get(f"/v1/campaigns/{campaign_id}", Campaign)

    async def pause_campaign(self, campaign_id: str) -> Campaign:
        return await self._post(f"/v1/campaigns/{campaign_id}:pause", Campaign)

    async def resume_campaign(self, campaign_id: str) -> Campaign:
        return await self._post(f"/v1/campaigns/{campaign_id}:resume", Campaign)

    async def cancel_campaign(self, campaign_id: str) -> Campaign:
        return await self._post(f"/v1/campaigns/{campaign_id}:cancel", Campaign)

    async def stages(
        self, campaign_id: str, *, cursor: str | None = None, size: int | None = None
    ) -> StagePage:
        params = {"cursor": cursor, "size": size}
        return await self._get(f"/v1/campaigns/{campaign_id}/stages", StagePage, params)

    async def all_stages(self, *, cursor: str | None = None, size: int | None = None) -> StagePage:
        """Stages of every campaign."""
        return await self._get("/v1/stages", StagePage, {"cursor": cursor, "size": size})

    async def report(self, campaign_id: str) -> CampaignReport:
        return await self._get(f"/v1/campaigns/{campaign_id}/report", CampaignReport)

    async def report_html(self, campaign_id: str) -> str:
        """The report as one self-contained page."""
        path = f"/v1/campaigns/{campaign_id}/report.html"
        return (await self._send("GET", path, read_timeout=LONG_READ_TIMEOUT)).text

    def campaign_events(self, campaign_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Every event after number `after`, live, each once, until the campaign has ended."""

        async def ended() -> bool:
            return (await self.campaign(campaign_id)).status.terminal

        return self._follow(f"/v1/campaigns/{campaign_id}/events", after, ended)

    async def profiles(self) -> list[Profile]:
        return (await self._get("/v1/profiles", ProfileList)).items

    async def create_comparison(
        self, request: ComparisonCreate, *, idempotency_key: str | None = None
    ) -> Comparison:
        key = idempotency_key or new_key()
        return await self._post("/v1/comparisons", Comparison, request, idempotency_key=key)

    async def comparisons(self, *, cursor: str | None = None, size: int | None = None) -> ComparisonPage:
        """The newest first."""
        return await self._get("/v1/comparisons", ComparisonPage, {"cursor": cursor, "size": size})

    async def comparison(self, comparison_id: str) -> Comparison:
        return await self._get(f"/v1/comparisons/{comparison_id}", Comparison)

    async def cancel_comparison(self, comparison_id: str) -> Comparison:
        return await self._post(f"/v1/comparisons/{comparison_id}:cancel", Comparison)

    async def comparison_report(self, comparison_id: str) -> ComparisonReport:
        return await self._get(f"/v1/comparisons/{comparison_id}/report", ComparisonReport)

    async def comparison_report_html(self, comparison_id: str) -> str:
        """The report as one self-contained page."""
        return (await self._send("GET", f"/v1/comparisons/{comparison_id}/report.html")).text

    async def create_training_job(
        self, request: TrainingJobCreate, *, idempotency_key: str | None = None
    ) -> TrainingJob:
        key = idempotency_key or new_key()
        return await self._post("/v1/training-jobs", TrainingJob, request, idempotency_key=key)

    async def training_jobs(self, *, cursor: str | None = None, size: int | None = None) -> TrainingJobPage:
        return await self._get("/v1/training-jobs", TrainingJobPage, {"cursor": cursor, "size": size})

    async def training_job(self, job_id: str) -> TrainingJob:
        return await self._get(f"/v1/training-jobs/{job_id}", TrainingJob)

    async def pause_training_job(self, job_id: str) -> TrainingJob:
        return await self._post(f"/v1/training-jobs/{job_id}:pause", TrainingJob)

    async def resume_training_job(self, job_id: str) -> TrainingJob:
        return await self._post(f"/v1/training-jobs/{job_id}:resume", TrainingJob)

    async def cancel_training_job(self, job_id: str) -> TrainingJob:
        return await self._post(f"/v1/training-jobs/{job_id}:cancel", TrainingJob)

    def training_job_events(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Every event after number `after`, live, each once, until the job has ended."""

        async def ended() -> bool:
            running = {JobStatus.QUEUED, JobStatus.RUNNING, JobStatus.PAUSED}
            return (await self.training_job(job_id)).status not in running

        return self._follow(f"/v1/training-jobs/{job_id}/events", after, ended)

    async def _follow(
        self, path: str, after: int, ended: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[Event]:
        """Events over as many connections as it takes; each resumes after the last event seen."""
        fruitless = 0
        while True:
            # Asked before reading: what was written before the end is then sure to be read below.
            over, seen, lost = await ended(), after, None
            try:
                async for event in self._events(path, str(after)):
                    record = Event.model_validate_json(event.data, extra="ignore")
                    after = record.id
                    yield record
            except UnreachableError as error:
                lost = error
            if over and lost is None:
                return
            fruitless = 0 if after > seen else fruitless + 1
            if lost is not None and fruitless >= RECONNECTS:
                raise lost
            await asyncio.sleep(RECONNECT_SECONDS)
