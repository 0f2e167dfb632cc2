"""The lifted STRIPS Transformer by its equations: slow and obvious, what `kernels` is tested against.

For a ground action a(o₁ … oₖ) of schema s, a head h and a pattern π of h among the arguments of s, the atom h(o_π) has
the parameters Q, K, V of (s, h, π); nothing else is touched:

    state_u(i+1) = state_u(i) + K_u(i)·(V_u(i) − state_u(i))      if a_i worked and touches u; else state_u(i)
    y(i)         = 1 − Π_u (1 − Q_u(i)·state_u(i))                over the atoms u that a_i touches

the factored form of `transformer.references` with shared parameters.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from trace2strips.learners.lifted_transformer.layout import Pairs
from trace2strips.model.vocabulary import Kind, Vocabulary


def sparse_reference(
    query: Float[np.ndarray, " params"],
    key: Float[np.ndarray, " params"],
    value: Float[np.ndarray, " params"],
    first: Float[np.ndarray, " firsts"],
    pairs: Pairs,
    vocabulary: Vocabulary,
    tokens: np.ndarray,
    masked: Bool[np.ndarray, " positions"],
) -> Float[np.ndarray, " positions"]:
    """y of one trace."""
    state = np.zeros(len(pairs.first_of))
    out = np.zeros(len(tokens))
    for i, token in enumerate(tokens.tolist()):
        touched = slice(pairs.start[token], pairs.start[token + 1])
        atoms, params = pairs.atom[touched], pairs.param[touched]
        match Kind(vocabulary.kinds[token]):
            case Kind.INIT_FALSE:
                state = first[pairs.first_of].astype(np.float64)
            case Kind.INIT_STATE:
                begin = pairs.state_first[token]
                state = first[begin : begin + len(state)].astype(np.float64)
            case Kind.INIT_ATOM:
                state[atoms] = 0
            case Kind.TEST_ATOM:
                out[i] = state[atoms[0]]
            case Kind.ACTION:
                out[i] = 1 - np.prod(1 - query[params] * state[atoms])
                if not masked[i]:
                    state[atoms] += key[params] * (value[params] - state[atoms])
    return out
