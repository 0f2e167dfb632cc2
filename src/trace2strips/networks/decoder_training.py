"""A decoder with its optimiser on one training set: what `training.train` drives.

Loss: the focal loss of each scored position (actions and `test-p`), mean over a trace, mean over the traces,

    ℓ(y, z) = −α z (1−y)^γ log y − (1−α)(1−z) y^γ log(1−y)

A batch is cut into CHUNKS parts, whatever the number of threads, and their gradients are added in order, so a step has
the same bits on any machine with the same libraries. Parameters are views into one flat vector, which the optimiser
updates as a whole. Needs the extra `networks`. May import up to `traces`.
"""

from __future__ import annotations

from math import cos, pi, sqrt

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional

from trace2strips.networks.decoder import (
    Decoder,
    in_threads,
    make_batch,
    right_traces,
    scored,
)
from trace2strips.networks.decoder_settings import DecoderSettings, OptimiserSettings
from trace2strips.networks.optimisation import BETA1, BETA2, EPSILON, rectification
from trace2strips.networks.stick_breaking import places_of
from trace2strips.traces import Dataset

CHUNKS = 2


def focal_loss(
    logits: Float[Tensor, " queries"], refused: Bool[Tensor, " queries"], weights: Float[Tensor, " queries"],
    alpha: float, gamma: float,
) -> Float[Tensor, ""]:  # fmt: skip
    """Weighted sum of ℓ(σ(logit), z). With s the logit of the right answer, ℓ = −α_z σ(−s)^γ log σ(s)."""
    right = torch.where(refused, logits, -logits)
    balance = torch.where(refused, alpha, 1 - alpha) * weights
    return -(balance * torch.sigmoid(-right) ** gamma * functional.logsigmoid(right)).sum()


class DecoderNetwork:
    """Decoder, moments of its gradient, number of steps taken."""

    def __init__(
        self, dataset: Dataset, decoder: DecoderSettings, settings: OptimiserSettings, steps: int, seed: int
    ) -> None:
        self.dataset, self.settings, self.planned = dataset, settings, steps
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.decoder = Decoder(len(dataset.vocabulary), decoder)
        self.parameters = list(self.decoder.parameters())
        self.flat = torch.cat([p.detach().flatten() for p in self.parameters])
        ends = np.cumsum([p.numel() for p in self.parameters]).tolist()
        for p, end in zip(self.parameters, ends, strict=True):
            p.data = self.flat[end - p.numel() : end].view_as(p)
        self.mean, self.square = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.steps = 0
        self.scored = scored(dataset.vocabulary)

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        def part(some: Int64[np.ndarray, " chunk"]) -> tuple[float, Tensor]:
            return self.loss_and_gradient(some, len(chosen))

        torch.set_num_threads(1)
        loss, gradient = 0.0, torch.zeros_like(self.flat)
        for part_loss, part_gradient in in_threads(part, np.array_split(chosen, CHUNKS)):
            loss += part_loss
            gradient += part_gradient
        self.update(gradient)
        return loss

    def loss_and_gradient(self, chosen: Int64[np.ndarray, " chunk"], traces: int) -> tuple[float, Tensor]:
        """The share of these traces in the mean over `traces`."""
        data, batch = self.dataset, make_batch(self.dataset, chosen)
        offsets = batch.packing.query_offsets
        counts = self.scored[batch.tokens]
        total = np.append(0, np.cumsum(counts))
        each = 1.0 / (traces * np.maximum(1, total[offsets[1:]] - total[offsets[:-1]]))
        weights = torch.from_numpy((counts * np.repeat(each, np.diff(offsets))).astype(np.float32))
        refused = torch.from_numpy(data.inapplicable[places_of(data.offsets, chosen)])
        loss = focal_loss(self.decoder(batch), refused, weights, self.settings.alpha, self.settings.gamma)
        gradients = torch.autograd.grad(loss, self.parameters)
        return float(loss.detach()), torch.cat([g.flatten() for g in gradients])

    def rate(self) -> float:
        """Of the step about to be taken (`steps` counts it already)."""
        s = self.settings
        warm = min(1.0, self.steps / max(1, s.warmup))
        return s.rate * warm * (0.5 * (1 + cos(pi * min(1.0, self.steps / max(1, self.planned)))) if s.cosine else 1.0)

    @torch.no_grad()
    def update(self, gradient: Float[Tensor, " parameters"]) -> None:
        """m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², x ← (1 − rate·decay)·x − rate·m̂/(√v̂ + ε), RAdam rectified."""
        s = self.settings
        self.steps += 1
        if s.clip:
            gradient *= min(1.0, s.clip / max(1e-12, float(gradient.norm())))
        rate = self.rate()
        self.flat *= 1 - rate * s.weight_decay
        self.mean.lerp_(gradient, 1 - BETA1)
        self.square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        rate /= 1 - BETA1**self.steps
        if s.optimiser == "radam":
            rectify = rectification(self.steps)
            if rectify == 0:  # the variance is not known yet
                self.flat.add_(self.mean, alpha=-rate)
                return
            rate *= rectify
        scale = self.square.sqrt().div_(sqrt(1 - BETA2**self.steps)).add_(EPSILON)
        self.flat.addcdiv_(self.mean, scale, value=-rate)

    def evaluate(self, dataset: Dataset) -> float:
        """Trace accuracy of the rounded predictions, self-masked."""
        return float(right_traces(self.decoder, dataset).mean()) if len(dataset) else 1.0

    def save(self) -> dict[str, np.ndarray]:
        arrays = {name: getattr(self, name).numpy() for name in ("flat", "mean", "square")}
        return {"steps": np.array([self.steps]), **arrays}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.steps = int(arrays["steps"][0])
        for name in ("flat", "mean", "square"):
            getattr(self, name).copy_(torch.from_numpy(arrays[name]))

    def weights(self) -> dict[str, np.ndarray]:
        """The parameters by name."""
        return {name: p.detach().numpy().copy() for name, p in self.decoder.named_parameters()}
