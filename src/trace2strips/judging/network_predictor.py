"""A decoder as a predictor: which actions the network calls applicable after a history. Needs the extra `networks`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

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

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]:
        """As in `self_masked`, a guess of what is refused is replaced by what the network says until it repeats itself;
        the first guess is that all of the history worked."""
        first, count = self.vocabulary.first[Kind.ACTION], len(self.vocabulary.actions)
        actions = np.arange(first, first + count, dtype=tokens.dtype)
        pieces = [slice(begin, end) for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
        joined = np.concatenate([tokens[:0], *(part for piece in pieces for part in (tokens[piece], actions))])
        ends = np.concatenate([[0], np.cumsum(np.diff(offsets) + count)])
        asked = ends[1:, None] - count + np.arange(count)  # (histories, actions)
        is_action = self.vocabulary.kinds[joined] == Kind.ACTION
        is_action[asked] = False
        refused = np.zeros(len(joined), dtype=bool)
        refused[asked] = True  # no keys
        dataset = Dataset(self.vocabulary, joined, refused, ends)  # whose labels change below
        rows = np.empty((len(pieces), count), dtype=bool)
        left = np.arange(len(pieces))
        while len(left):
            again = []
            parts = [left[part] for part in portions(ends[left + 1] - ends[left])]
            answers = list(in_threads(partial(self.logits, dataset, count), parts))
            for history, said in zip(left.tolist(), split_like(np.concatenate(answers), ends, left), strict=True):
                past = slice(int(ends[history]), int(ends[history + 1]) - count)
                now = is_action[past] & (said[: len(said) - count] >= 0)
                if (now != refused[past]).any():
                    again.append(history)
                    refused[past] = now
                rows[history] = said[len(said) - count :] < 0
            left = np.array(again, dtype=np.int64)
        return rows

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
