"""The effects of one head, from what the labels demand of it.

A head's state is what the last action that affects it says. One walk back through the history of each position that
constrains the head counts, for every action at once, how the number of errors changes if the action came to add, delete
or ignore the head (`count_changes`). `Fit.descend` follows these exact counts down, `Fit.simplify` drops every effect
that no label needs, and `Fitter.best` begins at several places, the simplest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numba
import numpy as np
from jaxtyping import Int64, UInt8

from trace2strips.compilation import compiled
from trace2strips.learners.completion.heads import ADD, DELETE, NONE
from trace2strips.learners.completion.histories import Demands, Histories, evidence, is_false, signs_of
from trace2strips.learners.completion.settings import DEFAULTS, CompletionSettings

CHUNKS = 4  # parts of the demands, each counted by itself: sums do not depend on the number of cores


@compiled(parallel=True)
def count_changes(  # type: ignore[no-untyped-def]
    rows, row_start, initially_false, trace, depth, occurrence, must_be_false, effect, success_weight,
    errors, change, decides,
):  # fmt: skip
    """errors: demands that the head breaks. change[c, r, e]: by how much that grows if row r came to have effect e.
    decides[c, r]: how many demands row r decides.
    """
    for chunk in numba.prange(CHUNKS):
        errors[chunk] = 0
        change[chunk] = 0
        decides[chunk] = 0
        seen = np.full(len(effect), -1, dtype=np.int64)
        for i in range(chunk, len(occurrence), CHUNKS):
            o = occurrence[i]
            t = trace[o]
            begin = row_start[t]
            false = must_be_false[i]
            at = begin + depth[o] - 1
            while at >= begin and effect[rows[at]] == 0:
                at -= 1
            decider = -1
            if at >= begin:
                decider = rows[at]
                now = effect[decider] == 2
            else:
                now = initially_false[t] == 1
            weight = np.int64(1) if false else np.int64(success_weight)
            wrong = weight * np.int64(now != false)
            errors[chunk] += wrong
            for j in range(at + 1, begin + depth[o]):  # rows that leave the head alone, after the decider
                r = rows[j]
                if seen[r] != i:
                    seen[r] = i
                    change[chunk, r, 1] += weight * np.int64(false) - wrong
                    change[chunk, r, 2] += weight * np.int64(not false) - wrong
            if decider >= 0:
                decides[chunk, decider] += 1
                other = 3 - effect[decider]
                change[chunk, decider, other] += weight - 2 * wrong
                at -= 1
                while at >= begin and (effect[rows[at]] == 0 or rows[at] == decider):
                    at -= 1
                before = effect[rows[at]] == 2 if at >= begin else initially_false[t] == 1
                change[chunk, decider, 0] += weight * np.int64(before != false) - wrong


class Fit:
    """The effects of one head, with the demands that they should meet. With `even` a success weighs no more than a
    refusal, as it does where labels are noisy.
    """

    def __init__(
        self,
        histories: Histories,
        demands: Demands,
        start: int,
        effect: UInt8[np.ndarray, " rows"],
        noise: float = 0.0,
        settings: CompletionSettings = DEFAULTS,
        even: bool = False,
    ) -> None:
        self.histories = histories
        self.noise = noise
        self.settings = settings
        self.even = even
        self.demands = demands
        self.start = start
        self.initially_false = np.ascontiguousarray(histories.initially_false[:, start])
        self.effect = effect.copy()
        self.free_rows = histories.layout.actions  # rows behind these are `init-s`: they add or delete, always
        self.errors = 0
        self.change = np.zeros((len(effect), 3), dtype=np.int64)
        self.decides = np.zeros(len(effect), dtype=np.int64)
        self.count()

    def count(self) -> int:
        errors = np.zeros(CHUNKS, dtype=np.int64)
        change = np.zeros((CHUNKS, len(self.effect), 3), dtype=np.int64)
        decides = np.zeros((CHUNKS, len(self.effect)), dtype=np.int64)
        h, d = self.histories, self.demands
        success_weight = 1 if self.noise or self.even else self.settings.success_weight
        count_changes(
            h.rows, h.row_start, self.initially_false, h.trace, h.depth, d.occurrence, d.must_be_false, self.effect,
            success_weight, errors, change, decides,
        )  # fmt: skip
        self.errors = int(errors.sum())
        self.change = change.sum(axis=0)
        self.change[self.free_rows :, NONE] = np.iinfo(np.int64).max // 2
        self.decides = decides.sum(axis=0)
        return self.errors

    @property
    def done(self) -> bool:
        """No error but what noisy labels explain: none at all where there is no noise."""
        expected = self.noise * len(self.demands.must_be_false)
        return self.errors <= self.settings.noise_errors * expected + self.settings.deviations * sqrt(expected)

    def forbids_success(self) -> bool:
        """Whether the head is false somewhere it must be true."""
        if self.errors < self.settings.success_weight:
            return False
        right = self.demands.occurrence[~self.demands.must_be_false]
        return bool(is_false(self.histories, right, self.effect, self.start).any())

    def descend(self, rounds: int = 40) -> int:
        """Take the changes that help: all of them at once where that is best, else the best one."""
        for _ in range(rounds):
            if self.errors == 0:
                break
            best = self.change.argmin(axis=1)
            gain = self.change.min(axis=1)
            rows = np.flatnonzero(gain < 0)
            if not len(rows):
                break
            before, kept = self.errors, self.effect.copy()
            single = rows[gain[rows].argmin()]
            one = (int(single), int(best[single]), int(gain[single]))
            self.effect[rows] = best[rows]
            if len(rows) > 1 and self.count() > before + one[2]:
                self.effect = kept
                self.effect[one[0]] = one[1]
                self.count()
            elif len(rows) == 1:
                self.count()
        return self.errors

    def simplify(self) -> int:
        """Drop every effect whose loss costs nothing (or no more than noise would): many at a time, in halves where
        they hang together.
        """

        def cost(rows: Int64[np.ndarray, " rows"]) -> float:
            return self.settings.noise_effect * self.noise * float(self.decides[rows].sum())

        def drop(rows: Int64[np.ndarray, " rows"]) -> None:
            if not len(rows):
                return
            most, kept = self.errors + cost(rows), self.effect.copy()
            self.effect[rows] = NONE
            if self.count() > most:
                self.effect = kept
                self.count()
                if len(rows) > 1:
                    half = len(rows) // 2
                    drop(rows[:half])
                    drop(rows[half:])

        affecting = np.flatnonzero(self.effect[: self.free_rows] != NONE)
        allowed = self.settings.noise_effect * self.noise
        drop(affecting[self.change[affecting, NONE] <= allowed * self.decides[affecting]])
        # what no label says of a named initial state is false where many traces begin in it: no plan shall build on it
        often = self.histories.begun[self.free_rows :] >= self.settings.state_traces
        undecided = self.free_rows + np.flatnonzero(often & (self.change[self.free_rows :, DELETE] == 0))
        if len(undecided) and not self.noise and not self.even:
            self.effect[undecided] = DELETE
            self.count()
        return self.errors


def guess_simplest(histories: Histories, demands: Demands, success_weight: int) -> UInt8[np.ndarray, " rows"]:
    """The simplest guess: no action affects the head; a named initial state says what is demanded more often in it."""
    layout = histories.layout
    effect = np.full(layout.rows, NONE, dtype=np.uint8)
    if layout.rows > layout.actions:
        trace = histories.trace[demands.occurrence]
        begin = histories.row_start[trace]
        first = np.where(
            begin < histories.row_start[trace + 1], histories.rows[np.minimum(begin, len(histories.rows) - 1)], 0
        )
        false = np.bincount(first[demands.must_be_false], minlength=layout.rows)
        true = success_weight * np.bincount(first[~demands.must_be_false], minlength=layout.rows)
        effect[layout.actions :] = np.where(true >= false, ADD, DELETE)[layout.actions :]
    return effect


def guess_by_followers(histories: Histories, demands: Demands) -> UInt8[np.ndarray, " rows"]:
    """The guess that what always followed was caused; a named initial state says what is demanded more often."""
    counts = evidence(histories, demands)
    effect = signs_of(counts)
    states = histories.layout.actions
    effect[states:] = np.where(counts[states:, 0] > counts[states:, 1], ADD, DELETE)
    return effect


@dataclass(frozen=True)
class Fitter:
    """Fits on one training set, whose labels are wrong to some degree."""

    histories: Histories
    noise: float = 0.0
    settings: CompletionSettings = DEFAULTS

    def at(self, demands: Demands, start: int, effect: UInt8[np.ndarray, " rows"]) -> Fit:
        """These effects as they are."""
        return Fit(self.histories, demands, start, effect, self.noise, self.settings)

    def best(self, demands: Demands, start: int, guesses: list[UInt8[np.ndarray, " rows"]], simple: bool = True) -> Fit:
        """The best of several beginnings; the first that is done is taken."""
        best: Fit | None = None
        for effect in self.beginnings(demands, guesses):
            fit = self.at(demands, start, effect)
            fit.descend()
            if best is None or fit.errors < best.errors:
                best = fit
            if best.done:
                break
        assert best is not None
        if simple:
            best.simplify()
        return best

    def beginnings(
        self, demands: Demands, guesses: list[UInt8[np.ndarray, " rows"]]
    ) -> Iterator[UInt8[np.ndarray, " rows"]]:
        """The simplest first."""
        yield guess_simplest(self.histories, demands, self.settings.success_weight)
        yield from guesses
        yield guess_by_followers(self.histories, demands)
