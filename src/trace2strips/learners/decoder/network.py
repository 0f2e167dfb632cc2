"""One decoder in three variants: the Stick-Breaking Transformer and the two baselines of the paper.

    h⁰(i) = E(a_i),   h ← h + Attention(norm(h)),   h ← h + MLP(norm(h)),   y(i) = σ(w·norm(h^L(i)) + b)

y(i) is the probability that a_i is inapplicable after a_0 … a_{i−1}. Attention is strict: position i sees keys j < i
only. The variants differ in attention and in what they know of positions:

    sb           stick-breaking attention, no positions
    sinusoidal   softmax attention, sines and cosines of the position are added to h⁰
    rope         softmax attention, queries and keys are rotated by their position

Inapplicable positions change nothing, so nobody attends to them; neither does anybody attend to a `test-p`, so that the
probes of a trace are independent of each other and of their order. They all have the position right after the last
action. Traces are packed: linear layers see positions without padding, and keys are computed only where there are any.
Needs the extra `networks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from trace2strips.learners.decoder.batches import Batch
from trace2strips.learners.decoder.packing import Packing
from trace2strips.learners.decoder.settings import DecoderSettings
from trace2strips.learners.decoder.softmax import attend_softmax, attend_softmax_slowly
from trace2strips.learners.decoder.stick_breaking import attend_sticks, attend_sticks_slowly


class Block(nn.Module):
    """Attention and MLP, each after a norm and beside the residual stream."""

    def __init__(self, settings: DecoderSettings) -> None:
        super().__init__()
        width, inner = settings.d_model, settings.d_model * settings.mlp_factor
        self.heads = settings.heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value, self.out = (
            nn.Linear(width, width),
            nn.Linear(width, 2 * width),
            nn.Linear(width, width),
        )
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def split(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows heads size"]:
        return x.reshape(len(x), self.heads, x.shape[1] // self.heads)

    def split_pair(
        self, x: Float[Tensor, "rows width2"]
    ) -> tuple[Float[Tensor, "rows heads size"], Float[Tensor, "rows heads size"]]:
        k, v = x.chunk(2, dim=1)
        return self.split(k), self.split(v)

    def finish(
        self, h: Float[Tensor, "rows width"], attended: Float[Tensor, "rows heads size"]
    ) -> Float[Tensor, "rows width"]:
        h = h + self.out(attended.flatten(1))
        mlp: Tensor = self.down(functional.gelu(self.up(self.norm_mlp(h))))
        return h + mlp


class Decoder(nn.Module):
    """Token embedding, blocks, norm, linear head. `forward` gives the logit of y for every position of a batch."""

    def __init__(self, tokens: int, settings: DecoderSettings) -> None:
        super().__init__()
        self.settings = settings
        self.embedding = nn.Parameter(torch.randn(tokens, settings.d_model) * settings.embedding_std)
        self.each_block = [Block(settings) for _ in range(settings.layers)]
        self.blocks = nn.ModuleList(self.each_block)
        self.norm = nn.LayerNorm(settings.d_model)
        self.head = nn.Linear(settings.d_model, 1)
        if settings.variant == "sb" and settings.reserve:
            each = sqrt(settings.reserve / sqrt(settings.d_model / settings.heads))  # q·k/√d of the biases: −reserve
            for block in self.each_block:
                nn.init.constant_(block.query.bias, each)
                nn.init.constant_(block.key_value.bias[: settings.d_model], -each)

    def forward(
        self, batch: Batch, head_weights: Float[Tensor, "layers queries heads"] | None = None
    ) -> Float[Tensor, " queries"]:
        """The output of each head is multiplied by its weight, if there are any: training switches heads off by a 0."""
        device = self.embedding.device
        tokens, positions, keys = (torch.from_numpy(x).to(device) for x in (batch.tokens, batch.positions, batch.keys))
        h, q, pair = self.begin(tokens, positions, keys)
        for number, block in enumerate(self.each_block):
            if number:
                normed = block.norm_attention(h)
                q, pair = block.query(normed), block.key_value(normed[keys])
            k, v = block.split_pair(pair)
            attended = self.attend(block.split(q), k, v, batch.packing, positions, positions[keys])
            if head_weights is not None:
                attended = attended * head_weights[number, :, :, None]
            h = block.finish(h, attended)
        return self.read(h)

    def begin(
        self, tokens: Int64[Tensor, " queries"], positions: Int64[Tensor, " queries"], keys: Int64[Tensor, " keys"]
    ) -> tuple[Float[Tensor, "queries width"], Float[Tensor, "queries width"], Float[Tensor, "keys width2"]]:
        """h⁰ and what the first attention needs. Without positions in h⁰ all of it depends on the token alone: it is
        computed for each token of the vocabulary and looked up."""
        block = self.each_block[0]
        if self.settings.variant == "sinusoidal":
            h = self.embed(tokens, positions)
            normed = block.norm_attention(h)
            return h, block.query(normed), block.key_value(normed[keys])
        normed = block.norm_attention(self.embedding)
        h, q = functional.embedding(tokens, torch.cat([self.embedding, block.query(normed)], 1)).chunk(2, 1)
        return h, q, functional.embedding(tokens[keys], block.key_value(normed))

    def embed(self, tokens: Int64[Tensor, " rows"], positions: Int64[Tensor, " rows"]) -> Float[Tensor, "rows width"]:
        h = functional.embedding(tokens, self.embedding)
        return h + sines(positions, self.settings.d_model, h) if self.settings.variant == "sinusoidal" else h

    def attend(
        self,
        q: Float[Tensor, "queries heads size"],
        k: Float[Tensor, "keys heads size"],
        v: Float[Tensor, "keys heads size"],
        packing: Packing,
        query_positions: Int64[Tensor, " queries"],
        key_positions: Int64[Tensor, " keys"],
    ) -> Float[Tensor, "queries heads size"]:
        if self.settings.variant == "sb":
            return attend_sticks(q, k, v, packing) if self.settings.fused else attend_sticks_slowly(q, k, v, packing)
        if self.settings.variant == "rope":
            q, k = rotate(q, query_positions), rotate(k, key_positions)
        return attend_softmax(q, k, v, packing) if self.settings.fused else attend_softmax_slowly(q, k, v, packing)

    def read(self, h: Float[Tensor, "rows width"]) -> Float[Tensor, " rows"]:
        logits: Tensor = self.head(self.norm(h))
        return logits.squeeze(1)


def load_decoder(weights: Mapping[str, np.ndarray], settings: DecoderSettings) -> Decoder:
    """A decoder with these parameters; if they are not those of such a decoder, a ValueError."""
    with torch.random.fork_rng(devices=[]):
        decoder = Decoder(len(weights["embedding"]), settings)
    try:
        decoder.load_state_dict({name: torch.from_numpy(array.copy()) for name, array in weights.items()})
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    return decoder


def angles(positions: Int64[Tensor, " rows"], count: int, like: Tensor) -> Float[Tensor, "rows count"]:
    """position / 10000^(c / count) for c = 0 … count − 1."""
    speeds = 10_000.0 ** (-torch.arange(count, dtype=like.dtype, device=like.device) / count)
    return positions.to(like.dtype)[:, None] * speeds


def sines(positions: Int64[Tensor, " rows"], width: int, like: Tensor) -> Float[Tensor, "rows width"]:
    turn = angles(positions, width // 2, like)
    return torch.cat([turn.sin(), turn.cos()], dim=1)


def rotate(x: Float[Tensor, "rows heads size"], positions: Int64[Tensor, " rows"]) -> Float[Tensor, "rows heads size"]:
    """Each pair of coordinates (c, c + size/2) turned by its angle: q·k then depends on the distance alone."""
    turn = angles(positions, x.shape[2] // 2, x)[:, None]
    a, b = x.chunk(2, dim=2)
    return torch.cat([a * turn.cos() - b * turn.sin(), b * turn.cos() + a * turn.sin()], dim=2)
