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

Training and inference run in threads of ours, a part of the traces each, and PyTorch uses one thread in each of them:
its own threads wait for each other after every small operation. Needs the extra `networks`. May import up to `traces`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import TypeVar

import numba
import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor, nn
from torch.nn import functional

from trace2strips.compilation import compiled
from trace2strips.learners.decoder.settings import DecoderSettings
from trace2strips.learners.decoder.softmax import attend_softmax
from trace2strips.learners.decoder.stick_breaking import Packing, attend, attend_reference, places_of
from trace2strips.model.vocabulary import ACTION, TEST_ATOM, Kind, Vocabulary
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import differing_traces

POSITIONS = 2048  # positions that go through the network at a time where no gradient is wanted: they fit the cache

Item = TypeVar("Item")
Result = TypeVar("Result")


# --- batches ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Packed traces: every position, which of them are keys, and how many keys each sees."""

    tokens: Int64[np.ndarray, " queries"]
    positions: Int64[np.ndarray, " queries"]
    keys: Int64[np.ndarray, " keys"]
    packing: Packing


def make_batch(
    dataset: Dataset,
    chosen: Int64[np.ndarray, " traces"],
    masked: Bool[np.ndarray, " positions"] | None = None,
    kept: Bool[np.ndarray, " places"] | None = None,
    shift: float = 0.0,
) -> Batch:
    """Some traces of a dataset. Actions that are `masked` are no keys; without it, those labelled inapplicable.

    Of the `test-p`, which nobody attends to, only those `kept` are there, if that is said of the chosen traces' places.
    """
    masked = dataset.inapplicable if masked is None else masked
    kept = np.empty(0, dtype=bool) if kept is None else kept
    arrays = batch_kernel(dataset.tokens, masked, dataset.offsets, chosen, dataset.vocabulary.kinds, kept)
    tokens, positions, keys, visible, query_offsets, key_offsets = arrays
    return Batch(tokens, positions, keys, Packing(query_offsets, key_offsets, visible, shift))


@compiled(vector=True)
def batch_kernel(tokens, masked, offsets, chosen, kinds, kept):  # type: ignore[no-untyped-def]
    total, place = 0, 0
    for t in chosen:
        total += offsets[t + 1] - offsets[t]
    out_tokens, positions = np.empty(total, np.int64), np.empty(total, np.int64)
    keys, visible = np.empty(total, np.int64), np.empty(total, np.int32)
    query_offsets, key_offsets = np.zeros(len(chosen) + 1, np.int64), np.zeros(len(chosen) + 1, np.int64)
    at, found = 0, 0
    for n, t in enumerate(chosen):
        position = 0
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            kind = kinds[token]
            place += 1
            if kind == TEST_ATOM and len(kept) and not kept[place - 1]:
                continue
            out_tokens[at], positions[at], visible[at] = token, position, found - key_offsets[n]
            if kind != TEST_ATOM:
                position += 1
                if kind != ACTION or not masked[i]:
                    keys[found] = at
                    found += 1
            at += 1
        query_offsets[n + 1], key_offsets[n + 1] = at, found
    return out_tokens[:at], positions[:at], keys[:found].copy(), visible[:at], query_offsets, key_offsets


# --- the network -----------------------------------------------------------------------------------------------------


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
        self, batch: Batch, heard: Float[Tensor, "layers queries heads"] | None = None
    ) -> Float[Tensor, " queries"]:
        """With `heard`, what a head says is multiplied by it."""
        device = self.embedding.device
        tokens, positions, keys = (torch.from_numpy(x).to(device) for x in (batch.tokens, batch.positions, batch.keys))
        h, q, pair = self.begin(tokens, positions, keys)
        for number, block in enumerate(self.each_block):
            if number:
                normed = block.norm_attention(h)
                q, pair = block.query(normed), block.key_value(normed[keys])
            k, v = block.split_pair(pair)
            attended = self.attend(block.split(q), k, v, batch.packing, positions, positions[keys])
            if heard is not None:
                attended = attended * heard[number, :, :, None]
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
            return attend(q, k, v, packing) if self.settings.fused else attend_reference(q, k, v, packing)
        if self.settings.variant == "rope":
            q, k = rotate(q, query_positions), rotate(k, key_positions)
        return attend_softmax(q, k, v, packing)

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


# --- inference -------------------------------------------------------------------------------------------------------


@cache
def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(numba.config.NUMBA_NUM_THREADS)


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """work(item) for each, in order of the items."""

    def run(item: Item) -> Result:
        torch.set_num_threads(1)  # a setting of each thread, which other libraries change as well
        return work(item)

    return threads().map(run, items)


def portions(lengths: Int64[np.ndarray, " traces"], positions: int = POSITIONS) -> list[Int64[np.ndarray, " some"]]:
    """Traces grouped, in order, so that a group has about so many positions."""
    if not len(lengths):
        return []
    group = (np.cumsum(lengths) - lengths) // positions
    return np.split(np.arange(len(lengths)), np.flatnonzero(np.diff(group)) + 1)


def probabilities(
    decoder: Decoder,
    dataset: Dataset,
    masked: Bool[np.ndarray, " positions"] | None = None,
    traces: Int64[np.ndarray, " traces"] | None = None,
) -> Float32[np.ndarray, " places"]:
    """y of every position of these traces (default: all), where `masked` actions (default: by label) are no keys."""
    traces = np.arange(len(dataset)) if traces is None else traces
    lengths = dataset.offsets[traces + 1] - dataset.offsets[traces]

    def run(part: Int64[np.ndarray, " some"]) -> Float32[np.ndarray, " places"]:
        with torch.inference_mode():
            y = torch.sigmoid(decoder(make_batch(dataset, traces[part], masked)))
        return y.float().cpu().numpy()

    found = list(in_threads(run, portions(lengths)))
    return np.concatenate(found) if found else np.empty(0, dtype=np.float32)


def self_masked(decoder: Decoder, dataset: Dataset) -> Float32[np.ndarray, " positions"]:
    """y of every position where an action is masked iff the network itself refuses it (y ≥ 0.5).

    y(i) depends on the masks before i only, so there is exactly one labelling that masks by its own word. It is what a
    guess becomes when it is replaced by the prediction until it repeats itself: each round settles at least one more
    position of a trace. The labels are the first guess; where they are right they stay.
    """
    masked = dataset.inapplicable.copy()
    result = np.empty(len(masked), dtype=np.float32)
    open_traces = np.arange(len(dataset))
    is_action = dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION
    while len(open_traces):
        where = places_of(dataset.offsets, open_traces)
        y = probabilities(decoder, dataset, masked, open_traces)
        result[where] = y
        changed = is_action[where] & ((y >= 0.5) != masked[where])
        masked[where] = y >= 0.5
        ends = np.cumsum(dataset.offsets[open_traces + 1] - dataset.offsets[open_traces])
        total = np.append(0, np.cumsum(changed))
        open_traces = open_traces[np.diff(np.append(0, total[ends])) > 0]
    return result


def right_traces(decoder: Decoder, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
    """Traces in which every scored position is predicted rightly, masking by its own word.

    One pass with the labels as mask says it: up to the first wrong position both masks are the same.
    """
    return ~differing_traces(dataset, probabilities(decoder, dataset) >= 0.5)


class Session:
    """A trace that grows token by token: keys and values of the past are kept, so a step costs one position."""

    def __init__(self, decoder: Decoder, vocabulary: Vocabulary) -> None:
        self.decoder, self.vocabulary = decoder, vocabulary
        settings = decoder.settings
        empty = decoder.embedding.new_empty(0, settings.heads, settings.d_model // settings.heads).detach()
        self.keys, self.values = [empty] * settings.layers, [empty] * settings.layers
        self.key_positions = torch.empty(0, dtype=torch.int64, device=empty.device)
        self.position = 0

    def feed(self, token: int, refused: bool | None = None) -> float:
        """The probability that the token is inapplicable now. An action changes the state unless it was `refused`; if
        that is not told, unless the network says so. A `test-p` changes nothing."""
        kind = self.vocabulary.kinds[token]
        logits, keys, values = self.run(np.array([token]))
        y = float(torch.sigmoid(logits)[0])
        if kind == Kind.TEST_ATOM:
            return y
        if kind != Kind.ACTION or not (y >= 0.5 if refused is None else refused):
            self.keys = [torch.cat(pair) for pair in zip(self.keys, keys, strict=True)]
            self.values = [torch.cat(pair) for pair in zip(self.values, values, strict=True)]
            self.key_positions = torch.cat([self.key_positions, self.key_positions.new_tensor([self.position])])
        self.position += 1
        return y

    def state(self) -> frozenset[str]:
        """The atoms that hold now: those whose `test-p` the network takes as applicable."""
        atoms = self.vocabulary.test_atoms
        logits, _, _ = self.run(self.vocabulary.first[Kind.TEST_ATOM] + np.arange(len(atoms)))
        return frozenset(atom for atom, logit in zip(atoms, logits.tolist(), strict=True) if logit < 0)

    @torch.inference_mode()
    def run(self, tokens: Int64[np.ndarray, " some"]) -> tuple[Tensor, list[Tensor], list[Tensor]]:
        """Logits of these tokens, each as the next one; and their keys and values in each layer."""
        torch.set_num_threads(1)
        decoder, seen = self.decoder, len(self.key_positions)
        packing = Packing(np.array([0, len(tokens)]), np.array([0, seen]), np.full(len(tokens), seen, dtype=np.int32))
        positions = self.key_positions.new_full((len(tokens),), self.position)
        h = decoder.embed(torch.from_numpy(tokens).to(positions.device), positions)
        keys, values = [], []
        for block, k, v in zip(decoder.each_block, self.keys, self.values, strict=True):
            normed = block.norm_attention(h)
            new_k, new_v = block.split_pair(block.key_value(normed))
            q = block.split(block.query(normed))
            h = block.finish(h, decoder.attend(q, k, v, packing, positions, self.key_positions))
            keys.append(new_k)
            values.append(new_v)
        return decoder.read(h), keys, values
