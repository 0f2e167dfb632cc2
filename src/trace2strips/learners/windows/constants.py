"""Objects that an action is about although its name does not say so: `charge` works at the dock alone.

Preconditions and effects are about an action's own arguments; a log in which some are not has refusals that no lifted
model explains. Here such objects are found: an object is tried for every schema that has no argument of its type, and
stays where the description of the log gets shorter by it. What is found is shown to the user, who may name it in the
log.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import product

from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.fitting import EVIDENCE, QUICK_ATTEMPTS, quick_nats, traces_with
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming

MOST = 80  # pairs of a schema and an object that are tried; with more objects the log must name them
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


def explaining_constants(
    dataset: Dataset, naming: Naming, arity: int, level: StartLevel, stuck: Collection[str]
) -> Naming | None:
    """The naming with constants for the schemas `stuck`, which have inexplicable refusals, so that nothing is
    inexplicable in the beginning of the log; None where none do that. No model is looked for: whether there is one is
    known from windows alone."""
    some = dataset.first(traces_with(dataset, QUICK_ATTEMPTS))
    pairs = [pair for pair in candidates(dataset, naming, arity) if pair[0] in stuck]
    if len(pairs) > MOST:
        return None

    def left(naming: Naming) -> int:
        return collect_windows(some, encode(some, naming, arity), level).inexplicable

    return completed(naming, pairs, left)


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
