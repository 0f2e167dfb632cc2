"""How the STRIPS Transformer is trained: `paper` has the paper's values, `fast` ours."""

from __future__ import annotations

from dataclasses import dataclass

from trace2strips.learners.transformer.network import NetworkSettings


@dataclass(frozen=True)
class Preset:
    steps: int
    batch: tuple[int, int]  # small and large domains
    validate_every: int
    network: NetworkSettings
    private: bool  # spare heads have owners
    attempts: int  # rounds of training before the best one is taken
    heads: tuple[int, int] | None  # of small and large domains; None: aligned atoms and one per action
    patience: int | None = None  # steps without progress before training ends
    alone: bool = False  # actions that are wrong after training are trained alone, with further heads


PRESETS: dict[str, Preset] = {
    "fast": Preset(20_000, (64, 64), 500, NetworkSettings(hard=0.25), True, 1, None, patience=5_000, alone=True),
    "paper": Preset(
        500_000, (16, 64), 20_000, NetworkSettings(logit=False, alpha=0.999, gamma=1.0, rate=0.01, l1=1e-4), False,
        1, (50, 100),
    ),
}  # fmt: skip
BEFORE_COMPLETION = Preset(2_000, (64, 64), 1_000, NetworkSettings(), True, 3, None)
