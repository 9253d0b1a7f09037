"""The sampler against the model itself: same distribution, same greedy answers, and every row on its own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM

from trainee2trainer.models.attention import NAME
from trainee2trainer.models.sampler import Row, Sampled, Sampler, draw
from trainee2trainer.models.uniforms import row_seed, uniforms

EOS = 1
PROMPTS = [[5, 9, 14, 3, 22], [7], [8, 8, 30, 31, 12, 40, 41, 9, 17], [5, 9, 14, 3, 22], [11, 4]]


@pytest.fixture(scope="module", params=[4, 2, 1], ids=["own", "grouped", "single"])
def model(request: pytest.FixtureRequest, make_tiny: Callable[..., Any]) -> Any:
    """With as many key-value heads as query heads, with fewer, and with one."""
    return make_tiny(key_value_heads=request.param)[0]


def logprobs_by_full_forward(
    model: Any, prompt: list[int], answer: list[int], temperature: float
) -> torch.Tensor:
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]
    return (logits / temperature).log_softmax(-1).gather(1, torch.tensor(answer)[:, None])[:, 0]


def test_greedy_answers_are_those_of_generate(model: Any) -> None:
    answers = Sampler(model, EOS).sample(PROMPTS, 1, seed=0, temperature=0.0, max_tokens=40)
    for prompt, [answer] in zip(PROMPTS, answers, strict=True):
        expected = model.generate(
            torch.tensor([prompt]), max_new_tokens=40, do_sample=False, eos_token_id=EOS, pad_token_id=0
        )
        assert answer.token_ids == expected[0, len(prompt) :].tolist()


def test_other_architectures_answer_the_same_way() -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=63,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=6,
        num_key_value_heads=3,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    llama = LlamaForCausalLM(config).eval()
    for temperature in (0.0, 0.8):
        answers = Sampler(llama, EOS).sample(PROMPTS, 3, seed=1, temperature=temperature, max_tokens=20)
        for prompt, group in zip(PROMPTS, answers, strict=True):
            for answer in group:
                expected = logprobs_by_full_forward(llama, prompt, answer.token_ids, temperature or 1.0)
                assert torch.allclose(torch.tensor(answer.logprobs), expected, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 3.0])
def test_logprobs_are_those_of_a_full_forward(model: Any, temperature: float) -> None:
    answers = Sampler(model, EOS).sample(PROMPTS, 6, seed=1, temperature=temperature, max_tokens=30)
    for prompt, group in zip(PROMPTS, answers, strict=True):
        for answer in group:
            expected = logprobs_by_full_forward(model, prompt, answer.token_ids, temperature or 1.0)
            assert torch.allclose(torch.tensor(answer.logprobs), expected, atol=1e-4)


def test_answers_stop_at_the_end_token_or_at_their_length(model: Any) -> None:
    answers = Sampler(model, EOS).sample(PROMPTS, 40, seed=2, temperature=2.0, max_tokens=25)
    reasons = set()
    for answer in (answer for group in answers for answer in group):
        reasons.add(answer.finish_reason)
        assert len(answer.token_ids) == len(answer.logprobs)
        if answer.finish_reason == "stop":
            assert answer.token_ids.index(EOS) == len(answer.token_ids) - 1
        else:
            assert EOS not in answer.token_ids
            assert len(answer.token_ids) == 25
    assert reasons == {"stop", "length"}


def test_answers_end_where_the_context_ends(make_tiny: Callable[..., Any]) -> None:
    model = make_tiny(context=16)[0]
    [[answer]] = Sampler(model, None).sample([[5] * 10], 1, seed=0, max_tokens=100)
    assert (len(answer.token_ids), answer.finish_reason) == (6, "length")
    for prompt in ([], [5] * 16):
        with pytest.raises(ValueError, match="allowed are 1 to 15"):
            Sampler(model, None).sample([prompt], 1, seed=0)


ROWS = [
    Row(tuple(PROMPTS[place % len(PROMPTS)]), row_seed(3, place, 0), temperature, 5 + place % 30)
    for place in range(60)
    for temperature in ([0.0] if place % 10 == 0 else [0.7 + 0.01 * place])
]


@pytest.fixture(scope="module")
def alone(model: Any) -> list[Sampled]:
    sampler = Sampler(model, EOS)
    return [sampler.run([row])[0] for row in ROWS]


@pytest.mark.parametrize("cache_bytes", [1, 20_000, 100_000])
def test_little_memory_only_makes_batches_smaller(model: Any, alone: list[Sampled], cache_bytes: int) -> None:
    sampler = Sampler(model, EOS, cache_bytes=cache_bytes)
    batches = list(sampler._batches(ROWS))
    assert sorted(place for batch in batches for place in batch) == [*range(len(ROWS))]
    assert len(batches) > 1
    answers = sampler.run(ROWS)
    assert [answer.token_ids for answer in answers] == [answer.token_ids for answer in alone]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    order=st.lists(st.integers(0, len(ROWS) - 1), min_size=1, max_size=80),
    max_rows=st.sampled_from([1, 7, 512]),
)
def test_a_row_does_not_feel_its_company(
    model: Any, alone: list[Sampled], order: list[int], max_rows: int
) -> None:
    together = Sampler(model, EOS, max_rows=max_rows).run([ROWS[place] for place in order])
    for place, answer in zip(order, together, strict=True):
        assert answer.token_ids == alone[place].token_ids
        assert answer.finish_reason == alone[place].finish_reason
        assert np.allclose(answer.logprobs, alone[place].logprobs, atol=1e-4)


def test_same_seed_same_answers_other_seed_other_answers(model: Any) -> None:
    sampler = Sampler(model, EOS)
    first, again, other = (sampler.sample(PROMPTS, 3, seed=seed, max_tokens=20) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    # Equal prompts at different places get samples of their own.
    assert first[0] != first[3]


def test_sampled_tokens_follow_the_distribution(model: Any) -> None:
    prompt = PROMPTS[0]
    answers = Sampler(model, None).sample([prompt], 4_000, seed=9, temperature=1.3, max_tokens=1)
    counts = np.bincount([answer.token_ids[0] for answer in answers[0]], minlength=model.config.vocab_size)
    with torch.no_grad():
        expected = (model(input_ids=torch.tensor([prompt])).logits[0, -1] / 1.3).softmax(-1).numpy() * 4_000
    often = expected > 5
    chi_squared = float(((counts - expected)[often] ** 2 / expected[often]).sum())
    freedom = int(often.sum())
    assert chi_squared < freedom + 4 * (2 * freedom) ** 0.5


def test_live_weights_are_read_and_the_model_is_left_as_it_was(make_tiny: Callable[..., Any]) -> None:
    model = make_tiny()[0]
    sampler = Sampler(model, EOS)
    before = sampler.sample(PROMPTS, 2, seed=0, temperature=0.0, max_tokens=10)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    model.train()
    for _ in range(3):
        tokens = torch.tensor([[5, 9, 14, 3, 22, 1]])
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        after = sampler.sample(PROMPTS, 2, seed=0, temperature=0.0, max_tokens=10)
        assert model.training
        assert model.config._attn_implementation != NAME
        assert all(parameter.grad is None for parameter in model.parameters())
    assert before != after
    expected = logprobs_by_full_forward(model, PROMPTS[0], after[0][0].token_ids, 1.0)
    assert torch.allclose(torch.tensor(after[0][0].logprobs), expected, atol=1e-4)


def test_a_stream_may_be_left_early_and_is_alone(model: Any) -> None:
    sampler = Sampler(model, None)
    stream = sampler.stream(ROWS[:4])
    next(stream)
    with pytest.raises(RuntimeError, match="one batch at a time"):
        sampler.run(ROWS[:1])
    stream.close()
    assert model.config._attn_implementation != NAME
    assert sampler.run(ROWS[:1])[0].token_ids


def test_models_that_forget_are_refused(make_tiny: Callable[..., Any]) -> None:
    model = make_tiny()[0]
    model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(ValueError, match="sliding_attention"):
        Sampler(model, EOS)


def test_uniforms_are_even_and_unlike_each_other() -> None:
    seeds = np.array([row_seed(seed, 0, 0) for seed in range(200)], dtype=np.uint64)
    table = np.stack([uniforms(seeds, step) for step in range(200)])
    assert table.min() >= 0.0
    assert table.max() < 1.0
    counts, _ = np.histogram(table, bins=20, range=(0, 1))
    assert abs(counts - 2_000).max() < 5 * 2_000**0.5
    assert np.abs(np.corrcoef(table.T) - np.eye(200)).max() < 0.4
    assert np.array_equal(uniforms(seeds[[7, 3]], 11), table[11, [7, 3]])


def test_draw_never_takes_an_impossible_token() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]] * 3)
    chance = torch.tensor([0.0, 0.4999, 1 - 2**-52], dtype=torch.float64)
    tokens, logprobs = draw(logits, chance, torch.ones(3))
    assert tokens.tolist() == [1, 1, 3]
    assert torch.allclose(logprobs, torch.full((3,), 0.5).log())
