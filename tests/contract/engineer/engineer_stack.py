"""What the contract tests of the engineer service stand on: real neighbours, and a campaign with real verdicts."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import stamina
from sqlalchemy import insert
from support import free_port, served

from engineer_service.app import create_app
from engineer_service.settings import EngineerSettings
from env_service.app import create_app as create_env
from env_service.settings import EnvSettings
from policy_service.app import create_app as create_policy
from policy_service.settings import PolicySettings
from trainee2trainer import artefacts
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs
from trainee2trainer.models import checkpoints, nano
from trainee2trainer.store import Store, new_id
from trainee2trainer.store.tables import CampaignRecord, CheckpointRecord, RolloutRecord, StageRecord

TAUGHT, UNTAUGHT, WORDY, ROOMY = "nano-v1", "nano-untaught", "small-untaught", "small-roomy"
"""The shipped checkpoint; one with random weights; the same as a profile that is asked in plain language; and
the same with room for long prompts."""

EASY = SizeKnobs(data_ratio=1, hole_ratio=0.1, wait_ratio=0.0)
CONFIGURATION = EnvironmentConfig(sizes={3: EASY, 4: EASY, 5: EASY})
SHIPPED = Path(nano.__file__).parent / "pretrained" / TAUGHT


@dataclass(frozen=True)
class Stage:
    """A validated stage and what is known of it."""

    campaign: str
    index: int
    rows: list[dict[str, Any]] = field(repr=False, default_factory=list)

    @property
    def body(self) -> dict[str, Any]:
        return {"campaign_id": self.campaign, "stage_index": self.index}


@dataclass(frozen=True)
class World:
    folder: Path
    http: httpx.Client
    env: httpx.Client
    urls: dict[str, str]
    store_url: str

    def stage(self, configuration: EnvironmentConfig = CONFIGURATION, seed: int = 1) -> Stage:
        """A campaign of one validated stage, its answers judged by env_service. Equal seeds, equal evidence."""
        campaign, rows = new_id("campaign"), judged_answers(self.env, seed)
        asyncio.run(_write(self.store_url, campaign, configuration, rows))
        return Stage(campaign, 0, rows)

    def summary(self, configuration: EnvironmentConfig = CONFIGURATION) -> str:
        """The id of the summary of a new campaign's stage."""
        answer = self.http.post("/v1/summaries", json=self.stage(configuration).body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def propose(self, summary_id: str, engineer: str, **changes: Any) -> httpx.Response:
        body = {"summary_id": summary_id, "engineer": engineer, "seed": 3} | changes
        return self.http.post("/v1/proposals", json=body)

    @contextmanager
    def without(self, service: str, **changes: Any) -> Iterator[httpx.Client]:
        """A second replica, for which one of its neighbours is gone."""
        urls = self.urls | {f"{service}_url": f"http://127.0.0.1:{free_port()}"}
        settings = EngineerSettings(data_dir=self.folder, store_url=self.store_url, **urls, **changes)
        stamina.set_active(False)  # nobody comes back: waiting for it only takes time
        try:
            with served(create_app(settings)) as url, httpx.Client(base_url=url, timeout=60) as http:
                yield http
        finally:
            stamina.set_active(True)


@contextmanager
def world(folder: Path, store_url: str) -> Iterator[World]:
    """The real app between a real env_service and a real policy_service, on real ports."""
    common: dict[str, Any] = {"data_dir": folder, "store_url": store_url}
    asyncio.run(_register(store_url, _checkpoints(folder)))
    with (
        served(create_env(EnvSettings(env_workers=1, **common))) as env_url,
        served(create_policy(PolicySettings(**common))) as policy_url,
    ):
        urls = {"env_url": env_url, "policy_url": policy_url}
        # The policy service speaks OpenAI's language, so it is an endpoint like any other.
        endpoint = {"engineer_llm_url": f"{policy_url}/v1", "engineer_llm_model": ROOMY}
        with (
            served(create_app(EngineerSettings(**common, **urls, **endpoint))) as url,
            httpx.Client(base_url=url, timeout=60) as http,
            httpx.Client(base_url=env_url, timeout=60) as env,
        ):
            yield World(folder, http, env, urls, store_url)


def _checkpoints(folder: Path) -> dict[str, tuple[str, str]]:
    """Puts them where the services look; profile and digest by id."""
    made = {
        TAUGHT: folder / "taught",
        UNTAUGHT: folder / "untaught",
        WORDY: folder / "wordy",
        ROOMY: folder / "roomy",
    }
    shutil.copytree(SHIPPED, made[TAUGHT])
    for name in (UNTAUGHT, WORDY, ROOMY):
        model = nano.model(0, width=32, layers=1)
        if name == ROOMY:
            model.config.max_position_embeddings = 8_192
        checkpoints.save(model, nano.tokenizer(), made[name])
        artefacts.seal(made[name])
    found = {}
    for name, path in made.items():
        artefacts.publish(path, artefacts.checkpoint_folder(folder, name))
        digest = artefacts.manifest_digest(artefacts.checkpoint_folder(folder, name))
        found[name] = (name.partition("-")[0], digest)
    return found


async def _register(store_url: str, found: dict[str, tuple[str, str]]) -> None:
    store = Store(store_url)
    async with store.session() as session:
        for name, (profile, digest) in found.items():
            session.add(CheckpointRecord(id=name, profile=profile, manifest_sha256=digest))
    await store.close()


def judged_answers(env: httpx.Client, seed: int) -> list[dict[str, Any]]:
    """Rows of `rollouts`: good, wrong and senseless answers to held-out boards, as env_service judges them."""
    request = {
        "configuration": _mixed(),
        "seed": seed,
        "count": 30,
        "split": "held_out",
        "template": "compact-v1",
    }
    made = env.post("/v1/instances:generate", json=request).json()["rows"]
    answers = [
        (group, row["instance"], answer)
        for group, row in enumerate(made)
        for answer in (row["answer"], row["answer"], "Agent 0: UP, UP, UP\nAgent 1: UP, UP, UP", "no idea")
    ]
    items = [{"instance_id": instance["id"], "answer": answer} for _, instance, answer in answers]
    verdicts = env.post("/v1/verify:batch", json={"items": items}).json()["outcomes"]
    kept = ("valid", "optimal", "failure", "reward", "makespan")
    return [
        {
            "stage_index": 0,
            "phase": "validation",
            "step": 0,
            "group": group,
            "instance_id": instance["id"],
            "size": instance["size"],
            "needs_wait": instance["needs_wait"],
            "tokens": 9,
            "answer": answer,
        }
        | {key: verdict[key] for key in kept}
        for (group, instance, answer), verdict in zip(answers, verdicts, strict=True)
    ]


def _mixed() -> dict[str, Any]:
    half = {"data_ratio": 1, "hole_ratio": 0.2, "wait_ratio": 0.5}
    return {"sizes": {"3": half, "4": half, "5": half}}


async def _write(
    store_url: str, campaign: str, configuration: EnvironmentConfig, rows: list[dict[str, Any]]
) -> None:
    store, content = Store(store_url), configuration.model_dump(mode="json")
    async with store.session() as session:
        session.add(CampaignRecord(id=campaign, status="running", settings={}, base_checkpoint=TAUGHT))
        await session.flush()
        session.add(
            StageRecord(
                campaign_id=campaign,
                index=0,
                step="summarise",
                configuration=content,
                checkpoint_id=TAUGHT,
                reward_curve=[0.1, 0.2],
            )
        )
        session.add(StageRecord(campaign_id=campaign, index=1, step="generate", configuration=content))
        await session.execute(insert(RolloutRecord), [row | {"subject_id": campaign} for row in rows])
    await store.close()
