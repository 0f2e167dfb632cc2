"""Packed traces: positions stand one after the other without padding, and so do the keys, which are the positions that
somebody may attend to.

A query sees the first `visible` keys of its trace; the nearest is the last of these. So one number per query holds the
strict mask (only keys before it), the key mask (keys that are masked are not there) and what a probe sees. References
and PyTorch's own attention want padded tensors: here is the way there and back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int32, Int64
from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """Which keys each query sees: of trace t, queries query_offsets[t:t+2] the first `visible` ones of its keys."""

    query_offsets: Int64[np.ndarray, " boundaries"]
    key_offsets: Int64[np.ndarray, " boundaries"]
    visible: Int32[np.ndarray, " queries"]
    shift: float = 0.0  # is added to every score

    @cached_property
    def padded_query_indices(self) -> Int64[np.ndarray, " queries"]:
        """Where each query stands among the padded ones."""
        return padded_indices(self.query_offsets)

    @cached_property
    def padded_key_indices(self) -> Int64[np.ndarray, " keys"]:
        return padded_indices(self.key_offsets)

    @cached_property
    def mask(self) -> Bool[np.ndarray, "traces longest keys"]:
        """What the padded queries see of the padded keys."""
        longest, keys = (int(np.diff(o).max(initial=0)) for o in (self.query_offsets, self.key_offsets))
        traces = len(self.query_offsets) - 1
        seen = np.zeros(traces * longest, dtype=np.int64)
        seen[self.padded_query_indices] = self.visible
        return (np.arange(keys) < seen[:, None]).reshape(traces, longest, keys)


def padded_indices(offsets: Int64[np.ndarray, " boundaries"]) -> Int64[np.ndarray, " items"]:
    """Where each item stands when every trace is padded to a row as long as the longest: row · longest + column."""
    lengths = np.diff(offsets)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    return np.arange(offsets[-1]) - offsets[rows] + rows * int(lengths.max(initial=0))


def indices_of_traces(
    offsets: Int64[np.ndarray, " boundaries"], chosen: Int64[np.ndarray, " traces"]
) -> Int64[np.ndarray, " items"]:
    """Where the items of these traces stand among those of all traces, in the order in which the traces are named."""
    lengths = offsets[chosen + 1] - offsets[chosen]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[chosen] - ends + lengths, lengths) + np.arange(lengths.sum())


def pad_items(
    items: Float[Tensor, "items heads size"], where: Int64[np.ndarray, " items"], shape: tuple[int, int]
) -> Float[Tensor, "batch heads time size"]:
    """Packed rows to (batch, heads, time, size), zeros elsewhere."""
    rows = items.new_zeros(shape[0] * shape[1], *items.shape[1:])
    rows = rows.index_copy(0, torch.from_numpy(where).to(items.device), items)
    return rows.reshape(*shape, *items.shape[1:]).transpose(1, 2)


def unpad_items(
    padded: Float[Tensor, "batch heads time size"], where: Int64[np.ndarray, " items"]
) -> Float[Tensor, "items heads size"]:
    """The inverse of `pad_items`."""
    return padded.transpose(1, 2).flatten(0, 1)[torch.from_numpy(where).to(padded.device)]
