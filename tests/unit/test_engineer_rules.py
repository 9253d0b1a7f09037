"""The engineers that are rules: what they do with a stage's numbers."""

import asyncio
import json
from typing import Any

from engineer_world import CONFIGURATION, FAMILY, size_summary, stage_summary

from engineer_service.engineers import ENGINEERS, Question
from trainee2trainer.contracts.engineer import EngineerName, PastStage, Rates, SizeSummary
from trainee2trainer.contracts.environment import EnvironmentConfig, SizeKnobs


def proposed(name: EngineerName, sizes: list[SizeSummary], **changes: Any) -> EnvironmentConfig:
    summary = stage_summary(sizes).model_copy(update=changes)
    question = Question(summary, FAMILY, None, None, seed=1)
    context: Any = None  # a rule asks nobody
    answer = json.loads(asyncio.run(ENGINEERS[name].answer(context, question, 0)))
    return EnvironmentConfig.model_validate({"sizes": answer["sizes"]})


def trained(valid: float) -> Rates:
    return Rates(samples=400, valid=valid, optimal=0.0)


def test_threshold_moves_only_what_leaves_its_window() -> None:
    before = SizeKnobs(data_ratio=0.3, hole_ratio=0.2, wait_ratio=0.3)
    rates = {3: 0.9, 4: 0.5, 5: 0.1}
    after = proposed(
        EngineerName.THRESHOLD, [size_summary(s, before, training=trained(r)) for s, r in rates.items()]
    ).sizes
    assert after[3].hole_ratio > before.hole_ratio and after[3].wait_ratio > before.wait_ratio
    assert (after[4].hole_ratio, after[4].wait_ratio) == (before.hole_ratio, before.wait_ratio)
    assert after[5].hole_ratio < before.hole_ratio and after[5].wait_ratio < before.wait_ratio


def test_threshold_stays_within_the_bounds() -> None:
    most = SizeKnobs(data_ratio=1, hole_ratio=0.5, wait_ratio=1.0)
    none = SizeKnobs(data_ratio=1, hole_ratio=0.0, wait_ratio=0.0)
    after = proposed(
        EngineerName.THRESHOLD,
        [size_summary(3, most, training=trained(0.99)), size_summary(4, none, training=trained(0.0))],
    ).sizes
    assert (after[3].hole_ratio, after[3].wait_ratio) == (0.5, 1.0)
    assert (after[4].hole_ratio, after[4].wait_ratio) == (0.0, 0.0)


def test_progress_gives_data_to_what_moves_and_leaves_nothing_out() -> None:
    past = PastStage(
        stage_index=-1, configuration=None, valid=0.4, optimal=0.4, sizes={3: 0.5, 4: 0.3, 5: 0.5}
    )
    sizes = [size_summary(size, CONFIGURATION.sizes[size]) for size in (3, 4, 5)]
    after = proposed(EngineerName.PROGRESS, sizes, history=[past]).sizes
    assert after[4].data_ratio > 0.7
    assert after[3].data_ratio == after[5].data_ratio > 0.05
    assert after[5].wait_ratio == CONFIGURATION.sizes[5].wait_ratio


def test_progress_without_a_past_shares_equally() -> None:
    sizes = [size_summary(size, CONFIGURATION.sizes[size]) for size in (3, 4)]
    after = proposed(EngineerName.PROGRESS, sizes, history=[]).sizes
    assert after[3].data_ratio == after[4].data_ratio


def test_the_teacher_is_the_same_every_time() -> None:
    sizes = [size_summary(size, CONFIGURATION.sizes[size]) for size in (3, 4, 5)]
    assert proposed(EngineerName.TEACHER, sizes) == proposed(EngineerName.TEACHER, sizes)
