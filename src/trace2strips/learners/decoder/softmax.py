"""Multi-head softmax attention over packed traces: what the baselines use.

    z_j = q·k_j / √d,   A_j = e^{z_j} / Σ_m e^{z_m},   o = Σ_j A_j v_j

A query sees the first `visible` keys of its trace and gets 0 if there are none. `attend_softmax` is the fused kernel
for the CPU (its loops stand in `stick_breaking`), `attend_softmax_slowly` PyTorch's own fused attention on traces of
similar length padded together, on any device. Needs the extra `networks`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from trace2strips.learners.decoder.packing import Packing, indices_of_traces, pad_items, unpad_items
from trace2strips.learners.decoder.stick_breaking import LANES, softmax_backward, softmax_forward

BUCKET = 16  # traces of similar length that are padded together


def attend_softmax(
    q: Float[Tensor, "queries heads size"],
    k: Float[Tensor, "keys heads size"],
    v: Float[Tensor, "keys heads size"],
    packing: Packing,
) -> Float[Tensor, "queries heads size"]:
    """o = Σ_j softmax_j(q·k_j/√d) v_j over packed traces on the CPU, with its gradient; 0 for a query without a key."""
    out: Tensor = Softmax.apply(q, k, v, packing)  # type: ignore[no-untyped-call]
    return out


class Softmax(torch.autograd.Function):
    """The two kernels as one function that autograd knows. Nothing of size queries × keys is made."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, packing: Packing) -> Tensor:
        arrays = [x.detach().contiguous().numpy() for x in (q, k, v)]
        result = torch.empty(q.shape, dtype=q.dtype)
        found = [result.numpy(), *(np.empty(q.shape[:2], dtype=arrays[0].dtype) for _ in range(2))]
        softmax_forward(*arrays, *constants(packing, arrays[0]), arrays[0].dtype.type(-1e30), *found)
        ctx.arrays, ctx.packing = (arrays, found), packing
        return result

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        arrays, found = ctx.arrays
        slopes = [torch.zeros(x.shape, dtype=slope.dtype) for x in arrays]
        given = (x.numpy() for x in (slope.contiguous(), *slopes))
        softmax_backward(*arrays, *constants(ctx.packing, arrays[0]), *found, *given)
        return (*slopes, None)


def constants(packing: Packing, q: np.ndarray) -> tuple[Any, ...]:
    """What both kernels need besides q, k, v; as `constants` of stick-breaking tells it."""
    kind, size = q.dtype.type, q.shape[2]
    return (
        packing.query_offsets,
        packing.key_offsets,
        packing.visible,
        (0,) * size,
        LANES,
        kind(1 / np.sqrt(size)),
    )


def attend_softmax_slowly(
    q: Float[Tensor, "queries heads size"],
    k: Float[Tensor, "keys heads size"],
    v: Float[Tensor, "keys heads size"],
    packing: Packing,
) -> Float[Tensor, "queries heads size"]:
    """The same by PyTorch, on any device. Traces of similar length are padded together."""
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
