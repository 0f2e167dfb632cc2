"""Trace accuracy: a trace counts only if every position in it is predicted rightly. Setup prefixes are not scored."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, UInt8

from trace2strips.model.strips import StripsModel, label_tokens
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces.dataset import Dataset


def scored(vocabulary: Vocabulary) -> Bool[np.ndarray, " tokens"]:
    """Actions and `test-p` can be wrong; the setup prefix tells the initial state and is never inapplicable."""
    kinds: UInt8[np.ndarray, " tokens"] = vocabulary.kinds
    return kinds >= Kind.ACTION


def differing_traces(dataset: Dataset, refused: Bool[np.ndarray, " positions"]) -> Bool[np.ndarray, " traces"]:
    """Which traces have a scored position whose label is not what was predicted."""
    wrong = (refused != dataset.inapplicable) & scored(dataset.vocabulary)[dataset.tokens]
    before = np.append(0, np.cumsum(wrong))
    return before[dataset.offsets[1:]] > before[dataset.offsets[:-1]]


def wrong_traces(model: StripsModel, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
    """Which traces a model over tokens does not predict; what it refuses changes nothing."""
    return differing_traces(dataset, label_tokens(model.bits, dataset.tokens, dataset.offsets))


def trace_accuracy(model: StripsModel, dataset: Dataset) -> float:
    """The share of traces in which a model over tokens predicts every position."""
    return 1 - float(wrong_traces(model, dataset).mean()) if len(dataset) else 1.0
