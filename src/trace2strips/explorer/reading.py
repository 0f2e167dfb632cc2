"""What attention heads read, as the page shows it: of each position the few earlier ones that matter.

A whole table of weights has the square of a trace's length; a page holds those that are large enough to be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int64

from trace2strips.explorer.contents import AttentionTrace, Head
from trace2strips.model.strips import StripsModel, walk
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.traces.trace import Trace

LEAST = 0.05  # a weight below is not seen
MOST_READ = 4  # positions that one reads
MOST_CELLS = 3_000  # heads × positions of one trace: they keep the page small
LONGEST = 150  # positions of a trace
SHOWN = 2  # traces
LOOKED_AT = 50  # traces of which some are chosen
WALK = 40  # steps, where there is no trace


def break_stick(scores: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """A[i,j] = s[i,j] · Π_{j<k<i} (1 − s[i,k]): the nearest earlier key takes its share first. s is 0 where j ≥ i."""
    left = np.cumprod(1 - scores[:, ::-1], axis=1)[:, ::-1]  # Π_{k ≥ j}
    nearer = np.concatenate([left[:, 1:], np.ones((len(scores), 1), dtype=left.dtype)], axis=1)
    return scores * nearer


def sparse(weights: Float[np.ndarray, "query key"], keys: Int64[np.ndarray, " key"]) -> list[list[tuple[int, float]]]:
    """The largest weights of each row; `keys` are the positions of the columns."""
    found = []
    for row in weights:
        best = sorted(np.argsort(-row, kind="stable")[:MOST_READ].tolist())
        found.append([(int(keys[j]), round(float(row[j]), 2)) for j in best if row[j] >= LEAST])
    return found


def hardest(weights: Float[np.ndarray, "query key"]) -> Float[np.ndarray, "query key"]:
    """All weight where most of it is, if that is more than nothing at all."""
    hard = np.zeros_like(weights)
    if weights.shape[1]:
        best = weights.argmax(axis=1)
        rows = np.arange(len(weights))
        hard[rows, best] = weights[rows, best] >= LEAST
    return hard


def choose_traces(dataset: Dataset) -> list[int]:
    """The first that fits, and the longest that does."""
    lengths = np.diff(dataset.offsets)[:LOOKED_AT]
    fitting = [i for i, length in enumerate(lengths.tolist()) if 1 < length <= LONGEST]
    if not fitting:
        return []
    longest = max(fitting, key=lambda i: (lengths[i], -i))
    return list(dict.fromkeys((fitting[0], longest)))[:SHOWN]


def shown_trace(
    title: str, dataset: Dataset, index: int, said: Bool[np.ndarray, " positions"], heads: Iterable[Head]
) -> AttentionTrace:
    """With as many heads as fit, those first that read most."""
    at = slice(int(dataset.offsets[index]), int(dataset.offsets[index + 1]))
    names = tuple(dataset.vocabulary.names[token] for token in dataset.tokens[at].tolist())
    ranked = sorted(heads, key=lambda head: -sum(weight for row in head.soft for _, weight in row))
    few = ranked[: max(1, MOST_CELLS // max(1, len(names)))]
    refused = tuple(dataset.inapplicable[at].tolist())
    return AttentionTrace(title, names, refused, tuple(said.tolist()), tuple(few))


def walk_in(world: WorldModel, vocabulary: Vocabulary, seed: int = 0) -> Dataset | None:
    """A random trace of a learned model, half of it refused where that can be; None where no start has a name."""
    if not world.states:
        return None
    name = next(iter(world.states))
    rng = np.random.default_rng(seed)
    steps = list(random_steps(world.model, world.states[name], rng))
    trace = Trace(tuple(a for a, _ in steps), tuple(ok for _, ok in steps), state=name)
    return Dataset.of([trace], vocabulary)


def random_steps(model: StripsModel, state: frozenset[str], rng: np.random.Generator) -> Iterable[tuple[str, bool]]:
    for _ in range(WALK):
        groups: Sequence[list[str]] = [[], []]
        for action in model.actions:
            groups[action.applicable(state)].append(action.name)
        group = groups[int(rng.integers(2))] or groups[1] or groups[0]
        name = group[int(rng.integers(len(group)))]
        for _, ok in walk(model, [name], state):
            yield name, ok
            if ok:
                state = model.action(name).progress(state)
