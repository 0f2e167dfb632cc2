"""RAdam for parameters that are probabilities, fused in one pass: gradient of the chunks, moments, step, probability.

    m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  x ← x − lr·r_t·m̂ / (√v̂ + ε)      (x ← x − lr·m̂ while ρ_t ≤ 5)

Two parameterisations: "logit" (θ = σ(x), ours) and "clipped" (θ = x, cut to [0, 1] after each step, the paper's range).
May import up to `traces`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numba
import numpy as np
from jaxtyping import Bool, Float32

from trace2strips.compilation import compiled

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


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


def rectification(step: int) -> float:
    """r_t, or 0 while the variance of the adaptive rate is not tractable (ρ_t ≤ 5)."""
    longest = 2 / (1 - BETA2) - 1
    decay = BETA2**step
    length = longest - 2 * step * decay / (1 - decay)
    if length <= 5:
        return 0.0
    return sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))


def radam_step(
    part: Parameters, gradient: Float32[np.ndarray, "chunks rows heads"], batch: int, step: int, rate: float,
    l1: float, logit: bool,
) -> None:  # fmt: skip
    f = np.float32
    radam_kernel(
        part.x, part.theta, part.mean, part.square, part.free, gradient, f(1 / batch), f(rate), f(l1), logit,
        f(1 / (1 - BETA1**step)), f(1 / (1 - BETA2**step)), f(rectification(step)),
    )  # fmt: skip


@compiled(parallel=True)
def radam_kernel(  # type: ignore[no-untyped-def]
    x, theta, mean, square, free, gradient, scale, rate, l1, logit, unbias1, unbias2, rectify
):
    one, b1, b2 = np.float32(1), np.float32(BETA1), np.float32(BETA2)
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
                x[r, h] -= rate * rectify * m * unbias1 / (np.sqrt(v * unbias2) + np.float32(EPSILON))
            else:
                x[r, h] -= rate * m * unbias1
            if logit:
                theta[r, h] = one / (one + np.exp(-x[r, h]))
            else:
                x[r, h] = min(max(x[r, h], np.float32(0)), one)
                theta[r, h] = x[r, h]
