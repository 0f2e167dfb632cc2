"""What a trained decoder says: of all positions of many traces at once, or of one trace that grows token by token."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from trace2strips.learners.decoder.batches import make_batch
from trace2strips.learners.decoder.network import Decoder
from trace2strips.learners.decoder.packing import Packing, indices_of_traces
from trace2strips.learners.decoder.threads import in_threads
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import differing_traces

POSITIONS = 2048  # positions that go through the network at a time where no gradient is wanted: they fit the cache


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
) -> Float32[np.ndarray, " chosen_positions"]:
    """y of every position of these traces (default: all), where `masked` actions (default: by label) are no keys."""
    traces = np.arange(len(dataset)) if traces is None else traces
    lengths = dataset.offsets[traces + 1] - dataset.offsets[traces]

    def run(part: Int64[np.ndarray, " some"]) -> Float32[np.ndarray, " chosen_positions"]:
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
        where = indices_of_traces(dataset.offsets, open_traces)
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
