"""The canonical form of a board and its SHA-256: mirrors `boards.form`."""

from typing import NamedTuple

import numpy as np

from env_service.compiled.bits import Word
from env_service.compiled.board import AGENTS, Array, Tables
from env_service.compiled.cache import compiled

_WORDS = 64
_START = np.array(
    [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19],
    np.uint32,
)


class Sheet(NamedTuple):
    """Memory for one form: two images as pairs of cells and as bytes, and the schedule of SHA-256."""

    pairs: Array
    best: Array
    other: Array
    message: Array
    schedule: Array


def make_sheet() -> Sheet:
    pairs = [np.zeros(2 * AGENTS, np.int64) for _ in range(2)]
    messages = [np.zeros(64, np.uint8) for _ in range(2)]
    return Sheet(*pairs, *messages, np.zeros(_WORDS, np.uint32))


def _round_constants() -> Array:
    """The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4)."""
    primes = [n for n in range(2, 312) if all(n % divisor for divisor in range(2, int(n**0.5) + 1))]
    roots = []
    for prime in primes:
        root = round((prime << 96) ** (1 / 3))
        # The float is only near: walk to the whole cube root.
        while root**3 > prime << 96:
            root -= 1
        while (root + 1) ** 3 <= prime << 96:
            root += 1
        roots.append(root & 0xFFFFFFFF)
    return np.array(roots, np.uint32)


_ROUNDS = _round_constants()


@compiled
def _turn(word: Word, by: int) -> Word:
    return (word >> np.uint32(by)) | (word << np.uint32(32 - by))


@compiled
def digest(message: Array, length: int, schedule: Array) -> Word:
    """The first 64 bits of the SHA-256 of up to 55 bytes."""
    schedule[:16] = 0
    for place in range(length):
        schedule[place // 4] |= np.uint32(message[place]) << np.uint32(24 - 8 * (place % 4))
    schedule[length // 4] |= np.uint32(0x80) << np.uint32(24 - 8 * (length % 4))
    schedule[15] = np.uint32(8 * length)
    for place in range(16, _WORDS):
        a, b = schedule[place - 15], schedule[place - 2]
        small = _turn(a, 7) ^ _turn(a, 18) ^ (a >> np.uint32(3))
        large = _turn(b, 17) ^ _turn(b, 19) ^ (b >> np.uint32(10))
        schedule[place] = schedule[place - 16] + small + schedule[place - 7] + large
    a, b, c, d = _START[0], _START[1], _START[2], _START[3]
    e, f, g, h = _START[4], _START[5], _START[6], _START[7]
    for place in range(_WORDS):
        chosen = (e & f) ^ (~e & g)
        first = h + (_turn(e, 6) ^ _turn(e, 11) ^ _turn(e, 25)) + chosen + _ROUNDS[place] + schedule[place]
        second = (_turn(a, 2) ^ _turn(a, 13) ^ _turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        h, g, f, e = g, f, e, np.uint32(d + first)
        d, c, b, a = c, b, a, np.uint32(first + second)
    high, low = np.uint32(a + _START[0]), np.uint32(b + _START[1])
    return (np.uint64(high) << np.uint64(32)) | np.uint64(low)


@compiled
def form(tables: Tables, starts: Array, goals: Array, holes: Array, sheet: Sheet) -> Word:
    """The form of a board whose holes are given as a list of cells."""
    agents = len(starts)
    pairs, best, other, message = sheet.pairs, sheet.best, sheet.other, sheet.message
    length = 2 + 2 * agents + 16
    for turn in range(8):
        _turned_pairs(tables, turn, starts, goals, pairs)
        order = -1 if turn == 0 else _compare(pairs, best, 2 * agents)
        if order > 0:
            continue
        _write(tables, turn, agents, pairs, holes, other)
        # Holes decide only between images with the same starts and goals.
        if order < 0 or _compare(other, message, length) < 0:
            message, other = other, message
            best, pairs = pairs, best
    return digest(message, length, sheet.schedule)


@compiled
def _turned_pairs(tables: Tables, turn: int, starts: Array, goals: Array, pairs: Array) -> None:
    """The turned start and goal of each agent, in the order of starts."""
    for agent in range(len(starts)):
        start, goal = tables.symmetries[turn, starts[agent]], tables.symmetries[turn, goals[agent]]
        at = agent
        while at > 0 and pairs[2 * at - 2] > start:
            pairs[2 * at], pairs[2 * at + 1] = pairs[2 * at - 2], pairs[2 * at - 1]
            at -= 1
        pairs[2 * at], pairs[2 * at + 1] = start, goal


@compiled
def _compare(a: Array, b: Array, length: int) -> int:
    for place in range(length):
        if a[place] != b[place]:
            return -1 if a[place] < b[place] else 1
    return 0


@compiled
def _write(tables: Tables, turn: int, agents: int, pairs: Array, holes: Array, message: Array) -> None:
    """Encodes an image like `Task.encode`."""
    message[0], message[1] = tables.size, agents
    for place in range(2 * agents):
        message[2 + place] = pairs[place]
    end = 2 + 2 * agents + 16
    message[end - 16 : end] = 0
    for hole in holes:
        cell = tables.symmetries[turn, hole]
        message[end - 1 - cell // 8] |= np.uint8(1 << (cell % 8))
