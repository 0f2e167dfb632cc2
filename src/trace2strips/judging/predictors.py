"""Predictors: whatever says which actions are applicable after a history, a STRIPS model or a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int, UInt, UInt64

from trace2strips.compilation import compiled
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Kind, Vocabulary

BATCH = 1 << 22  # tokens that `LabellingPredictor` asks about at a time


@runtime_checkable  # the type checker of the tests asks
class Predictor(Protocol):
    """Says which domain actions of its vocabulary are applicable after each history.

    History h is tokens[offsets[h]:offsets[h+1]], setup prefix and all, as in a `Dataset`.
    """

    @property
    def vocabulary(self) -> Vocabulary: ...

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]: ...


@dataclass(frozen=True)
class ModelPredictor:
    """A STRIPS model over tokens: hidden (`Vocabulary.extend`) or learned (`Learned.over_tokens`).

    An action of the history that the model itself refuses changes nothing.
    """

    model: StripsModel
    vocabulary: Vocabulary

    @property
    def first(self) -> int:
        return self.vocabulary.first[Kind.ACTION]

    def states(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> UInt64[np.ndarray, "histories words"]:
        """The state after each history."""
        bits = self.model.bits
        states = np.empty((len(offsets) - 1, bits.words), dtype=np.uint64)
        walk_histories((bits.pre, bits.add, bits.delete), bits.all_true, tokens, offsets, states)
        return states

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]:
        rows = np.empty((len(offsets) - 1, len(self.vocabulary.actions)), dtype=np.bool_)
        list_applicable(self.model.bits.pre, self.states(tokens, offsets), self.first, rows)
        return rows


Labeller = Callable[[np.ndarray, np.ndarray], np.ndarray]  # tokens, offsets → where the trace's action is inapplicable


@dataclass(frozen=True)
class LabellingPredictor:
    """Anything that labels whole traces, such as a network: every action is asked after every history."""

    label: Labeller
    vocabulary: Vocabulary
    batch: int = BATCH

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]:
        actions = self.vocabulary.first[Kind.ACTION] + np.arange(len(self.vocabulary.actions), dtype=tokens.dtype)
        lengths = offsets[1:] - offsets[:-1] + 1
        rows = np.empty((len(lengths), len(actions)), dtype=np.bool_)
        step = max(1, self.batch // (int(lengths.max(initial=1)) * max(1, len(actions))))
        for begin in range(0, len(rows) if len(actions) else 0, step):
            several = range(begin, min(begin + step, len(rows)))
            asked = [  # (actions, length + 1) for each history
                np.column_stack([np.tile(tokens[offsets[h] : offsets[h + 1]], (len(actions), 1)), actions])
                for h in several
            ]
            ends = np.cumsum(np.repeat(lengths[several], len(actions)))
            refused = self.label(np.concatenate([part.ravel() for part in asked]), np.concatenate([[0], ends]))
            rows[several] = np.logical_not(refused[ends - 1]).reshape(len(several), len(actions))
        return rows


# --- compiled --------------------------------------------------------------------------------------------------------
# A model is (pre, add, delete). `boundaries` calls `accepts` and `progress` too: after a change of theirs delete its
# machine code in __pycache__, as Numba looks for changes only in the file that a function stands in.


@compiled()
def accepts(pre, action, state):  # type: ignore[no-untyped-def]
    missing = np.uint64(0)
    for w in range(len(state)):
        missing |= pre[action, w] & ~state[w]
    return missing == np.uint64(0)


@compiled()
def progress(model, action, state, after):  # type: ignore[no-untyped-def]
    for w in range(len(state)):
        after[w] = (state[w] | model[1][action, w]) & ~model[2][action, w]


@compiled()
def walk_histories(model, start, tokens, offsets, states):  # type: ignore[no-untyped-def]
    for h in range(len(states)):
        states[h] = start
        for i in range(offsets[h], offsets[h + 1]):
            if accepts(model[0], tokens[i], states[h]):
                progress(model, tokens[i], states[h], states[h])


@compiled()
def list_applicable(pre, states, first, rows):  # type: ignore[no-untyped-def]
    for h in range(rows.shape[0]):
        for action in range(rows.shape[1]):
            rows[h, action] = accepts(pre, first + action, states[h])
