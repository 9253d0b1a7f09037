"""What a sampler is asked for and what it gives back, in token ids. Loads neither torch nor transformers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainee2trainer.contracts.policy import FinishReason


@dataclass(frozen=True, slots=True)
class Row:
    """One answer to be sampled. `prompt` holds token ids, `seed` 64 bits; temperature 0 is greedy."""

    prompt: tuple[int, ...]
    seed: int
    temperature: float = 1.0
    max_tokens: int = 128


@dataclass(frozen=True, slots=True)
class Sampled:
    """Token ids (the end token included when it was sampled) with the log-probability of each.

    Log-probabilities are those of the distribution sampled from, that is at the row's temperature; greedy
    rows report those at temperature 1.
    """

    token_ids: list[int]
    logprobs: list[float]
    finish_reason: FinishReason


@dataclass(frozen=True, slots=True)
class Step:
    """One token for each of some rows. `rows` are places in the sequence that was asked for."""

    rows: NDArray[np.int64]
    tokens: NDArray[np.int64]
    logprobs: NDArray[np.float32]
    stopped: NDArray[np.bool_]
    """The token ends the answer."""
    exhausted: NDArray[np.bool_]
    """The answer is as long as it may be, and not ended."""
