"""Counter-based randomness: a row's numbers hang on its seed and the step alone, never on its company."""

import hashlib

import numpy as np
from numpy.typing import NDArray

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = 0xFFFF_FFFF_FFFF_FFFF


def row_seed(seed: int, prompt_index: int, sample_index: int) -> int:
    """Seed of one sample, 64 bits. Hashed, so that neighbouring request seeds never share a stream."""
    digest = hashlib.sha256(f"row/{seed}/{prompt_index}/{sample_index}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def uniforms(seeds: NDArray[np.uint64], step: int) -> NDArray[np.float64]:
    """One number in [0, 1) per row for this step: splitmix64 of the row's seed at position `step`."""
    with np.errstate(over="ignore"):
        # Wrapping around at 64 bits is what the algorithm means to do.
        z = seeds + np.uint64(((step + 1) * _GOLDEN) & _MASK)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    # 52 bits leave room above the largest value: scaled by a total it still rounds below that total.
    return (z >> np.uint64(12)).astype(np.float64) * 2.0**-52
