"""Real training processes on the shipped nano checkpoint, beside a real env_service."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import torch
from support import served
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers import models as tokenizers
from tokenizers.decoders import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from env_service.app import create_app as create_env
from env_service.settings import EnvSettings
from trainee2trainer.artefacts import seal
from trainee2trainer.client import EnvClient
from trainee2trainer.contracts.campaign import TrainingSettings
from trainee2trainer.contracts.environment import EnvironmentConfig, InstanceRow, SizeKnobs
from trainee2trainer.models.checkpoints import save
from trainee2trainer.store import migrate
from trainer_service import boards, checkpoints, profiles, resumption
from trainer_service.failures import StepFailed
from trainer_service.resumption import Resumption
from trainer_service.settings import SinkName, TrainerSettings
from trainer_service.training.spec import StepMetrics
from trainer_service.training_run import Order, Trained, train
from trainer_service.warmstart.learning import learn
from trainer_service.warmstart.lessons import Lesson
from trainer_service.warmstart.settings import WarmstartSettings

SEED = 5
CONFIGURATION = EnvironmentConfig(
    sizes={
        3: SizeKnobs(data_ratio=0.5, hole_ratio=0.1, wait_ratio=0.2),
        4: SizeKnobs(data_ratio=0.5, hole_ratio=0.1, wait_ratio=0),
    }
)
STEPS = 12
SETTINGS = TrainingSettings(
    rollouts=STEPS * 16, group_size=4, prompts_per_step=4, max_tokens=20, kl_coefficient=0.01
)


async def boards_of(stage: "Stage") -> list[InstanceRow]:
    return await boards.read(await stage.boards())


@contextmanager
def env_service(folder: Path) -> Iterator[str]:
    url = f"sqlite+aiosqlite:///{folder / 'store.db'}"
    asyncio.run(migrate.upgrade(url))
    app = create_env(EnvSettings(env_workers=1, data_dir=folder, store_url=url))
    with served(app) as url:
        yield url


@dataclass
class Stage:
    """One stage's attempts, one after the other, as a worker makes them."""

    folder: Path
    env_url: str
    start: Path
    template: str = "compact-v1"
    settings: TrainingSettings = SETTINGS
    save_steps: int = 3
    sinks: list[SinkName] = field(default_factory=list)
    accelerate_config: Path | None = None
    told: list[StepMetrics] = field(default_factory=list)

    @property
    def attempts(self) -> list[Path]:
        return sorted(self.folder.glob("attempt-*"))

    async def boards(self) -> Path:
        path = self.folder / "instances.jsonl"
        if not path.exists():
            request = boards.training_request(CONFIGURATION, self.settings, 1, self.template)
            async with EnvClient(self.env_url) as env:
                await boards.make(env, request, path)
        return path

    async def back(self, afresh: bool = False) -> Resumption:
        identity = resumption.identity(self.settings, SEED, await self.boards(), self.start)
        return resumption.look_back(self.attempts, identity, afresh)

    async def attempt(self, end: signal.Signals | None = None, at: int = STEPS) -> Trained:
        """Trains to the end; with `end`, sends that signal to the process once it told of step `at`."""
        self.told, sent = [], False

        async def tell(new: list[StepMetrics]) -> None:
            nonlocal sent
            self.told += new
            if end and not sent and self.told[-1].step >= at:
                sent = True
                os.killpg(training_process(), end)

        order, settings = await self.order()
        return await train(order, settings, tell)

    async def order(self) -> tuple[Order, TrainerSettings]:
        """The next attempt's."""
        instances, found = await self.boards(), (await self.back()).found
        order = Order(
            folder=self.folder / f"attempt-{len(self.attempts)}",
            instances=instances,
            start=self.start,
            identity=resumption.identity(self.settings, SEED, instances, self.start),
            name="stage",
            resume=found,
        )
        settings = TrainerSettings(
            data_dir=self.folder,
            env_url=self.env_url,
            training_save_steps=self.save_steps,
            training_sinks=self.sinks,
            training_accelerate_config=self.accelerate_config,
        )
        return order, settings

    async def broken_off(self, end: signal.Signals, at: int) -> str:
        """An attempt that ends early: how it ended, in words."""
        try:
            await self.attempt(end, at)
        except StepFailed as failure:
            return str(failure)
        raise AssertionError("it got to its end")


def nano(folder: Path) -> Path:
    """A sealed copy of the shipped checkpoint."""
    checkpoints._copy_in(profiles.shipped("nano-v1"), folder, "nano-v1")
    return folder / "checkpoints" / "nano-v1"


def training_process() -> int:
    """The first of the processes in the group that trains."""
    (process,) = [
        child
        for child in psutil.Process().children()
        if any(word.startswith("trainer_service.training") for word in child.cmdline())
    ]
    return process.pid


def digest(trained: Trained) -> str:
    return seal(trained.checkpoint)


def small_llama(folder: Path, rows: list[InstanceRow]) -> Path:
    """A sealed Llama with a tokenizer of its own that half knows the answers to `rows`, in plain language.

    Rewards need both: a model with random weights fails everywhere alike, and learns nothing.
    """
    tokenizer, lessons = _byte_pairs(rows), []
    for row in rows:
        assert row.prompt and row.answer
        chat = [message.model_dump() for message in row.prompt]
        question = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)[
            "input_ids"
        ]
        lessons.append(Lesson(question, [*tokenizer.encode(row.answer), tokenizer.eos_token_id]))
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    model = LlamaForCausalLM(config)
    settings = WarmstartSettings(
        steps=120, batch=len(rows), exchange_batch=len(rows), learning_rate=4e-3, warmup=5
    )
    learn(model, lessons, lessons, settings, lambda *_: None)
    save(model, tokenizer, folder)
    seal(folder)
    return folder


def _byte_pairs(rows: list[InstanceRow]) -> PreTrainedTokenizerFast:
    """Byte pairs learnt from the prompts, and a chat in ChatML."""
    backend = Tokenizer(tokenizers.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), ByteLevel()
    marks = ["<|im_start|>", "<|im_end|>", "<|pad|>"]
    trainer = BpeTrainer(
        vocab_size=400, special_tokens=marks, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    texts = [text for row in rows for text in (row.prompt[0].content if row.prompt else "", row.answer or "")]
    backend.train_from_iterator(texts, trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", pad_token="<|pad|>")
    made.chat_template = (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    return made
