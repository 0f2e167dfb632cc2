"""Objects that an action is about although its name does not say so: `charge` works at the dock alone.

Preconditions and effects are about an action's own arguments; a log in which some are not has refusals that no lifted
model explains. Here such objects are found: an object is tried for every schema that has no argument of its type, and
stays where the description of the log gets shorter by it. What is found is shown to the user, who may name it in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import log

from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.fitting import EVIDENCE, label_nats, traces_with
from trace2strips.learners.windows.rows import Rows
from trace2strips.learners.windows.tolerant import TolerantSearch
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming

ATTEMPTS = 25_000, 10_000  # of the log that are looked at, without wrong labels and with them
MOST = 80  # pairs of a schema and an object that are tried; with more objects the log must name them
CARE = 10.0


def find_constants(dataset: Dataset, naming: Naming, arity: int, noise: float) -> Naming:
    """The naming with constants, or as it was."""
    some = dataset.first(traces_with(dataset, ATTEMPTS[noise > 0]))

    def nats(naming: Naming) -> float:
        rows = Rows.of(some, encode(some, naming, arity))
        attempts = int((rows.row_of >= 0).sum())
        search = TolerantSearch(rows, max(noise, 1 / (attempts + 1)), CARE)
        search.fill()
        search.care = 1.0
        search.fit_again()
        return search.size_nats + label_nats(search.errors, attempts)

    pairs = list(candidates(some, naming, arity))
    if not pairs or len(pairs) > MOST:
        return naming
    # which of the pairs it is must be said too; with wrong labels more is asked, as what was found may not be shortest
    bar = EVIDENCE if noise else log(len(pairs))
    best, shortest = naming, nats(naming)
    while True:
        changes = list(changed(best, pairs))
        lengths = [nats(change) for change in changes]
        least = min(lengths, default=shortest)
        if least + bar >= shortest:
            return best
        best, shortest = changes[lengths.index(least)], least


def candidates(dataset: Dataset, naming: Naming, arity: int) -> Iterator[tuple[str, str]]:
    """Schemas with objects of types that none of their arguments has."""
    encoding = encode(dataset, naming, arity)
    number_of = {schema: number for number, schema in enumerate(encoding.projection.schemas)}
    kind_of: dict[str, int] = {}
    kinds: dict[str, set[int]] = {}
    for name in dataset.vocabulary.actions:
        schema, objects = naming.schema(name)
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
