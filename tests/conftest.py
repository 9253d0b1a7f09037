"""Fixtures that several folders of tests use."""

from collections.abc import Callable
from typing import Any

import pytest

TINY_WORDS = 60


@pytest.fixture(scope="session")
def make_tiny() -> Callable[..., Any]:
    """Makes (model, tokenizer): a small Qwen3 with random weights and a word-level tokenizer `w0 … w59`."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    torch.set_num_threads(1)

    def make(seed: int = 0, context: int = 128, key_value_heads: int = 2) -> tuple[Any, Any]:
        words = ["<pad>", "<eos>", "<unk>", *(f"w{number}" for number in range(TINY_WORDS))]
        words_to_ids = models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>")
        backend = Tokenizer(words_to_ids)
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=backend, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
        )
        tokenizer.chat_template = (
            "{% for message in messages %}{{ message['content'] }} {% endfor %}"
            "{% if add_generation_prompt %}w0{% endif %}"
        )
        torch.manual_seed(seed)
        config = Qwen3Config(
            vocab_size=len(words),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=key_value_heads,
            head_dim=8,
            max_position_embeddings=context,
            tie_word_embeddings=True,
            pad_token_id=0,
            eos_token_id=1,
        )
        model = Qwen3ForCausalLM(config).eval()
        for parameter in model.parameters():
            if parameter.dim() == 2:
                # The library's own spread makes every token nearly as likely as every other.
                torch.nn.init.normal_(parameter, std=1.5 / parameter.shape[1] ** 0.5)
        return model, tokenizer

    return make
