"""Traces of a dataset as a batch for a decoder: packed, with the positions that are keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from trace2strips.compilation import compiled
from trace2strips.learners.decoder.packing import Packing
from trace2strips.model.vocabulary import ACTION, TEST_ATOM
from trace2strips.traces import Dataset


@dataclass(frozen=True)
class Batch:
    """Packed traces: every position, which of them are keys, and how many keys each sees."""

    tokens: Int64[np.ndarray, " queries"]
    positions: Int64[np.ndarray, " queries"]
    keys: Int64[np.ndarray, " keys"]
    packing: Packing


def make_batch(
    dataset: Dataset,
    chosen: Int64[np.ndarray, " traces"],
    masked: Bool[np.ndarray, " positions"] | None = None,
    kept: Bool[np.ndarray, " chosen_positions"] | None = None,
    shift: float = 0.0,
) -> Batch:
    """Some traces of a dataset. Actions that are `masked` are no keys; without it, those labelled inapplicable.

    Of the `test-p`, which nobody attends to, only those `kept` are there, if that is said for each position of
    the chosen traces. `shift` is added to every score of stick-breaking attention.
    """
    masked = dataset.inapplicable if masked is None else masked
    kept = np.empty(0, dtype=bool) if kept is None else kept
    arrays = batch_kernel(dataset.tokens, masked, dataset.offsets, chosen, dataset.vocabulary.kinds, kept)
    tokens, positions, keys, visible, query_offsets, key_offsets = arrays
    return Batch(tokens, positions, keys, Packing(query_offsets, key_offsets, visible, shift))


@compiled(vector=True)
def batch_kernel(tokens, masked, offsets, chosen, kinds, kept):  # type: ignore[no-untyped-def]
    total, place = 0, 0
    for t in chosen:
        total += offsets[t + 1] - offsets[t]
    out_tokens, positions = np.empty(total, np.int64), np.empty(total, np.int64)
    keys, visible = np.empty(total, np.int64), np.empty(total, np.int32)
    query_offsets, key_offsets = np.zeros(len(chosen) + 1, np.int64), np.zeros(len(chosen) + 1, np.int64)
    at, found = 0, 0
    for n, t in enumerate(chosen):
        position = 0
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            kind = kinds[token]
            place += 1
            if kind == TEST_ATOM and len(kept) and not kept[place - 1]:
                continue
            out_tokens[at], positions[at], visible[at] = token, position, found - key_offsets[n]
            if kind != TEST_ATOM:
                position += 1
                if kind != ACTION or not masked[i]:
                    keys[found] = at
                    found += 1
            at += 1
        query_offsets[n + 1], key_offsets[n + 1] = at, found
    return out_tokens[:at], positions[:at], keys[:found].copy(), visible[:at], query_offsets, key_offsets
