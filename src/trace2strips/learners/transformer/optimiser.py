"""RAdam for parameters that are probabilities, fused in one pass: gradient of the chunks, moments, step, probability.

    m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  x ← x − lr·r_t·m̂ / (√v̂ + ε)      (x ← x − lr·m̂ while ρ_t ≤ 5)

Two parameterisations: "logit" (θ = σ(x), ours) and "clipped" (θ = x, cut to [0, 1] after each step, the paper's range).
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from jaxtyping import Bool, Float32

from trace2strips.compilation import compiled
from trace2strips.learners.radam import BETA1, BETA2, EPSILON, rectification


@dataclass
class Parameters:
    """One of query, key, value: the free variable x, its probability θ, and the moments of its gradient."""

    x: Float32[np.ndarray, "rows heads"]
    theta: Float32[np.ndarray, "rows heads"]
    mean: Float32[np.ndarray, "rows heads"]
    square: Float32[np.ndarray, "rows heads"]
    free: Bool[np.ndarray, "rows heads"]  # what is learned; the rest is hard-wired

    @staticmethod
    def starting_at(
        theta: Float32[np.ndarray, "rows heads"], free: Bool[np.ndarray, "rows heads"], logit: bool
    ) -> Parameters:
        inside = np.clip(theta, 1e-3, 1 - 1e-3)
        x = np.log(inside / (1 - inside)) if logit else theta
        start = np.where(free & logit, inside, theta)
        zeros = np.zeros_like(theta)
        return Parameters(x.astype(np.float32), start.astype(np.float32), zeros, zeros.copy(), free)


def radam_step(
    part: Parameters, gradient: Float32[np.ndarray, "chunks rows heads"], batch: int, step: int, rate: float,
    l1: float, logit: bool,
) -> None:  # fmt: skip
    f = np.float32
    # Adam's constants are told, not compiled in: Numba's cache would not see that the other file has changed
    radam_kernel(
        part.x, part.theta, part.mean, part.square, part.free, gradient, f(1 / batch), f(rate), f(l1), logit,
        f(BETA1), f(BETA2), f(EPSILON), f(1 / (1 - BETA1**step)), f(1 / (1 - BETA2**step)), f(rectification(step)),
    )  # fmt: skip


@compiled(parallel=True)
def radam_kernel(  # type: ignore[no-untyped-def]
    x, theta, mean, square, free, gradient, scale, rate, l1, logit, b1, b2, epsilon, unbias1, unbias2, rectify
):
    one = np.float32(1)
    for r in numba.prange(x.shape[0]):
        for h in range(x.shape[1]):
            if not free[r, h]:
                continue
            g = np.float32(0)
            for c in range(gradient.shape[0]):
                g += gradient[c, r, h]
            p = theta[r, h]
            g = g * scale + l1  # θ ≥ 0, so the slope of |θ| is 1
            if logit:
                g *= p * (one - p)
            m = b1 * mean[r, h] + (one - b1) * g
            v = b2 * square[r, h] + (one - b2) * g * g
            mean[r, h], square[r, h] = m, v
            if rectify > 0:
                x[r, h] -= rate * rectify * m * unbias1 / (np.sqrt(v * unbias2) + epsilon)
            else:
                x[r, h] -= rate * m * unbias1
            if logit:
                theta[r, h] = one / (one + np.exp(-x[r, h]))
            else:
                x[r, h] = min(max(x[r, h], np.float32(0)), one)
                theta[r, h] = x[r, h]
