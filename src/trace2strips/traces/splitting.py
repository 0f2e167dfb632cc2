"""A test part of a log, by whole traces: the same part every time, chosen by a hash of what traces say.

Traces that say the same are one there, and none of them is learned from.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from jaxtyping import Bool, UInt64

from trace2strips.bits import scramble
from trace2strips.errors import UserError
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces.dataset import Dataset

MOST_TESTED = 100_000  # attempts: more say nothing new


def hash_traces(dataset: Dataset) -> UInt64[np.ndarray, " traces"]:
    """By what the traces say, whatever the numbers of their tokens: the sum over all positions of a hash of the token,
    its label and its place among the actions."""
    vocabulary = dataset.vocabulary
    names = [f"{kind} {subject}".encode() for kind, subject in zip(vocabulary.kinds, vocabulary.subjects, strict=True)]
    of_token = np.array([int.from_bytes(blake2b(n, digest_size=8).digest(), "little") for n in names], dtype=np.uint64)
    is_action = vocabulary.kinds[dataset.tokens] == ACTION
    place = np.append(0, np.cumsum(is_action))
    place = (place[:-1] - np.repeat(place[dataset.offsets[:-1]], np.diff(dataset.offsets))) * is_action
    with np.errstate(over="ignore"):
        each = scramble(
            of_token[dataset.tokens] + scramble(place.astype(np.uint64) * np.uint64(2) + dataset.inapplicable)
        )
    total = np.append(np.uint64(0), np.cumsum(each, dtype=np.uint64))
    return total[dataset.offsets[1:]] - total[dataset.offsets[:-1]]


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
