"""What the optimisers of all networks share: the constants of Adam, and by how much RAdam shortens its first steps."""

from __future__ import annotations

from math import sqrt

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def rectification(step: int) -> float:
    """r_t, or 0 while the variance of the adaptive rate is not tractable (ρ_t ≤ 5)."""
    longest = 2 / (1 - BETA2) - 1
    decay = BETA2**step
    length = longest - 2 * step * decay / (1 - decay)
    if length <= 5:
        return 0.0
    return sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
