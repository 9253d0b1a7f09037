"""Supervised learning of lessons by next-token cross-entropy, deterministic on a CPU."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from trainer_service.seeds import derive
from trainer_service.warmstart.lessons import Lesson, batches
from trainer_service.warmstart.settings import WarmstartSettings

_IGNORED = -100


def learn(
    model: PreTrainedModel,
    plans: list[Lesson],
    exchanges: list[Lesson],
    settings: WarmstartSettings,
    tell: Callable[[int, float], None],
) -> None:
    """Trains `model` in place; calls `tell(step, loss)` after each step."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, settings))
    model.train()
    for step, batch in zip(range(settings.steps), _mixed(plans, exchanges, settings), strict=False):
        tokens, targets = padded(batch, int(model.config.pad_token_id or 0))
        logits = model(input_ids=tokens).logits
        loss = cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten(), ignore_index=_IGNORED)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimizer.step()
        schedule.step()
        tell(step + 1, loss.item())
    model.eval()


def _rate(step: int, settings: WarmstartSettings) -> float:
    """Linear warm-up, then half a cosine down to nothing."""
    warm = min(1.0, (step + 1) / settings.warmup)
    return warm * 0.5 * (1 + math.cos(math.pi * min(1.0, step / settings.steps)))


def _mixed(
    plans: list[Lesson], exchanges: list[Lesson], settings: WarmstartSettings
) -> Iterator[list[Lesson]]:
    of_plans = batches(plans, settings.batch, derive(settings.seed, "order of plans"))
    of_exchanges = batches(exchanges, settings.exchange_batch, derive(settings.seed, "order of exchanges"))
    while True:
        for _ in range(settings.exchange_every - 1):
            yield next(of_plans)
        yield next(of_exchanges)


def padded(batch: list[Lesson], pad: int) -> tuple[Tensor, Tensor]:
    """Token ids and targets, both (lessons, longest). Padding stands on the right, where causal attention
    never sees it; prompt and padding are no targets."""
    longest = max(map(len, batch))
    tokens = torch.full((len(batch), longest), pad)
    targets = torch.full((len(batch), longest), _IGNORED)
    for row, one in enumerate(batch):
        tokens[row, : len(one)] = torch.tensor([*one.prompt, *one.answer])
        targets[row, len(one.prompt) : len(one)] = torch.tensor(one.answer)
    return tokens, targets
