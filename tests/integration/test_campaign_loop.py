"""The whole loop, all of it real, on a tiny budget: four services, Valkey, a store, TRL, workers that die."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import psutil
import pytest
from support import free_ports

from trainee2trainer.artefacts import checkpoint_folder, verify
from trainee2trainer.client import EngineerClient, TrainerClient
from trainee2trainer.contracts.campaign import (
    CampaignCreate,
    CampaignReport,
    CampaignStatus,
    Event,
    EventKind,
    JobStatus,
    TrainingJobCreate,
    TrainingSettings,
    ValidationSettings,
)
from trainee2trainer.contracts.comparison import ComparisonCreate
from trainee2trainer.contracts.engineer import DecisionRequest, EngineerName, ProposalStatus
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs
from trainee2trainer.settings import Settings
from trainee2trainer.stack import Stack
from trainee2trainer.stack.processes import Child, stop
from trainer_service.training import spec as names

pytestmark = pytest.mark.slow

START = "nano-v1"
CONFIGURATION = EnvironmentConfig(
    sizes={
        3: SizeKnobs(data_ratio=0.5, hole_ratio=0.1, wait_ratio=0.2),
        4: SizeKnobs(data_ratio=0.5, hole_ratio=0.1, wait_ratio=0),
    }
)
TINY = TrainingSettings(rollouts=96, group_size=4, prompts_per_step=4, max_tokens=48)
FEW = ValidationSettings(sizes=[3, 4], boards_per_size=4, samples=2)
REQUEST = CampaignCreate(
    name="tiny",
    base_checkpoint=START,
    stages=1,
    configuration=CONFIGURATION,
    training=TINY,
    validation=FEW,
    seed=3,
)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Everything but the workers."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("stack"), port_base=free_ports(5))
    with pytest.MonkeyPatch.context() as patch:
        quick = {"LEASE_SECONDS": "2", "RECONCILE_SECONDS": "0.5", "TRAINING_SAVE_STEPS": "1"}
        for name, value in (quick | {"LOG_FORMAT": "text"}).items():
            patch.setenv(f"T2T_{name}", value)
        with Stack(settings, worker=False) as stack:
            yield stack


@contextmanager
def worker(stack: Stack, name: str) -> Iterator[Child]:
    log = stack.settings.data_dir / "logs" / f"{name}.log"
    child = Child(name, [sys.executable, "-m", "trainer_service.worker"], log, stack.environment)
    try:
        yield child
    finally:
        stop([child])


@pytest.fixture
async def trainer(stack: Stack) -> AsyncIterator[TrainerClient]:
    async with TrainerClient(stack.settings.url("trainer")) as client:
        yield client


async def followed(trainer: TrainerClient, campaign_id: str, until: EventKind | None = None) -> list[Event]:
    """Every event up to the first of kind `until`, or to the end."""
    seen: list[Event] = []
    async with asyncio.timeout(180):
        async for event in trainer.campaign_events(campaign_id):
            seen.append(event)
            if event.kind == until:
                break
    return seen


def digests(report: CampaignReport) -> list[str]:
    return [stage.manifest_sha256 for stage in report.stages]


@pytest.fixture(scope="module")
def undisturbed(stack: Stack) -> tuple[CampaignReport, list[Event]]:
    """A campaign that ran through, with its events."""

    async def run() -> tuple[CampaignReport, list[Event]]:
        async with TrainerClient(stack.settings.url("trainer")) as trainer:
            campaign = await trainer.create_campaign(REQUEST.model_copy(update={"stages": 2}))
            events = await followed(trainer, campaign.id)
            return await trainer.report(campaign.id), events

    with worker(stack, "undisturbed"):
        return asyncio.run(run())


async def test_a_campaign_runs_from_boards_to_its_next_configuration(
    stack: Stack, trainer: TrainerClient, undisturbed: tuple[CampaignReport, list[Event]]
) -> None:
    report, events = undisturbed
    assert report.status is CampaignStatus.SUCCEEDED
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    assert [stage.index for stage in report.stages] == [0, 1]
    assert report.baseline is not None
    assert report.baseline.checkpoint == START
    proposal = report.stages[0].proposal
    assert proposal is not None
    assert proposal.engineer is EngineerName.SELF
    assert proposal.configuration == report.stages[1].configuration
    for stage in report.stages:
        assert [size.size for size in stage.per_size] == [3, 4]
        assert len(stage.reward_curve) == 6
        verify(checkpoint_folder(stack.settings.data_dir, stage.checkpoint), stage.manifest_sha256)
    assert len(set(digests(report))) == 2


async def test_its_stages_tell_what_they_were_made_of(
    trainer: TrainerClient, undisturbed: tuple[CampaignReport, list[Event]]
) -> None:
    stages = (await trainer.stages(undisturbed[0].campaign_id)).items
    assert all(stage.summary_id for stage in stages)
    assert [bool(stage.proposal_id) for stage in stages] == [True, False]
    assert stages[0].validation is not None
    assert stages[0].validation.overall.samples == 16
    assert {"generate", "train", "validate", "summarise"} <= stages[0].seconds.keys()


async def test_the_report_is_a_page(
    trainer: TrainerClient, undisturbed: tuple[CampaignReport, list[Event]]
) -> None:
    page = await trainer.report_html(undisturbed[0].campaign_id)
    assert page.lower().startswith("<!doctype html>")
    assert 'class="board"' in page  # replays of real answers


async def test_a_killed_worker_is_replaced_and_the_checkpoint_is_the_same(
    stack: Stack, trainer: TrainerClient, undisturbed: tuple[CampaignReport, list[Event]]
) -> None:
    with worker(stack, "killed") as first:
        campaign = await trainer.create_campaign(REQUEST)
        await followed(trainer, campaign.id, until=EventKind.TRAIN_STEP)
        family = psutil.Process(first.process.pid).children(recursive=True)
        assert family
        os.kill(first.process.pid, signal.SIGKILL)
        first.process.wait()
        _, alive = psutil.wait_procs(family, timeout=5)
        assert not alive
    with worker(stack, "successor"):
        events = await followed(trainer, campaign.id)
    report = await trainer.report(campaign.id)
    assert report.status is CampaignStatus.SUCCEEDED
    assert digests(report) == digests(undisturbed[0])[:1]
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    kinds = [event.kind for event in events]
    assert kinds.count(EventKind.TRAIN_DONE) == kinds.count(EventKind.GENERATE_DONE) == 1
    (resumed,) = [event.data for event in events if event.kind == EventKind.TRAIN_RESUMED]
    assert resumed["step"] >= 1
    assert resumed["refused"] == []
    told = [event.data["step"] for event in events if event.kind == EventKind.TRAIN_STEP]
    assert told[-1] == 6
    assert told.count(1) == 1  # what is gone on from is not told again
    runs = stack.settings.data_dir / "runs" / campaign.id
    assert not list(runs.glob(f"stage-0/attempt-*/{names.PROGRESS}"))


async def test_a_terminated_worker_gives_its_work_back_at_once(stack: Stack, trainer: TrainerClient) -> None:
    with worker(stack, "terminated") as first:
        campaign = await trainer.create_campaign(REQUEST)
        await followed(trainer, campaign.id, until=EventKind.TRAIN_STEP)
        family = psutil.Process(first.process.pid).children(recursive=True)
        first.process.terminate()
        assert first.process.wait(timeout=15) == 0
        assert not [process for process in family if process.is_running()]
    assert (await trainer.campaign(campaign.id)).status is CampaignStatus.RUNNING
    await trainer.cancel_campaign(campaign.id)


async def test_cancelling_stops_the_training_process(stack: Stack, trainer: TrainerClient) -> None:
    with worker(stack, "cancelled") as running:
        campaign = await trainer.create_campaign(REQUEST)
        await followed(trainer, campaign.id, until=EventKind.TRAIN_STEP)
        (training,) = psutil.Process(running.process.pid).children()
        await trainer.cancel_campaign(campaign.id)
        _, alive = psutil.wait_procs([training], timeout=15)
        assert not alive
        assert (await followed(trainer, campaign.id))[-1].kind == EventKind.CAMPAIGN_CANCELLED


async def test_a_training_job_makes_a_checkpoint(stack: Stack, trainer: TrainerClient) -> None:
    with worker(stack, "job"):
        request = TrainingJobCreate(configuration=CONFIGURATION, training=TINY)
        job = await trainer.create_training_job(request)
        async with asyncio.timeout(120):
            kinds = [event.kind async for event in trainer.training_job_events(job.id)]
    ended = await trainer.training_job(job.id)
    assert ended.status is JobStatus.SUCCEEDED
    assert ended.checkpoint == job.id
    assert kinds.count(EventKind.TRAIN_STEP) == 6


async def test_with_manual_approval_a_person_has_the_last_word(stack: Stack, trainer: TrainerClient) -> None:
    own = EnvironmentConfig(sizes={5: SizeKnobs(data_ratio=1, hole_ratio=0.1, wait_ratio=0.5)})
    request = REQUEST.model_copy(update={"stages": 2, "approval": "manual"})
    with worker(stack, "manual"):
        campaign = await trainer.create_campaign(request)
        waiting = (await followed(trainer, campaign.id, until=EventKind.PROPOSE_WAITING))[-1]
        async with EngineerClient(stack.settings.url("engineer")) as engineer:
            decision = DecisionRequest(configuration=own, reason="larger boards now")
            proposal = await engineer.approve(waiting.data["proposal_id"], decision)
        assert proposal.status is ProposalStatus.ACCEPTED
        await followed(trainer, campaign.id)
    report = await trainer.report(campaign.id)
    assert report.status is CampaignStatus.SUCCEEDED
    assert report.stages[1].configuration == own


async def test_a_comparison_ends_in_intervals(stack: Stack, trainer: TrainerClient) -> None:
    engineers = [EngineerName.SELF, EngineerName.FIXED]
    request = ComparisonCreate(
        engineers=engineers, seeds=[3], campaign=REQUEST.model_copy(update={"stages": 2})
    )
    with worker(stack, "compared"):
        comparison = await trainer.create_comparison(request)
        for arm in comparison.arms:
            await followed(trainer, arm.campaign_id)
    report = await trainer.comparison_report(comparison.id)
    assert report.finished == 2
    first, second = report.results
    # One checkpoint, one seed, one configuration: until the engineers have written, nothing differs.
    assert first.curve[:2] == second.curve[:2]
    (difference,) = report.differences
    assert difference.boards == 8
    assert difference.low <= difference.mean <= difference.high
    assert first.valid is not None and second.valid is not None
    assert difference.mean == pytest.approx(first.valid - second.valid)
    assert difference.words in await trainer.comparison_report_html(comparison.id)
