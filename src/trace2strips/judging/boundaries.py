"""Boundaries between two histories: how much there is that is possible after the one and not after the other.

    L(h) = the suffixes x whose every action is applicable after h and the part of x before it
    boundary(h, g) = the shortest suffixes in L(h) \\ L(g): x·a with x in both, a applicable after h·x, not after g·x

"How much" weighs x·a with the chance that a random walk through the suffixes in both L(h) and L(g) comes by x, since
plain numbers grow with every action and only the longest suffixes would count. So a search through all suffixes and
sampled walks measure the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from trace2strips.compilation import compiled
from trace2strips.judging.history_pool import Pool
from trace2strips.judging.predictors import ModelPredictor, Predictor, accepts, progress
from trace2strips.model.vocabulary import Kind

FORWARD, HITS, BACKWARD = range(3)  # columns of the counts


def count_boundaries(
    drawer: Predictor,
    judge: Predictor,
    pool: Pool,
    pairs: Int64[np.ndarray, "pairs 2"],
    exact: int,
    draws: Int64[np.ndarray, "pairs walks length"],
) -> Float64[np.ndarray, "pairs 3"]:
    """For each pair (h, g): the weight of the drawer's boundary(h, g), of the part of it that the judge accepts after h
    and not after g, and of the drawer's boundary(g, h).

    Two STRIPS models are compared in compiled code, anything else by asking. `draws` are random numbers below 2³².
    """
    if isinstance(drawer, ModelPredictor) and isinstance(judge, ModelPredictor):
        return count_in_models(drawer, judge, pool, pairs, exact, draws)
    return count_by_asking(drawer, judge, pool, pairs, exact, draws)


def count_by_asking(
    drawer: Predictor,
    judge: Predictor,
    pool: Pool,
    pairs: Int64[np.ndarray, "pairs 2"],
    exact: int,
    draws: Int64[np.ndarray, "pairs walks length"],
) -> Float64[np.ndarray, "pairs 3"]:
    """Level by level, all pairs at once: at depth d stand the suffixes x of d actions that the drawer accepts after
    both histories. Those shorter than `exact` are all there, longer ones where one of the walks has come by.

    The slow reference of `count_in_models`, and what networks are measured with.
    """
    count, walks, length = draws.shape
    counts = np.zeros((count, 3))
    level: dict[Suffix, Node] = {(pair, ()): Node(1.0, True, True) for pair in range(count)}
    walkers: dict[tuple[int, int], tuple[int, ...]] = {(p, w): () for p in range(count) for w in range(walks)}
    for depth in range(length):
        drawn = ask_after(drawer, pool, pairs, list(level))
        judged = ask_after(judge, pool, pairs, list(level))
        shared: dict[Suffix, list[int]] = {}
        below: dict[Suffix, Node] = {}
        for (pair, x), node, (one, two), (judge_one, judge_two) in zip(
            level, level.values(), drawn, judged, strict=True
        ):
            told_apart = (node.accepted_one & judge_one) & ~(node.accepted_two & judge_two)
            counts[pair, FORWARD] += node.weight * (one & ~two).sum()
            counts[pair, HITS] += node.weight * (one & ~two & told_apart).sum()
            counts[pair, BACKWARD] += node.weight * (two & ~one).sum()
            shared[pair, x] = np.flatnonzero(one & two).tolist()
            for a in shared[pair, x]:
                below[pair, (*x, a)] = Node(
                    node.weight / len(shared[pair, x]) if depth + 1 < exact else 0.0,
                    node.accepted_one and bool(judge_one[a]),
                    node.accepted_two and bool(judge_two[a]),
                )
        for (pair, walk), x in list(walkers.items()):
            if shared[pair, x]:
                walkers[pair, walk] = (*x, shared[pair, x][int(draws[pair, walk, depth]) * len(shared[pair, x]) >> 32])
                if depth + 1 >= exact:
                    below[pair, walkers[pair, walk]].weight += 1 / walks
            else:
                del walkers[pair, walk]
        level = {suffix: node for suffix, node in below.items() if node.weight}
    return counts


Suffix = tuple[int, tuple[int, ...]]  # the number of a pair, and x


@dataclass
class Node:
    """A suffix x: the chance of coming by, and whether the judge accepts it after each history of the pair."""

    weight: float
    accepted_one: bool
    accepted_two: bool


def ask_after(
    predictor: Predictor, pool: Pool, pairs: Int64[np.ndarray, "pairs 2"], suffixes: list[Suffix]
) -> Bool[np.ndarray, "suffixes 2 actions"]:
    """What is applicable after each of the two histories and the suffix."""
    first = predictor.vocabulary.first[Kind.ACTION]
    parts = [
        np.concatenate([pool.history(history), first + np.array(x, dtype=pool.tokens.dtype)])
        for pair, x in suffixes
        for history in pairs[pair].tolist()
    ]
    tokens = np.concatenate(parts) if parts else pool.tokens[:0]
    rows = predictor.applicable(tokens, np.cumsum([0, *map(len, parts)]))
    return rows.reshape(len(suffixes), 2, rows.shape[1])


def count_in_models(
    drawer: ModelPredictor,
    judge: ModelPredictor,
    pool: Pool,
    pairs: Int64[np.ndarray, "pairs 2"],
    exact: int,
    draws: Int64[np.ndarray, "pairs walks length"],
) -> Float64[np.ndarray, "pairs 3"]:
    """`count_by_asking` over bit sets: a suffix costs one step of each model, not its history once more."""
    histories = pool.gather(pairs.reshape(-1))
    models, starts = [], []
    for predictor in (drawer, judge):
        bits = predictor.model.bits
        models.append((bits.pre, bits.add, bits.delete))
        starts.append(predictor.states(*histories).reshape(len(pairs), 2, bits.words))
    counts = np.zeros((len(pairs), 3))
    count_pairs(*models, *starts, drawer.first, len(drawer.vocabulary.actions), exact, draws, counts)
    return counts


# --- compiled --------------------------------------------------------------------------------------------------------
# A model is (pre, add, delete); drawn[depth, side] and judged[depth, side] are the states after the suffix so far, for
# side 0 or 1 of the pair, and alive[depth, side] says whether the judge has accepted every action of it.


@compiled()
def visit(drawer, judge, first, actions, drawn, judged, alive, weight, row):  # type: ignore[no-untyped-def]
    """Weigh the boundary suffixes that are one action longer than the suffix so far; how many actions lead on."""
    forward = hits = backward = shared = 0
    for action in range(first, first + actions):
        one, two = accepts(drawer[0], action, drawn[0]), accepts(drawer[0], action, drawn[1])
        if one and two:
            shared += 1
        elif one:
            forward += 1
            after_one = alive[0] and accepts(judge[0], action, judged[0])
            after_two = alive[1] and accepts(judge[0], action, judged[1])
            hits += after_one and not after_two
        elif two:
            backward += 1
    row[FORWARD] += weight * forward
    row[HITS] += weight * hits
    row[BACKWARD] += weight * backward
    return shared


@compiled()
def descend(drawer, judge, action, depth, drawn, judged, alive):  # type: ignore[no-untyped-def]
    for side in range(2):
        progress(drawer, action, drawn[depth, side], drawn[depth + 1, side])
        progress(judge, action, judged[depth, side], judged[depth + 1, side])
        alive[depth + 1, side] = alive[depth, side] and accepts(judge[0], action, judged[depth, side])


@compiled()
def count_pairs(drawer, judge, drawn_start, judged_start, first, actions, exact, draws, counts):  # type: ignore[no-untyped-def]
    pairs, walks, length = draws.shape
    drawn = np.empty((length + 1, 2, drawn_start.shape[2]), dtype=np.uint64)
    judged = np.empty((length + 1, 2, judged_start.shape[2]), dtype=np.uint64)
    alive = np.ones((length + 1, 2), dtype=np.bool_)
    weight = np.ones(exact, dtype=np.float64)
    shared = np.empty(exact, dtype=np.int64)
    following = np.empty(exact, dtype=np.int64)  # the action to try next, at each depth
    choices = np.empty(actions, dtype=np.int64)
    for p in range(pairs):
        drawn[0], judged[0] = drawn_start[p], judged_start[p]
        # every suffix shorter than `exact`, depth first
        depth = 0
        following[0] = first
        shared[0] = visit(drawer, judge, first, actions, drawn[0], judged[0], alive[0], 1.0, counts[p])
        while depth >= 0:
            action = following[depth]
            if depth + 1 == exact or action == first + actions:
                depth -= 1
                continue
            following[depth] += 1
            if accepts(drawer[0], action, drawn[depth, 0]) and accepts(drawer[0], action, drawn[depth, 1]):
                descend(drawer, judge, action, depth, drawn, judged, alive)
                depth += 1
                following[depth] = first
                weight[depth] = weight[depth - 1] / shared[depth - 1]
                shared[depth] = visit(
                    drawer, judge, first, actions, drawn[depth], judged[depth], alive[depth], weight[depth], counts[p]
                )
        # longer ones along random walks
        for walk in range(walks if exact < length else 0):
            for depth in range(length):
                if depth >= exact:
                    visit(
                        drawer, judge, first, actions, drawn[depth], judged[depth], alive[depth], 1 / walks, counts[p]
                    )
                found = 0
                for action in range(first, first + actions):
                    if accepts(drawer[0], action, drawn[depth, 0]) and accepts(drawer[0], action, drawn[depth, 1]):
                        choices[found] = action
                        found += 1
                if found == 0:
                    break
                action = choices[draws[p, walk, depth] * found >> 32]
                descend(drawer, judge, action, depth, drawn, judged, alive)
