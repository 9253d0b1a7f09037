"""The nano rung: a Qwen3 transformer of under half a million parameters, with a vocabulary of whole words.

Its words are those of the templates `compact-v1` (boards and plans) and `engineer-compact-v1` (evidence and
configurations); a text is words with single spaces between them. A cell is one word, so that a board is a
handful of tokens and neighbourhood is learnt once per cell.
"""

import math
from itertools import product

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

PAD, EOS, UNKNOWN = "<pad>", "<eos>", "<unk>"
CONTEXT = 512

_SIZES = [str(size) for size in range(3, 11)]
_ACTIONS = ["UP", "DOWN", "LEFT", "RIGHT", "WAIT"]
_BOARD = ["size", "holes", "none", "agent", "to", "plan", "/"]
_CELLS = [f"{row},{column}" for row, column in product(range(10), repeat=2)]
_RATES = [f"{step / 20:.2f}" for step in range(21)]
_EVIDENCE = ["data", "hole", "wait", "valid", "plain", "waits", "optimal", "train", "dead"]
_FAILURES = ["parse_error", "illegal_move", "hole_collision", "agent_conflict", "goal_not_reached"]
_HISTORY = ["engineer", "history", "up", "down", "same", "configure"]
_JSON = ["{", "}", ":", ",", '"sizes"', '"data_ratio"', '"hole_ratio"', '"wait_ratio"', '"reason"', '"keep"']
_REASON = ['"more', '"fewer', '"less', "on"]
_QUOTED = [f'"{size}"' for size in _SIZES] + [f'{size}"' for size in _SIZES]

# A chat is its words and nothing else: each template's last word says whose turn it is.
_CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
_INITIAL_GAIN = 0.7
"""Deviation 0.7/sqrt(fan-in). With the library's 0.02 a model this narrow learns nothing for minutes."""


def words() -> list[str]:
    """The vocabulary in the order of the token ids."""
    groups = [
        _BOARD,
        _ACTIONS,
        _SIZES,
        _CELLS,
        _HISTORY,
        _EVIDENCE,
        _FAILURES,
        _RATES,
        _JSON,
        _REASON,
        _QUOTED,
    ]
    return [PAD, EOS, UNKNOWN, *dict.fromkeys(word for group in groups for word in group)]


def tokenizer() -> PreTrainedTokenizerFast:
    """A fast tokenizer of the Hugging Face kind; decoding joins the words with spaces."""
    inner = Tokenizer(WordLevel({word: index for index, word in enumerate(words())}, unk_token=UNKNOWN))
    inner.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNKNOWN,
        chat_template=_CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=CONTEXT,
        padding_side="left",
    )


def model(seed: int, *, width: int = 96, layers: int = 3) -> Qwen3ForCausalLM:
    """An untrained model. `seed` decides its weights."""
    vocabulary = words()
    config = Qwen3Config(
        vocab_size=len(vocabulary),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        intermediate_size=3 * width,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=vocabulary.index(PAD),
        eos_token_id=vocabulary.index(EOS),
        bos_token_id=None,
    )
    untrained = Qwen3ForCausalLM(config)
    generator = torch.Generator().manual_seed(seed)
    for parameter in untrained.parameters():
        if parameter.dim() == 2:
            deviation = _INITIAL_GAIN / math.sqrt(parameter.shape[1])
            torch.nn.init.normal_(parameter, 0.0, deviation, generator=generator)
    return untrained
