"""Text and tokens: what is streamed piece by piece is what the whole says."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from policy_service.vocabulary import PromptRefusedError, Vocabulary, Writer
from trainee2trainer.contracts.base import Message


def bytes_vocabulary() -> Vocabulary:
    """A token is a byte, so that one character may be several tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(
        models.BPE({"<eos>": 0} | {byte: place + 1 for place, byte in enumerate(alphabet)}, [])
    )
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return Vocabulary(PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>"), 257, 1_000)


BYTES = bytes_vocabulary()


def written(vocabulary: Vocabulary, ids: list[int]) -> list[str]:
    writer = Writer(vocabulary)
    return [writer.add(token, last=place == len(ids) - 1) for place, token in enumerate(ids)]


@given(st.text(min_size=1, max_size=30))
def test_pieces_of_text_are_whole_characters(text: str) -> None:
    pieces = written(BYTES, BYTES.encode(text))
    assert "".join(pieces) == text
    assert "".join(pieces[: len(pieces) // 2]) == text[: len("".join(pieces[: len(pieces) // 2]))]


@given(st.lists(st.integers(0, 62), min_size=1, max_size=40))
def test_pieces_of_words_and_special_tokens_add_up(make_tiny: Callable[..., Any], ids: list[int]) -> None:
    vocabulary = Vocabulary(make_tiny()[1], 63, 128)
    assert "".join(written(vocabulary, ids)) == vocabulary.decode(ids)


def test_half_a_character_at_the_end_is_not_held_back() -> None:
    ids = BYTES.encode("aé")[:-1]
    assert "".join(written(BYTES, ids)) == "a\N{REPLACEMENT CHARACTER}"


def test_chats_need_a_template(make_tiny: Callable[..., Any]) -> None:
    with pytest.raises(PromptRefusedError, match="no chat template"):
        BYTES.encode([Message(role="user", content="hello")])
    tokenizer = make_tiny()[1]
    tokenizer.chat_template = "{{ raise_exception('users first') }}"
    with pytest.raises(PromptRefusedError, match="users first"):
        Vocabulary(tokenizer, 63, 128).encode([Message(role="assistant", content="w1")])
