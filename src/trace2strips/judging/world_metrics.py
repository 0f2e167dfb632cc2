"""How much of the world a predictor has understood: next-action legality, sequence compression, sequence distinction.

The measures of Vafa et al., "Evaluating the World Model Implicit in a Generative Model" (2024), with "applicable" in
place of a probability threshold, for whatever says which actions apply after a history: a STRIPS model or a network.

    L(h) = the suffixes x whose every action is applicable after h and the part of x before it
    boundary(h, g) = the shortest suffixes in L(h) \\ L(g): x·a with x in both, a applicable after h·x, not after g·x

Compression: of pairs of histories that lead to one state, how many have no boundary between them.
Distinction, of pairs that lead to two: how much of the world's boundary the predictor sees too (recall), and how much
of the predictor's boundary is one in the world (precision). "How much" weighs x·a with the chance that a random walk
through the suffixes in both L(h) and L(g) comes by x, since plain numbers grow with every action and only the longest
suffixes would count. So a search through all suffixes and sampled walks measure the same.
May import up to `learning`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64, Int, Int64, UInt, UInt64

from trace2strips.compilation import compiled
from trace2strips.errors import TraceError, UserError
from trace2strips.learners.learner import Learned
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain
from trace2strips.worlds.sampling import SampleSettings, sample

EXACT_MODEL, EXACT_OTHER = 2, 1  # default of `WorldSettings.exact`; 3 is slow where a model accepts nearly everything
TRIES = 8  # pairs drawn for each that is wanted: some turn out to be one history, or of the wrong kind
HISTORY_TRACES, HISTORY_LENGTH = 2_000, 200  # where `measure_learned` takes its histories from
BATCH = 1 << 22  # tokens that `LabellingPredictor` asks about at a time


@runtime_checkable  # the type checker of the tests asks
class Predictor(Protocol):
    """Says which domain actions of its vocabulary are applicable after each history.

    History h is tokens[offsets[h]:offsets[h+1]], setup prefix and all, as in a `Dataset`.
    """

    @property
    def vocabulary(self) -> Vocabulary: ...

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]: ...


@dataclass(frozen=True)
class ModelPredictor:
    """A STRIPS model over tokens: hidden (`Vocabulary.extend`) or learned (`Learned.over_tokens`).

    An action of the history that the model itself refuses changes nothing.
    """

    model: StripsModel
    vocabulary: Vocabulary

    @property
    def first(self) -> int:
        return self.vocabulary.first[Kind.ACTION]

    def states(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> UInt64[np.ndarray, "histories words"]:
        """The state after each history."""
        bits = self.model.bits
        states = np.empty((len(offsets) - 1, bits.words), dtype=np.uint64)
        walk_histories((bits.pre, bits.add, bits.delete), bits.all_true, tokens, offsets, states)
        return states

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]:
        rows = np.empty((len(offsets) - 1, len(self.vocabulary.actions)), dtype=np.bool_)
        list_applicable(self.model.bits.pre, self.states(tokens, offsets), self.first, rows)
        return rows


Labeller = Callable[[np.ndarray, np.ndarray], np.ndarray]  # tokens, offsets → where the trace's action is inapplicable


@dataclass(frozen=True)
class LabellingPredictor:
    """Anything that labels whole traces, such as a network: every action is asked after every history."""

    label: Labeller
    vocabulary: Vocabulary
    batch: int = BATCH

    def applicable(
        self, tokens: UInt[np.ndarray, " positions"], offsets: Int[np.ndarray, " boundaries"]
    ) -> Bool[np.ndarray, "histories actions"]:
        actions = self.vocabulary.first[Kind.ACTION] + np.arange(len(self.vocabulary.actions), dtype=tokens.dtype)
        lengths = offsets[1:] - offsets[:-1] + 1
        rows = np.empty((len(lengths), len(actions)), dtype=np.bool_)
        step = max(1, self.batch // (int(lengths.max(initial=1)) * max(1, len(actions))))
        for begin in range(0, len(rows) if len(actions) else 0, step):
            several = range(begin, min(begin + step, len(rows)))
            asked = [  # (actions, length + 1) for each history
                np.column_stack([np.tile(tokens[offsets[h] : offsets[h + 1]], (len(actions), 1)), actions])
                for h in several
            ]
            ends = np.cumsum(np.repeat(lengths[several], len(actions)))
            refused = self.label(np.concatenate([part.ravel() for part in asked]), np.concatenate([[0], ends]))
            rows[several] = np.logical_not(refused[ends - 1]).reshape(len(several), len(actions))
        return rows


# --- settings and figures --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorldSettings:
    """How much is sampled. Suffixes of up to `exact` actions are all looked at, longer ones, up to `length`, along
    `walks` random walks for each pair. Without `exact` it is 2 for a STRIPS model and 1 for anything else.
    """

    histories: int = 1_000  # for next-action legality
    pairs: int = 1_000  # of each kind
    exact: int | None = None
    length: int = 8
    walks: int = 8
    near: int = 0  # pairs with different states: 0 for any, n for two of one trace that are at most n actions apart
    pool: int = 50_000  # histories among which those with equal states are found
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), int(field.name not in ("walks", "near", "seed"))
            if value is not None and value < least:
                raise UserError(f"{field.name} is {value}", hint=f"{least} or more")


@dataclass(frozen=True)
class Share:
    """`hits` of `of`; hits are no whole number where each pair of histories adds a share of its own."""

    hits: int | float
    of: int

    @property
    def value(self) -> float | None:
        """None where nothing was there to be right or wrong about."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True)
class WorldMetrics:
    """The measures with the counts behind them."""

    legality_precision: Share  # of actions predicted applicable, those that are
    legality_recall: Share  # of applicable actions, those predicted so
    whole_sets: Share  # of histories, those where the whole set is right
    base_rate: Share  # of all actions after all histories, the applicable ones: the precision of saying yes always
    compression: Share  # of pairs with one state, those without a boundary
    distinction_precision: Share  # mean over the pairs with two states between which the predictor sees a boundary
    distinction_recall: Share  # mean over the pairs with two states between which the world has a boundary
    different_pairs: int

    def row(self) -> dict[str, Any]:
        """For a file of results: each share as its value, its hits and its total."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Share):
                found |= {field.name: value.value, f"{field.name}_hits": value.hits, f"{field.name}_of": value.of}
            else:
                found[field.name] = value
        return found


def measure_world(
    predictor: Predictor, hidden: StripsModel, dataset: Dataset, settings: WorldSettings | None = None
) -> WorldMetrics:
    """Compare a predictor with the hidden model, on histories that are prefixes of the dataset's traces.

    The dataset's labels are not looked at. Its vocabulary must be the predictor's.
    """
    settings = settings or WorldSettings()
    dataset = dataset.with_start()
    world = ModelPredictor(over_tokens(hidden, dataset), dataset.vocabulary)
    if predictor.vocabulary != dataset.vocabulary:
        raise TraceError(
            "predictor and traces have different vocabularies", hint="sample the traces like those it was trained on"
        )
    rng = np.random.default_rng(settings.seed)
    pool = Pool.of(dataset, world, settings.pool, rng)
    asked = pool.gather(rng.permutation(len(pool))[: settings.histories])
    truth, said = world.applicable(*asked), predictor.applicable(*asked)
    both = int((truth & said).sum())

    exact = settings.exact or (EXACT_MODEL if isinstance(predictor, ModelPredictor) else EXACT_OTHER)
    same = pool.same_pairs(settings.pairs, rng)
    different = pool.different_pairs(settings.pairs, settings.near, rng)
    draws = rng.integers(2**32, size=(settings.pairs, settings.walks, max(exact, settings.length)))
    merged = count_boundaries(predictor, world, pool, same, exact, draws[: len(same)])
    seen = count_boundaries(predictor, world, pool, different, exact, draws[: len(different)])
    true = count_boundaries(world, predictor, pool, different, exact, draws[: len(different)])
    return WorldMetrics(
        legality_precision=Share(both, int(said.sum())),
        legality_recall=Share(both, int(truth.sum())),
        whole_sets=Share(int((truth == said).all(axis=1).sum()), len(truth)),
        base_rate=Share(int(truth.sum()), truth.size),
        compression=Share(int((merged[:, FORWARD] + merged[:, BACKWARD] == 0).sum()), len(same)),
        distinction_precision=mean_share(seen),
        distinction_recall=mean_share(true),
        different_pairs=len(different),
    )


def measure_learned(
    learned: Learned, domain: Domain, encoding: str = "atoms", settings: WorldSettings | None = None
) -> WorldMetrics:
    """The measures of a learned model, on histories of the hidden domain in the words that it was trained on."""
    wanted = SampleSettings(HISTORY_TRACES, HISTORY_LENGTH, "test", encoding, "none")
    words = replace(learned.vocabulary, test_atoms=())
    template = replace(sample(domain, replace(wanted, traces=1)), vocabulary=words)
    histories = sample(domain, wanted, like=template)
    predictor = ModelPredictor(learned.over_tokens(histories), histories.vocabulary)
    return measure_world(predictor, domain.model, histories, settings)


def mean_share(counts: Float64[np.ndarray, "pairs 3"]) -> Share:
    """Each pair with a boundary counts once, however large its boundary is."""
    there = counts[:, FORWARD] > 0
    return Share(float((counts[there, HITS] / counts[there, FORWARD]).sum()), int(there.sum()))


def over_tokens(hidden: StripsModel, dataset: Dataset) -> StripsModel:
    """The hidden model with the setup actions of the dataset, whose initial states must be known."""
    for name in dataset.vocabulary.init_states:
        if name not in dataset.states:
            raise TraceError(
                f"nothing says what is true in the initial state {name!r}", hint="measure on traces that were sampled"
            )
    return dataset.vocabulary.extend(hidden, dataset.states)


# --- histories -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """Histories: prefixes of whole traces, trace after trace, each a little longer than the one before.

    History h is tokens[begin[h]:end[h]]; histories with equal numbers in `state` lead to one state of the world.
    """

    tokens: UInt[np.ndarray, " positions"]
    begin: Int64[np.ndarray, " histories"]
    end: Int64[np.ndarray, " histories"]
    state: Int64[np.ndarray, " histories"]

    @staticmethod
    def of(dataset: Dataset, world: ModelPredictor, size: int, rng: np.random.Generator) -> Pool:
        """All prefixes of random traces, until there are `size`: from no domain action to all of them."""
        kinds = dataset.vocabulary.kinds
        begins: list[int] = []
        ends: list[int] = []
        for trace in rng.permutation(len(dataset)).tolist():
            start, stop = int(dataset.offsets[trace]), int(dataset.offsets[trace + 1])
            part = kinds[dataset.tokens[start:stop]]
            setup, acted = int((part < Kind.ACTION).sum()), int((part <= Kind.ACTION).sum())
            begins += [start] * (acted - setup + 1)
            ends += range(start + setup, start + acted + 1)
            if len(ends) >= size:
                break
        if not ends:
            raise TraceError("there is no trace to measure on", hint="at least one")
        begin, end = np.array(begins[:size], dtype=np.int64), np.array(ends[:size], dtype=np.int64)
        states = world.states(*cut(dataset.tokens, begin, end))
        _, number = np.unique(states, axis=0, return_inverse=True)
        return Pool(dataset.tokens, begin, end, number.astype(np.int64))

    def __len__(self) -> int:
        return len(self.begin)

    def history(self, number: int) -> UInt[np.ndarray, " positions"]:
        return self.tokens[self.begin[number] : self.end[number]]

    def gather(self, numbers: Int64[np.ndarray, " some"]) -> tuple[np.ndarray, np.ndarray]:
        """Tokens and offsets of these histories."""
        return cut(self.tokens, self.begin[numbers], self.end[numbers])

    def same_pairs(self, count: int, rng: np.random.Generator) -> Int64[np.ndarray, "pairs 2"]:
        """Different histories of one state; every state that several histories lead to has the same chance."""
        order = np.argsort(self.state, kind="stable")
        sizes = np.bincount(self.state)
        first = np.cumsum(sizes) - sizes
        several = np.flatnonzero(sizes > 1)
        if not len(several):
            return np.empty((0, 2), dtype=np.int64)
        chosen = several[rng.integers(len(several), size=TRIES * count)]
        places = first[chosen][:, None] + rng.integers(sizes[chosen][:, None], size=(TRIES * count, 2))
        pairs = order[places]
        differ = [not np.array_equal(self.history(one), self.history(two)) for one, two in pairs.tolist()]
        return pairs[np.flatnonzero(differ)[:count]]

    def different_pairs(self, count: int, near: int, rng: np.random.Generator) -> Int64[np.ndarray, "pairs 2"]:
        """Histories of different states: any two, or two of one trace at most `near` actions apart."""
        one = rng.integers(len(self), size=TRIES * count)
        two = one + rng.integers(-near, near + 1, size=len(one)) if near else rng.integers(len(self), size=len(one))
        inside = (two >= 0) & (two < len(self))
        one, two = one[inside], two[inside]
        fits = (self.state[one] != self.state[two]) & ((self.begin[one] == self.begin[two]) | (near == 0))
        return np.stack([one, two], axis=1)[np.flatnonzero(fits)[:count]]


def cut(
    tokens: UInt[np.ndarray, " positions"], begin: Int64[np.ndarray, " histories"], end: Int64[np.ndarray, " histories"]
) -> tuple[np.ndarray, np.ndarray]:
    """The pieces of a row of tokens end to end, and their offsets."""
    parts = [tokens[i:j] for i, j in zip(begin.tolist(), end.tolist(), strict=True)]
    return np.concatenate([tokens[:0], *parts]), np.concatenate([[0], np.cumsum(end - begin)])


# --- boundaries ------------------------------------------------------------------------------------------------------

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
def accepts(pre, action, state):  # type: ignore[no-untyped-def]
    missing = np.uint64(0)
    for w in range(len(state)):
        missing |= pre[action, w] & ~state[w]
    return missing == np.uint64(0)


@compiled()
def progress(model, action, state, after):  # type: ignore[no-untyped-def]
    for w in range(len(state)):
        after[w] = (state[w] | model[1][action, w]) & ~model[2][action, w]


@compiled()
def walk_histories(model, start, tokens, offsets, states):  # type: ignore[no-untyped-def]
    for h in range(len(states)):
        states[h] = start
        for i in range(offsets[h], offsets[h + 1]):
            if accepts(model[0], tokens[i], states[h]):
                progress(model, tokens[i], states[h], states[h])


@compiled()
def list_applicable(pre, states, first, rows):  # type: ignore[no-untyped-def]
    for h in range(rows.shape[0]):
        for action in range(rows.shape[1]):
            rows[h, action] = accepts(pre, first + action, states[h])


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
