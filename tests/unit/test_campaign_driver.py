"""A campaign from step to step: each step's effect once, whatever fails or is taken away in between."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from campaign_neighbours import Neighbours, tools
from campaign_world import CHECKPOINT, CONFIGURATION, REQUEST, new_campaign, new_store, until
from sqlalchemy import func, select, update

from trainee2trainer.artefacts import checkpoint_folder, seal
from trainee2trainer.client import EnvClient
from trainee2trainer.contracts.campaign import (
    BASELINE_STAGE,
    Campaign,
    CampaignCreate,
    CampaignStatus,
    Event,
    EventKind,
    JobStatus,
    StageStep,
    TrainingJobCreate,
)
from trainee2trainer.contracts.engineer import ProposalStatus
from trainee2trainer.contracts.environment import EnvironmentConfig, GeneratedBatch, Realised, SizeKnobs
from trainee2trainer.jobs import StaleLease, SubjectKind, claim, due
from trainee2trainer.store import Store
from trainee2trainer.store.tables import CheckpointRecord, RolloutRecord, StageRecord
from trainer_service import boards, events, lifecycle, training_run
from trainer_service.campaigns import records
from trainer_service.campaigns.driver import drive
from trainer_service.campaigns.reporting import report
from trainer_service.failures import Hopeless
from trainer_service.runner import Runner
from trainer_service.training_jobs import records as job_records
from trainer_service.training_jobs.driver import drive as drive_job
from trainer_service.work import Tools, Work

KIND = SubjectKind.CAMPAIGN
DRIVERS = {KIND: drive, SubjectKind.TRAINING_JOB: drive_job}


@dataclass
class World:
    """A worker that can be told to work, and the store it works on."""

    store: Store
    tools: Tools
    neighbours: Neighbours
    folder: Path

    async def work(self, subject_id: str, kind: SubjectKind = KIND) -> None:
        await Runner(self.tools, DRIVERS, "worker", asyncio.Event())(kind, subject_id)

    async def campaign(self, campaign_id: str) -> Campaign:
        async with self.store.session() as session:
            return await records.get(session, campaign_id)

    async def events(self, subject_id: str) -> list[Event]:
        async with self.store.session() as session:
            return await events.after(session, subject_id, 0)

    async def kinds(self, subject_id: str) -> Counter[str]:
        return Counter(event.kind for event in await self.events(subject_id))


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(training_run, "MODULE", "played_training")
    monkeypatch.setattr(training_run, "LOOK_SECONDS", 0.02)
    async with opened(tmp_path) as world:
        yield world


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[World]:
    store, neighbours = await new_store(folder), Neighbours()
    start = checkpoint_folder(folder, CHECKPOINT)
    start.mkdir(parents=True)
    (start / "config.json").write_text("{}")
    async with store.session() as session:
        await session.execute(update(CheckpointRecord).values(manifest_sha256=seal(start)))
    async with tools(store, folder, neighbours) as made:
        yield World(store, made, neighbours, folder)
    await store.close()


def asked(**changes: Any) -> CampaignCreate:
    return CampaignCreate.model_validate({**REQUEST.model_dump(), **changes})


async def test_a_campaign_goes_through_all_steps_of_all_stages(world: World) -> None:
    world.neighbours.next_configuration = EnvironmentConfig(
        sizes={4: SizeKnobs(data_ratio=1, hole_ratio=0, wait_ratio=0)}
    )
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED
    async with world.store.session() as session:
        stages = (await records.stages(session, campaign, None, 10)).items
        told = await report(session, campaign)
        rollouts = (
            await session.execute(
                select(RolloutRecord.stage_index, RolloutRecord.phase, func.count()).group_by(
                    RolloutRecord.stage_index, RolloutRecord.phase
                )
            )
        ).all()
    assert [stage.step for stage in stages] == [StageStep.DONE, StageStep.DONE]
    assert stages[0].configuration == CONFIGURATION
    assert stages[1].configuration == world.neighbours.next_configuration
    assert [stage.summary_id for stage in stages] == ["summary-0", "summary-1"]
    assert [stage.proposal_id for stage in stages] == ["proposal-1", None]
    # 2 sizes with 3 boards, 2 samples each; 8 boards to train on, one row each from the played process.
    assert sorted(tuple(row) for row in rollouts) == [
        (BASELINE_STAGE, "validation", 12),
        (0, "train", 8),
        (0, "validation", 12),
        (1, "train", 8),
        (1, "validation", 12),
    ]
    assert told.baseline is not None
    assert told.baseline.checkpoint == CHECKPOINT
    assert [stage.checkpoint for stage in told.stages] == [f"{campaign}-stage-0", f"{campaign}-stage-1"]
    assert [stage.reward_curve for stage in told.stages] == [[0.1, 0.2], [0.1, 0.2]]
    assert [size.size for size in told.stages[0].per_size] == [3, 4]
    assert sum(told.stages[0].failures.values()) == 12
    assert await due(world.store) == []


async def test_other_numbers_of_agents_are_judged_and_reported_by_themselves(world: World) -> None:
    validation = REQUEST.validation.model_copy(update={"more_agents": [3]})
    plain = await new_campaign(world.store, asked(stages=1))
    campaign = await new_campaign(world.store, asked(stages=1, validation=validation.model_dump()))
    for one in (plain, campaign):
        await world.work(one)
    async with world.store.session() as session:
        told, without = await report(session, campaign), await report(session, plain)
        query = select(RolloutRecord.phase, RolloutRecord.instance_id).where(
            RolloutRecord.subject_id == campaign, RolloutRecord.phase != "train"
        )
        rows = [tuple(row) for row in await session.execute(query)]
    for point in (told.baseline, *told.stages):
        assert point is not None
        (other,) = point.transfer
        assert (other.agents, other.overall.samples, sorted(other.sizes)) == (3, 12, [3, 4])
    # What engineers and comparisons read is as it is without.
    assert [stage.per_size for stage in told.stages] == [stage.per_size for stage in without.stages]
    assert {(phase, name[:7]) for phase, name in rows} == {("validation", "2agents"), ("transfer", "3agents")}
    done = [event for event in await world.events(campaign) if event.kind == EventKind.VALIDATE_DONE]
    assert [event.data["transfer"][0]["agents"] for event in done] == [3, 3]


async def test_its_events_tell_the_whole_story(world: World) -> None:
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    story = await world.events(campaign)
    assert [event.id for event in story] == list(range(1, len(story) + 1))
    assert story[-1].kind == EventKind.CAMPAIGN_SUCCEEDED
    kinds = Counter(event.kind for event in story)
    assert kinds[EventKind.STEP_STARTED] == 1 + 5 + 4
    assert kinds[EventKind.TRAIN_STEP] == 4
    assert kinds[EventKind.VALIDATE_DONE] == 3
    assert kinds[EventKind.PROPOSE_DONE] == 1
    assert kinds[EventKind.STEP_FAILED] == 0
    progress = [event.data for event in story if event.kind == EventKind.VALIDATE_PROGRESS]
    assert progress[0]["sizes"].keys() == {"3", "4"}


async def test_equal_seeds_give_equal_checkpoints_and_other_seeds_others(
    tmp_path: Path, world: World
) -> None:
    digests = []
    for seed in (7, 7, 8):
        campaign = await new_campaign(world.store, asked(seed=seed))
        await world.work(campaign)
        async with world.store.session() as session:
            digests.append([stage.manifest_sha256 for stage in (await report(session, campaign)).stages])
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


@pytest.mark.parametrize("path", ["/v1/rollouts", "/v1/summaries", "/v1/proposals"])
async def test_a_neighbour_that_fails_once_is_asked_again(world: World, path: str) -> None:
    world.neighbours.failures[path] = [500]
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED
    kinds = await world.kinds(campaign)
    assert kinds[EventKind.STEP_FAILED] == 1
    assert kinds[EventKind.VALIDATE_DONE] == 3


async def test_a_training_process_that_fails_once_is_started_again(world: World) -> None:
    (world.folder / "runs").mkdir()
    (world.folder / "runs" / "fail-training").write_text("1")
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED
    failed = [event for event in await world.events(campaign) if event.kind == EventKind.STEP_FAILED]
    assert [event.data["step"] for event in failed] == ["train"]
    assert "told to fail" in failed[0].data["error"]


async def test_a_poisonous_step_is_given_up_after_bounded_attempts(world: World) -> None:
    (world.folder / "runs").mkdir()
    (world.folder / "runs" / "fail-training").write_text("1000")
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    ended = await world.campaign(campaign)
    assert ended.status is CampaignStatus.FAILED
    assert ended.error is not None
    assert "exit code 1" in ended.error
    assert "told to fail" in ended.error
    assert (await world.kinds(campaign))[EventKind.STEP_FAILED] == world.tools.settings.step_attempts
    assert await due(world.store) == []


async def test_what_is_refused_is_not_asked_again(world: World) -> None:
    world.neighbours.failures["/v1/summaries"] = [422, 422]
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.FAILED
    assert world.neighbours.calls["/v1/summaries"] == 1


async def test_a_damaged_starting_checkpoint_is_refused(world: World) -> None:
    (checkpoint_folder(world.folder, CHECKPOINT) / "config.json").write_text("[]")
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    ended = await world.campaign(campaign)
    assert ended.status is CampaignStatus.FAILED
    assert "config.json" in (ended.error or "")


async def test_manual_approval_waits_without_holding_anything(world: World) -> None:
    campaign = await new_campaign(world.store, asked(approval="manual"))
    for _ in range(3):
        await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.RUNNING
    assert (await world.campaign(campaign)).step is StageStep.PROPOSE
    assert await due(world.store) == [(KIND, campaign)]
    kinds = await world.kinds(campaign)
    assert kinds[EventKind.PROPOSE_WAITING] == 1
    assert world.neighbours.calls["/v1/proposals"] == 1
    world.neighbours.approve = ProposalStatus.ACCEPTED
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED


@pytest.mark.parametrize("kind", [EventKind.GENERATE_DONE, EventKind.TRAIN_DONE, EventKind.VALIDATE_DONE])
async def test_killed_before_an_effect_a_step_is_done_again_and_counts_once(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: EventKind
) -> None:
    whole, killed = events.append, False

    async def append(session: Any, subject_id: str, told: EventKind, **data: Any) -> None:
        nonlocal killed
        if told is kind and not killed:
            killed = True
            raise asyncio.CancelledError  # the transaction comes to nothing, as when the process is gone
        await whole(session, subject_id, told, **data)

    monkeypatch.setattr(events, "append", append)
    campaign = await new_campaign(world.store, asked(stages=1))
    with suppress(asyncio.CancelledError):
        await world.work(campaign)
    assert killed
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED
    kinds = await world.kinds(campaign)
    assert kinds[EventKind.STEP_FAILED] == 0
    assert kinds[EventKind.GENERATE_DONE] == kinds[EventKind.TRAIN_DONE] == 1
    async with world.store.session() as session:
        counted = await session.scalar(select(func.count()).where(RolloutRecord.phase == "train"))
    assert counted == 8


async def test_of_two_workers_with_one_campaign_the_stale_one_has_no_effect(world: World) -> None:
    campaign = await new_campaign(world.store, asked(stages=1))
    first = await claim(world.store, KIND, campaign, "first", 0.01)
    assert first is not None
    await asyncio.sleep(0.05)
    await world.work(campaign)
    told = await world.kinds(campaign)
    with pytest.raises(StaleLease):
        await drive(Work(world.tools, first))
    assert await world.kinds(campaign) == told


@pytest.mark.parametrize("to", [CampaignStatus.PAUSED, CampaignStatus.CANCELLED])
async def test_pausing_and_cancelling_stop_the_training_process(
    world: World, monkeypatch: pytest.MonkeyPatch, to: CampaignStatus
) -> None:
    (world.folder / "sleeping.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(training_run, "MODULE", "sleeping")
    world.tools.settings.lease_seconds = 0.5
    campaign = await new_campaign(world.store)
    working = asyncio.create_task(world.work(campaign))
    runs = world.folder / "runs" / campaign
    await until(lambda: list(runs.glob("stage-0/attempt-*/child.log")), seconds=20)
    await lifecycle.wish(world.store, KIND, campaign, to)
    await asyncio.wait_for(working, 10)
    assert (await world.campaign(campaign)).status is to
    if to is CampaignStatus.PAUSED:
        monkeypatch.setattr(training_run, "MODULE", "played_training")
        await lifecycle.wish(world.store, KIND, campaign, CampaignStatus.QUEUED)
        await world.work(campaign)
        assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED
        assert (await world.kinds(campaign))[EventKind.GENERATE_DONE] == 2


async def test_a_stopping_worker_gives_its_campaign_back_and_another_ends_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.folder / "sleeping.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(training_run, "MODULE", "sleeping")
    campaign, stop = await new_campaign(world.store), asyncio.Event()
    working = asyncio.create_task(Runner(world.tools, DRIVERS, "first", stop)(KIND, campaign))
    runs = world.folder / "runs" / campaign
    await until(lambda: list(runs.glob("stage-0/attempt-*/child.log")), seconds=20)
    stop.set()
    await asyncio.wait_for(working, 10)
    assert await due(world.store) == [(KIND, campaign)]
    monkeypatch.setattr(training_run, "MODULE", "played_training")
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED


async def test_boards_that_were_lost_are_made_again(world: World) -> None:
    campaign = await new_campaign(world.store)
    async with world.store.session() as session:
        await session.execute(update(StageRecord).values(step=StageStep.TRAIN.value))
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED


async def test_too_few_boards_come_again_until_the_budget_is_met(world: World) -> None:
    request = boards.training_request(CONFIGURATION, REQUEST.training, 1, "compact-v1")
    batch = await world.tools.env.generate(request)
    scarce = batch.model_copy(update={"rows": batch.rows[:3]})
    async with played_env(scarce) as env:
        await boards.make(env, request, world.folder / "boards.jsonl")
    rows = await boards.read(world.folder / "boards.jsonl")
    assert rows == [scarce.rows[number % 3] for number in range(8)]


async def test_no_board_at_all_is_hopeless(world: World) -> None:
    request = boards.training_request(CONFIGURATION, REQUEST.training, 1, "compact-v1")
    none = GeneratedBatch(rows=[], realised=Realised(count=0, sizes={}))
    async with played_env(none) as env:
        with pytest.raises(Hopeless):
            await boards.make(env, request, world.folder / "boards.jsonl")


def played_env(batch: GeneratedBatch) -> EnvClient:
    answer = httpx.Response(200, text=batch.model_dump_json())
    return EnvClient("http://env", transport=httpx.MockTransport(lambda _: answer))


async def test_a_training_job_ends_with_a_checkpoint(world: World) -> None:
    request = TrainingJobCreate(configuration=CONFIGURATION, training=REQUEST.training, checkpoint=CHECKPOINT)
    async with world.store.session() as session:
        job = await job_records.create(session, request)
    (world.folder / "runs").mkdir()
    (world.folder / "runs" / "fail-training").write_text("0")
    await world.work(job, SubjectKind.TRAINING_JOB)
    async with world.store.session() as session:
        ended = await job_records.get(session, job)
    assert ended.status is JobStatus.SUCCEEDED
    assert ended.checkpoint == job
    assert [event.kind for event in await world.events(job)][-2:] == [
        EventKind.TRAIN_DONE,
        EventKind.JOB_SUCCEEDED,
    ]


async def test_a_training_job_that_cannot_work_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "MODULE", "there_is_no_such_module")
    request = TrainingJobCreate(configuration=CONFIGURATION, training=REQUEST.training, checkpoint=CHECKPOINT)
    async with world.store.session() as session:
        job = await job_records.create(session, request)
    await world.work(job, SubjectKind.TRAINING_JOB)
    async with world.store.session() as session:
        ended = await job_records.get(session, job)
    assert ended.status is JobStatus.FAILED
    assert ended.attempts == world.tools.settings.step_attempts
    assert "there_is_no_such_module" in (ended.error or "")


async def test_a_full_disk_pauses_the_campaign_with_its_reason_and_resumed_it_succeeds(world: World) -> None:
    (world.folder / "runs").mkdir()
    (world.folder / "runs" / "full-disk").touch()
    campaign = await new_campaign(world.store)
    await world.work(campaign)
    paused = await world.campaign(campaign)
    assert paused.status is CampaignStatus.PAUSED
    assert paused.step is StageStep.TRAIN
    assert paused.error and "No space left on device" in paused.error
    (event,) = [one for one in await world.events(campaign) if one.kind == EventKind.CAMPAIGN_PAUSED]
    assert event.data["reason"] == paused.error
    assert (event.data["stage"], event.data["step"]) == (0, "train")
    (world.folder / "runs" / "full-disk").unlink()
    await lifecycle.wish(world.store, KIND, campaign, CampaignStatus.QUEUED)
    assert (await world.campaign(campaign)).error is None
    await world.work(campaign)
    assert (await world.campaign(campaign)).status is CampaignStatus.SUCCEEDED
    assert (await world.kinds(campaign))[EventKind.STEP_FAILED] == 0
