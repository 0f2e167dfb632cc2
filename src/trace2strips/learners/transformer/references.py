"""The STRIPS Transformer by its equations: slow and obvious, what `kernels` and `module` are tested against.

Two forms of one network, equal at binary parameters (there f_θ = f_M), different in between:

attention (the paper's equations)            factored (ours, the default)

    S_l(i,j) = Q_l(i)·K_l(j), 0 for j ≥ i        state_l(i+1) = state_l(i) + K_l(i)·(V_l(i) − state_l(i))
    S'_l(i,j) = S_l(i,j)·Π_{j<k<i}(1 − S_l(i,k))
    y_l(i) = Σ_j S'_l(i,j)·V_l(j)                y_l(i) = Q_l(i)·state_l(i)

    y(i) = 1 − Π_l (1 − y_l(i)), f_θ(τ) = 1 − Π_i (1 − y(i))                       (in both)

A state of 1 means "deleted", 0 "true or never touched". Positions labelled inapplicable change nothing. The factored
form moves the query out of the stick: O(n) per head instead of O(n²), and a head reads the most recent effect at every
parameter value. Setup actions are hard-wired (`Layout.hard_wired`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from trace2strips.learners.transformer.kernels import LEAST
from trace2strips.learners.transformer.parameters import Layout, Theta, over_tokens


@dataclass(frozen=True)
class TokenTheta:
    """Q, K, V of every position of one trace, setup actions included."""

    query: Float[np.ndarray, "positions heads"]
    key: Float[np.ndarray, "positions heads"]
    value: Float[np.ndarray, "positions heads"]


def expand(theta: Theta, layout: Layout, tokens: np.ndarray) -> TokenTheta:
    """Q(i) = θ(·, m, 1), K(i) = θ(·, m, 2), V(i) = θ(·, m, 3) (Eqs. 4-6), with the setup actions hard-wired."""
    every = over_tokens(theta, layout)
    return TokenTheta(every.query[tokens], every.key[tokens], every.value[tokens])


@dataclass(frozen=True)
class HeadSteps:
    """What one head computes on one trace, step by step."""

    query: Float[np.ndarray, " positions"]
    key: Float[np.ndarray, " positions"]
    value: Float[np.ndarray, " positions"]
    scores: Float[np.ndarray, "positions positions"]  # S, 0 where masked
    weights: Float[np.ndarray, "positions positions"]  # S'
    output: Float[np.ndarray, " positions"]  # y_l


def head_steps(at: TokenTheta, head: int, masked: Bool[np.ndarray, " positions"]) -> HeadSteps:
    """Eqs. 7-9 for one head, matrix by matrix; nobody attends to a masked position."""
    q, k, v = at.query[:, head], at.key[:, head], at.value[:, head]
    n = len(q)
    scores = np.outer(q, k * ~masked)  # Eq. 7
    scores[np.triu_indices(n)] = 0  # strict future mask
    weights = np.zeros_like(scores)
    for i in range(n):
        for j in range(i):
            weights[i, j] = scores[i, j] * np.prod(1 - scores[i, j + 1 : i])  # Eq. 8
    return HeadSteps(q, k, v, scores, weights, weights @ v)  # Eq. 9


def attention_reference(
    theta: Theta, layout: Layout, tokens: np.ndarray, masked: Bool[np.ndarray, " positions"]
) -> Float[np.ndarray, " positions"]:
    """y_θ of one trace by the paper's equations."""
    at = expand(theta, layout, tokens)
    keep = np.ones(len(tokens), dtype=at.query.dtype)
    for head in range(layout.heads):
        keep *= 1 - head_steps(at, head, masked).output  # the product of Eq. 10
    return 1 - keep


def factored_reference(
    theta: Theta, layout: Layout, tokens: np.ndarray, masked: Bool[np.ndarray, " positions"]
) -> Float[np.ndarray, " positions"]:
    """y_θ of one trace in the factored form."""
    at = expand(theta, layout, tokens)
    state = np.zeros(layout.heads, dtype=at.query.dtype)
    out = np.zeros(len(tokens), dtype=at.query.dtype)
    for i in range(len(tokens)):
        out[i] = 1 - np.prod(1 - at.query[i] * state)
        if not masked[i]:
            state = state + at.key[i] * (at.value[i] - state)
    return out


def focal_loss(y: Float[np.ndarray, " n"], z: Bool[np.ndarray, " n"], alpha: float, gamma: float) -> float:
    """Mean over a trace of −α·z·(1−y)^γ·log y − (1−α)·(1−z)·y^γ·log(1−y)."""
    y = np.clip(y, LEAST, 1 - LEAST)
    terms = np.where(z, -alpha * (1 - y) ** gamma * np.log(y), -(1 - alpha) * y**gamma * np.log(1 - y))
    return float(terms.sum() / max(1, len(y)))
