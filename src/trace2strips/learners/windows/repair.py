"""What really happened, where labels may be wrong: the truth that a model and the log agree on best.

A wrong label also falsifies the history behind it: what was written down as refused did change the world. So a label is
taken to be wrong not where it contradicts the model but where another one leaves fewer contradictions in the whole
trace. The search keeps the `WIDTH` best truths; two of them that lead to one state are one.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from trace2strips.compilation import compiled
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset

WIDTH = 8


@compiled(vector=True)
def decode(  # type: ignore[no-untyped-def]
    pre, add, delete, start, tokens, refused, offsets, kinds, flip, miss, states, new_states, costs, parents, choices,
    out,
):  # fmt: skip
    """out[i]: whether the attempt at i was really refused. `flip`: the cost of a wrong label; `miss`: of an attempt
    that the model gets wrong."""
    words, width = states.shape[1], states.shape[0]
    new_costs = np.empty(2 * width)
    new_parent = np.empty(2 * width, dtype=np.int64)
    new_choice = np.empty(2 * width, dtype=np.bool_)
    for t in range(len(offsets) - 1):
        begin, end = offsets[t], offsets[t + 1]
        alive = 1
        states[0] = start
        costs[0] = 0.0
        for i in range(begin, end):
            token = tokens[i]
            if kinds[token] < ACTION:
                for w in range(words):
                    states[0, w] = (states[0, w] | add[token, w]) & ~delete[token, w]
                continue
            made = 0
            for k in range(alive):
                says = False  # whether the model refuses
                for w in range(words):
                    if pre[token, w] & ~states[k, w]:
                        says = True
                        break
                for choice in range(2):
                    really = choice == 1
                    cost = costs[k]
                    if really != refused[i]:
                        cost += flip
                    if really != says:
                        cost += miss
                    for w in range(words):
                        before = states[k, w]
                        new_states[made, w] = before if really else (before | add[token, w]) & ~delete[token, w]
                    same = -1
                    for j in range(made):
                        equal = True
                        for w in range(words):
                            if new_states[j, w] != new_states[made, w]:
                                equal = False
                                break
                        if equal:
                            same = j
                            break
                    if same >= 0:
                        if cost < new_costs[same] - 1e-9:
                            new_costs[same], new_parent[same], new_choice[same] = cost, k, really
                    else:
                        new_costs[made], new_parent[made], new_choice[made] = cost, k, really
                        made += 1
            alive = 0
            while alive < width and alive < made:  # the best ones, in order
                best = -1
                for j in range(made):
                    if new_costs[j] < np.inf and (best < 0 or new_costs[j] < new_costs[best] - 1e-9):
                        best = j
                if best < 0:
                    break
                costs[alive] = new_costs[best]
                states[alive] = new_states[best]
                parents[i - begin, alive] = new_parent[best]
                choices[i - begin, alive] = new_choice[best]
                new_costs[best] = np.inf
                alive += 1
        k = 0
        for i in range(end - 1, begin - 1, -1):
            if kinds[tokens[i]] < ACTION:
                out[i] = refused[i]
            else:
                out[i] = choices[i - begin, k]
                k = parents[i - begin, k]


def most_likely(model: StripsModel, dataset: Dataset, flip: float, miss: float) -> Bool[np.ndarray, " positions"]:
    """Which attempts were really refused, most likely. `model` is over the tokens of the dataset."""
    bits = model.bits
    words = max(1, bits.pre.shape[1])
    longest = int(np.diff(dataset.offsets).max(initial=1))
    out = np.zeros(len(dataset.tokens), dtype=bool)
    if not len(model.atoms):
        return dataset.inapplicable.copy()
    decode(
        bits.pre, bits.add, bits.delete, bits.all_true, dataset.tokens, dataset.inapplicable, dataset.offsets,
        dataset.vocabulary.kinds, float(flip), float(miss), np.zeros((WIDTH, words), dtype=np.uint64),
        np.zeros((2 * WIDTH, words), dtype=np.uint64), np.zeros(WIDTH), np.zeros((longest, WIDTH), dtype=np.int64),
        np.zeros((longest, WIDTH), dtype=bool), out,
    )  # fmt: skip
    return out
