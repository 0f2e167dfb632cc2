"""Objects that an action is about although its name does not say so: `charge` works at the dock alone.

Preconditions and effects are about an action's own arguments; a log in which some are not has refusals that no lifted
model explains. Here such objects are found: an object is tried for every schema that has no argument of its type, and
stays where the description of the log gets shorter by it. What is found is shown to the user, who may name it in the
log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np
from jaxtyping import Int64

from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.fitting import EVIDENCE, QUICK_ATTEMPTS, quick_nats, traces_with
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming

Pair = tuple[str, str]  # a schema and an object
MOST = 80  # pairs of a schema and an object that are tried; with more objects the log must name them
AT_ONCE = 4  # constants that are looked for by windows alone: of a log with wrong labels that is soon over
TIES = 3  # of sets of constants that explain as much, so many are followed up
FIRST = 2  # objects that an atom is about, to begin with
FEW = 50  # refusals left inexplicable for which a constant each is looked for


def find_constants(dataset: Dataset, naming: Naming, arity: int, noise: float | int) -> Naming:
    """The naming with constants that make the description shorter by the `EVIDENCE` that anything unsaid needs."""
    pairs = list(candidates(dataset, naming, arity))
    if not pairs or len(pairs) > MOST:
        return naming
    best, shortest = naming, quick_nats(dataset, naming, arity, float(noise))
    while True:
        changes = list(changed(best, pairs))
        lengths = [quick_nats(dataset, change, arity, float(noise)) for change in changes]
        least = min(lengths, default=shortest)
        if least + EVIDENCE >= shortest:
            return best
        best, shortest = changes[lengths.index(least)], least


@dataclass(frozen=True)
class Explaining:
    """Constants that explain all, and what it takes to say which they are, beyond the model."""

    naming: Naming
    nats: float


def explaining_constants(
    dataset: Dataset, naming: Naming, arity: int, level: StartLevel, worth: float
) -> Explaining | None:
    """The naming with constants that leave nothing inexplicable in the beginning of the log; None where none do. No
    model is looked for: whether there is one is known from windows alone.

    Any object may be a constant of any action, also one that other actions have as an argument, or this one itself:
    `commit(file, branch)` may be about `main` too. Saying that costs the choice of the pair and `EVIDENCE`, and all of
    it together must cost less than `worth`, what it takes to say which labels are wrong instead: so where labels are
    wrong the search soon ends."""
    some = dataset.first(traces_with(dataset, QUICK_ATTEMPTS))
    count = count_pairs(some, naming)
    price = EVIDENCE + log(max(1, count))
    most = min(AT_ONCE, int(worth / price))
    stuck = np.empty(0, dtype=np.int64)
    for fewer in range(min(FIRST, arity), arity + 1):  # the first at which as little is inexplicable as at the last
        found = inexplicable_positions(some, naming, fewer, level)
        if fewer == min(FIRST, arity) or len(found) < len(stuck):
            stuck, arity = found, fewer
    if not len(stuck) or not most:
        return None
    reduced = without_other_refusals(some, stuck)

    def left(pairs: frozenset[Pair]) -> int:
        return collect_windows(reduced, encode(reduced, naming.with_constants(pairs), arity), level).inexplicable

    def helps(pairs: frozenset[Pair]) -> list[tuple[Pair, int]]:
        return helping_pairs(some, naming.with_constants(pairs), stuck).most_common(MOST)

    complete = [without_idle_pairs(pairs, left) for pairs in greedy(helps, left, len(stuck), most)]
    namings = [naming.with_constants(pairs) for pairs in dict.fromkeys(complete)]
    if not namings:
        return None
    if len(namings) > 1:
        namings.sort(key=lambda one: quick_nats(some, one, arity, 0.0))
    return Explaining(namings[0], price * sum(len(more) for _, *more in namings[0].constants))


def greedy(
    helps: Callable[[frozenset[Pair]], list[tuple[Pair, int]]],
    left: Callable[[frozenset[Pair]], int],
    stuck: int,
    most: int,
) -> Iterator[frozenset[Pair]]:
    """At most so many constants that leave nothing inexplicable, one after the other, each one that explains most; ties
    are followed up. A pair explains at most what it can help: those that can help less than the best explains need not
    be tried. One that explains so little that the others, at that pace, would be too many ends the search."""
    sets = {frozenset[Pair](): stuck}
    for step in range(1, most + 1):
        grown: dict[frozenset[Pair], int] = {}
        least = min(sets.values())
        for pairs, before in sets.items():
            for pair, most_explained in helps(pairs):
                if before - most_explained > least:
                    break
                if pair not in pairs and (more := pairs | {pair}) not in grown:
                    grown[more] = left(more)
                    least = min(least, grown[more])
                if sum(not count for count in grown.values()) >= TIES:
                    break
        explained = min(sets.values()) - least
        if not explained or least > explained * (most - step):
            return
        sets = dict([(pairs, count) for pairs, count in grown.items() if count == least][:TIES])
        if not least:
            yield from sets
            return


def without_idle_pairs(pairs: frozenset[Pair], left: Callable[[frozenset[Pair]], int]) -> frozenset[Pair]:
    """Without those that later ones made needless."""
    for pair in sorted(pairs):
        if len(pairs) > 1 and not left(pairs - {pair}):
            pairs -= {pair}
    return pairs


def inexplicable_positions(dataset: Dataset, naming: Naming, arity: int, level: StartLevel) -> Int64[np.ndarray, " n"]:
    """Where the refusals stand in the dataset that have no live reason."""
    places = collect_windows(dataset, encode(dataset, naming, arity), level).inexplicable_places()
    attempts = np.flatnonzero(dataset.vocabulary.kinds[dataset.tokens] >= ACTION)
    before = np.searchsorted(attempts, dataset.offsets)  # attempts before each trace
    return np.sort(attempts[before[places >> 32] + (places & (2**32 - 1))])


def without_other_refusals(dataset: Dataset, stuck: Int64[np.ndarray, " n"]) -> Dataset:
    """A constant rules out no reason that there is without it: with a token more, a window that lies within another one
    did so before. So of the refusals those alone need a second look that nothing explains."""
    kept = ~dataset.inapplicable | (dataset.vocabulary.kinds[dataset.tokens] < ACTION)
    kept[stuck] = True
    return dataset.only(np.ones(len(dataset), dtype=bool), kept)


def helping_pairs(dataset: Dataset, naming: Naming, stuck: Int64[np.ndarray, " n"]) -> Counter[Pair]:
    """How many of these refusals each pair could explain. What is refused may need something of any object; what
    happened before may have changed something of an object that the refused action is about."""
    vocabulary = dataset.vocabulary
    words = {name: naming.action(name) for name in vocabulary.actions}
    objects = sorted({word for _, *found in words.values() for word in found})
    kinds = vocabulary.kinds[dataset.tokens]
    worked = (kinds == ACTION) & ~dataset.inapplicable
    helps: Counter[Pair] = Counter()
    for position in stuck.tolist():
        begin = int(dataset.offsets[np.searchsorted(dataset.offsets, position, side="right") - 1])
        before = np.unique(dataset.tokens[begin:position][worked[begin:position]])
        schema, *about = naming.action(vocabulary.subjects[dataset.tokens[position]])
        pairs = set(product(sorted({words[vocabulary.subjects[token]][0] for token in before}), about))
        if kinds[position] == ACTION:
            pairs |= set(product([schema], objects))
        helps.update(pairs)
    own = {(name, word) for name, *found in words.values() for word in found}
    # of two that could help as much the object is tried first that the action never has as an argument
    return Counter({pair: helps[pair] for pair in sorted(helps, key=lambda pair: (pair in own, pair))})


def count_pairs(dataset: Dataset, naming: Naming) -> int:
    words = [naming.action(name) for name in dataset.vocabulary.actions]
    return len({name for name, *_ in words}) * len({word for _, *found in words for word in found})


def complete_constants(
    dataset: Dataset, naming: Naming, arity: int, inexplicable: Callable[[Naming], int]
) -> Naming | None:
    """The naming with further constants, so that nothing is inexplicable; None where none do that."""
    pairs = list(candidates(dataset, naming, arity))
    if not 0 < inexplicable(naming) <= FEW or len(pairs) > MOST:
        return None
    return completed(naming, pairs, inexplicable)


def completed(naming: Naming, pairs: list[tuple[str, str]], inexplicable: Callable[[Naming], int]) -> Naming | None:
    """One constant after the other, each the one that leaves least inexplicable."""
    left = inexplicable(naming)
    while left:
        changes = list(changed(naming, pairs))
        counts = [inexplicable(change) for change in changes]
        if min(counts, default=left) >= left:
            return None
        left = min(counts)
        naming = changes[counts.index(left)]
    return naming


def candidates(dataset: Dataset, naming: Naming, arity: int) -> Iterator[tuple[str, str]]:
    """Schemas with objects of types that none of their own arguments has."""
    plain = naming.with_constants(())
    encoding = encode(dataset, plain, arity)
    number_of = {schema: number for number, schema in enumerate(encoding.projection.schemas)}
    kind_of: dict[str, int] = {}
    kinds: dict[str, set[int]] = {}
    for name in dataset.vocabulary.actions:
        schema, objects = plain.schema(name)
        types = encoding.types[number_of[schema]]
        kind_of |= dict(zip(objects, types, strict=True))
        kinds.setdefault(schema[0], set()).update(types)
    for schema_name, constant in product(sorted(kinds), sorted(kind_of)):
        if kind_of[constant] not in kinds[schema_name]:
            yield schema_name, constant


def changed(naming: Naming, pairs: list[tuple[str, str]]) -> Iterator[Naming]:
    """One constant more, or another one instead."""
    used = {(schema, constant) for schema, *more in naming.constants for constant in more}
    for pair in pairs:
        if pair in used:
            continue
        yield naming.with_constants(used | {pair})
        for old in sorted(used):
            if old[0] == pair[0]:
                yield naming.with_constants(used - {old} | {pair})
