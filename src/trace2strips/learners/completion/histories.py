"""The training labels sorted by who asks, and what they ask of one atom. Completion and its latches work on these.

What the labels say is enough to walk through: which rows were applied, and where each action worked or was refused.
May import up to `networks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int32, Int64, UInt8

from trace2strips.compilation import compiled
from trace2strips.learners.completion.heads import ADD, DELETE, NONE
from trace2strips.learners.layout import Rows
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_FALSE, INIT_STATE, TEST_ATOM
from trace2strips.traces import Dataset

UNSTARTED = -1  # an atom that is true until some row says otherwise

Occurrences = Int64[np.ndarray, " _"]  # of any number: one for each action


@dataclass(frozen=True)
class Histories:
    """The training labels, sorted by who asks. Asker a < A is action a; asker A + h is `test-p` of aligned head h.

    The history of trace t is rows[row_start[t]:row_start[t+1]]: the parameter rows that were applied, `init-s` first.
    Occurrence o of asker a (occurrence_start[a] ≤ o < occurrence_start[a+1]) stands in trace[o] after depth[o] of them.
    """

    layout: Rows
    rows: Int32[np.ndarray, " applied"]
    row_start: Int64[np.ndarray, " traces_and_one"]
    initially_false: UInt8[np.ndarray, "traces aligned_and_one"]  # the last column is that of every spare head
    occurrence_start: Int64[np.ndarray, " askers_and_one"]
    trace: Int32[np.ndarray, " occurrences"]
    depth: Int32[np.ndarray, " occurrences"]
    refused: Bool[np.ndarray, " occurrences"]

    @staticmethod
    def of(dataset: Dataset, layout: Rows) -> Histories:
        aligned = len(layout.aligned)
        askers = layout.actions + aligned
        count = np.zeros(askers + 1, dtype=np.int64)
        row_start = np.zeros(len(dataset) + 1, dtype=np.int64)
        tables = (layout.vocabulary.kinds, layout.row, layout.head, layout.actions)
        count_askers(*tables, dataset.tokens, dataset.inapplicable, dataset.offsets, count[1:], row_start[1:])
        np.cumsum(count, out=count)
        np.cumsum(row_start, out=row_start)
        rows = np.empty(row_start[-1], dtype=np.int32)
        initially_false = np.zeros((len(dataset), aligned + 1), dtype=np.uint8)
        trace, depth = (np.empty(count[-1], dtype=np.int32) for _ in range(2))
        refused = np.empty(count[-1], dtype=np.bool_)
        sort_by_asker(
            *tables, dataset.tokens, dataset.inapplicable, dataset.offsets, count[:-1].copy(), row_start, rows,
            initially_false, trace, depth, refused,
        )  # fmt: skip
        return Histories(layout, rows, row_start, initially_false, count, trace, depth, refused)

    @cached_property
    def begun(self) -> Int64[np.ndarray, " rows"]:
        """How many traces begin with each row."""
        first = self.row_start[:-1][np.diff(self.row_start) > 0]
        return np.bincount(self.rows[first], minlength=self.layout.rows)

    @property
    def askers(self) -> int:
        return len(self.occurrence_start) - 1

    def occurrences(self, asker: int) -> Int64[np.ndarray, " occurrences"]:
        return np.arange(self.occurrence_start[asker], self.occurrence_start[asker + 1])

    def occurs(self, asker: int) -> bool:
        return bool(self.occurrence_start[asker + 1] > self.occurrence_start[asker])

    def by_label(self, asker: int) -> tuple[Int64[np.ndarray, " w"], Int64[np.ndarray, " r"]]:
        """Where an asker worked, and where it was refused."""
        mine = self.occurrences(asker)
        refused = self.refused[mine]
        return mine[~refused], mine[refused]

    def states(self, occurrences: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
        """The numbers of the states that occurrences are in: one state before each applied row, one at the end."""
        trace = self.trace[occurrences]
        return self.row_start[trace] + trace + self.depth[occurrences]


@compiled()
def count_askers(kinds, row, head, actions, tokens, refused, offsets, count, row_count):  # type: ignore[no-untyped-def]
    for t in range(len(offsets) - 1):
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            if kinds[token] == TEST_ATOM:
                count[actions + head[token]] += 1
            elif kinds[token] == ACTION:
                count[row[token]] += 1
                row_count[t] += not refused[i]
            elif kinds[token] == INIT_STATE:
                row_count[t] += 1


@compiled()
def sort_by_asker(  # type: ignore[no-untyped-def]
    kinds, row, head, actions, tokens, refused, offsets, place, row_start, rows, initially_false, trace, depth, out
):
    for t in range(len(offsets) - 1):
        applied = 0
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            kind = kinds[token]
            if kind == INIT_FALSE:
                initially_false[t] = 1
            elif kind == INIT_ATOM:
                initially_false[t, head[token]] = 0
            elif kind == INIT_STATE:
                rows[row_start[t] + applied] = row[token]
                applied += 1
            else:
                asker = row[token] if kind == ACTION else actions + head[token]
                o = place[asker]
                place[asker] += 1
                trace[o], depth[o], out[o] = t, applied, refused[i]
                if kind == ACTION and not refused[i]:
                    rows[row_start[t] + applied] = row[token]
                    applied += 1


@dataclass(frozen=True)
class Demands:
    """What labels ask of one head: at `occurrence[i]` it should be deleted iff `wanted[i]`.

    A success that the head would forbid weighs more than refusals that it leaves unexplained: an action may have other
    reasons to be refused, but none to work.
    """

    occurrence: Int64[np.ndarray, " demands"]
    wanted: Bool[np.ndarray, " demands"]


def join_demands(parts: list[Demands]) -> Demands:
    none = np.empty(0, dtype=np.int64)
    return Demands(
        np.concatenate([none, *(part.occurrence for part in parts)]),
        np.concatenate([none.astype(bool), *(part.wanted for part in parts)]),
    )


def spread(numbers: Int64[np.ndarray, " _"], most: int) -> Int64[np.ndarray, " _"]:
    """At most so many, evenly spread."""
    return numbers[:: max(1, -(-len(numbers) // most))]


def some(demands: Demands, most: int) -> Demands:
    """At most so many of either kind, evenly spread."""
    chosen = np.concatenate([spread(np.flatnonzero(demands.wanted == kind), most) for kind in (False, True)])
    return Demands(demands.occurrence[chosen], demands.wanted[chosen])


def asked(worked: Int64[np.ndarray, " w"], refused: Int64[np.ndarray, " r"]) -> Demands:
    """True where it worked, deleted where it was refused."""
    return Demands(np.concatenate([worked, refused]), np.arange(len(worked) + len(refused)) >= len(worked))


def evidence(histories: Histories, demands: Demands) -> Int64[np.ndarray, "rows 2"]:
    """For each row, how often the head was wanted true and wanted deleted right after it."""
    trace, depth = histories.trace[demands.occurrence], histories.depth[demands.occurrence]
    has = depth > 0
    last = histories.rows[histories.row_start[trace[has]] + depth[has] - 1]
    wanted = demands.wanted[has]
    rows = histories.layout.rows
    return np.stack([np.bincount(last[~wanted], minlength=rows), np.bincount(last[wanted], minlength=rows)], axis=1)


def pure(counts: Int64[np.ndarray, "rows 2"]) -> UInt8[np.ndarray, " rows"]:
    """A row after which the head was always wanted true adds it, always deleted deletes it, else it does neither."""
    true, deleted = counts[:, 0] > 0, counts[:, 1] > 0
    return np.where(true & ~deleted, ADD, np.where(deleted & ~true, DELETE, NONE)).astype(np.uint8)


def likeness(one: UInt8[np.ndarray, " rows"], other: UInt8[np.ndarray, " rows"]) -> int:
    """Rows with the same effect, less ten times those with opposite ones."""
    both = (one != NONE) & (other != NONE)
    return int((both & (one == other)).sum() - 10 * (both & (one != other)).sum())


@compiled()
def find_deciders(rows, row_start, trace, depth, occurrence, effect, decider):  # type: ignore[no-untyped-def]
    """The last row that affects an atom, -1 where there is none."""
    for i in range(len(occurrence)):
        o = occurrence[i]
        begin = row_start[trace[o]]
        at = begin + depth[o] - 1
        while at >= begin and effect[rows[at]] == 0:
            at -= 1
        decider[i] = rows[at] if at >= begin else -1


def deciders(
    histories: Histories, occurrences: Occurrences, effect: UInt8[np.ndarray, " rows"]
) -> Int32[np.ndarray, " _"]:
    found = np.empty(len(occurrences), dtype=np.int32)
    h = histories
    find_deciders(h.rows, h.row_start, h.trace, h.depth, occurrences, effect, found)
    return found


def is_false(
    histories: Histories, occurrences: Occurrences, effect: UInt8[np.ndarray, " rows"], start: int = UNSTARTED
) -> Bool[np.ndarray, " _"]:
    """Where an atom with these effects is deleted. It starts as column `start` of `initially_false`, or true."""
    by = deciders(histories, occurrences, effect)
    false = (by >= 0) & (effect[by] == DELETE)
    if start != UNSTARTED:
        false |= (by < 0) & (histories.initially_false[histories.trace[occurrences], start] == 1)
    return false
