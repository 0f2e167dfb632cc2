"""The lifted STRIPS Transformer with its optimiser on one training set: what `training.train` drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int64

from trace2strips.learners.lifted_transformer.kernels import sparse_kernel, sparse_wrong
from trace2strips.learners.lifted_transformer.layout import LiftedLayout, Pairs
from trace2strips.learners.transformer.kernels import CHUNKS
from trace2strips.learners.transformer.network import NetworkSettings
from trace2strips.learners.transformer.optimiser import Parameters, radam_step
from trace2strips.traces import Dataset

PARTS = ("query", "key", "value", "first")
OWN_QUERY = 0.25  # of a spare head's owner at first: with .9 as in the ground form it hides the aligned heads


@dataclass(frozen=True)
class LiftedTheta:
    """θ as probabilities: queries (preconditions), keys (affects) and values (deletes) of all parameters, and what is
    deleted at first."""

    query: Float32[np.ndarray, " params"]
    key: Float32[np.ndarray, " params"]
    value: Float32[np.ndarray, " params"]
    first: Float32[np.ndarray, " firsts"]

    def binarise(self) -> Bits:
        return Bits(*(getattr(self, name) >= 0.5 for name in PARTS))


@dataclass(frozen=True)
class Bits:
    """θ̄: a lifted STRIPS model."""

    query: Bool[np.ndarray, " params"]
    key: Bool[np.ndarray, " params"]
    value: Bool[np.ndarray, " params"]
    first: Bool[np.ndarray, " firsts"]


def wrong_positions(pairs: Pairs, bits: Bits, dataset: Dataset) -> Bool[np.ndarray, " positions"]:
    """Which positions binary parameters predict wrongly, after what the labels say happened before."""
    wrong = np.empty(len(dataset.tokens), dtype=bool)
    sparse_wrong(
        dataset.vocabulary.kinds, pairs.start, pairs.atom, pairs.param, pairs.first_of, pairs.state_first, bits.query,
        bits.key, bits.value, bits.first, dataset.tokens, dataset.inapplicable, dataset.offsets, wrong,
    )  # fmt: skip
    return wrong


def by_trace(wrong: Bool[np.ndarray, " positions"], dataset: Dataset) -> Bool[np.ndarray, " traces"]:
    """Which traces have a wrong position. Up to the first one the labels and what is predicted are the same history."""
    before = np.append(0, np.cumsum(wrong))[dataset.offsets]
    return before[1:] > before[:-1]


class LiftedNetwork:
    """θ with its optimiser, on one training set."""

    def __init__(
        self, layout: LiftedLayout, dataset: Dataset, settings: NetworkSettings, seed: int,
        begin: LiftedTheta | None = None,
    ) -> None:  # fmt: skip
        self.layout, self.dataset, self.settings = layout, dataset, settings
        self.pairs, _ = layout.grounding
        self.steps = 0
        begin = begin or drawn(layout, settings, seed)
        first = np.where(layout.learned_first, begin.first, 1)
        every = np.ones(len(layout.params), dtype=bool)
        starts = (
            (np.where(layout.askable, begin.query, 0), layout.askable), (begin.key, every), (begin.value, every),
            (first, layout.learned_first),
        )  # fmt: skip
        self.parts = [
            Parameters.starting_at(start.astype(np.float32)[None], free[None], settings.logit) for start, free in starts
        ]
        self.loss = np.zeros(CHUNKS, dtype=np.float32)
        self.gradients = [np.zeros((CHUNKS, *part.x.shape), dtype=np.float32) for part in self.parts]

    @property
    def theta(self) -> LiftedTheta:
        return LiftedTheta(*(part.theta[0] for part in self.parts))

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        """One batch: loss, gradient, update."""
        s = self.settings
        loss = sparse_step(self.theta, self.pairs, self.dataset, chosen, s.alpha, s.gamma, self.loss, self.gradients)
        self.steps += 1
        for part, slope, l1 in zip(self.parts, self.gradients, (s.l1, s.l1, 0.0, 0.0), strict=True):
            radam_step(part, slope, len(chosen), self.steps, s.rate, l1 / max(1, part.free.sum()), s.logit)
        return loss

    def evaluate(self, dataset: Dataset) -> float:
        """Trace accuracy of the binarised network."""
        wrong = wrong_positions(self.pairs, self.theta.binarise(), dataset)
        return 1 - float(by_trace(wrong, dataset).mean())

    def save(self) -> dict[str, np.ndarray]:
        """Everything that the next step depends on."""
        arrays = {"steps": np.array([self.steps])}
        for name, part in zip(PARTS, self.parts, strict=True):
            arrays |= {f"{name}.{field}": getattr(part, field) for field in ("x", "theta", "mean", "square")}
        return arrays

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.steps = int(arrays["steps"][0])
        for name, part in zip(PARTS, self.parts, strict=True):
            for field in ("x", "theta", "mean", "square"):
                getattr(part, field)[:] = arrays[f"{name}.{field}"]


def sparse_step(
    theta: LiftedTheta, pairs: Pairs, dataset: Dataset, chosen: Int64[np.ndarray, " batch"], alpha: float, gamma: float,
    loss: Float32[np.ndarray, " chunks"], gradients: list[Float32[np.ndarray, "chunks 1 _"]],
) -> float:  # fmt: skip
    """Mean loss over the chosen traces; `gradients` get those of query, key, value and first, chunk by chunk."""
    sparse_kernel(
        dataset.vocabulary.kinds, pairs.start, pairs.atom, pairs.param, pairs.first_of, pairs.state_first, theta.query,
        theta.key, theta.value, theta.first, dataset.tokens, dataset.inapplicable, dataset.offsets, chosen,
        np.float32(alpha), np.float32(gamma), loss, *(part[:, 0] for part in gradients),
    )  # fmt: skip
    return float(loss.sum()) / max(1, len(chosen))


def drawn(layout: LiftedLayout, settings: NetworkSettings, seed: int) -> LiftedTheta:
    """Random parameters: almost no preconditions and effects."""
    rng = np.random.default_rng([seed, 1])
    count = len(layout.params)
    query = rng.uniform(*settings.query_range, count)
    private = np.array([layout.heads[head].owner is not None for _, head, _ in layout.params], dtype=bool)
    query[private] = OWN_QUERY  # the owner's refusals train its private head at once
    key = rng.uniform(*settings.key_range, count)
    value = rng.random(count)
    begins = rng.uniform(0.9, 1.0, len(layout.heads))
    begins_true = np.array([head.begins_true for head in layout.heads], dtype=bool)
    named = rng.uniform(0.5, 0.7, layout.firsts - len(begins))  # what nothing speaks for is false
    first = np.concatenate((np.where(begins_true, 1 - begins, begins), named))
    return LiftedTheta(*(part.astype(np.float32) for part in (query, key, value, first)))
