"""Loss and gradient of the lifted STRIPS Transformer, compiled with Numba; `references` has the same values.

`loss_and_slope` is compiled into these kernels: after a change of it Numba's cache must be cleared, since it looks only
at the file of the kernel.
"""

from __future__ import annotations

import numba
import numpy as np

from trace2strips.compilation import compiled
from trace2strips.learners.transformer.kernels import ALMOST_ONE, CHUNKS, loss_and_slope
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_STATE, TEST_ATOM


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
