"""The report in a real browser: replays step by keyboard and button, and no request leaves the page."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import report_samples as samples

from trainer_service.report.page import render
from trainer_service.report.replay import choose_replays

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run --disable-sync"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium or Chrome on the PATH")

# Runs in the page after its own script; the title carries what came of it out of the browser.
PROBE = """
<script>
const replay = document.querySelector(".replay"), slider = replay.querySelector("input");
const steps = JSON.parse(replay.dataset.frames).length;
const at = () => replay.querySelector("[data-agent]").getAttribute("transform");
const last = at();
replay.dispatchEvent(new KeyboardEvent("keydown", {key: "Home", bubbles: true}));
const first = at(), home = slider.value;
replay.querySelector("[data-step='1']").click();
const loads = performance.getEntriesByType("resource").length;
document.body.dataset.probe = JSON.stringify([steps, home, slider.value, first !== last, loads]);
</script>
"""


def test_a_replay_steps_and_nothing_is_loaded(tmp_path: Path) -> None:
    assert CHROMIUM is not None
    page = render(samples.campaign(), choose_replays(samples.answers()))
    # The page's own policy would refuse the probe, as it should.
    page = page.replace("Content-Security-Policy", "X-Not-Now").replace("</body>", PROBE + "</body>")
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    command = [
        CHROMIUM,
        *FLAGS.split(),
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert 'data-probe="[' in done.stdout, done.stderr
    steps, home, after, moved, loads = probed(done.stdout)
    assert steps > 1
    assert (home, after) == ("0", "1")
    assert moved
    assert loads == 0


def probed(dom: str) -> list[object]:
    import json
    from html import unescape

    return list(json.loads(unescape(dom.split('data-probe="', 1)[1].split('"', 1)[0])))
