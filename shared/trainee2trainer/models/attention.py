"""Keys and values for sampling. Many answers to one prompt read that prompt's keys and values once.

A batch has R rows (answers in the making) and P distinct prompts. Every row is at the same step, so its own
keys and values fill a rectangle without padding or mask; prompts are padded on the right and masked. Plugged
into any model of transformers that takes its attention from the `AttentionInterface`.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache

NAME = "shared_prompt"


class Workspace:
    """Memory for keys and values, kept between batches: touching fresh pages costs more than filling them.

    Lent to one batch at a time.
    """

    def __init__(self) -> None:
        self._buffers: list[Tensor] = []
        self._lent = 0
        self._busy = False

    @contextmanager
    def lent(self) -> Iterator["Workspace"]:
        """Raises RuntimeError while another batch has it."""
        if self._busy:
            raise RuntimeError(
                "A sampler decodes one batch at a time: finish or close the other stream first."
            )
        self._busy, self._lent = True, 0
        try:
            yield self
        finally:
            self._busy = False

    def take(self, like: Tensor, *shape: int) -> Tensor:
        """Uninitialised room of this shape, of the type and on the device of `like`."""
        size = math.prod(shape)
        if self._lent == len(self._buffers):
            self._buffers.append(like.new_empty(size))
        buffer = self._buffers[self._lent]
        # What was made in inference mode may only be written to there.
        unwritable = buffer.is_inference() and not torch.is_inference_mode_enabled()
        if unwritable or buffer.numel() < size or buffer.dtype != like.dtype or buffer.device != like.device:
            buffer = self._buffers[self._lent] = like.new_empty(size)
        self._lent += 1
        return buffer[:size].view(shape)


class SharedPromptCache(Cache):  # type: ignore[misc]  # transformers comes without types
    """Keys and values of R rows over P prompts, layer by layer.

    `prompt` names the prompt of each row, ascending. Shapes: prompts (P, heads, longest, width), own keys and
    values (R, heads, capacity, width) in `workspace`, of which the first `length` slots are filled.
    """

    def __init__(self, lengths: list[int], prompt: Tensor, capacity: int, workspace: Workspace) -> None:
        super().__init__(layers=[])
        self.length = 0
        self.prompt_keys: list[Tensor] = []
        self.prompt_values: list[Tensor] = []
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._capacity = capacity
        self._workspace = workspace
        beyond = torch.arange(max([1, *lengths])) >= torch.tensor(lengths)[:, None]
        self.mask = (
            torch.zeros(beyond.shape, dtype=torch.float32).masked_fill_(beyond, -torch.inf).to(prompt.device)
        )
        self._arrange(prompt)

    def add_prompts(self, part: DynamicCache, first: int) -> None:
        """Takes over keys and values of consecutive prompts, padded on the right, from number `first` on."""
        prompts, longest = self.mask.shape
        for layer, found in enumerate(part.layers):
            if layer == len(self.prompt_keys):
                _, heads, _, width = found.keys.shape
                for store in (self.prompt_keys, self.prompt_values):
                    # Slots that are never written must hold numbers: the weight 0 times NaN is NaN.
                    store.append(self._workspace.take(found.keys, prompts, heads, longest, width).zero_())
            count, _, length, _ = found.keys.shape
            self.prompt_keys[layer][first : first + count, :, :length] = found.keys
            self.prompt_values[layer][first : first + count, :, :length] = found.values

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_args: Any, **_kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Keeps one token's keys and values (R, heads, 1, width); gives back all of the rows' own so far."""
        if layer_idx == len(self._keys):
            rows, heads, _, width = key_states.shape
            self._keys.append(self._workspace.take(key_states, rows, heads, self._capacity, width))
            self._values.append(self._workspace.take(value_states, rows, heads, self._capacity, width))
        if layer_idx == 0:
            self.length += 1
        keys, values = self._keys[layer_idx], self._values[layer_idx]
        keys[:, :, self.length - 1] = key_states[:, :, 0]
        values[:, :, self.length - 1] = value_states[:, :, 0]
        return keys[:, :, : self.length], values[:, :, : self.length]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Slots filled by the rows themselves; positions are always given, so prompts do not count here."""
        return self.length

    def keep(self, rows: Tensor) -> None:
        """Drops every row but `rows` (ascending), and the prompts that nobody needs any more."""
        for store in (self._keys, self._values):
            for layer, tensor in enumerate(store):
                store[layer] = tensor[: len(rows)]
                store[layer][:, :, : self.length] = tensor[rows, :, : self.length]
        needed, prompt = torch.unique(self.prompt[rows], return_inverse=True)
        if len(needed) < len(self.mask):
            self.mask = self.mask[needed]
            self.prompt_keys = [keys[needed] for keys in self.prompt_keys]
            self.prompt_values = [values[needed] for values in self.prompt_values]
        self._arrange(prompt)

    def spread(self, by_row: Tensor) -> Tensor:
        """(R, heads, group, x) → (P, heads, places * group, x): what belongs to one prompt, side by side."""
        if self._dense and self._places == 1:
            return by_row
        if not self._dense:
            grid = by_row.new_zeros(len(self.mask) * self._places, *by_row.shape[1:])
            grid[self._place] = by_row
            by_row = grid
        _, heads, group, size = by_row.shape
        grid = by_row.view(len(self.mask), self._places, heads, group, size).transpose(1, 2)
        return grid.reshape(len(self.mask), heads, self._places * group, size)

    def gather(self, by_prompt: Tensor, group: int) -> Tensor:
        """The way back: (P, heads, places * group, x) → (R, heads, group, x)."""
        if self._dense and self._places == 1:
            return by_prompt
        prompts, heads, _, size = by_prompt.shape
        grid = by_prompt.view(prompts, heads, self._places, group, size).transpose(1, 2)
        by_row = grid.reshape(prompts * self._places, heads, group, size)
        return by_row if self._dense else by_row[self._place]

    def _arrange(self, prompt: Tensor) -> None:
        """Gives each row a place beside the other rows of its prompt."""
        self.prompt = prompt
        counts = torch.bincount(prompt, minlength=len(self.mask))
        self._places = int(counts.max())
        first = torch.cumsum(counts, 0) - counts
        self._place = prompt * self._places + torch.arange(len(prompt), device=prompt.device) - first[prompt]
        self._dense = len(prompt) == len(self.mask) * self._places


def _attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _attention_mask: Tensor | None,
    *,
    scaling: float,
    shared_prompt: SharedPromptCache,
    **unused: Any,
) -> tuple[Tensor, None]:
    """Softmax attention of one token per row over its own past and its prompt.

    `query` (R, query heads, 1, width), `key` and `value` (R, heads, length, width) →
    (R, 1, query heads, width).
    """
    for extra in ("softcap", "s_aux", "sliding_window"):
        if unused.get(extra) is not None:
            raise NotImplementedError(
                f"This model's attention uses {extra}, which the sampler does not know."
            )
    rows, query_heads, _, width = query.shape
    heads = key.shape[1]
    group = query_heads // heads
    query = (query * scaling).view(rows, heads, group, width)
    layer: int = module.layer_idx  # type: ignore[assignment]

    # The row's own past comes first: its place in the sum is then the same whatever else is in the batch.
    own = query @ key.transpose(-1, -2)
    prompts = shared_prompt.spread(query) @ shared_prompt.prompt_keys[layer].transpose(-1, -2)
    prompts += shared_prompt.mask[:, None, None, :]
    scores = torch.cat((own, shared_prompt.gather(prompts, group)), dim=-1)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)

    length = key.shape[2]
    mixed = weights[..., :length] @ value
    shared = shared_prompt.spread(weights[..., length:]) @ shared_prompt.prompt_values[layer]
    mixed += shared_prompt.gather(shared, group)
    return mixed.view(rows, 1, query_heads, width), None


AttentionInterface.register(NAME, _attend)


@contextmanager
def shared_prompt_attention(model: PreTrainedModel) -> Iterator[None]:
    """Inside, `model` attends through a `SharedPromptCache` passed as `cache` and `shared_prompt`."""
    before = model.config._attn_implementation
    model.set_attn_implementation(NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
