"""Pools of histories: prefixes of traces, and pairs of them that lead to one state of the world or to two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64, UInt

from trace2strips.errors import TraceError
from trace2strips.judging.predictors import ModelPredictor
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset

TRIES = 8  # pairs drawn for each that is wanted: some turn out to be one history, or of the wrong kind


@dataclass(frozen=True)
class Pool:
    """Histories: prefixes of whole traces, trace after trace, each a little longer than the one before.

    History h is tokens[begin[h]:end[h]]; histories with equal numbers in `state` lead to one state of the world.
    """

    tokens: UInt[np.ndarray, " positions"]
    begin: Int64[np.ndarray, " histories"]
    end: Int64[np.ndarray, " histories"]
    state: Int64[np.ndarray, " histories"]

    @staticmethod
    def of(dataset: Dataset, world: ModelPredictor, size: int, rng: np.random.Generator) -> Pool:
        """All prefixes of random traces, until there are `size`: from no domain action to all of them."""
        kinds = dataset.vocabulary.kinds
        begins: list[int] = []
        ends: list[int] = []
        for trace in rng.permutation(len(dataset)).tolist():
            start, stop = int(dataset.offsets[trace]), int(dataset.offsets[trace + 1])
            part = kinds[dataset.tokens[start:stop]]
            setup, acted = int((part < Kind.ACTION).sum()), int((part <= Kind.ACTION).sum())
            begins += [start] * (acted - setup + 1)
            ends += range(start + setup, start + acted + 1)
            if len(ends) >= size:
                break
        if not ends:
            raise TraceError("there is no trace to measure on", hint="at least one")
        begin, end = np.array(begins[:size], dtype=np.int64), np.array(ends[:size], dtype=np.int64)
        states = world.states(*cut(dataset.tokens, begin, end))
        _, number = np.unique(states, axis=0, return_inverse=True)
        return Pool(dataset.tokens, begin, end, number.astype(np.int64))

    def __len__(self) -> int:
        return len(self.begin)

    def history(self, number: int) -> UInt[np.ndarray, " positions"]:
        return self.tokens[self.begin[number] : self.end[number]]

    def gather(self, numbers: Int64[np.ndarray, " some"]) -> tuple[np.ndarray, np.ndarray]:
        """Tokens and offsets of these histories."""
        return cut(self.tokens, self.begin[numbers], self.end[numbers])

    def same_pairs(self, count: int, rng: np.random.Generator) -> Int64[np.ndarray, "pairs 2"]:
        """Different histories of one state; every state that several histories lead to has the same chance."""
        order = np.argsort(self.state, kind="stable")
        sizes = np.bincount(self.state)
        first = np.cumsum(sizes) - sizes
        several = np.flatnonzero(sizes > 1)
        if not len(several):
            return np.empty((0, 2), dtype=np.int64)
        chosen = several[rng.integers(len(several), size=TRIES * count)]
        places = first[chosen][:, None] + rng.integers(sizes[chosen][:, None], size=(TRIES * count, 2))
        pairs = order[places]
        differ = [not np.array_equal(self.history(one), self.history(two)) for one, two in pairs.tolist()]
        return pairs[np.flatnonzero(differ)[:count]]

    def different_pairs(self, count: int, near: int, rng: np.random.Generator) -> Int64[np.ndarray, "pairs 2"]:
        """Histories of different states: any two, or two of one trace at most `near` actions apart."""
        one = rng.integers(len(self), size=TRIES * count)
        two = one + rng.integers(-near, near + 1, size=len(one)) if near else rng.integers(len(self), size=len(one))
        inside = (two >= 0) & (two < len(self))
        one, two = one[inside], two[inside]
        fits = (self.state[one] != self.state[two]) & ((self.begin[one] == self.begin[two]) | (near == 0))
        return np.stack([one, two], axis=1)[np.flatnonzero(fits)[:count]]


def cut(
    tokens: UInt[np.ndarray, " positions"], begin: Int64[np.ndarray, " histories"], end: Int64[np.ndarray, " histories"]
) -> tuple[np.ndarray, np.ndarray]:
    """The pieces of a row of tokens end to end, and their offsets."""
    parts = [tokens[i:j] for i, j in zip(begin.tolist(), end.tolist(), strict=True)]
    return np.concatenate([tokens[:0], *parts]), np.concatenate([[0], np.cumsum(end - begin)])
