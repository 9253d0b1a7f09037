"""Neighbours of a worker for tests of its state machine: the real env_service, and a policy, an engineer and
a training process that play what they are told. With real ones all of it runs in tests/integration.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
from campaign_world import CONFIGURATION

from env_service.app import create_app as create_env
from env_service.settings import EnvSettings
from trainee2trainer.client import EngineerClient, EnvClient, PolicyClient
from trainee2trainer.contracts.engineer import (
    Proposal,
    ProposalRequest,
    ProposalStatus,
    Rates,
    StageSummary,
    SummaryRequest,
)
from trainee2trainer.contracts.environment import EnvironmentConfig
from trainee2trainer.contracts.policy import RolloutGroup, RolloutRequest, RolloutResponse, Sample
from trainee2trainer.store import Store, utcnow
from trainer_service.settings import TrainerSettings
from trainer_service.work import Tools

PLAYED_TRAINING = """
import json, shutil, sys
from pathlib import Path
spec = json.loads(Path(sys.argv[1]).read_text())
folder = Path(spec["folder"])
failing = folder.parent.parent.parent / "fail-training"
if failing.exists() and (left := int(failing.read_text())) > 0:
    failing.write_text(str(left - 1))
    raise SystemExit("told to fail")
if (folder.parent.parent.parent / "full-disk").exists():
    Path("/dev/full").write_text("what finds no room")
instances = [json.loads(line)["instance"] for line in (folder / "instances.jsonl").read_text().splitlines()]
rates = dict.fromkeys(("reward_std", "valid", "optimal", "dead_group_share", "seconds", "loss"), 0.1)
rates |= dict.fromkeys(("truncated", "tokens_mean", "tokens_per_second", "grad_norm", "learning_rate"), 0.1)
rates |= dict.fromkeys(("kl", "kl_missing", "gap_mean", "gap_max"))
rates |= dict.fromkeys(("tokens", "tokens_min", "tokens_max"), 10) | {"samples": 16, "steps": 2, "sizes": {}}
with (folder / "metrics.jsonl").open("w") as file:
    for step in (1, 2):
        file.write(json.dumps({"step": step, "reward": step / 10, **rates}) + "\\n")
verdict = {"valid": False, "optimal": False, "failure": "parse_error", "reward": 0.0, "makespan": None}
with (folder / "rollouts.jsonl").open("w") as file:
    for group, instance in enumerate(instances):
        board = {key: instance[key] for key in ("size", "needs_wait")} | {"instance_id": instance["id"]}
        file.write(json.dumps({"step": 1, "group": group, "tokens": 3, **board, **verdict}) + "\\n")
shutil.copytree(spec["start"], folder / "checkpoint", ignore=shutil.ignore_patterns("manifest.json"))
weights = [instance["id"] for instance in instances] + [spec["identity"]["seed"]]
(folder / "checkpoint" / "config.json").write_text(json.dumps(weights))
(folder / "done.json").write_text("{}")
"""


@dataclass
class Neighbours:
    """What the played services do next, and what they were asked."""

    calls: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[int]] = field(default_factory=dict)
    approve: ProposalStatus = ProposalStatus.PENDING_APPROVAL
    next_configuration: EnvironmentConfig = CONFIGURATION

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.calls[path] += 1
        if failing := self.failures.get(path):
            problem = {"type": "x", "title": "told to fail", "status": failing[0]}
            return httpx.Response(failing.pop(0), json=problem)
        body = json.loads(request.content) if request.content else {}
        answers: dict[str, Any] = {
            "/v1/rollouts": lambda: rollouts(RolloutRequest.model_validate(body)),
            "/v1/summaries": lambda: summary(SummaryRequest.model_validate(body)),
            "/v1/proposals": lambda: self.proposal(ProposalRequest.model_validate(body)),
            "/v1/proposals/proposal-1": self.decided,
        }
        return httpx.Response(200, text=answers[path]().model_dump_json())

    def proposal(self, request: ProposalRequest) -> Proposal:
        waiting = ProposalStatus.PENDING_APPROVAL if request.approval else ProposalStatus.ACCEPTED
        return self._proposal(waiting)

    def decided(self) -> Proposal:
        return self._proposal(self.approve)

    def _proposal(self, status: ProposalStatus) -> Proposal:
        return Proposal(
            id="proposal-1",
            campaign_id="campaign",
            stage_index=0,
            engineer="fixed",
            checkpoint=None,
            status=status,
            configuration=self.next_configuration,
            reason="because",
            fallback_reason=None,
            prompt=[],
            attempts=[],
            clamps=[],
            changes=[],
            summary_id="summary-0",
            seed=0,
            created_at=utcnow(),
        )


def rollouts(request: RolloutRequest) -> RolloutResponse:
    """Deterministic nonsense, different for each sample."""
    groups = [
        RolloutGroup(
            prompt_token_ids=[],
            samples=[
                Sample(text=f"Agent 0: {word}\nAgent 1: {word}", token_ids=[1, 2], finish_reason="stop")
                for word in ("UP", "hello", "RIGHT, RIGHT")[: request.n]
            ],
        )
        for _ in request.prompts
    ]
    return RolloutResponse(checkpoint=request.checkpoint or "", groups=groups)


def summary(request: SummaryRequest) -> StageSummary:
    return StageSummary(
        id=f"summary-{request.stage_index}",
        campaign_id=request.campaign_id,
        stage_index=request.stage_index,
        checkpoint="nano-v1",
        configuration=CONFIGURATION,
        overall=Rates(samples=0, valid=0, optimal=0),
        sizes=[],
        reward_curve=[],
        failure_cases=[],
        history=[],
        created_at=datetime.now(UTC),
    )


@asynccontextmanager
async def tools(store: Store, folder: Path, neighbours: Neighbours, **settings: Any) -> AsyncIterator[Tools]:
    """A worker's tools. The played training process lies in `folder`, where PYTHONPATH has to point."""
    (folder / "played_training.py").write_text(PLAYED_TRAINING)
    env = create_env(EnvSettings(env_workers=1, data_dir=folder, store_url=store.url))
    played = httpx.MockTransport(neighbours.answer)
    async with (
        env.router.lifespan_context(env),
        EnvClient("http://env", transport=httpx.ASGITransport(env)) as env_client,
        PolicyClient("http://policy", transport=played) as policy,
        EngineerClient("http://engineer", transport=played) as engineer,
    ):
        yield Tools(
            settings=TrainerSettings(data_dir=folder, retry_seconds=0.05, **settings),
            store=store,
            env=env_client,
            policy=policy,
            engineer=engineer,
        )
