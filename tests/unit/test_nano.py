"""The nano rung: its words are those of the templates, and text survives being tokens."""

import pytest
import torch

from engineer_service.exchanges import exchange
from env_service.boards import Task
from env_service.prompts import TEMPLATES
from env_service.solver.certificate import Certificate, certify
from trainee2trainer.models import nano


@pytest.fixture(scope="module")
def tokenizer() -> nano.PreTrainedTokenizerFast:
    return nano.tokenizer()


def test_every_word_is_one_token_and_no_word_is_there_twice(tokenizer: nano.PreTrainedTokenizerFast) -> None:
    words = nano.words()
    assert len(set(words)) == len(words)
    for index, word in enumerate(words):
        assert tokenizer.encode(word) == [index]


@pytest.mark.parametrize("size", range(3, 11))
def test_boards_and_plans_of_every_size_have_no_unknown_word(
    tokenizer: nano.PreTrainedTokenizerFast, size: int
) -> None:
    last = size * size - 1
    task = Task(size, 1 << (size + 1), (0, last), (last - 1, 1))
    certificate = certify(task)
    assert isinstance(certificate, Certificate)
    template = TEMPLATES["compact-v1"]
    for text in (template.prompt(task)[0].content, template.answer(task, certificate.plan)):
        tokens = tokenizer.encode(text)
        assert tokenizer.unk_token_id not in tokens
        assert tokenizer.decode(tokens) == text


def test_engineer_exchanges_about_all_sizes_come_back_word_for_word(
    tokenizer: nano.PreTrainedTokenizerFast,
) -> None:
    for index in range(50):
        one = exchange(5, index, range(3, 11))
        for text in (one.prompt[0].content, one.answer):
            tokens = tokenizer.encode(text)
            assert tokenizer.unk_token_id not in tokens
            assert tokenizer.decode(tokens) == text
            assert len(tokens) < nano.CONTEXT


def test_a_chat_is_its_words_and_nothing_else(tokenizer: nano.PreTrainedTokenizerFast) -> None:
    chat = [{"role": "user", "content": "size 3 holes none plan"}]
    assert tokenizer.apply_chat_template(chat, return_dict=True)["input_ids"] == tokenizer.encode(
        "size 3 holes none plan"
    )


def test_weights_hang_on_the_seed_alone() -> None:
    torch.manual_seed(1)
    first = nano.model(7).state_dict()
    torch.manual_seed(2)
    again, other = nano.model(7).state_dict(), nano.model(8).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["model.embed_tokens.weight"], other["model.embed_tokens.weight"])


def test_it_is_as_small_as_it_says() -> None:
    assert sum(parameter.numel() for parameter in nano.model(0).parameters()) < 500_000
