"""The reader of answers: what models write, what nobody should write, and how long it takes."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engineer_service.lenient_json import objects
from engineer_service.reading import MAX_REASON_CHARS, Answer, read_answer, size_of

KNOBS = {"data_ratio": 0.3, "hole_ratio": 0.1, "wait_ratio": 0.2}
SIZES = {"3": KNOBS, "4": KNOBS}
PLAIN = json.dumps({"sizes": SIZES, "reason": "more waits"})
ANSWER = Answer(SIZES, "more waits")

ACCEPTED = {
    "as asked": PLAIN,
    "indented": json.dumps({"sizes": SIZES, "reason": "more waits"}, indent=2),
    "spaced out": f' {{ "sizes" : {{ "3" : {KNOBS} , "4" : {KNOBS} }} , "reason" : "more waits" }} ',
    "in a code fence": f"Here it is:\n```json\n{PLAIN}\n```\nGood luck!",
    "after thoughts": '<think>{"sizes": {"3": {"data_ratio": 9}}}, or {not}?</think>' + PLAIN,
    "after thoughts without a beginning": 'hm, {"sizes": {"3": {}}} </think>' + PLAIN,
    "the last of several": '{"sizes": {"5": {"data_ratio": 1}}} no, rather ' + PLAIN,
    "before another object": PLAIN + ' {"note": "done", "data_ratio": 1}',
    "in prose with braces": "The set {3, 4} isn't {enough}; so: " + PLAIN,
    "trailing commas": '{"sizes": {"3": {"data_ratio": 0.3, "hole_ratio": 0.1, "wait_ratio": 0.2,}, "4": '
    + json.dumps(KNOBS)
    + ',}, "reason": "more waits",}',
    "single quotes": str({"sizes": SIZES, "reason": "more waits"}),
    "bare words, comments, percentages": """{
        sizes: {  // the two of them
            3: {data_ratio: 30%, hole_ratio: .1, wait_ratio: 2e-1},  # easy
            4: {data_ratio = 0.3 hole_ratio = 0.10 wait_ratio = +0.2}
        }
        reason: "more waits"
    }""",
    "another name for sizes": json.dumps({"map_sizes": SIZES, "rationale": "more waits"}),
    "within configuration": json.dumps(
        {"configuration": {"agents": 2, "sizes": SIZES}, "reason": "more waits"}
    ),
    "all within answer": json.dumps({"answer": {"sizes": SIZES, "why": "more waits"}}),
    "sizes at the top": json.dumps({**SIZES, "reason": "more waits"}),
    "a list of sizes": json.dumps(
        {"sizes": [{"size": 3, **KNOBS}, {"size": "4", **KNOBS}], "reason": "more waits"}
    ),
    "within something else": json.dumps({"final": [{"sizes": SIZES, "reason": "more waits"}]}),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_models_write_is_read(text: str) -> None:
    assert read_answer(text) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would not change anything.",
        "{}",
        '{"sizes": {}}',
        '{"sizes": 3}',
        '{"sizes": {"3": 0.5}}',
        '{"data_ratio": 0.3}',
        "<think>" + PLAIN,
        '{"sizes": {"3": {"data_ratio": 0.3',
        "[1, 2, 3]",
        '"' + PLAIN.replace('"', '\\"'),
    ],
)
def test_what_is_no_answer_is_none(text: str) -> None:
    assert read_answer(text) is None


def test_an_answer_cut_off_in_its_reason_still_counts() -> None:
    assert read_answer(PLAIN[:-6]) == Answer(SIZES, None)


def test_an_answer_cut_off_in_its_last_size_does_not() -> None:
    assert read_answer(json.dumps({"sizes": SIZES})[:-4]) is None


def test_names_that_are_no_sizes_are_kept_to_be_told_so() -> None:
    answer = read_answer('{"sizes": {"3": {"data_ratio": 1}, "huge": {"data_ratio": NaN}}}')
    assert answer is not None
    assert list(answer.sizes) == ["3", "huge"]


def test_reasons_are_bounded_and_must_be_text() -> None:
    long = read_answer(json.dumps({"sizes": SIZES, "reason": "x" * 10_000}))
    assert long is not None and long.reason == "x" * MAX_REASON_CHARS
    assert read_answer(json.dumps({"sizes": SIZES, "reason": ["no", "text"]})) == Answer(SIZES, None)


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("3", 3),
        ("10x10", 10),
        ("size 4", 4),
        ("size_5", 5),
        ("map_6", 6),
        ("Map size 7", 7),
        ("8 x 8", 8),
        ("99", 99),
        *((name, None) for name in ("", "3x4", "three", "-3", "3.5", "sizes", "data_ratio", "size", "3000")),
    ],
)
def test_names_of_sizes(name: str, size: int | None) -> None:
    assert size_of(name) == size


# --- any text -------------------------------------------------------------------------------------

WORDS = """{ } [ ] : , " ' \\ // # sizes "sizes" 3 "3" 0.5 - % null NaN 1e999 <think> </think> \\u12 é …"""
pieces = st.sampled_from([*WORDS.split(), "\n", " ", "\x00"])


@given(st.one_of(st.text(), st.lists(pieces, max_size=60).map("".join)))
def test_no_text_raises(text: str) -> None:
    answer = read_answer(text)
    assert answer is None or answer.sizes


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(-1e6, 1e6) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values), st.booleans())
def test_strict_json_is_read_as_json_reads_it(value: dict[str, Any], ascii_only: bool) -> None:
    *_, last = objects(json.dumps(value, ensure_ascii=ascii_only))
    assert last == value


@given(
    st.text(alphabet=st.characters(blacklist_characters="{}<>")),
    st.text(alphabet=st.characters(blacklist_characters="{}<>")),
)
def test_prose_around_an_answer_does_not_matter(before: str, after: str) -> None:
    assert read_answer(f"{before}{PLAIN}{after}") == ANSWER


LONG = 200_000


HARD = r"""{ {" {' " \ {"\" {"a": {"a":[ {"a":1, {} [ {// {a:- {a:1e {a:b} <think> </think> {"sizes":{"3":{}}} 9"""


@pytest.mark.parametrize("piece", [*HARD.split(), "{a ", '{"a" "b"', " "])
def test_no_text_takes_long(piece: str) -> None:
    """Twice the text, twice the time: far from it would be minutes."""
    started = time.perf_counter()
    for start in ("", '{"sizes": {"3": {"data_ratio": '):
        read_answer(start + piece * (LONG // len(piece)))
    assert time.perf_counter() - started < 4


def test_nothing_is_evaluated_and_no_depth_is_too_deep() -> None:
    text = '{"sizes": {"3": {"data_ratio": __import__("os").abort()}}}'
    assert read_answer(text) is None
    assert read_answer('{"a":' * 50_000 + PLAIN) == ANSWER
