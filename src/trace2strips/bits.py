"""Bit sets in words of 64, hashes of them, and the small random generator of compiled loops.

Compiled functions inline what is here, and Numba's cache of a caller does not notice a change of this file: after one,
remove the `__pycache__` folders.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import numpy as np
from jaxtyping import Bool, UInt64

from trace2strips.compilation import compiled

WORD = 64  # bits in a word


def pack(matrix: Bool[np.ndarray, "rows columns"]) -> UInt64[np.ndarray, "rows words"]:
    """Booleans to words: column i is bit i % 64 of word i // 64. At least one word, so that a model without atoms needs
    no special case.
    """
    rows, columns = matrix.shape
    words = max(1, -(-columns // WORD))
    padded = np.zeros((rows, words * WORD), dtype=bool)
    padded[:, :columns] = matrix
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpack(bits: UInt64[np.ndarray, "rows words"], columns: int) -> Bool[np.ndarray, "rows columns"]:
    """The inverse of `pack`."""
    flat = np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), axis=1, bitorder="little")
    return flat[:, :columns].astype(bool)


# --- splitmix64: a number that grows by STEP, scrambled. It gives random numbers and hashes. -------------------------

STEP = np.uint64(0x9E3779B97F4A7C15)


@compiled()
def scramble(value):  # type: ignore[no-untyped-def]
    """64 bits to 64 bits, one to one, each bit of the result depending on all bits."""
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


def scramble_slowly(value: int) -> int:
    """`scramble` in plain integers."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


@compiled()
def next_random(streams, t):  # type: ignore[no-untyped-def]
    """64 random bits from stream t."""
    streams[t] += STEP
    return scramble(streams[t])


@compiled()
def random_below(streams, t, bound):  # type: ignore[no-untyped-def]
    """0 ≤ r < bound from stream t; the bias is below bound/2³²."""
    return np.int64(((next_random(streams, t) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


def random_stream(seed: int) -> Callable[[], int]:
    """The slow `next_random`: one stream, 64 bits a call."""
    state = seed

    def draw() -> int:
        nonlocal state
        state = (state + int(STEP)) % 2**64
        return scramble_slowly(state)

    return draw


def random_below_slowly(random: Callable[[], int], bound: int) -> int:
    """`random_below` in plain integers."""
    return (random() >> 32) * bound >> 32


@compiled()
def extend_hash(value, word):  # type: ignore[no-untyped-def]
    """The hash of a sequence of words with one more word at its end; that of the empty sequence is 0."""
    return scramble(value + np.uint64(word) + STEP)


@compiled()
def hash_words(words):  # type: ignore[no-untyped-def]
    """A hash of one bit set, the same on every machine."""
    value = np.uint64(0)
    for w in range(len(words)):
        value = extend_hash(value, words[w])
    return value


def hash_words_slowly(words: Iterable[int]) -> int:
    """`hash_words` in plain integers."""
    value = 0
    for word in words:
        value = scramble_slowly((value + word + int(STEP)) % 2**64)
    return value


def hash_rows(rows: UInt64[np.ndarray, "rows words"]) -> UInt64[np.ndarray, " rows"]:
    """`hash_words` of each row."""
    value = np.zeros(len(rows), dtype=np.uint64)
    fill_hashes(rows, value)
    return value


@compiled()
def fill_hashes(rows, hashes):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        hashes[i] = hash_words(rows[i])


def stable_seed(text: str) -> int:
    """A seed from words; Python's own hash differs from run to run."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
