"""The training labels sorted by action, and what they demand of one atom.

What the labels say is enough to walk through: which rows were applied, and where each action worked or was refused.
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
    """The training labels, sorted by action. The first A actions are the domain's; action A + h is the final test of
    aligned head h, which works where the head is true.

    The history of trace t is rows[row_start[t]:row_start[t+1]]: the parameter rows that were applied, `init-s` first.
    Occurrence o of action a (occurrence_start[a] ≤ o < occurrence_start[a+1]) is in trace[o] after depth[o] of them.
    """

    layout: Rows
    rows: Int32[np.ndarray, " applied"]
    row_start: Int64[np.ndarray, " traces_and_one"]
    initially_false: UInt8[np.ndarray, "traces aligned_and_one"]  # the last column is that of every spare head
    occurrence_start: Int64[np.ndarray, " actions_and_one"]
    trace: Int32[np.ndarray, " occurrences"]
    depth: Int32[np.ndarray, " occurrences"]
    refused: Bool[np.ndarray, " occurrences"]

    @staticmethod
    def of(dataset: Dataset, layout: Rows) -> Histories:
        aligned = len(layout.aligned)
        count = np.zeros(layout.actions + aligned + 1, dtype=np.int64)
        row_start = np.zeros(len(dataset) + 1, dtype=np.int64)
        tables = (layout.vocabulary.kinds, layout.row, layout.head, layout.actions)
        count_actions(*tables, dataset.tokens, dataset.inapplicable, dataset.offsets, count[1:], row_start[1:])
        np.cumsum(count, out=count)
        np.cumsum(row_start, out=row_start)
        rows = np.empty(row_start[-1], dtype=np.int32)
        initially_false = np.zeros((len(dataset), aligned + 1), dtype=np.uint8)
        trace, depth = (np.empty(count[-1], dtype=np.int32) for _ in range(2))
        refused = np.empty(count[-1], dtype=np.bool_)
        sort_by_action(
            *tables, dataset.tokens, dataset.inapplicable, dataset.offsets, count[:-1].copy(), row_start, rows,
            initially_false, trace, depth, refused,
        )  # fmt: skip
        return Histories(layout, rows, row_start, initially_false, count, trace, depth, refused)

    @cached_property
    def begun(self) -> Int64[np.ndarray, " rows"]:
        """How many traces begin with each row."""
        first = self.row_start[:-1][np.diff(self.row_start) > 0]
        return np.bincount(self.rows[first], minlength=self.layout.rows)

    def occurrences(self, action: int) -> Int64[np.ndarray, " occurrences"]:
        return np.arange(self.occurrence_start[action], self.occurrence_start[action + 1])

    def occurs(self, action: int) -> bool:
        return bool(self.occurrence_start[action + 1] > self.occurrence_start[action])

    def by_label(self, action: int) -> tuple[Int64[np.ndarray, " w"], Int64[np.ndarray, " r"]]:
        """Where an action worked, and where it was refused."""
        mine = self.occurrences(action)
        refused = self.refused[mine]
        return mine[~refused], mine[refused]

    def states(self, occurrences: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
        """The numbers of the states that occurrences are in: one state before each applied row, one at the end."""
        trace = self.trace[occurrences]
        return self.row_start[trace] + trace + self.depth[occurrences]


@compiled()
def count_actions(kinds, row, head, actions, tokens, refused, offsets, count, row_count):  # type: ignore[no-untyped-def]
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
def sort_by_action(  # type: ignore[no-untyped-def]
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
                action = row[token] if kind == ACTION else actions + head[token]
                o = place[action]
                place[action] += 1
                trace[o], depth[o], out[o] = t, applied, refused[i]
                if kind == ACTION and not refused[i]:
                    rows[row_start[t] + applied] = row[token]
                    applied += 1


@dataclass(frozen=True)
class Demands:
    """What labels demand of one head: at `occurrence[i]` it must be false if `must_be_false[i]`, else true.

    A success that the head would forbid weighs more than refusals that it leaves open: an action may have other reasons
    to be refused, but none to work.
    """

    occurrence: Int64[np.ndarray, " demands"]
    must_be_false: Bool[np.ndarray, " demands"]


def join_demands(parts: list[Demands]) -> Demands:
    none = np.empty(0, dtype=np.int64)
    return Demands(
        np.concatenate([none, *(part.occurrence for part in parts)]),
        np.concatenate([none.astype(bool), *(part.must_be_false for part in parts)]),
    )


def spread(numbers: Int64[np.ndarray, " _"], most: int) -> Int64[np.ndarray, " _"]:
    """At most so many, evenly spread."""
    return numbers[:: max(1, -(-len(numbers) // most))]


def sample_demands(demands: Demands, most: int) -> Demands:
    """At most so many of either kind, evenly spread."""
    chosen = np.concatenate([spread(np.flatnonzero(demands.must_be_false == kind), most) for kind in (False, True)])
    return Demands(demands.occurrence[chosen], demands.must_be_false[chosen])


def demand(worked: Int64[np.ndarray, " w"], refused: Int64[np.ndarray, " r"]) -> Demands:
    """An atom that is true where the action worked and false where it was refused."""
    return Demands(np.concatenate([worked, refused]), np.arange(len(worked) + len(refused)) >= len(worked))


def evidence(histories: Histories, demands: Demands) -> Int64[np.ndarray, "rows 2"]:
    """For each row, how often the head must be true right after it, and how often false."""
    trace, depth = histories.trace[demands.occurrence], histories.depth[demands.occurrence]
    has = depth > 0
    last = histories.rows[histories.row_start[trace[has]] + depth[has] - 1]
    false = demands.must_be_false[has]
    rows = histories.layout.rows
    return np.stack([np.bincount(last[~false], minlength=rows), np.bincount(last[false], minlength=rows)], axis=1)


def signs_of(counts: Int64[np.ndarray, "rows 2"]) -> UInt8[np.ndarray, " rows"]:
    """What `evidence` points to: a row after which the head must always be true adds it, always false deletes it."""
    true, false = counts[:, 0] > 0, counts[:, 1] > 0
    return np.where(true & ~false, ADD, np.where(false & ~true, DELETE, NONE)).astype(np.uint8)


def likeness(one: UInt8[np.ndarray, " rows"], other: UInt8[np.ndarray, " rows"]) -> int:
    """Rows with the same effect, less ten times those with opposite ones: one contradiction outweighs chance."""
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
    """Where an atom with these effects is false. It starts as column `start` of `initially_false`, or true."""
    by = deciders(histories, occurrences, effect)
    false = (by >= 0) & (effect[by] == DELETE)
    if start != UNSTARTED:
        false |= (by < 0) & (histories.initially_false[histories.trace[occurrences], start] == 1)
    return false
