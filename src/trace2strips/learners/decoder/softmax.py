"""Multi-head softmax attention over packed traces: what the baselines use.

    z_j = q·k_j / √d,   A_j = e^{z_j} / Σ_m e^{z_m},   o = Σ_j A_j v_j

A query sees the first `visible` keys of its trace and gets 0 if there are none. PyTorch's own fused attention does the
work, on any device, on traces of similar length padded together. Needs the extra `networks`.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from trace2strips.learners.decoder.packing import Packing, indices_of_traces, pad_items, unpad_items

BUCKET = 16  # traces of similar length that are padded together


def attend_softmax(
    q: Float[Tensor, "queries heads size"],
    k: Float[Tensor, "keys heads size"],
    v: Float[Tensor, "keys heads size"],
    packing: Packing,
) -> Float[Tensor, "queries heads size"]:
    """o = Σ_j softmax_j(q·k_j/√d) v_j, 0 for a query without a key. Traces of similar length are padded together."""
    lengths = np.diff(packing.query_offsets)
    order = np.argsort(lengths, kind="stable")
    parts, where = [], []
    nothing = (k.sum() + v.sum()) * 0  # so that autograd finds its way where there is no key
    for begin in range(0, len(order), BUCKET):
        chosen = order[begin : begin + BUCKET]
        queries, keys = (indices_of_traces(o, chosen) for o in (packing.query_offsets, packing.key_offsets))
        sizes = (np.append(0, np.cumsum(np.diff(o)[chosen])) for o in (packing.query_offsets, packing.key_offsets))
        few = Packing(next(sizes), next(sizes), packing.visible[queries])
        mask = few.mask
        index, key_index = torch.from_numpy(queries).to(q.device), torch.from_numpy(keys).to(q.device)
        if mask.size:
            padded_q = pad_items(q[index], few.padded_query_indices, mask.shape[:2])
            padded_k, padded_v = (pad_items(x[key_index], few.padded_key_indices, mask.shape[::2]) for x in (k, v))
            blind = ~mask.any(axis=2, keepdims=True)  # they see all keys, and what they get is taken away again
            seen = torch.from_numpy(mask | blind).to(q.device)[:, None]
            out = functional.scaled_dot_product_attention(padded_q, padded_k, padded_v, attn_mask=seen)
            out = out.masked_fill(torch.from_numpy(blind).to(q.device)[:, None], 0.0)
            parts.append(unpad_items(out, few.padded_query_indices))
        else:
            parts.append(q[index] * 0 + nothing)
        where.append(index)
    return torch.cat(parts)[torch.argsort(torch.cat(where))] if parts else q * 0 + nothing
