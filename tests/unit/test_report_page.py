"""The report page: complete in itself, truthful, the same for the same figures, and deaf to what answers contain."""

import json
import re
from html import unescape

import pytest
import report_samples as samples

from trainee2trainer.contracts.engineer import Rates
from trainee2trainer.contracts.environment import FailureCategory
from trainee2trainer.contracts.transfer import TransferResult
from trainer_service.report.page import headline, render
from trainer_service.report.playback import frames
from trainer_service.report.replay import choose_replays


@pytest.fixture(scope="module")
def page() -> str:
    return render(samples.campaign(), choose_replays(samples.answers()))


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    assert not re.search(r"""(src|href|url)\s*[=(]\s*["']?(https?:)?//""", page)
    assert "@import" not in page
    assert "default-src 'none'" in unescape(page)


def test_the_same_figures_give_the_same_bytes(page: str) -> None:
    shuffled = list(reversed(samples.answers()))
    assert render(samples.campaign(), choose_replays(shuffled)) == page


@pytest.mark.parametrize(
    ("gain", "word"),
    [(0.04, "rose from 45.0\u00a0% to 57.0\u00a0%"), (-0.04, "fell"), (0.0, "stayed at 45.0")],
)
def test_the_headline_says_what_happened(gain: float, word: str) -> None:
    assert word in headline(samples.campaign(gain=gain))


def test_without_a_stage_there_is_a_page_all_the_same() -> None:
    empty = samples.campaign(stages=0).model_copy(update={"baseline": None})
    assert "No stage has been validated yet" in render(empty, [])


def test_text_of_the_model_is_shown_and_never_run() -> None:
    evil = "<script>alert(1)</script>"
    page = render(samples.campaign(reason=evil), choose_replays(samples.answers()))
    assert evil not in page
    assert page.count("<script>") == 1  # ours
    assert "&lt;script&gt;alert(1)" in page


def test_every_way_to_fail_has_its_replay_where_there_is_one() -> None:
    answers = samples.answers()
    shown = {replay.outcome.failure for replay in choose_replays(answers)}
    assert {answer.outcome.failure for answer in answers} - shown == set()
    assert FailureCategory.PARSE_ERROR in shown


def test_a_board_learnt_is_shown_before_and_after() -> None:
    before, after = choose_replays(samples.answers())[:2]
    assert before.instance.id == after.instance.id
    assert not before.outcome.valid
    assert after.outcome.valid


def test_the_steps_of_a_replay_are_those_of_the_trajectory(page: str) -> None:
    found = re.findall(r'data-frames="([^"]*)"', page)
    replays = choose_replays(samples.answers())
    assert len(found) == len(replays)
    for encoded, replay in zip(found, replays, strict=True):
        shown = json.loads(unescape(encoded))
        assert len(shown) == len(frames(replay))
        assert len(shown) >= max(1, len(replay.outcome.trajectory))
        assert shown[-1]["fault"] is not replay.outcome.valid


def test_the_table_tells_what_the_engineer_changed_and_what_was_corrected(page: str) -> None:
    text = unescape(page)
    assert "4x4 waits: 10.0\u00a0% → 40.0\u00a0%" in text
    assert "more waits on 4" in text
    assert "0.9 was moved to 0.5" in text


def test_other_numbers_of_agents_have_a_line_of_their_own() -> None:
    rates = Rates(samples=1_200, valid=0.125, optimal=0.05)
    three = TransferResult(agents=3, overall=rates, sizes={3: rates})
    report = samples.campaign()
    last = report.stages[-1].model_copy(update={"transfer": [three]})
    page = render(report.model_copy(update={"stages": [*report.stages[:-1], last]}), [])
    assert page.count("With 3 agents: 12.5\u00a0% valid, 5.0\u00a0% optimal, of 1,200 answers.") == 1
