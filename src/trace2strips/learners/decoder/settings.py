"""What a decoder and its optimiser can be told. Free of PyTorch, so that presets exist without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from trace2strips.errors import UserError, shorten

VARIANTS = ("sb", "sinusoidal", "rope")
LOOKED_AT = 1_000  # training traces on which a decoder is looked at while it trains


@dataclass(frozen=True)
class DecoderSettings:
    """The size of a decoder, where it starts, and how it is computed."""

    variant: str = "sb"
    d_model: int = 64
    layers: int = 2
    heads: int = 8
    mlp_factor: int = 4
    embedding_std: float = 0.05
    # Of `sb`, all scores begin near −reserve: each key takes little of the stick, and something is left for far keys.
    # At 0 each key takes half: the nearest count most, and the first keys of a long trace are found late.
    reserve: float = 0.0
    silent: float = 0.0  # dropout of whole heads: how likely a head's output is 0 all through a training trace
    fused: bool = True  # the kernel for the CPU, else the references, which run on any device

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise UserError(f"unknown variant {shorten(self.variant)!r}", hint=" or ".join(VARIANTS))
        if min(self.d_model, self.layers, self.heads, self.mlp_factor) < 1 or self.d_model % (2 * self.heads):
            raise UserError(
                f"d_model {self.d_model} cannot be divided into {self.heads} heads", hint="each needs an even size"
            )
        if not 0 <= self.silent < 1:
            raise UserError(f"heads cannot be silent with probability {self.silent}", hint="0 or more, less than 1")

    def shaped_like(self, weights: Mapping[str, np.ndarray]) -> DecoderSettings:
        """The sizes that these parameters have: those of the preset when they were trained."""
        width = weights["embedding"].shape[1]
        layers = sum(name.endswith("up.weight") for name in weights)
        return replace(self, d_model=width, layers=layers, mlp_factor=len(weights["blocks.0.up.weight"]) // width)


@dataclass(frozen=True)
class OptimiserSettings:
    """How a decoder is trained; `training` says why. `hard`, `lowered` and `horizon` matter once half of the training
    traces are right."""

    optimiser: str = "adamw"  # or radam
    rate: float = 1e-2
    warmup: int = 100  # steps over which the rate rises
    falling: bool = True  # to 0, as the square of the steps left; else the rate stays
    weight_decay: float = 0.01
    clip: float = 1.0  # longest gradient; 0: any
    alpha: float = 0.5
    gamma: float = 0.0  # 0: plain cross-entropy, which goes on pushing where the answer is right already
    muon: float = 0.02  # the rate of the blocks' matrices, which then go by Muon; 0: they go with the rest
    tested: float = 0.25  # share of the `test-p` of a trace that a step looks at, after the first fifth of training
    hard: float = 0.5  # share of each batch that are hard traces: those that the network has most trouble with
    lowered: float = 1.4  # the scores of `sb` are shifted by a random number, in the end from −lowered …
    horizon: int = 4_000  # … to what makes the longest training trace one of so many keys
    stop: bool = True  # `sb` is done as soon as its average is right on longer traces
