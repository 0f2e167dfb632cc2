"""The summary of a log: the smallest windows of successes and the refusals that say most, in words of the log.

It is small, can be saved, and two of them can be merged: the result is the same as that of learning from both logs at
once, to the byte. What makes that possible: whatever is left out stays needless when more is known.

* A window that contains a smaller one of the same success reason is needless.
* A reason of a refusal that a success rules out stays ruled out.
* A refusal is needless if another one implies it: whatever explains the other explains it too. Among equals the one
  that stands first in the log is kept, so a refusal that stands before the one that implies it is kept as well: the
  two may become equal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from jaxtyping import UInt64

from trace2strips.learners.windows.collection import NAMED, START_MARK, Collected, told_of
from trace2strips.learners.windows.implied import find_implied
from trace2strips.learners.windows.origins import Sampled, Source
from trace2strips.learners.windows.projection import Projection, arity_of
from trace2strips.learners.windows.starts import Start, StartLevel
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces.names import PLAIN, Naming, Schema

Reason = tuple[int, int | Start]  # a query, and what deletes: a token's bit or a START
Place = int  # trace << 32 | position


@dataclass(frozen=True)
class Refusal:
    schema: int
    reasons: dict[Reason, int]  # live ones, with their windows
    place: Place


@dataclass(frozen=True)
class Summary:
    projection: Projection
    types: tuple[tuple[int, ...], ...]  # of the arguments of each schema
    smallest: dict[Reason, dict[int, Place]]  # windows as sets of bits
    refusals: tuple[Refusal, ...]
    start: StartLevel = StartLevel.SAME
    naming: Naming = PLAIN
    traces: int = 0  # of the log
    objects: tuple[tuple[str, ...], ...] = ()  # of each type, sorted
    sources: tuple[Source, ...] = ()
    lines: Mapping[int, int] = field(default_factory=dict)  # in their files, of the traces that are pointed to
    sample: tuple[Sampled, ...] = ()
    worked: Mapping[str, int] = field(default_factory=dict)  # how often each action did that was tried
    told: tuple[str, ...] = ()  # all initial atoms, sorted
    example: tuple[str, ...] | None = None  # those of the first trace that tells some
    wrong_labels: int = 0  # that the log is taken to have: then nothing is certain
    rows: Mapping[Place, tuple[str, int]] = field(default_factory=dict)
    """File and line of attempts that are pointed to, where each has a line of its own."""

    def where(self, place: Place) -> str:
        """A place of the log for people."""
        trace, position = place >> 32, place & (2**32 - 1)
        if (row := self.rows.get(place)) is not None:
            return f"{row[0]}:{row[1]}, attempt {position + 1}"
        return f"{self.where_is(trace)}, attempt {position + 1}"

    def where_is(self, trace: int) -> str:
        if trace >= self.traces:  # one that is asked about
            return "this trace"
        if (row := self.rows.get(trace << 32)) is not None:
            return f"{row[0]}:{row[1]}"
        source = max((s for s in self.sources if s.first <= trace), key=lambda s: s.first, default=Source(None, 0))
        if source.file is None:
            return f"trace {trace + 1}"
        if trace in self.lines:
            return f"{source.file}:{self.lines[trace]}"
        return f"{source.file}, trace {trace - source.first + 1}"

    def witnesses(self) -> set[int]:
        """The traces that are pointed to."""
        return {place >> 32 for place in self.places()} | {sampled.number for sampled in self.sample}

    def places(self) -> set[Place]:
        """The attempts that are pointed to."""
        places = {place for kept in self.smallest.values() for place in kept.values()}
        return places | {refusal.place for refusal in self.refusals}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What whatever is certain assumes, a sentence each."""
        objects = f"{self.projection.arity} object{'s' * (self.projection.arity != 1)}"
        wrong = f"{self.wrong_labels:,} labels are wrong: nothing is certain"
        also = "; ".join(f"{name} is also about {' and '.join(more)}" for name, *more in self.naming.constants)
        named = f" ({also}, a guess: nothing is certain)" if also else ""
        most, name = max(((len(set(pattern)), name) for name, pattern in self.projection.schemas), default=(0, ""))
        less = f" ({name} has {most}: a larger --arity assumes less)" if most > self.projection.arity else ""
        form = str(replace(self.naming, constants=()))
        alike = f"actions of one name are alike for all objects, where names are read as {form}"
        return (
            self.start.sentence,
            f"a condition is about at most {objects}{less}, all of them arguments of the action{named}",
            *(() if self.naming.form == PLAIN.form else (alike,)),
            "a refused attempt changed nothing",
            wrong if self.wrong_labels else "the labels are right",
        )

    def live(self, situation: dict[Reason, int]) -> dict[Reason, int]:
        return {reason: window for reason, window in situation.items() if not self.ruled_out(reason, window)}

    def ruled_out(self, reason: Reason, window: int) -> bool:
        return any(other & ~window == 0 for other in self.smallest.get(reason, ()))

    def with_schemas(self, schemas: Iterable[Schema]) -> Summary:
        """The same, knowing of further schemas: nothing is known of what they need or do, so what they touch is open.
        They come last, so that bits keep their meaning; the numbers of tests and their queries move."""
        old = self.projection
        new = tuple(schema for schema in dict.fromkeys(schemas) if schema not in old.schemas)
        if not new:
            return self
        projection = replace(old, schemas=(*old.schemas, *new))

        def moved(reason: Reason) -> Reason:
            schema, positions = old.queries[reason[0]]
            later = len(new) if schema >= len(old.schemas) else 0
            return projection.query_number[schema + later, positions], reason[1]

        first = 1 + max((kind for kinds in self.types for kind in kinds), default=-1)
        count = len(old.schemas)
        types = (*self.types[:count], *(tuple(first + i for i in range(arity_of(s))) for s in new), *self.types[count:])
        # their arguments have types of their own, of which no object is known
        refusals = tuple(
            Refusal(
                refusal.schema + (len(new) if refusal.schema >= count else 0),
                {moved(reason): window for reason, window in refusal.reasons.items()},
                refusal.place,
            )
            for refusal in self.refusals
        )
        smallest = {moved(reason): kept for reason, kept in self.smallest.items()}
        return replace(self, projection=projection, types=types, smallest=smallest, refusals=refusals)

    def without_own_starts(self) -> Summary:
        """At level `own` what happened since a start is of no use to other traces: nothing there rules out anything of
        them, and a refusal that its own start may explain says nothing of others."""

        def is_own(reason: Reason) -> bool:
            return not isinstance(reason[1], int) and reason[1][0] == "own"

        smallest = {reason: kept for reason, kept in self.smallest.items() if not is_own(reason)}
        refusals = tuple(refusal for refusal in self.refusals if not any(map(is_own, refusal.reasons)))
        return replace(self, smallest=smallest, refusals=refusals)

    @property
    def nothing_certain(self) -> bool:
        """Where no model explains the log, labels are wrong, or constants were guessed: another guess may do."""
        return self.wrong_labels > 0 or bool(self.naming.constants) or bool(self.inexplicable)

    @property
    def inexplicable(self) -> tuple[Refusal, ...]:
        return tuple(refusal for refusal in self.refusals if not refusal.reasons)


def summarise(found: Collected, vocabulary: Vocabulary, start: StartLevel = StartLevel.SAME) -> Summary:
    """From arrays to words; `start` is the level at which the windows were collected. Own starts are left out where the
    log is explainable (`Summary.without_own_starts`); else they are part of the proof."""
    names = StartNames(found, vocabulary)
    own = int(START_MARK) if start == StartLevel.OWN and found.is_explainable() else 0
    smallest: dict[Reason, dict[int, Place]] = defaultdict(dict)
    for key, window, place in found.successes():
        if not key & own:
            keep(smallest[names.reason(key)], as_int(window), place)
    refusals = []
    count, reasons = int(found.counts[2]), int(found.counts[3])
    keys = found.reason_key[:reasons].tolist()
    windows = as_ints(found.reason_window[:reasons])
    bounds = pairwise(found.refusal_start[: count + 1].tolist())
    for n, ((begin, end), place) in enumerate(zip(bounds, found.refusal_place[:count].tolist(), strict=True)):
        if not any(keys[r] & own for r in range(begin, end)):
            live = {names.reason(keys[r]): windows[r] for r in range(begin, end)}
            refusals.append(Refusal(int(found.refusal_schema[n]), live, place))
    return Summary(found.encoding.projection, found.encoding.types, *reduce(dict(smallest), refusals), start)


def keep(kept: dict[int, Place], window: int, place: Place) -> None:
    """Enter a window unless a smaller one is there; larger ones go."""
    for other in kept:
        if other & ~window == 0:
            if other == window:
                kept[other] = min(place, kept[other])
            return
    for other in [other for other in kept if window & ~other == 0]:
        del kept[other]
    kept[window] = place


def reduce(
    smallest: dict[Reason, dict[int, Place]], refusals: Iterable[Refusal]
) -> tuple[dict[Reason, dict[int, Place]], tuple[Refusal, ...]]:
    """Rule out, drop what is implied, and put everything into one order."""
    found: dict[tuple[int, frozenset[tuple[Reason, int]], Place], Refusal] = {}
    for refusal in refusals:
        live = {
            reason: window
            for reason, window in refusal.reasons.items()
            if not any(other & ~window == 0 for other in smallest.get(reason, ()))
        }
        key = (refusal.schema, frozenset(live.items()), 0 if live else refusal.place)  # what is inexplicable is counted
        if key not in found or refusal.place < found[key].place:
            found[key] = Refusal(refusal.schema, live, refusal.place)
    in_order = sorted(found.values(), key=lambda r: r.place)
    kept = tuple(r for r, implied in zip(in_order, are_implied(in_order), strict=True) if not implied)
    ordered = {reason: dict(sorted(smallest[reason].items())) for reason in sorted(smallest, key=repr)}
    return ordered, kept


def are_implied(refusals: list[Refusal]) -> list[bool]:
    """Which of them earlier ones imply (`implies` is the definition)."""
    numbers: dict[tuple[int, Reason], int] = {}
    keys = [numbers.setdefault((r.schema, reason), len(numbers)) for r in refusals for reason in r.reasons]
    start = np.append(0, np.cumsum([len(r.reasons) for r in refusals])).astype(np.int64)
    windows = [window for r in refusals for window in r.reasons.values()]
    words = max(1, -(-max((window.bit_length() for window in windows), default=0) // 64))
    found: list[bool] = find_implied(start, np.array(keys, dtype=np.int64), as_words(windows, words)).tolist()
    return found


def implies(one: Refusal, other: Refusal) -> bool:
    """Whether whatever explains `one` explains `other`. What nothing explains says nothing of others: a wrong label,
    say, must not hide them."""
    return bool(one.reasons) and all(
        reason in other.reasons and other.reasons[reason] & ~window == 0 for reason, window in one.reasons.items()
    )


def as_int(window: np.ndarray) -> int:
    return int.from_bytes(np.ascontiguousarray(window).astype("<u8").tobytes(), "little")


def as_ints(windows: UInt64[np.ndarray, "windows words"]) -> list[int]:
    raw, size = np.ascontiguousarray(windows).astype("<u8").tobytes(), 8 * windows.shape[1]
    return [int.from_bytes(raw[i : i + size], "little") for i in range(0, len(raw), size)]


def as_words(windows: list[int], words: int) -> UInt64[np.ndarray, "windows words"]:
    raw = b"".join(window.to_bytes(8 * words, "little") for window in windows)
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64).reshape(-1, words)


class StartNames:
    """What the numbers of STARTs mean, in the frame of the query that asks."""

    def __init__(self, found: Collected, vocabulary: Vocabulary) -> None:
        self.found, self.vocabulary = found, vocabulary
        self.known: dict[tuple[int, int], Start] = {}

    def reason(self, key: int) -> Reason:
        query, rest = key >> 40, key & (2**40 - 1)
        mark = int(START_MARK)
        if not rest & mark:
            return query, rest
        number, frame = divmod(rest ^ mark, len(self.found.encoding.orders))
        if (number, frame) not in self.known:
            self.known[number, frame] = self.name(number, self.found.encoding.orders[frame])
        return query, self.known[number, frame]

    def name(self, number: int, order: tuple[int, ...]) -> Start:
        """`order[j]` says which object of the sorted tuple is the j-th of the query."""
        e, row = self.found.encoding, self.found.start_rows[number]
        if int(row[0]) >= NAMED:
            state, about = int(row[0]) - NAMED, e.tuples[int(row[1])]
            objects = (e.objects[about[i]] for i in order)
            if state >= len(self.vocabulary):
                return ("own", state - len(self.vocabulary), *objects)
            return ("start", self.vocabulary.subjects[state], *objects)
        literals = told_of(e, row, order)
        if number_of_tuple := int(row[-1]):
            about = e.tuples[number_of_tuple - 1]
            return ("told-of", tuple(e.objects[about[i]] for i in order), *literals)
        return ("told", *literals)


__all__ = [
    "Place", "Reason", "Refusal", "Start", "StartNames", "Summary", "are_implied", "as_int", "as_ints", "as_words",
    "implies", "keep", "reduce", "summarise",
]  # fmt: skip
