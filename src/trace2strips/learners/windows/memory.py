"""What is kept of a log, and how two of that become one.

`summarise_log` gives all that questions, the small model and further logs need. `merge` gives what `summarise_log`
gives of both logs at once, to the byte, as long as some model explains both (`Summary.inexplicable` is empty): what is
left out of a summary stays needless when more is known. What a log without any model would need is not kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from trace2strips.errors import UserError
from trace2strips.learners.windows.collection import Collected, collect_windows
from trace2strips.learners.windows.encoding import encode, find_types
from trace2strips.learners.windows.origins import Source, merge_samples, merge_sources, sample_of
from trace2strips.learners.windows.predicates import moved
from trace2strips.learners.windows.projection import Projection
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import Place, Reason, Refusal, Summary, keep, reduce, summarise
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming

Argument = tuple[int, int]  # a schema's number, and which of its arguments


def summarise_log(dataset: Dataset, naming: Naming, arity: int, start: StartLevel) -> Summary:
    """With atoms about at most so many objects, at this level of starts."""
    return remember(collect_windows(dataset, encode(dataset, naming, arity), start), dataset, naming, start)


def remember(collected: Collected, dataset: Dataset, naming: Naming, start: StartLevel) -> Summary:
    """All that is kept of a log whose windows were collected at this level of starts."""
    found = summarise(collected, dataset.vocabulary, start)
    types: dict[int, set[str]] = defaultdict(set)
    groups = found.projection.schemas, found.projection.tests
    number_of = [{schema: i for i, schema in enumerate(group)} for group in groups]
    for kind, subject in zip(dataset.vocabulary.kinds.tolist(), dataset.vocabulary.subjects, strict=True):
        if kind in (Kind.ACTION, Kind.TEST_ATOM):
            is_test = kind == Kind.TEST_ATOM
            schema, objects = naming.schema(subject)
            number = number_of[is_test][schema] + is_test * len(found.projection.schemas)
            for of_type, name in zip(found.types[number], objects, strict=True):
                types[of_type].add(name)
    return with_lines(
        replace(
            found,
            rows=rows_of(found, dataset),
            naming=naming,
            traces=len(dataset),
            objects=tuple(tuple(sorted(types[i])) for i in range(len(types))),
            sources=(Source(dataset.file, 0),),
            lines=dict(enumerate(dataset.lines)),
            sample=sample_of(dataset),
            worked=count_worked(dataset),
            told=tuple(sorted(dataset.vocabulary.init_atoms)),
            example=first_told(dataset),
        )
    )


def rows_of(found: Summary, dataset: Dataset) -> dict[Place, tuple[str, int]]:
    """Where the attempts stand that are pointed to, and where their traces begin."""
    origin = dataset.origin
    if origin is None:
        return {}
    before = dataset.actions_before()
    places = found.places()
    wanted = sorted(places | {place >> 32 << 32 for place in places})
    begun = ((place, int(before[place >> 32]) + (place & (2**32 - 1))) for place in wanted)
    return {place: origin.place(attempt) for place, attempt in begun if attempt < before[(place >> 32) + 1]}


def count_worked(dataset: Dataset) -> dict[str, int]:
    vocabulary = dataset.vocabulary
    counts = np.bincount(dataset.tokens[~dataset.inapplicable].astype(np.int64), minlength=len(vocabulary))
    return {name: int(counts[vocabulary.number(Kind.ACTION, name)]) for name in sorted(vocabulary.actions)}


def first_told(dataset: Dataset) -> tuple[str, ...] | None:
    begin = np.flatnonzero(dataset.vocabulary.kinds[dataset.tokens] == Kind.INIT_FALSE)[:1]
    if not len(begin):
        return None
    first = dataset[int(np.searchsorted(dataset.offsets, begin[0], side="right")) - 1]
    return tuple(sorted(first.init or ()))


def with_lines(summary: Summary) -> Summary:
    """With the lines of those traces alone that are pointed to."""
    wanted = summary.witnesses()
    places = summary.places()
    places |= {place >> 32 << 32 for place in places}
    rows = {place: row for place, row in sorted(summary.rows.items()) if place in places}
    return replace(summary, rows=rows, lines={trace: line for trace, line in summary.lines.items() if trace in wanted})


def merge(one: Summary, other: Summary) -> Summary:
    """Of both logs, the other one behind the first: its traces are numbered on."""
    for what, mine, theirs in (
        ("levels of starts", one.start, other.start),
        ("arities", one.projection.arity, other.projection.arity),
        ("ways of reading names", one.naming, other.naming),
    ):
        if mine != theirs:
            raise UserError(
                f"two summaries of different {what}: {mine} and {theirs}", hint="learn from both logs at once"
            )
    first, second = one.without_own_starts(), other.without_own_starts()
    projection = Projection(
        tuple(sorted({*one.projection.schemas, *other.projection.schemas})),
        tuple(sorted({*one.projection.tests, *other.projection.tests})),
        one.projection.arity,
    )
    smallest: dict[Reason, dict[int, Place]] = defaultdict(dict)
    refusals: list[Refusal] = []
    for summary, later in ((first, 0), (second, one.traces)):
        seen = Renumbered(summary, projection)
        for reason, kept in summary.smallest.items():
            for window, place in kept.items():
                keep(smallest[seen.reason(reason)], seen.window(reason, window), place + (later << 32))
        for refusal in summary.refusals:
            reasons = {seen.reason(reason): seen.window(reason, window) for reason, window in refusal.reasons.items()}
            refusals.append(Refusal(seen.schema[refusal.schema], reasons, refusal.place + (later << 32)))
    types = find_types(projection, [*arguments_of(one, projection, "1"), *arguments_of(other, projection, "2")])
    objects: dict[int, set[str]] = defaultdict(set)
    for summary in (one, other):
        schema_number = Renumbered(summary, projection).schema
        for number, kinds in enumerate(summary.types):
            for place, kind in enumerate(kinds):
                objects[types[schema_number[number]][place]] |= set(summary.objects[kind])
    found, left = reduce(dict(smallest), refusals)
    return with_lines(
        Summary(
            projection,
            types,
            found,
            left,
            one.start,
            one.naming,
            one.traces + other.traces,
            tuple(tuple(sorted(objects[i])) for i in range(len(objects))),
            merge_sources(one.sources, other.sources, one.traces),
            {**one.lines, **{trace + one.traces: line for trace, line in other.lines.items()}},
            merge_samples(one.sample, other.sample, one.traces),
            {
                name: one.worked.get(name, 0) + other.worked.get(name, 0)
                for name in sorted({**one.worked, **other.worked})
            },
            tuple(sorted({*one.told, *other.told})),
            other.example if one.example is None else one.example,
            rows={**one.rows, **{place + (one.traces << 32): row for place, row in other.rows.items()}},
        )
    )


class Renumbered:
    """The numbers of one summary in a projection with more schemas."""

    def __init__(self, summary: Summary, projection: Projection) -> None:
        old = summary.projection
        self.old, self.new = old, projection
        count = len(projection.schemas)
        self.schema = [projection.schemas.index(schema) for schema in old.schemas]
        self.schema += [count + projection.tests.index(schema) for schema in old.tests]
        self.bits = [
            [projection.bit[r][self.schema[schema], positions] for schema, positions in tokens]
            for r, tokens in enumerate(old.tokens)
        ]

    def reason(self, reason: Reason) -> Reason:
        query, by = reason
        schema, positions = self.old.queries[query]
        number = self.new.query_number[self.schema[schema], positions]
        return number, self.bits[len(positions)][by] if isinstance(by, int) else by

    def window(self, reason: Reason, window: int) -> int:
        return moved(window, self.bits[len(self.old.queries[reason[0]][1])])


def arguments_of(summary: Summary, projection: Projection, mark: str) -> Iterator[tuple[Argument, str]]:
    """Arguments with objects that stand there, as `find_types` takes them: those of one type share a name of their own,
    and each object of a type stands at one of its arguments."""
    schema = Renumbered(summary, projection).schema
    first: dict[int, Argument] = {}
    for number, kinds in enumerate(summary.types):
        for place, kind in enumerate(kinds):
            argument = schema[number], place
            first.setdefault(kind, argument)
            yield argument, f"\0{mark}{kind}"
    for kind, argument in first.items():
        for name in summary.objects[kind]:
            yield argument, f"\0 {name}"
