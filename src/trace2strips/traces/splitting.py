"""A test part of a log, by whole traces: the same part every time, chosen by a hash of what traces say.

Traces that say the same are one there, and none of them is learned from.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from jaxtyping import Bool, UInt64

from trace2strips.bits import scramble, scramble_slowly
from trace2strips.compilation import compiled
from trace2strips.errors import UserError
from trace2strips.model.vocabulary import ACTION, Vocabulary
from trace2strips.traces.dataset import Dataset

MOST_TESTED = 100_000  # attempts: more say nothing new


def hash_traces(dataset: Dataset) -> UInt64[np.ndarray, " traces"]:
    """By what the traces say, whatever the numbers of their tokens: the sum over all positions of a hash of the token,
    its label and its place among the actions."""
    vocabulary = dataset.vocabulary
    found = np.zeros(len(dataset), dtype=np.uint64)
    is_action = vocabulary.kinds == ACTION
    add_hashes(hash_names(vocabulary), is_action, dataset.tokens, dataset.inapplicable, dataset.offsets, found)
    return found


def hash_names(vocabulary: Vocabulary) -> UInt64[np.ndarray, " tokens"]:
    names = [f"{kind} {subject}".encode() for kind, subject in zip(vocabulary.kinds, vocabulary.subjects, strict=True)]
    return np.array([int.from_bytes(blake2b(n, digest_size=8).digest(), "little") for n in names], dtype=np.uint64)


@compiled()
def add_hashes(of_token, is_action, tokens, refused, offsets, found):  # type: ignore[no-untyped-def]
    for trace in range(len(found)):
        place = np.uint64(0)
        total = np.uint64(0)
        for i in range(offsets[trace], offsets[trace + 1]):
            token = tokens[i]
            where = place * np.uint64(2) if is_action[token] else np.uint64(0)
            label = np.uint64(1) if refused[i] else np.uint64(0)
            total += scramble(of_token[token] + scramble(where + label))
            if is_action[token]:
                place += np.uint64(1)
        found[trace] = total


def hash_trace_slowly(dataset: Dataset, trace: int) -> int:
    """`hash_traces` in plain integers."""
    of_token, total, place = hash_names(dataset.vocabulary), 0, 0
    for i in range(int(dataset.offsets[trace]), int(dataset.offsets[trace + 1])):
        token = int(dataset.tokens[i])
        is_action = int(dataset.vocabulary.kinds[token] == ACTION)
        inner = scramble_slowly(2 * place * is_action + int(dataset.inapplicable[i]))
        total += scramble_slowly((int(of_token[token]) + inner) % 2**64)
        place += is_action
    return total % 2**64


def check_share(share: float) -> None:
    if not 0 <= share < 1:
        raise UserError(f"a test part of {share}", hint="--hold-out 0.2 is a fifth, 0 is none")


def held_back(dataset: Dataset, share: float) -> tuple[Bool[np.ndarray, " traces"], Bool[np.ndarray, " traces"]]:
    """Which traces are to be learned from, and which are the test part: about this share of the different ones, each
    once. There is none where they are too few."""
    check_share(share)
    different, first, which = np.unique(scramble(hash_traces(dataset)), return_index=True, return_inverse=True)
    attempts = np.cumsum(np.diff(dataset.offsets)[first])
    count = min(round(share * len(different)), int(np.searchsorted(attempts, MOST_TESTED, side="right")))
    tested = np.zeros(len(dataset), dtype=bool)
    tested[first[:count]] = True
    return which >= count, tested
