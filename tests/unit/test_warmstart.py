"""The warm start: what it learns from, and that it is the same every time."""

from itertools import islice

import pytest
import torch

from trainee2trainer.contracts.base import Message
from trainee2trainer.models import nano
from trainer_service.warmstart.learning import learn, padded
from trainer_service.warmstart.lessons import Lesson, batches, lesson
from trainer_service.warmstart.settings import WarmstartSettings


def some_lessons(count: int) -> list[Lesson]:
    tokenizer = nano.tokenizer()
    return [
        lesson(
            tokenizer,
            [Message(role="user", content=f"size {3 + index % 8} holes none plan")],
            "UP 0,1 / " * (index % 3) + "WAIT 1,0",
        )
        for index in range(count)
    ]


def test_a_word_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        lesson(nano.tokenizer(), [Message(role="user", content="size 3 holes some plan")], "UP 0,1")


def test_only_answers_are_learnt_and_they_end() -> None:
    lessons = some_lessons(3)
    tokens, targets = padded(lessons, 0)
    for row, one in enumerate(lessons):
        learnt = targets[row][targets[row] >= 0].tolist()
        assert learnt == one.answer
        assert tokens[row, : len(one)].tolist() == [*one.prompt, *one.answer]
        assert one.answer[-1] == nano.words().index(nano.EOS)


def test_an_epoch_holds_every_lesson_once() -> None:
    lessons = some_lessons(50)
    epoch = [one for batch in islice(batches(lessons, 8, seed=1), 7) for one in batch]
    assert sorted(map(id, epoch)) == sorted(map(id, lessons))


def test_learning_twice_gives_equal_weights_and_a_smaller_loss() -> None:
    settings = WarmstartSettings(steps=12, batch=8, exchange_batch=4, warmup=2)
    results, losses = [], []
    for _ in range(2):
        model = nano.model(3)
        learn(model, some_lessons(40), some_lessons(20), settings, lambda _, loss: losses.append(loss))
        results.append(model.state_dict())
    assert all(torch.equal(results[0][name], results[1][name]) for name in results[0])
    assert losses[:12] == losses[12:]
    assert losses[11] < losses[0]
