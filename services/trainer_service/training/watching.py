"""TRL's trainer, watched: how far its log-probabilities are from those that were sampled with.

The sampler and the trainer compute the same model in different ways. Where they drift apart, what is learnt
from was not sampled by the policy that learns.
"""

from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer

GAP_MEAN = "sampling/sampling_logp_difference/mean"
GAP_MAX = "sampling/sampling_logp_difference/max"
"""The library's own names: it measures the same, but only for vLLM."""

_SAMPLED = "sampling_per_token_logps"


class WatchedTrainer(GRPOTrainer):  # type: ignore[misc]
    """Adds the gap between sampler and trainer to what is logged. Changes nothing about what is learnt."""

    _computed: Tensor

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._gap = Gap(self.accelerator.device)

    def _get_per_token_logps_and_entropies(self, *args: Any, **settings: Any) -> Any:
        found = super()._get_per_token_logps_and_entropies(*args, **settings)
        self._computed = found[0].detach()
        return found

    def _compute_loss(self, model: Any, inputs: dict[str, Tensor]) -> Tensor:
        loss: Tensor = super()._compute_loss(model, inputs)
        if _SAMPLED in inputs:
            # The loss asks last, so what was computed last is what is learnt from.
            self._gap.add(self._computed - inputs[_SAMPLED], inputs["completion_mask"])
        return loss

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """None for a checkpoint to go on from: writing one asks trackers on the network for addresses."""

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs and (gap := self._gap.take(self.accelerator)):
            logs |= gap
        super().log(logs, start_time)


class Gap:
    """Mean and largest |difference| over the sampled tokens of a step."""

    def __init__(self, device: torch.device) -> None:
        self._sum = self._count = self._max = self._nothing = torch.tensor(0.0, device=device)

    def add(self, difference: Tensor, mask: Tensor) -> None:
        """Both (samples, tokens); `mask` is 1 where a token was sampled."""
        # An engine may have no log-probability for a token.
        size = torch.where(mask.bool(), difference, 0.0).abs().nan_to_num(nan=0.0)
        self._sum = self._sum + size.sum()
        self._count = self._count + mask.sum()
        self._max = torch.maximum(self._max, size.max())

    def take(self, accelerator: Any) -> dict[str, float]:
        """What was added, over all processes, and starts anew. Empty where nothing was."""
        total, count = accelerator.reduce(torch.stack([self._sum, self._count])).tolist()
        largest = accelerator.gather(self._max).max().item()
        self._sum = self._count = self._max = self._nothing
        return {GAP_MEAN: total / count, GAP_MAX: largest} if count else {}
