"""Multi-head softmax attention over packed traces, as in `stick_breaking`: what the baselines use.

    z_j = q·k_j / √d,   A_j = e^{z_j} / Σ_m e^{z_m},   o = Σ_j A_j v_j,   dz_j = A_j·(g·v_j − g·o)

A query sees the first `visible` keys of its trace and gets 0 if there are none. `attend_softmax` is the fused kernel
for the CPU, `attend_softmax_reference` goes through PyTorch's own attention on padded tensors, on any device.
Needs the extra `networks`. May import up to `traces`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from trace2strips.compilation import compiled
from trace2strips.networks.stick_breaking import (
    LANES,
    VECTOR,
    Packing,
    constants,
    exponential,
    fma,
    pad,
    places_of,
    sum_lanes,
    unpad,
)

BUCKET = 16  # traces of similar length that are padded together


def attend_softmax_reference(
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
        queries, keys = (places_of(o, chosen) for o in (packing.query_offsets, packing.key_offsets))
        sizes = (np.append(0, np.cumsum(np.diff(o)[chosen])) for o in (packing.query_offsets, packing.key_offsets))
        few = Packing(next(sizes), next(sizes), packing.visible[queries])
        mask = few.mask
        index, key_index = torch.from_numpy(queries).to(q.device), torch.from_numpy(keys).to(q.device)
        if mask.size:
            padded_q = pad(q[index], few.query_places, mask.shape[:2])
            padded_k, padded_v = (pad(x[key_index], few.key_places, mask.shape[::2]) for x in (k, v))
            blind = ~mask.any(axis=2, keepdims=True)  # they see all keys, and what they get is taken away again
            seen = torch.from_numpy(mask | blind).to(q.device)[:, None]
            out = functional.scaled_dot_product_attention(padded_q, padded_k, padded_v, attn_mask=seen)
            out = out.masked_fill(torch.from_numpy(blind).to(q.device)[:, None], 0.0)
            parts.append(unpad(out, few.query_places))
        else:
            parts.append(q[index] * 0 + nothing)
        where.append(index)
    return torch.cat(parts)[torch.argsort(torch.cat(where))] if parts else q * 0 + nothing


def attend_softmax(
    q: Float[Tensor, "queries heads size"],
    k: Float[Tensor, "keys heads size"],
    v: Float[Tensor, "keys heads size"],
    packing: Packing,
) -> Float[Tensor, "queries heads size"]:
    """The same, fused, with its gradient."""
    out: Tensor = Softmax.apply(q, k, v, packing)  # type: ignore[no-untyped-call]
    return out


class Softmax(torch.autograd.Function):
    """The two kernels as one function that autograd knows."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, packing: Packing) -> Tensor:
        arrays = [x.detach().contiguous().numpy() for x in (q, k, v)]
        out, level = np.empty_like(arrays[0]), np.empty((2, *arrays[0].shape[:2]), arrays[0].dtype)
        softmax_forward_kernel(*arrays, *constants(packing, arrays[0])[:-1], out, level)
        ctx.arrays, ctx.packing = (*arrays, out, level), packing
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        q, k, v, out, level = ctx.arrays
        slopes = np.empty_like(q), np.empty_like(k), np.empty_like(v)
        rest = constants(ctx.packing, q)[:-1]
        softmax_backward_kernel(q, k, v, *rest, out, level, slope.contiguous().numpy(), *slopes)
        return (*(torch.from_numpy(x) for x in slopes), None)


@compiled(vector=True)
def softmax_forward_kernel(  # type: ignore[no-untyped-def]
    q, k, v, query_offsets, key_offsets, visible, template, width, scale, out, level
):
    """Rows of `lanes`: q, o, the greatest score, the sum, e^z, how many keys are seen. `level` keeps the greatest score
    and one over the sum for the way back."""
    kind = q.dtype.type
    zero, one, least, lowest = kind(0), kind(1), kind(-87), kind(-1e30)
    size = len(template)
    top, total, share, seen = 2 * size, 2 * size + 1, 2 * size + 2, 2 * size + 3
    lanes = np.empty((2 * size + 4, LANES), q.dtype)
    longest = 0
    for trace in range(len(key_offsets) - 1):
        longest = max(longest, key_offsets[trace + 1] - key_offsets[trace])
    scores = np.empty((longest, LANES), q.dtype)
    for trace in range(len(query_offsets) - 1):
        begin, end, base = query_offsets[trace], query_offsets[trace + 1], key_offsets[trace]
        for head in range(q.shape[1]):
            for first in range(begin, end, LANES):
                count = min(LANES, end - first)
                most = np.int64(0)
                lanes[:] = zero
                lanes[top] = lowest
                for i in range(count):
                    lanes[seen, i] = visible[first + i]
                    most = max(most, np.int64(visible[first + i]))
                    for d in range(size):
                        lanes[d, i] = q[first + i, head, d] * scale
                for j in range(most):
                    key, score = k[base + j, head], scores[j]
                    for i in range(width):
                        z, z1 = zero, zero  # two sums at a time: each waits only for itself
                        for d in range(size // 2):
                            z = fma(lanes[2 * d, i], key[2 * d], z)
                            z1 = fma(lanes[2 * d + 1, i], key[2 * d + 1], z1)
                        for d in range(size - size % 2, size):
                            z = fma(lanes[d, i], key[d], z)
                        z = z + z1 if kind(j) < lanes[seen, i] else lowest
                        score[i] = z
                        lanes[top, i] = max(lanes[top, i], z)
                for j in range(most):
                    value, score = v[base + j, head], scores[j]
                    for i in range(width):
                        e = exponential(max(score[i] - lanes[top, i], least))
                        e = e if kind(j) < lanes[seen, i] else zero
                        lanes[share, i] = e
                        lanes[total, i] += e
                    for i in range(width):
                        weight = lanes[share, i]
                        for d in range(size):
                            lanes[size + d, i] = fma(weight, value[d], lanes[size + d, i])
                for i in range(count):
                    inverse = one / lanes[total, i] if lanes[total, i] > zero else zero
                    level[0, first + i, head], level[1, first + i, head] = lanes[top, i], inverse
                    for d in range(size):
                        out[first + i, head, d] = lanes[size + d, i] * inverse


@compiled(vector=True)
def softmax_backward_kernel(  # type: ignore[no-untyped-def]
    q, k, v, query_offsets, key_offsets, visible, template, width, scale, out, level, slope, slope_q, slope_k, slope_v
):
    """Rows of `lanes`: q, g, dq, the greatest score, one over the sum, A_j, how many keys are seen, g·o, dz."""
    kind = q.dtype.type
    zero, least = kind(0), kind(-87)
    size = len(template)
    top, total, share = 3 * size, 3 * size + 1, 3 * size + 2
    seen, mean, pull = 3 * size + 3, 3 * size + 4, 3 * size + 5
    lanes = np.empty((3 * size + 6, LANES), q.dtype)
    left_half, right_half = lanes[:, :VECTOR], lanes[:, VECTOR:]
    longest = 0
    for trace in range(len(key_offsets) - 1):
        longest = max(longest, key_offsets[trace + 1] - key_offsets[trace])
    sums = np.empty((longest, 2 * size, VECTOR), q.dtype)
    for trace in range(len(query_offsets) - 1):
        begin, end, base = query_offsets[trace], query_offsets[trace + 1], key_offsets[trace]
        keys = key_offsets[trace + 1] - base
        for head in range(q.shape[1]):
            sums[:keys] = zero
            for first in range(begin, end, LANES):
                count = min(LANES, end - first)
                most = np.int64(0)
                lanes[:] = zero
                for i in range(count):
                    lanes[top, i], lanes[total, i] = level[0, first + i, head], level[1, first + i, head]
                    lanes[seen, i] = visible[first + i]
                    most = max(most, np.int64(visible[first + i]))
                    for d in range(size):
                        g = slope[first + i, head, d]
                        lanes[d, i] = q[first + i, head, d] * scale
                        lanes[size + d, i] = g
                        lanes[mean, i] += g * out[first + i, head, d]
                for j in range(most):
                    key, value, sum_ = k[base + j, head], v[base + j, head], sums[j]
                    for i in range(width):
                        z, z1, gain, gain1 = zero, zero, zero, zero
                        for d in range(size // 2):
                            z = fma(lanes[2 * d, i], key[2 * d], z)
                            z1 = fma(lanes[2 * d + 1, i], key[2 * d + 1], z1)
                        for d in range(size - size % 2, size):
                            z = fma(lanes[d, i], key[d], z)
                        for d in range(size // 2):
                            gain = fma(lanes[size + 2 * d, i], value[2 * d], gain)
                            gain1 = fma(lanes[size + 2 * d + 1, i], value[2 * d + 1], gain1)
                        for d in range(size - size % 2, size):
                            gain = fma(lanes[size + d, i], value[d], gain)
                        weight = exponential(min(zero, max((z + z1) - lanes[top, i], least))) * lanes[total, i]
                        weight = weight if kind(j) < lanes[seen, i] else zero
                        lanes[share, i] = weight
                        lanes[pull, i] = weight * ((gain + gain1) - lanes[mean, i])
                    for i in range(width):
                        dz = lanes[pull, i]
                        for d in range(size):
                            lanes[2 * size + d, i] = fma(dz, key[d], lanes[2 * size + d, i])
                    for i in range(width // 2):
                        near, far = left_half[pull, i], right_half[pull, i]
                        for d in range(size):
                            sum_[d, i] = fma(near, left_half[d, i], fma(far, right_half[d, i], sum_[d, i]))
                    for i in range(width // 2):
                        near, far = left_half[share, i], right_half[share, i]
                        for d in range(size):
                            sum_[size + d, i] = fma(
                                near, left_half[size + d, i], fma(far, right_half[size + d, i], sum_[size + d, i])
                            )
                for i in range(count):
                    for d in range(size):
                        slope_q[first + i, head, d] = lanes[2 * size + d, i] * scale
            for j in range(keys):
                for d in range(size):
                    slope_k[base + j, head, d] = sum_lanes(sums[j, d])
                    slope_v[base + j, head, d] = sum_lanes(sums[j, size + d])
