"""The STRIPS Transformer with its optimiser on one training set: what `training.train` drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from trace2strips.learners.transformer.kernels import Gradient, gradient_step
from trace2strips.learners.transformer.optimiser import Parameters, radam_step
from trace2strips.learners.transformer.parameters import SHARED, Layout, Theta, model_of
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces


@dataclass(frozen=True)
class NetworkSettings:
    """How the parameters are stored, started and updated."""

    form: str = "factored"
    logit: bool = True
    query_range: tuple[float, float] = (0.0, 0.1)
    key_range: tuple[float, float] = (0.0, 0.1)
    alpha: float = 0.5
    gamma: float = 1.0
    rate: float = 0.05
    l1: float = 0.0  # weight of the mean of the queries, and of that of the keys
    hard: float = 0.0  # the share of a batch that is drawn from the traces that were wrong at the last validation


class StripsNetwork:
    """θ with its optimiser, on one training set: what `training.train` drives."""

    def __init__(self, layout: Layout, dataset: Dataset, settings: NetworkSettings, seed: int) -> None:
        self.layout = layout
        self.dataset = dataset
        self.settings = settings
        self.gradient = Gradient.for_layout(layout)
        self.seed = seed
        self.steps = 0
        self.wrong = np.empty(0, dtype=np.int64)  # training traces, at the last validation
        rng = np.random.default_rng([seed, 1])
        shape = (layout.rows, layout.heads)
        query = rng.uniform(*settings.query_range, shape)
        key = rng.uniform(*settings.key_range, shape)
        value = rng.random(shape)
        for spare, owner in enumerate(layout.owner):
            if owner != SHARED:
                query[owner, len(layout.aligned) + spare] = 0.9  # the owner's refusals train its private head at once
        is_action = np.broadcast_to(np.arange(layout.rows)[:, None] < layout.actions, shape)
        query[~layout.askable] = 0
        key[~is_action] = 1  # init-s writes every head
        every = np.ones(shape, dtype=bool)
        parts = ((query, layout.askable), (key, is_action), (value, every))
        self.query, self.key, self.value = (
            Parameters.starting_at(start.astype(np.float32), free, settings.logit) for start, free in parts
        )

    @property
    def theta(self) -> Theta:
        return Theta(self.query.theta, self.key.theta, self.value.theta)

    def __len__(self) -> int:
        return len(self.dataset)

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        """One batch: loss, gradient, update."""
        s = self.settings
        if hard := int(s.hard * len(chosen)) if len(self.wrong) else 0:
            rng = np.random.default_rng([self.seed, 5, self.steps])
            chosen = np.concatenate([self.wrong[rng.integers(len(self.wrong), size=hard)], chosen[hard:]])
        loss = gradient_step(self.theta, self.layout, self.dataset, chosen, s.form, s.alpha, s.gamma, self.gradient)
        self.steps += 1
        for part, slope, l1 in (
            (self.query, self.gradient.query, s.l1),
            (self.key, self.gradient.key, s.l1),
            (self.value, self.gradient.value, 0.0),
        ):
            radam_step(part, slope, len(chosen), self.steps, s.rate, l1 / max(1, part.free.sum()), s.logit)
        return loss

    def evaluate(self, dataset: Dataset) -> float:
        """Trace accuracy of the binarised network, self-masked."""
        wrong = wrong_traces(model_of(self.theta, self.layout), dataset)
        if dataset is self.dataset:
            self.wrong = np.flatnonzero(wrong)
        return 1 - int(wrong.sum()) / max(1, len(dataset))

    def save(self) -> dict[str, np.ndarray]:
        """Everything that the next step depends on."""
        arrays = {"steps": np.array([self.steps]), "wrong": self.wrong}
        for name in ("query", "key", "value"):
            part: Parameters = getattr(self, name)
            arrays |= {f"{name}.{field}": getattr(part, field) for field in ("x", "theta", "mean", "square")}
        return arrays

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.steps, self.wrong = int(arrays["steps"][0]), arrays["wrong"]
        for name in ("query", "key", "value"):
            part: Parameters = getattr(self, name)
            for field_name in ("x", "theta", "mean", "square"):
                getattr(part, field_name)[:] = arrays[f"{name}.{field_name}"]
