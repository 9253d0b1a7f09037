"""What is learnt from: pairs of prompt and answer, as token ids, fetched from the two services that know them."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from transformers import PreTrainedTokenizerFast

from trainee2trainer.client import EngineerClient, EnvClient
from trainee2trainer.contracts.base import Message
from trainee2trainer.contracts.engineer import ExchangeRequest
from trainee2trainer.contracts.environment import EnvironmentConfig, GenerateRequest
from trainer_service.seeds import derive
from trainer_service.warmstart.settings import WarmstartSettings

TEMPLATE = "compact-v1"


@dataclass(frozen=True, slots=True)
class Lesson:
    """Token ids. The answer ends with the end token; only the answer is learnt."""

    prompt: list[int]
    answer: list[int]

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer)


def lesson(tokenizer: PreTrainedTokenizerFast, prompt: list[Message], answer: str) -> Lesson:
    """Raises ValueError for a word outside the vocabulary: it would be learnt as <unk>."""
    question = tokenizer.encode(" ".join(message.content for message in prompt))
    reply = [*tokenizer.encode(answer), tokenizer.eos_token_id]
    if tokenizer.unk_token_id in (*question, *reply):
        raise ValueError(f"not in the nano vocabulary: a word of {prompt!r} or {answer!r}")
    return Lesson(question, reply)


async def plans(
    env: EnvClient, tokenizer: PreTrainedTokenizerFast, settings: WarmstartSettings
) -> list[Lesson]:
    """Optimal plans for training boards, over all hole ratios."""
    lessons = []
    for ratio in settings.hole_ratios:
        request = GenerateRequest(
            configuration=with_holes(settings.configuration, ratio),
            seed=derive(settings.seed, "warmstart boards", ratio),
            count=settings.boards // len(settings.hole_ratios),
            template=TEMPLATE,
            best_effort=True,
        )
        async for row in env.stream_instances(request):
            lessons.append(lesson(tokenizer, row.prompt or [], row.answer or ""))
    return lessons


def with_holes(configuration: EnvironmentConfig, ratio: float) -> EnvironmentConfig:
    """The same configuration with one hole ratio for all sizes."""
    sizes = {
        size: knobs.model_copy(update={"hole_ratio": ratio}) for size, knobs in configuration.sizes.items()
    }
    return configuration.model_copy(update={"sizes": sizes})


async def exchanges(
    engineer: EngineerClient, tokenizer: PreTrainedTokenizerFast, settings: WarmstartSettings
) -> list[Lesson]:
    """Engineer exchanges: invented evidence and the teacher's configuration."""
    request = ExchangeRequest(
        seed=derive(settings.seed, "warmstart exchanges"),
        count=settings.exchanges,
        sizes=sorted(settings.configuration.sizes),
    )
    return [
        lesson(tokenizer, exchange.prompt, exchange.answer) async for exchange in engineer.exchanges(request)
    ]


def batches(lessons: list[Lesson], size: int, seed: int) -> Iterator[list[Lesson]]:
    """Endless batches of lessons of like length: epoch after epoch, each in an order of its own."""
    order = random.Random(seed)
    while True:
        shuffled = order.sample(lessons, len(lessons))
        # Sorted within stretches: little padding, and still every batch a random draw.
        stretches = [shuffled[at : at + 32 * size] for at in range(0, len(shuffled), 32 * size)]
        cut = [
            ordered[at : at + size]
            for ordered in (sorted(stretch, key=len) for stretch in stretches)
            for at in range(0, len(ordered), size)
        ]
        order.shuffle(cut)
        yield from cut
