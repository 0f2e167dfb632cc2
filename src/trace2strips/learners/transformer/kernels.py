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


@compiled(parallel=True)
def sparse_kernel(  # type: ignore[no-untyped-def]
    kind, pair_start, pair_atom, pair_param, first_of, state_first, query, key, value, first, tokens, inapplicable,
    offsets, chosen, alpha, gamma, loss, grad_query, grad_key, grad_value, grad_first,
):  # fmt: skip
    """The factored form where a token touches a few atoms only, each with a parameter that many tokens may share.

    The pairs of a token are its atoms with their parameters; those of `init-p` and `test-p` are atoms alone. The ground
    form is the case in which every action touches every atom with a parameter of its own. `first` has the values that
    atoms begin with: after init-false that of `first_of` the atom, after init-s those from `state_first` of the token.
    """
    atoms = len(first_of)
    widest = 0
    longest = 0
    for t in chosen:
        longest = max(longest, offsets[t + 1] - offsets[t])
        pairs = 0
        for i in range(offsets[t], offsets[t + 1]):
            pairs += pair_start[tokens[i] + 1] - pair_start[tokens[i]]
        widest = max(widest, pairs)
    for chunk in numba.prange(CHUNKS):
        loss[chunk] = 0
        grad_query[chunk] = 0
        grad_key[chunk] = 0
        grad_value[chunk] = 0
        grad_first[chunk] = 0
        states = np.empty(widest, dtype=np.float32)  # of the atoms of all pairs, before their position
        slopes = np.empty(longest, dtype=np.float32)
        keeps = np.empty(longest, dtype=np.float32)
        state = np.empty(atoms, dtype=np.float32)
        back = np.empty(atoms, dtype=np.float32)
        for b in range(chunk, len(chosen), CHUNKS):
            start, end = offsets[chosen[b]], offsets[chosen[b] + 1]
            n = end - start
            if n == 0:
                continue
            scale = np.float32(1) / np.float32(n)
            state[:] = 0
            total = np.float32(0)
            place = 0
            for i in range(n):
                token = tokens[start + i]
                what = kind[token]
                here = range(pair_start[token], pair_start[token + 1])
                if what == ACTION:
                    keep = np.float32(1)
                    for k in here:
                        s = state[pair_atom[k]]
                        states[place] = s
                        place += 1
                        keep *= np.float32(1) - min(query[pair_param[k]] * s, ALMOST_ONE)
                    keeps[i] = keep
                    part, slope = loss_and_slope(np.float32(1) - keep, inapplicable[start + i], alpha, gamma)
                    total += part
                    slopes[i] = slope * scale
                    if not inapplicable[start + i]:
                        for k in here:
                            a, p = pair_atom[k], pair_param[k]
                            state[a] += key[p] * (value[p] - state[a])
                elif what == TEST_ATOM:
                    a = pair_atom[pair_start[token]]
                    part, slope = loss_and_slope(state[a], inapplicable[start + i], alpha, gamma)
                    total += part
                    slopes[i] = slope * scale
                elif what == INIT_STATE:
                    for a in range(atoms):
                        state[a] = first[state_first[token] + a]
                elif what == INIT_ATOM:
                    for k in here:
                        state[pair_atom[k]] = 0
                else:  # init-false
                    for a in range(atoms):
                        state[a] = first[first_of[a]]
            loss[chunk] += total * scale
            back[:] = 0
            for j in range(n):
                i = n - 1 - j
                token = tokens[start + i]
                what = kind[token]
                here = range(pair_start[token], pair_start[token + 1])
                if what == ACTION:
                    place -= len(here)
                    if not inapplicable[start + i]:
                        for m, k in enumerate(here):
                            a, p = pair_atom[k], pair_param[k]
                            grad_key[chunk, p] += back[a] * (value[p] - states[place + m])
                            grad_value[chunk, p] += back[a] * key[p]
                            back[a] *= np.float32(1) - key[p]
                    slope = slopes[i] * keeps[i]
                    for m, k in enumerate(here):
                        a, p = pair_atom[k], pair_param[k]
                        one = slope / (np.float32(1) - min(query[p] * states[place + m], ALMOST_ONE))
                        grad_query[chunk, p] += one * states[place + m]
                        back[a] += one * query[p]
                elif what == TEST_ATOM:
                    back[pair_atom[pair_start[token]]] += slopes[i]
                elif what == INIT_STATE:
                    for a in range(atoms):
                        grad_first[chunk, state_first[token] + a] += back[a]
                    break
                elif what == INIT_ATOM:
                    for k in here:
                        back[pair_atom[k]] = 0
                else:
                    for a in range(atoms):
                        grad_first[chunk, first_of[a]] += back[a]
                    break


@compiled(vector=True)
def sparse_wrong(  # type: ignore[no-untyped-def]
    kind, pair_start, pair_atom, pair_param, first_of, state_first, query, key, value, first, tokens, inapplicable,
    offsets, wrong,
):  # fmt: skip
    """wrong[i]: whether binary parameters predict position i wrongly, after what the labels say happened before."""
    state = np.empty(len(first_of), dtype=np.bool_)  # whether each atom is deleted
    for t in range(len(offsets) - 1):
        state[:] = False
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            what = kind[token]
            here = range(pair_start[token], pair_start[token + 1])
            wrong[i] = False
            if what == ACTION:
                refused = False
                for k in here:
                    refused |= query[pair_param[k]] & state[pair_atom[k]]
                wrong[i] = refused != inapplicable[i]
                if not inapplicable[i]:
                    for k in here:
                        if key[pair_param[k]]:
                            state[pair_atom[k]] = value[pair_param[k]]
            elif what == TEST_ATOM:
                wrong[i] = state[pair_atom[pair_start[token]]] != inapplicable[i]
            elif what == INIT_STATE:
                for a in range(len(first_of)):
                    state[a] = first[state_first[token] + a]
            elif what == INIT_ATOM:
                for k in here:
                    state[pair_atom[k]] = False
            else:
                for a in range(len(first_of)):
                    state[a] = first[first_of[a]]
