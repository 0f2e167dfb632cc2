"""Loss and gradient of the STRIPS Transformer on a batch of traces, in both forms, compiled with Numba.

What they compute is written down in `references`, which have the same values; `module` has the same gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from jaxtyping import Float32, Int64

from trace2strips.compilation import compiled
from trace2strips.learners.transformer.parameters import Layout, Theta
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_FALSE, INIT_STATE, TEST_ATOM
from trace2strips.traces import Dataset

CHUNKS = 4  # parts of a batch, each with its own gradient: the sum does not depend on the number of cores
ALMOST_ONE = np.float32(1 - 1e-6)
# Predictions are kept this far from 0 and 1 in the loss; both ends are exact in float32. Here and not in `references`:
# Numba's cache forgets a kernel only if the file of the kernel changes.
LEAST = 2.0**-20


@dataclass
class Gradient:
    """Where the kernels leave loss and gradient: one slice per chunk of the batch."""

    loss: Float32[np.ndarray, " chunks"]
    query: Float32[np.ndarray, "chunks rows heads"]
    key: Float32[np.ndarray, "chunks rows heads"]
    value: Float32[np.ndarray, "chunks rows heads"]

    @staticmethod
    def for_layout(layout: Layout) -> Gradient:
        shape = (CHUNKS, layout.rows, layout.heads)
        return Gradient(np.zeros(CHUNKS, dtype=np.float32), *(np.zeros(shape, dtype=np.float32) for _ in range(3)))


def gradient_step(
    theta: Theta, layout: Layout, dataset: Dataset, chosen: Int64[np.ndarray, " batch"], form: str, alpha: float,
    gamma: float, out: Gradient,
) -> float:  # fmt: skip
    """Mean loss over the chosen traces; `out` gets its gradient with respect to the probabilities, chunk by chunk."""
    kernel = factored_kernel if form == "factored" else attention_kernel
    kernel(
        layout.vocabulary.kinds, layout.row, layout.head, theta.query, theta.key, theta.value, dataset.tokens,
        dataset.inapplicable, dataset.offsets, chosen, np.float32(alpha), np.float32(gamma),
        out.loss, out.query, out.key, out.value,
    )  # fmt: skip
    return float(out.loss.sum()) / max(1, len(chosen))


@compiled()
def loss_and_slope(y, z, alpha, gamma):  # type: ignore[no-untyped-def]
    """The focal loss of one position and its derivative by y."""
    y = min(max(y, np.float32(LEAST)), np.float32(1 - LEAST))
    if z:
        rest = np.float32(1) - y
        power = rest**gamma
        loss = -alpha * power * np.log(y)
        slope = alpha * (gamma * rest ** (gamma - np.float32(1)) * np.log(y) - power / y)
    else:
        rest = np.float32(1) - y
        power = y**gamma
        weight = np.float32(1) - alpha
        loss = -weight * power * np.log(rest)
        slope = weight * (power / rest - gamma * y ** (gamma - np.float32(1)) * np.log(rest))
    return loss, slope


@compiled(parallel=True)
def factored_kernel(  # type: ignore[no-untyped-def]
    kind, row, head, query, key, value, tokens, inapplicable, offsets, chosen, alpha, gamma,
    loss, grad_query, grad_key, grad_value,
):  # fmt: skip
    """Forward scan and reverse scan, both over heads as the contiguous axis."""
    heads = query.shape[1]
    longest = 0
    for t in chosen:
        longest = max(longest, offsets[t + 1] - offsets[t])
    for chunk in numba.prange(CHUNKS):
        loss[chunk] = 0
        grad_query[chunk] = 0
        grad_key[chunk] = 0
        grad_value[chunk] = 0
        states = np.empty((longest + 1, heads), dtype=np.float32)  # states[i]: before position i
        slopes = np.empty(longest, dtype=np.float32)  # dL/dy(i), divided by what Π(1 − y_l) needs
        keeps = np.empty(longest, dtype=np.float32)  # Π_l (1 − y_l(i))
        back = np.empty(heads, dtype=np.float32)  # dL/dstate
        for b in range(chunk, len(chosen), CHUNKS):
            start, end = offsets[chosen[b]], offsets[chosen[b] + 1]
            n = end - start
            if n == 0:
                continue
            scale = np.float32(1) / np.float32(n)
            states[0] = 0
            total = np.float32(0)
            for i in range(n):
                token = tokens[start + i]
                what = kind[token]
                state, after = states[i], states[i + 1]
                if what == ACTION:
                    r = row[token]
                    keep = np.float32(1)
                    for h in range(heads):
                        keep *= np.float32(1) - min(query[r, h] * state[h], ALMOST_ONE)
                    keeps[i] = keep
                    part, slope = loss_and_slope(np.float32(1) - keep, inapplicable[start + i], alpha, gamma)
                    total += part
                    slopes[i] = slope * scale
                    if inapplicable[start + i]:
                        for h in range(heads):
                            after[h] = state[h]
                    else:
                        for h in range(heads):
                            after[h] = state[h] + key[r, h] * (value[r, h] - state[h])
                elif what == TEST_ATOM:
                    part, slope = loss_and_slope(state[head[token]], inapplicable[start + i], alpha, gamma)
                    total += part
                    slopes[i] = slope * scale
                    for h in range(heads):
                        after[h] = state[h]
                elif what == INIT_STATE:
                    r = row[token]
                    for h in range(heads):
                        after[h] = value[r, h]
                elif what == INIT_ATOM:
                    for h in range(heads):
                        after[h] = state[h]
                    after[head[token]] = 0
                else:  # init-false
                    for h in range(heads):
                        after[h] = 1
            loss[chunk] += total * scale
            back[:] = 0
            for j in range(n):
                i = n - 1 - j
                token = tokens[start + i]
                what = kind[token]
                state = states[i]
                if what == ACTION:
                    r = row[token]
                    if not inapplicable[start + i]:
                        for h in range(heads):
                            grad_key[chunk, r, h] += back[h] * (value[r, h] - state[h])
                            grad_value[chunk, r, h] += back[h] * key[r, h]
                            back[h] *= np.float32(1) - key[r, h]
                    slope = slopes[i] * keeps[i]
                    for h in range(heads):
                        one = slope / (np.float32(1) - min(query[r, h] * state[h], ALMOST_ONE))
                        grad_query[chunk, r, h] += one * state[h]
                        back[h] += one * query[r, h]
                elif what == TEST_ATOM:
                    back[head[token]] += slopes[i]
                elif what == INIT_STATE:
                    for h in range(heads):
                        grad_value[chunk, row[token], h] += back[h]
                    break
                elif what == INIT_ATOM:
                    back[head[token]] = 0
                else:
                    break  # nothing before init-false matters


@compiled(parallel=True)
def attention_kernel(  # type: ignore[no-untyped-def]
    kind, row, head, query, key, value, tokens, inapplicable, offsets, chosen, alpha, gamma,
    loss, grad_query, grad_key, grad_value,
):  # fmt: skip
    """The paper's form without an n×n matrix. For a query at i, walking the keys from the oldest to the newest,
    u_j = s_j·v_j + (1 − s_j)·u_{j−1} ends in y_l(i); and ∂y_l(i)/∂s_j = Π_{k>j}(1 − s_k)·(v_j − u_{j−1}).

    The setup prefix is folded into u_0: q after init-false, q − q² where an init-p follows, q·v after init-s.
    """
    heads = query.shape[1]
    longest = 0
    for t in chosen:
        longest = max(longest, offsets[t + 1] - offsets[t])
    for chunk in numba.prange(CHUNKS):
        loss[chunk] = 0
        grad_query[chunk] = 0
        grad_key[chunk] = 0
        grad_value[chunk] = 0
        applied = np.empty(longest, dtype=np.int64)  # rows of the applied actions so far, in order
        # before[j]: u before the j-th applied action, for the query at hand
        before = np.empty((longest + 1, heads), dtype=np.float32)
        rest = np.empty(heads, dtype=np.float32)
        once = np.empty(heads, dtype=np.float32)  # u_0 = q·once − q²·twice
        twice = np.empty(heads, dtype=np.float32)
        for b in range(chunk, len(chosen), CHUNKS):
            start, end = offsets[chosen[b]], offsets[chosen[b] + 1]
            n = end - start
            if n == 0:
                continue
            scale = np.float32(1) / np.float32(n)
            count = 0
            total = np.float32(0)
            init_row = -1
            once[:] = 0
            twice[:] = 0
            for i in range(n):
                token = tokens[start + i]
                what = kind[token]
                if what == INIT_FALSE:
                    once[:] = 1
                elif what == INIT_ATOM:
                    twice[head[token]] = once[head[token]]
                elif what == INIT_STATE:
                    init_row = row[token]
                    for h in range(heads):
                        once[h] = value[init_row, h]
                elif what == ACTION:
                    r = row[token]
                    for h in range(heads):  # the oldest keys: the setup prefix
                        before[0, h] = query[r, h] * (once[h] - query[r, h] * twice[h])
                    for j in range(count):
                        a = applied[j]
                        for h in range(heads):
                            s = query[r, h] * key[a, h]
                            before[j + 1, h] = before[j, h] + s * (value[a, h] - before[j, h])
                    keep = np.float32(1)
                    for h in range(heads):
                        keep *= np.float32(1) - min(before[count, h], ALMOST_ONE)
                    part, slope = loss_and_slope(np.float32(1) - keep, inapplicable[start + i], alpha, gamma)
                    total += part
                    slope *= scale * keep
                    for h in range(heads):
                        rest[h] = slope / (np.float32(1) - min(before[count, h], ALMOST_ONE))
                    for k in range(count):
                        j = count - 1 - k
                        a = applied[j]
                        for h in range(heads):
                            s = query[r, h] * key[a, h]
                            slope_s = rest[h] * (value[a, h] - before[j, h])
                            grad_query[chunk, r, h] += slope_s * key[a, h]
                            grad_key[chunk, a, h] += slope_s * query[r, h]
                            grad_value[chunk, a, h] += rest[h] * s
                            rest[h] *= np.float32(1) - s
                    for h in range(heads):
                        grad_query[chunk, r, h] += rest[h] * (once[h] - np.float32(2) * query[r, h] * twice[h])
                    if init_row >= 0:
                        for h in range(heads):
                            grad_value[chunk, init_row, h] += rest[h] * query[r, h]
                    if not inapplicable[start + i]:
                        applied[count] = r
                        count += 1
                else:  # test-p: the query is 1 on one head
                    h = head[token]
                    before[0, h] = once[h] - twice[h]
                    for j in range(count):
                        a = applied[j]
                        before[j + 1, h] = before[j, h] + key[a, h] * (value[a, h] - before[j, h])
                    part, slope = loss_and_slope(before[count, h], inapplicable[start + i], alpha, gamma)
                    total += part
                    one = slope * scale
                    for k in range(count):
                        j = count - 1 - k
                        a = applied[j]
                        grad_key[chunk, a, h] += one * (value[a, h] - before[j, h])
                        grad_value[chunk, a, h] += one * key[a, h]
                        one *= np.float32(1) - key[a, h]
                    if init_row >= 0:
                        grad_value[chunk, init_row, h] += one
            loss[chunk] += total * scale
