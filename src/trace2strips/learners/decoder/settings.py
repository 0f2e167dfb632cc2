"""What a decoder and its optimiser can be told. Free of PyTorch, so that presets exist without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from trace2strips.errors import UserError, shorten

VARIANTS = ("sb", "sinusoidal", "rope")


@dataclass(frozen=True)
class DecoderSettings:
    """The size of a decoder. `fused` takes the kernel for the CPU, else the references, which run on any device.

    Of `sb`, all scores begin near −`reserve`. At 0 each key takes half of the stick: the nearest count most, and the
    first keys of a long trace are found late. In training a head is silent in a trace with the probability `silent`.
    """

    variant: str = "sb"
    d_model: int = 64
    layers: int = 2
    heads: int = 8
    mlp_factor: int = 4
    embedding_std: float = 0.05
    reserve: float = 0.0
    silent: float = 0.0
    fused: bool = True

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
    """AdamW or RAdam; the rate rises over the warm-up and falls to 0 as the square of the steps left, or stays.

    `muon` is the rate of the blocks' matrices, which then go by Muon; 0: they go with the rest. `tested` is the share
    of the `test-p` of a trace that a step looks at; in the first fifth of training it looks at all. When half of the
    training traces are right, a share `hard` of each batch are traces that the network has trouble with, and the scores
    of `sb` are shifted by a random number, two fifths of training later from −`lowered` to what makes the longest trace
    one of `horizon` keys.
    """

    optimiser: str = "adamw"
    rate: float = 1e-2
    warmup: int = 100
    falling: bool = True
    weight_decay: float = 0.01
    clip: float = 1.0  # longest gradient; 0: any
    alpha: float = 0.5
    gamma: float = 0.0  # 0: plain cross-entropy, which goes on pushing where the answer is right already
    muon: float = 0.02
    tested: float = 0.25
    hard: float = 0.5
    lowered: float = 1.4
    horizon: int = 4_000
