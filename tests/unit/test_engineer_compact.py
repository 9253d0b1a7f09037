"""The compact prompt and answer: short, of closed vocabulary, and all there is to be said of a summary."""

import json

import pytest
from engineer_world import CONFIGURATION, knobs, size_summary, stage_summary
from hypothesis import given
from hypothesis import strategies as st

from engineer_service.exchanges import exchange
from engineer_service.numbers import NOTICED, on_grid, size_numbers
from engineer_service.prompts import COMPACT, PLAIN, TEMPLATES, template_for
from engineer_service.prompts.compact import compact_answer, compact_prompt, compact_words
from engineer_service.reading import read_answer
from trainee2trainer.contracts.engineer import PastStage, Rates

ALL_SIZES = list(range(3, 11))


def prompt(**parts: object) -> str:
    [message] = compact_prompt(size_numbers(stage_summary(**parts)))  # type: ignore[arg-type]
    return message.content


def test_a_summary_in_words() -> None:
    sizes = [
        size_summary(3, knobs(0.33, 0.12, 0.02)),
        size_summary(10, None, training=None, dead_group_share=None),
    ]
    before = PastStage(
        stage_index=0, configuration=CONFIGURATION, valid=0.4, optimal=0.3, sizes={3: 0.4, 10: 0.5}
    )
    assert prompt(sizes=sizes, history=[before]) == (
        "engineer "
        "size 3 data 0.35 hole 0.10 wait 0.00 valid 0.50 plain 0.65 waits 0.20 optimal 0.40 train 0.60 dead 0.30 "
        "parse_error 0.15 illegal_move 0.00 hole_collision 0.00 agent_conflict 0.35 goal_not_reached 0.00 "
        "size 10 data 0.00 hole none wait none valid 0.50 plain 0.65 waits 0.20 optimal 0.40 train none dead none "
        "parse_error 0.15 illegal_move 0.00 hole_collision 0.00 agent_conflict 0.35 goal_not_reached 0.00 "
        "history 3 up 10 same configure"
    )


def test_what_was_not_measured_is_none() -> None:
    nothing = Rates(samples=0, valid=0, optimal=0)
    size = size_summary(
        4, knobs(1.0), validation=nothing, validation_wait=nothing, validation_plain=nothing, failures={}
    )
    text = prompt(sizes=[size])
    assert "valid none plain none waits none optimal none" in text
    assert text.endswith("history none configure")


def test_three_sizes_take_at_most_120_words() -> None:
    before = PastStage(
        stage_index=0, configuration=None, valid=0.4, optimal=0.3, sizes={3: 0.1, 4: 0.9, 5: 0.5}
    )
    assert len(prompt(history=[before]).split()) <= 120


@pytest.mark.parametrize(
    ("gain", "trend"), [(0.021, "up"), (NOTICED - 0.001, "same"), (-0.019, "same"), (-0.03, "down")]
)
def test_a_change_smaller_than_noise_is_none(gain: float, trend: str) -> None:
    valid = Rates(samples=1_000, valid=0.5 + gain, optimal=0)
    before = PastStage(stage_index=-1, configuration=None, valid=0.5, optimal=0, sizes={3: 0.5})
    sizes = [size_summary(3, knobs(1.0), validation=valid)]
    assert f"history 3 {trend} " in prompt(sizes=sizes, history=[before])


@given(st.floats(0, 1))
def test_rates_are_rounded_to_the_nearest_twentieth(rate: float) -> None:
    assert abs(on_grid(rate) - rate) <= 0.025 + 1e-9
    assert f"{on_grid(rate):.2f}" in compact_words()


@given(
    st.dictionaries(
        st.sampled_from(ALL_SIZES),
        st.builds(
            knobs, *[st.integers(0, 20).map(lambda step: step / 20)], st.sampled_from([0.0, 0.25, 0.5])
        ),
        min_size=1,
    ),
    st.sampled_from(["keep", "more waits on 4", "fewer holes on 10", "less data on 3"]),
)
def test_an_answer_is_json_of_known_words_and_reads_back(sizes: dict[int, object], reason: str) -> None:
    text = compact_answer(sizes, reason)  # type: ignore[arg-type]
    assert set(text.split(" ")) <= set(compact_words())
    assert json.loads(text)["reason"] == reason
    answer = read_answer(text)
    assert answer is not None
    assert {int(size): knobs(*values.values()) for size, values in answer.sizes.items()} == sizes


def test_every_word_of_exchanges_is_in_the_vocabulary() -> None:
    words = set(compact_words())
    assert len(words) == len(compact_words())
    for index in range(300):
        made = exchange(5, index, ALL_SIZES)
        text = f"{made.prompt[0].content} {made.answer}"
        assert set(text.split(" ")) <= words
        assert made.prompt[0].content.startswith("engineer ")
        assert made.prompt[0].content.endswith(" configure")


def test_the_nano_tokenizer_knows_every_word_and_gives_texts_back_unchanged() -> None:
    from trainee2trainer.models import nano

    tokenizer = nano.tokenizer()
    assert set(compact_words()) <= set(nano.words())
    made = exchange(0, 0, ALL_SIZES)
    for text in (made.prompt[0].content, made.answer):
        ids = tokenizer(text).input_ids
        assert tokenizer.unk_token_id not in ids
        assert tokenizer.decode(ids) == text


def test_eight_sizes_and_their_answer_fit_the_nano_context() -> None:
    from trainee2trainer.models import nano

    longest = max(
        len(f"{made.prompt[0].content} {made.answer}".split())
        for made in (exchange(1, index, ALL_SIZES) for index in range(50))
    )
    assert longest < nano.CONTEXT


def test_a_template_by_profile() -> None:
    assert (template_for("nano"), template_for("small"), template_for(None)) == (COMPACT, PLAIN, PLAIN)
    assert {COMPACT, PLAIN} == set(TEMPLATES)
