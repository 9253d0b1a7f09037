"""Tokens per CPU second of our sampler beside transformers' own generate, in one run, on one thread.

`python benchmarks/sampling.py [--json FILE]`. The model has the nano rung's shape and random weights; the end
token is never sampled, so that both do exactly the same amount of work, except in the last case.
"""

import random
import time
from collections.abc import Callable

import torch
from figures import Figures
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from trainee2trainer.models.sampler import Sampler

VOCABULARY, PAD, EOS = 256, 0, 1
NEW_TOKENS = 48
ROUNDS = 3


def nano_shaped() -> PreTrainedModel:
    """0.37 million parameters, spread as wide as a trained model's."""
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=96,
        intermediate_size=288,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=32,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
    )
    model = Qwen3ForCausalLM(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.7 / parameter.shape[1] ** 0.5)
    return model


def prompts(count: int) -> list[list[int]]:
    """As long as the nano rung's prompts: 40 to 80 tokens."""
    dice = random.Random(0)
    return [[dice.randrange(2, VOCABULARY) for _ in range(dice.randrange(40, 81))] for _ in range(count)]


def ours(model: PreTrainedModel, asked: list[list[int]], n: int, eos: int | None) -> int:
    """Number of tokens sampled."""
    answers = Sampler(model, eos, PAD).sample(asked, n, seed=0, temperature=1.0, max_tokens=NEW_TOKENS)
    return sum(len(sample.token_ids) for group in answers for sample in group)


def generate(model: PreTrainedModel, asked: list[list[int]], n: int, eos: int | None) -> int:
    """The same by transformers' generate, with left padding and log-probabilities."""
    longest = max(map(len, asked))
    tokens = torch.tensor([[PAD] * (longest - len(prompt)) + prompt for prompt in asked for _ in range(n)])
    mask = torch.tensor(
        [[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in asked for _ in range(n)]
    )
    with torch.no_grad():
        model.generation_config.eos_token_id = eos
        output = model.generate(
            tokens,
            attention_mask=mask,
            do_sample=True,
            top_k=0,
            max_new_tokens=NEW_TOKENS,
            pad_token_id=PAD,
            return_dict_in_generate=True,
            output_logits=True,
        )
        new = output.sequences[:, longest:]
        torch.stack(output.logits, 1).log_softmax(-1).gather(2, new[:, :, None])
    return int((new != PAD).sum())


def rate(work: Callable[[], int]) -> float:
    """Tokens per CPU second, the best of some rounds."""
    best = 0.0
    for _ in range(ROUNDS):
        started = time.process_time()
        tokens = work()
        best = max(best, tokens / (time.process_time() - started))
    return best


CASES = (
    ("512 answers, 16 to a prompt", 32, 16, None),
    ("512 answers, 4 to a prompt", 128, 4, None),
    ("512 answers, 1 to a prompt", 512, 1, None),
    ("64 answers, 4 to a prompt", 16, 4, None),
    ("1 answer", 1, 1, None),
    ("512 answers that end by themselves, 16 to a prompt", 32, 16, EOS),
)


def main() -> None:
    figures = Figures.of_command("tokens per CPU second (peer: transformers' generate)", __doc__)
    torch.set_num_threads(1)
    model = nano_shaped()
    ours(model, prompts(2), 2, None)
    generate(model, prompts(2), 2, None)
    for name, count, n, eos in CASES:
        asked = prompts(count)
        mine = rate(lambda: ours(model, asked, n, eos))  # noqa: B023 - called at once
        peer = rate(lambda: generate(model, asked, n, eos))  # noqa: B023 - called at once
        figures.add(f"sampling: {name}", mine, "tokens/CPU s", peer)
    figures.write()


if __name__ == "__main__":
    main()
