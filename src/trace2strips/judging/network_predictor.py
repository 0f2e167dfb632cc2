"""A decoder as a predictor: which actions the network calls applicable after a history. Needs the extra `networks`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int, Int64, UInt

from trace2strips.learners.decoder.batches import make_batch
from trace2strips.learners.decoder.inference import portions
from trace2strips.learners.decoder.network import Decoder
from trace2strips.learners.decoder.threads import in_threads
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces import Dataset


@dataclass(frozen=True)
class NetworkPredictor:
    """All actions are asked at the end of a history at once, each as if it were alone: nobody attends to them.

    An action of the history that the network itself refuses changes nothing. `LabellingPredictor` over `self_masked`
    says the same, but reads the history once for each action.
    """

    decoder: Decoder
    vocabulary: Vocabulary
    # By history: what the network refuses in it, and what is applicable after it.
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False, compare=False)

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]:
        """What was asked before is remembered."""
        tokens = tokens.astype(np.uint32)  # so that equal histories have equal bytes
        histories = [tokens[begin:end] for begin, end in pairwise(offsets.tolist())]
        rows = np.empty((len(histories), len(self.vocabulary.actions)), dtype=bool)
        new = {history.tobytes(): history for history in histories if history.tobytes() not in self.known}
        self.ask(list(new.values()))
        for row, history in zip(rows, histories, strict=True):
            row[:] = self.known[history.tobytes()][1]
        return rows

    def ask(self, histories: list[np.ndarray]) -> None:
        """As in `self_masked`, a guess of what is refused is replaced by what the network says until it repeats itself.
        The first guess is right where the history without its last action is known; else, that all of it worked."""
        first, count = self.vocabulary.first[Kind.ACTION], len(self.vocabulary.actions)
        if not histories:
            return
        actions = np.arange(first, first + count, dtype=histories[0].dtype)
        joined = np.concatenate([part for history in histories for part in (history, actions)])
        ends = np.cumsum([0, *(len(history) + count for history in histories)])
        asked = ends[1:, None] - count + np.arange(count)  # (histories, actions)
        is_action = self.vocabulary.kinds[joined] == Kind.ACTION
        is_action[asked] = False
        refused = np.zeros(len(joined), dtype=bool)
        refused[asked] = True  # no keys
        pasts = [slice(begin, end - count) for begin, end in pairwise(ends.tolist())]
        for i in range(len(histories)):
            refused[pasts[i]] = self.guess(histories[i])
        dataset = Dataset(self.vocabulary, joined, refused, ends)  # whose labels change below
        left = np.arange(len(histories))
        while len(left):
            again = []
            parts = [left[part] for part in portions(ends[left + 1] - ends[left])]
            answers = list(in_threads(partial(self.logits, dataset, count), parts))
            for i, said in zip(left.tolist(), split_like(np.concatenate(answers), ends, left), strict=True):
                past = pasts[i]
                now = is_action[past] & (said[: len(said) - count] >= 0)
                if (now != refused[past]).any():
                    again.append(i)
                    refused[past] = now
                else:
                    self.known[histories[i].tobytes()] = (now, said[len(said) - count :] < 0)
            left = np.array(again, dtype=np.int64)

    def guess(self, history: UInt[np.ndarray, " history"]) -> Bool[np.ndarray, " history"]:
        guess = np.zeros(len(history), dtype=bool)
        before = self.known.get(history[:-1].tobytes())
        if before is not None and len(history) and self.vocabulary.kinds[history[-1]] == Kind.ACTION:
            guess[:-1], guess[-1] = before[0], not before[1][int(history[-1]) - self.vocabulary.first[Kind.ACTION]]
        return guess

    def logits(self, dataset: Dataset, count: int, part: Int64[np.ndarray, " some"]) -> Float32[np.ndarray, " asked"]:
        """Of each position; the last `count` of a trace have the position right after its history."""
        batch = make_batch(dataset, part)
        positions = batch.positions.copy()
        last = batch.packing.query_offsets[1:, None] - count + np.arange(count)  # (histories, actions)
        positions[last] = positions[last[:, :1]]
        with torch.inference_mode():
            return self.decoder(replace(batch, positions=positions)).float().cpu().numpy()


def split_like(
    values: Float32[np.ndarray, " asked"], ends: Int64[np.ndarray, " boundaries"], chosen: Int64[np.ndarray, " some"]
) -> list[np.ndarray]:
    """The values of each of the chosen traces, which stand one after the other."""
    return np.split(values, np.cumsum(ends[chosen + 1] - ends[chosen])[:-1])
