"""Client of engineer_service."""

from collections.abc import AsyncIterator

from trainee2trainer.client.http import LONG_READ_TIMEOUT, ServiceClient, new_key
from trainee2trainer.contracts.engineer import (
    DecisionRequest,
    EngineerCard,
    EngineerList,
    Exchange,
    ExchangeRequest,
    Proposal,
    ProposalList,
    ProposalRequest,
    StageSummary,
    SummaryRequest,
)


class EngineerClient(ServiceClient):
    """Evidence in, next configuration out."""

    async def engineers(self) -> list[EngineerCard]:
        return (await self._get("/v1/engineers", EngineerList)).items

    async def summarise(self, request: SummaryRequest, *, idempotency_key: str | None = None) -> StageSummary:
        key = idempotency_key or new_key()
        return await self._post("/v1/summaries", StageSummary, request, idempotency_key=key)

    async def summary(self, summary_id: str) -> StageSummary:
        return await self._get(f"/v1/summaries/{summary_id}", StageSummary)

    async def propose(self, request: ProposalRequest, *, idempotency_key: str | None = None) -> Proposal:
        key = idempotency_key or new_key()
        return await self._post(
            "/v1/proposals", Proposal, request, idempotency_key=key, read_timeout=LONG_READ_TIMEOUT
        )

    async def proposal(self, proposal_id: str) -> Proposal:
        return await self._get(f"/v1/proposals/{proposal_id}", Proposal)

    async def proposals(self, campaign_id: str) -> list[Proposal]:
        """A campaign's, oldest first."""
        return (await self._get("/v1/proposals", ProposalList, {"campaign_id": campaign_id})).items

    async def approve(self, proposal_id: str, decision: DecisionRequest | None = None) -> Proposal:
        body = decision or DecisionRequest()
        return await self._post(f"/v1/proposals/{proposal_id}:approve", Proposal, body, repeatable=False)

    async def reject(self, proposal_id: str, decision: DecisionRequest | None = None) -> Proposal:
        body = decision or DecisionRequest()
        return await self._post(f"/v1/proposals/{proposal_id}:reject", Proposal, body, repeatable=False)

    async def exchanges(self, request: ExchangeRequest) -> AsyncIterator[Exchange]:
        """Worked exchanges to learn the task from, one at a time."""
        async for line in self._json_lines("/v1/exchanges:generate", request):
            yield Exchange.model_validate_json(line, extra="ignore")
