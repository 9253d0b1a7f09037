"""Batched sampling from a decoder-only model, on CPU or GPU, with live weights.

A row is one answer in the making. What it samples hangs on the weights, its prompt, its seed and its
temperature, not on the rows beside it (up to the rounding of floating-point sums).
"""

from collections.abc import Generator, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache

from trainee2trainer.models.attention import SharedPromptCache, Workspace, shared_prompt_attention
from trainee2trainer.models.rows import Row, Sampled, Step
from trainee2trainer.models.uniforms import row_seed, uniforms

__all__ = ["Row", "Sampled", "Sampler", "Step", "draw"]

_KEEP_ALIVE_SHARE = 7 / 8
"""Below this share of unfinished rows it pays to copy the others' keys and values together."""
_PREFILL_TOKENS = 2_048
_BYTES_PER_CHANCE = 24
"""Of one token in one row's distribution: logits, log-probabilities, probabilities, cumulative in double."""


class Sampler:
    """Samples from `model` as its weights are at the time of the call.

    `eos_token_id`: the token or tokens that end an answer. `pad_token_id` fills up short prompts and is never
    attended to. `max_rows` are decoded at a time, fewer where they would need more than `cache_bytes`;
    samplers that never work at the same time may share the `workspace` that holds these.
    Raises ValueError for a model whose layers do not all attend to everything before.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        eos_token_id: int | Sequence[int] | None,
        pad_token_id: int = 0,
        *,
        max_rows: int = 512,
        cache_bytes: int = 1 << 30,
        workspace: Workspace | None = None,
    ) -> None:
        kinds = set(getattr(model.config, "layer_types", None) or ["full_attention"])
        if kinds != {"full_attention"}:
            raise ValueError(f"Only full attention is sampled from; this model has {sorted(kinds)}.")
        self.model = model
        self.context = int(model.config.max_position_embeddings)
        self.max_rows = max_rows
        self._pad = pad_token_id
        self._cache_bytes = cache_bytes
        self._workspace = workspace or Workspace()
        ends = [eos_token_id] if isinstance(eos_token_id, int) else list(eos_token_id or [])
        self._ends = np.array(ends, dtype=np.int64)

    def sample(
        self,
        prompts: Sequence[Sequence[int]],
        n: int,
        seed: int,
        temperature: float = 1.0,
        max_tokens: int = 128,
    ) -> list[list[Sampled]]:
        """`n` answers to each prompt, in order.

        Raises ValueError where a prompt is empty or fills the context.
        """
        rows = [
            Row(tuple(prompt), row_seed(seed, place, sample), temperature, max_tokens)
            for place, prompt in enumerate(prompts)
            for sample in range(n)
        ]
        answers = self.run(rows)
        return [answers[first : first + n] for first in range(0, len(answers), n)]

    def run(self, rows: Sequence[Row]) -> list[Sampled]:
        """One answer per row, in order."""
        answers = [Sampled([], [], "length") for _ in rows]
        for step in self.stream(rows):
            triples = zip(step.rows.tolist(), step.tokens.tolist(), step.logprobs.tolist(), strict=True)
            for place, token, logprob in triples:
                answers[place].token_ids.append(token)
                answers[place].logprobs.append(logprob)
            for place in step.rows[step.stopped].tolist():
                answers[place] = Sampled(answers[place].token_ids, answers[place].logprobs, "stop")
        return answers

    def stream(self, rows: Sequence[Row]) -> Generator[Step]:
        """The rows' tokens as they are sampled. Close the iterator to stop early."""
        for row in rows:
            if not 0 < len(row.prompt) < self.context:
                raise ValueError(
                    f"A prompt has {len(row.prompt)} tokens; allowed are 1 to {self.context - 1}."
                )
        for places in self._batches(rows):
            yield from self._decode(rows, places)

    def _batches(self, rows: Sequence[Row]) -> Iterator[list[int]]:
        """Places of rows to decode together: equal prompts side by side, prompts of like length near."""
        order = sorted(range(len(rows)), key=lambda place: (len(rows[place].prompt), rows[place].prompt))
        batch: list[int] = []
        prompts = budget = 0
        for place in order:
            row = rows[place]
            prompts += not batch or row.prompt != rows[batch[-1]].prompt
            budget = max(budget, self._budget(row))
            # Prompts come in order of length: this one is the longest so far.
            needed = self._bytes(len(batch) + 1, budget, prompts, len(row.prompt))
            if batch and (len(batch) == self.max_rows or needed > self._cache_bytes):
                yield batch
                batch, prompts, budget = [], 1, self._budget(row)
            batch.append(place)
        if batch:
            yield batch

    def _budget(self, row: Row) -> int:
        return min(row.max_tokens, self.context - len(row.prompt))

    def _bytes(self, rows: int, budget: int, prompts: int, longest: int) -> int:
        """Memory of a batch: keys and values of rows and prompts, and the distributions of the next token."""
        config = self.model.config
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        token = 2 * config.num_hidden_layers * heads * width * self.model.dtype.itemsize
        return int((rows * budget + prompts * longest) * token + rows * config.vocab_size * _BYTES_PER_CHANCE)

    def _decode(self, rows: Sequence[Row], places: list[int]) -> Iterator[Step]:
        """Decodes one batch. Until that is through or closed, the model evaluates and attends our way."""
        batch = _Batch(rows, places, [self._budget(rows[place]) for place in places], self.model.device)
        training = self.model.training
        self.model.eval()
        try:
            with self._workspace.lent() as workspace:
                cache = self._prefill(batch, workspace)
                with shared_prompt_attention(self.model):
                    yield batch.advance(self.model, cache, self._ends)
                    while batch.tidy(cache):
                        yield batch.advance(self.model, cache, self._ends)
        finally:
            self.model.train(training)

    @torch.no_grad()
    def _prefill(self, batch: "_Batch", workspace: Workspace) -> SharedPromptCache:
        """Keys and values of each distinct prompt but for its last token, which is the first step's input."""
        lengths = [len(prompt) - 1 for prompt in batch.prompts]
        cache = SharedPromptCache(lengths, batch.prompt, int(batch.budgets.max()), workspace)
        for first, last in _portions(lengths):
            longest = max(1, lengths[last - 1])
            tokens = [
                [*batch.prompts[place][:-1], *[self._pad] * longest][:longest] for place in range(first, last)
            ]
            part = DynamicCache(config=self.model.config)
            # Padding stands on the right, where causal attention never sees it from a real token.
            ids = torch.tensor(tokens, device=self.model.device)
            self.model(input_ids=ids, cache=part, use_cache=True, logits_to_keep=1)
            cache.add_prompts(part, first)
        return cache


def _portions(lengths: list[int]) -> Iterator[tuple[int, int]]:
    """Cuts ascending lengths into runs whose padded tokens stay in the processor's caches while computed."""
    first = 0
    for last in range(1, len(lengths) + 1):
        if last == len(lengths) or lengths[last] * (last + 1 - first) > _PREFILL_TOKENS:
            yield first, last
            first = last


class _Batch:
    """The rows still being decoded, in the order of the cache."""

    def __init__(
        self, rows: Sequence[Row], places: list[int], budgets: list[int], device: torch.device
    ) -> None:
        chosen = [rows[place] for place in places]
        self.prompts = list(dict.fromkeys(row.prompt for row in chosen))
        number = {prompt: place for place, prompt in enumerate(self.prompts)}
        self.prompt = torch.tensor([number[row.prompt] for row in chosen], device=device)
        self.places = np.array(places)
        self.budgets = np.array(budgets)
        self.seeds = np.array([row.seed for row in chosen], dtype=np.uint64)
        self.alive = np.ones(len(chosen), dtype=bool)
        self.taken = 0
        self.temperatures = torch.tensor(
            [row.temperature for row in chosen], dtype=torch.float32, device=device
        )
        self.tokens = torch.tensor([row.prompt[-1] for row in chosen], device=device)
        self.positions = torch.tensor([len(row.prompt) - 1 for row in chosen], device=device)

    @torch.no_grad()
    def advance(self, model: PreTrainedModel, cache: SharedPromptCache, ends: NDArray[np.int64]) -> Step:
        """Samples the next token of every row; tells of the unfinished ones."""
        logits = model(
            input_ids=self.tokens[:, None],
            position_ids=(self.positions + self.taken)[:, None],
            cache=cache,
            shared_prompt=cache,
            use_cache=True,
        ).logits[:, -1]
        chance = torch.from_numpy(uniforms(self.seeds, self.taken)).to(logits.device)
        self.tokens, logprobs = draw(logits.float(), chance, self.temperatures)
        self.taken += 1
        tokens = self.tokens.numpy(force=True)
        stopped = np.isin(tokens, ends)
        exhausted = (self.budgets <= self.taken) & ~stopped
        alive, self.alive = self.alive, self.alive & ~stopped & ~exhausted
        return Step(
            self.places[alive],
            tokens[alive],
            logprobs.numpy(force=True)[alive],
            stopped[alive],
            exhausted[alive],
        )

    @torch.no_grad()
    def tidy(self, cache: SharedPromptCache) -> bool:
        """Drops finished rows where that pays. False when none is left."""
        count = int(self.alive.sum())
        if 0 < count < len(self.alive) * _KEEP_ALIVE_SHARE:
            kept = np.flatnonzero(self.alive)
            rows = torch.from_numpy(kept).to(self.tokens.device)
            cache.keep(rows)
            self.tokens, self.positions = self.tokens[rows], self.positions[rows]
            self.temperatures = self.temperatures[rows]
            self.places, self.budgets, self.seeds = self.places[kept], self.budgets[kept], self.seeds[kept]
            self.alive = self.alive[kept]
        return count > 0


def draw(logits: Tensor, chance: Tensor, temperatures: Tensor) -> tuple[Tensor, Tensor]:
    """A token per row by inverting the cumulative distribution at `chance`, and its log-probability.

    `logits` (R, vocabulary), `chance` in [0, 1) and `temperatures` (R,) → two tensors (R,).
    """
    greedy = temperatures == 0
    logprobs = torch.log_softmax(logits / torch.where(greedy, 1.0, temperatures)[:, None], dim=-1)
    cumulative = torch.cumsum(logprobs.exp(), dim=-1, dtype=torch.float64)
    tokens = torch.searchsorted(cumulative, (chance * cumulative[:, -1])[:, None], right=True)[:, 0]
    tokens = torch.where(greedy, logits.argmax(dim=-1), tokens)
    return tokens, logprobs.gather(1, tokens[:, None])[:, 0]
