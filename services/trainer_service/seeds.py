"""Streams of seeds that never overlap: derived by hashing, not by adding."""

import hashlib
import json


def derive(seed: int, *path: str | float) -> int:
    """The seed of one purpose, in [0, 2^63). Equal arguments give equal seeds, on any machine."""
    digest = hashlib.sha256(json.dumps([seed, *path]).encode()).digest()
    return int.from_bytes(digest[:8]) >> 1
