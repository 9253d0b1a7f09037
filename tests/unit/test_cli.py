"""The command line: what it says of a campaign, and that it is quick and leaves nothing behind."""

import io
import json
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support import free_ports
from typer.testing import CliRunner

from trainee2trainer.cli import app, tables, watching, words
from trainee2trainer.cli.demo import campaign_from
from trainee2trainer.cli.doctor import findings
from trainee2trainer.cli.progress import Progress
from trainee2trainer.contracts.campaign import CampaignReport, Event
from trainee2trainer.settings import Settings
from trainee2trainer.stack import ports

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
CONFIGURATION = {
    "agents": 2,
    "sizes": {"3": {"data_ratio": 0.6, "hole_ratio": 0.1, "wait_ratio": 0.0}},
}
RATE = {"samples": 400, "valid": 0.42, "optimal": 0.3}
CHANGE = {"size": 3, "knob": "wait_ratio", "before": 0.0, "after": 0.4}
PROPOSED = {
    "proposal_id": "p",
    "status": "accepted",
    "reason": "too few [waits]",
    "fallback_reason": None,
    "changes": [CHANGE],
    "clamps": [],
}

run = CliRunner().invoke


def _train_step(step: int, reward: float) -> dict[str, Any]:
    return {
        "stage": 0,
        "step": step,
        "steps": 16,
        "reward": reward,
        "valid": reward,
        "samples": 512,
        "seconds": 2.0,
    }


STORY: list[tuple[float, str, dict[str, Any]]] = [
    (0, "campaign.created", {"name": "demo", "stages": 3, "engineer": "self", "seed": 0}),
    (0, "stage.started", {"stage": 0, "configuration": CONFIGURATION}),
    (1, "campaign.running", {}),
    (1, "step.started", {"stage": 0, "step": "baseline", "attempt": 1}),
    (6, "validate.progress", {"stage": -1, "boards": 100, "of": 300, "sizes": {"3": RATE}}),
    (
        11,
        "validate.done",
        {"stage": -1, "checkpoint": "nano-v1", "overall": RATE, "sizes": {"3": RATE}, "seconds": 10},
    ),
    (11, "step.started", {"stage": 0, "step": "generate", "attempt": 1}),
    (12, "generate.done", {"stage": 0, "asked": 512, "realised": {}, "seconds": 1}),
    (12, "step.started", {"stage": 0, "step": "train", "attempt": 1}),
    (16, "train.step", _train_step(4, 0.2)),
    (20, "train.step", _train_step(8, 0.4)),
]
LATER: list[tuple[float, str, dict[str, Any]]] = [
    (42, "train.done", {"stage": 0, "checkpoint": "c-1", "manifest_sha256": "0", "seconds": 30}),
    (43, "step.failed", {"stage": 0, "step": "validate", "attempt": 1, "error": "gone [away]"}),
    (60, "propose.done", {"stage": 0, "seconds": 1, **PROPOSED}),
    (61, "propose.done", {"stage": 0, "seconds": 1, **PROPOSED, "fallback_reason": "no JSON"}),
    (70, "campaign.failed", {"error": "out of luck"}),
]


def _event(number: int, seconds: float, kind: str, data: dict[str, Any]) -> Event:
    return Event(id=number, campaign_id="c", kind=kind, data=data, at=START + timedelta(seconds=seconds))


def _tell(story: list[tuple[float, str, dict[str, Any]]], progress: Progress) -> list[str]:
    told = []
    for number, (seconds, kind, data) in enumerate(story, start=1):
        event = _event(number, seconds, kind, data)
        progress.take(event)
        told.append(words.of_note(event, progress))
    return [line for line in told if line]


def _shown(renderable: Any) -> str:
    console = Console(file=io.StringIO(), width=150, highlight=False)
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_events_become_figures_and_an_estimate() -> None:
    progress = Progress()
    _tell(STORY, progress)
    assert (progress.stage, progress.step, progress.stages) == (0, "train", 3)
    assert progress.recent("reward") == pytest.approx(0.3)
    assert progress.samples_per_second == 256
    # A stage: 1 s to generate, 16 steps of 2 s, 10 s to validate; 8 s of this one's training are over.
    left = progress.seconds_left(START + timedelta(seconds=20))
    assert left == pytest.approx((32 - 8) + 10 + 2 * (1 + 32 + 10))
    screen = _shown(watching._screen(progress))
    for word in (
        "stage 1 of 3",
        "train",
        "step 8 of 16",
        "reward 0.300",
        "256 samples/s",
        "3x3",
        "42.0%",
        "left",
    ):
        assert word in screen, screen


def test_what_is_worth_a_line_gets_one() -> None:
    progress = Progress()
    lines = _tell(STORY + LATER, progress)
    text = "".join(_shown(line) for line in lines)
    for expected in (
        "stage 1 of 3  60% 3x3 (10% holes, 0% waits)",
        "512 boards made in 1 s",
        "step 8 of 16: reward 0.400",
        "valid 42.0% (3x3 42.0%)",
        "gone [away]",
        'the engineer: 3x3 wait_ratio 0.00 → 0.40 — "too few [waits]"',
        "the engineer's answer cannot be used: no JSON",
        "failed: out of luck",
    ):
        assert expected in text, text
    assert (progress.ended, progress.error) == ("failed", "out of luck")
    assert progress.seconds_left(START) is None


def test_an_unknown_kind_of_event_is_passed_over() -> None:
    progress = Progress()
    assert _tell([(0, "moon.landed", {"stage": 7})], progress) == []


def _report() -> CampaignReport:
    size = {
        "size": 3,
        "valid_rate": 0.5,
        "optimal_rate": 0.4,
        "wait_valid_rate": 0.2,
        "plain_valid_rate": 0.6,
    }
    stage: dict[str, Any] = {
        "index": -1,
        "configuration": CONFIGURATION,
        "proposal": None,
        "checkpoint": "nano-v1",
        "manifest_sha256": "0" * 64,
        "valid_rate": 0.5,
        "optimal_rate": 0.4,
        "per_size": [size, {**size, "size": 4}],
        "failures": {"agent_conflict": 7, "parse_error": 1},
        "reward_curve": [],
        "seconds": 10,
    }
    proposal = {
        "engineer": "self",
        "status": "accepted",
        "reason": "more [waits]",
        "fallback_reason": None,
        "configuration": CONFIGURATION,
        "changes": [CHANGE],
        "clamps": [{"size": 3, "knob": "hole_ratio", "asked": 0.9, "used": 0.5, "rule": "at most 0.5"}],
    }
    return CampaignReport.model_validate(
        {
            "campaign_id": "campaign-1",
            "name": "demo",
            "status": "succeeded",
            "engineer": "self",
            "seed": 3,
            "versions": {},
            "baseline": stage,
            "stages": [{**stage, "index": 0, "valid_rate": 0.625, "proposal": proposal}],
        }
    )


def test_the_report_says_everything() -> None:
    console = Console(file=io.StringIO(), width=150, highlight=False)
    tables.show_report(_report(), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    for expected in (
        "start",
        "stage 1",
        "3x3",
        "4x4",
        "100%",
        "62.5%",
        "agent conflict",
        "7",
        "more [waits]",
    ):
        assert expected in text, text
    for expected in (
        "wait_ratio 0.00 → 0.40",
        "hole_ratio: 0.9 → 0.5 (at most 0.5)",
        "50.0% → 62.5%",
        "seed 3",
    ):
        assert expected in text, text


def test_the_demo_is_what_differs_from_it() -> None:
    request = campaign_from(seed=7, stages=None, rollouts=64)
    assert (request.seed, request.training.rollouts) == (7, 64)
    assert request.stages == campaign_from().stages
    easy = campaign_from().configuration
    assert max(knobs.wait_ratio for knobs in easy.sizes.values()) <= 0.2


def test_a_campaign_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "campaign.json"
    file.write_text(json.dumps({"name": "mine", "configuration": CONFIGURATION}), encoding="utf-8")
    assert campaign_from(file, engineer="fixed").name == "mine"


@pytest.mark.parametrize(
    "seconds, said", [(0, "0 s"), (59.4, "59 s"), (59.9, "1 min 00 s"), (754, "12 min 34 s")]
)
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize("command", [[], ["campaign"], ["demo"], ["up"], ["doctor"], ["campaign", "create"]])
def test_help(command: list[str]) -> None:
    result = run(app, [*command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output


def test_help_is_quick_because_it_loads_nothing() -> None:
    heavy = "{'torch', 'transformers', 'fastapi', 'sqlalchemy', 'alembic', 'pydantic', 'httpx'}"
    code = f"import sys, trainee2trainer.cli; print(*({heavy} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == ""


def test_without_a_stack_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import stamina

    monkeypatch.setenv("T2T_PORT_BASE", str(free_ports(5)))
    with stamina.set_testing(True, attempts=1):
        result = run(app, ["campaign", "list"])
    assert result.exit_code == 1
    assert "gives no answer" in result.output


def test_migrate_makes_the_store(data_dir: Path) -> None:
    result = run(app, ["migrate", "--data-dir", str(data_dir / "new")])
    assert result.exit_code == 0, result.output
    assert (data_dir / "new" / "store.db").exists()


def test_the_doctor_names_what_is_missing(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainee2trainer.cli.doctor.PACKAGES", {"no_such_package": "trainer"})
    base = free_ports(5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", base + 2))
        taken.listen()
        found = {one.what: one for one in findings(Settings(data_dir=data_dir / "later", port_base=base))}
    assert not found["no_such_package"].well
    assert "trainee2trainer[trainer]" in found["no_such_package"].advice
    assert f"{base + 2} (policy)" in found["ports"].found
    assert found["valkey"].well
    assert found["disk"].found


def test_up_tells_where_it_is_and_stops_on_terminate(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = free_ports(5)
    monkeypatch.setenv("T2T_PORT_BASE", str(base))
    command = [sys.executable, "-m", "trainee2trainer.cli", "up", "--data-dir", str(data_dir)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout
        said = []
        for line in process.stdout:
            said.append(line)
            if "Running until" in line:
                break
        assert f"http://127.0.0.1:{base}/docs" in "".join(said), "".join(said)
        process.send_signal(signal.SIGTERM)
        assert "Stopping everything." in process.stdout.read()
        assert process.wait(30) == 128 + signal.SIGTERM
    finally:
        process.kill()
        process.wait()
    assert ports.taken(Settings(port_base=base)) == {}
