"""`t2t demo` as a stranger runs it, with a small budget: to a report, and nothing is left running."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import free_ports

import trainee2trainer
from trainee2trainer.contracts.campaign import CampaignReport, CampaignStatus
from trainee2trainer.settings import Settings
from trainee2trainer.stack import ports

SHIPPED = Path(trainee2trainer.__file__).parent / "models" / "pretrained" / "nano-v1"
ROLLOUTS = 512


@pytest.mark.slow
@pytest.mark.skipif(not SHIPPED.exists(), reason="the starting checkpoint is not made yet")
def test_the_demo_runs_to_its_report(tmp_path: Path) -> None:
    base, folder = free_ports(5), tmp_path / "data"
    command = [sys.executable, "-m", "trainee2trainer.cli", "demo", "--data-dir", str(folder), "--seed", "1"]
    command += ["--stages", "2", "--rollouts", str(ROLLOUTS)]
    environment = {**os.environ, "T2T_PORT_BASE": str(base), "COLUMNS": "100"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for said in (
        "trainer is ready",
        "stage 2 of 2",
        "the engineer",
        "Valid on held-out boards",
        "report.html",
    ):
        assert said in done.stdout, done.stdout
    report = CampaignReport.model_validate_json((folder / "report.json").read_text(encoding="utf-8"))
    assert report.status is CampaignStatus.SUCCEEDED
    assert (report.seed, len(report.stages)) == (1, 2)
    assert report.baseline is not None
    assert report.stages[0].proposal is not None
    assert report.stages[0].proposal.configuration == report.stages[1].configuration
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert ports.taken(Settings(port_base=base)) == {}
