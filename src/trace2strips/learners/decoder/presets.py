"""How the decoders are trained. The paper does not tell its sizes; they are ours in both presets."""

from __future__ import annotations

from dataclasses import dataclass

from trace2strips.learners.decoder.settings import VARIANTS, DecoderSettings, OptimiserSettings


@dataclass(frozen=True)
class DecoderPreset:
    steps: dict[str, tuple[int, int]]  # small and large domains
    batch: tuple[int, int]
    validate_every: int
    decoder: dict[str, DecoderSettings]
    optimiser: OptimiserSettings


DECODER_PRESETS: dict[str, DecoderPreset] = {
    "fast": DecoderPreset(
        {"sb": (3_000, 5_000), "sinusoidal": (2_500, 4_000), "rope": (2_500, 2_500)}, (64, 64), 1_000,
        {
            "sb": DecoderSettings(d_model=128, layers=1, mlp_factor=2, reserve=2.0, silent=0.25),
            "sinusoidal": DecoderSettings("sinusoidal", embedding_std=0.5),  # not much smaller than the sines
            "rope": DecoderSettings("rope"),
        },
        OptimiserSettings(),
    ),
    "paper": DecoderPreset(
        dict.fromkeys(VARIANTS, (500_000, 500_000)), (16, 64), 20_000,
        {variant: DecoderSettings(variant, embedding_std=1.0) for variant in VARIANTS},
        OptimiserSettings("radam", 5e-5, warmup=0, falling=False, weight_decay=0.0, clip=0.0, alpha=0.999, gamma=1.0,
                          muon=0.0, tested=1.0, hard=0.0, lowered=0.0, horizon=0, stop=False),
    ),
}  # fmt: skip
