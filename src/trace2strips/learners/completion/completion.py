"""Completion: from a network's bits to a model that explains every training label, with nothing in it to spare.

Gradients alone stop short; the bits are settled here, on the whole training set. What makes that cheap: the labels say
which actions were applied, so a head's state at any position depends on its own bits alone.

* *Effects.* A head's state is what the last action that affects it says. One walk back through the history of each
  position that constrains the head counts, for every action at once, how the number of errors changes if the action
  came to add, delete or ignore the head (`count_changes`). `descend` follows these exact counts down from several
  beginnings, the simplest first and the network's bits among them; `simplify` drops every effect that no label needs.
* *Preconditions.* A head can be a precondition of an action only where it was never deleted when the action worked;
  a set of such heads that explains every refusal, none of them to spare, is its precondition list (`cover`).
* *Atoms.* Refusals that no such set explains ask for a new atom: it must be true where the action worked and deleted
  at those refusals, so its effects can be fitted like any other's (`invent`). Actions whose new atoms can be one and
  the same share it (`share`, `unite`). Where an action needs several new atoms at once, `latches` finds them.

May import up to `latches`.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import sqrt

import numba
import numpy as np
from jaxtyping import Bool, Int64, UInt8, UInt64

from trace2strips.bits import pack
from trace2strips.compilation import compiled
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Guess, Heads, untouched
from trace2strips.learners.completion.histories import (
    Demands,
    Histories,
    asked,
    evidence,
    is_false,
    join_demands,
    likeness,
    pure,
    some,
)
from trace2strips.learners.completion.settings import DEFAULTS, CompletionSettings
from trace2strips.learners.completion.several_atoms import Latch, Latches
from trace2strips.learners.layout import Rows
from trace2strips.traces import Dataset

CHUNKS = 4  # parts of the demands, each counted by itself: sums do not depend on the number of cores


# --- effects ---------------------------------------------------------------------------------------------------------


@compiled(parallel=True)
def count_changes(  # type: ignore[no-untyped-def]
    rows, row_start, initially_false, trace, depth, occurrence, wanted, effect, forbids, errors, change, decides
):
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
            want = wanted[i]
            at = begin + depth[o] - 1
            while at >= begin and effect[rows[at]] == 0:
                at -= 1
            decider = -1
            if at >= begin:
                decider = rows[at]
                now = effect[decider] == 2
            else:
                now = initially_false[t] == 1
            weight = np.int64(1) if want else np.int64(forbids)
            wrong = weight * np.int64(now != want)
            errors[chunk] += wrong
            for j in range(at + 1, begin + depth[o]):  # rows that leave the head alone, after the decider
                r = rows[j]
                if seen[r] != i:
                    seen[r] = i
                    change[chunk, r, 1] += weight * np.int64(want) - wrong
                    change[chunk, r, 2] += weight * np.int64(not want) - wrong
            if decider >= 0:
                decides[chunk, decider] += 1
                other = 3 - effect[decider]
                change[chunk, decider, other] += weight - 2 * wrong
                at -= 1
                while at >= begin and (effect[rows[at]] == 0 or rows[at] == decider):
                    at -= 1
                before = effect[rows[at]] == 2 if at >= begin else initially_false[t] == 1
                change[chunk, decider, 0] += weight * np.int64(before != want) - wrong


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
        forbids = 1 if self.noise or self.even else self.settings.success_weight
        count_changes(
            h.rows, h.row_start, self.initially_false, h.trace, h.depth, d.occurrence, d.wanted, self.effect,
            forbids, errors, change, decides,
        )  # fmt: skip
        self.errors = int(errors.sum())
        self.change = change.sum(axis=0)
        self.change[self.free_rows :, NONE] = np.iinfo(np.int64).max // 2
        self.decides = decides.sum(axis=0)
        return self.errors

    @property
    def done(self) -> bool:
        """No error but what noisy labels explain: none at all where there is no noise."""
        expected = self.noise * len(self.demands.wanted)
        return self.errors <= self.settings.noise_errors * expected + self.settings.deviations * sqrt(expected)

    def forbids_success(self) -> bool:
        """Whether the head is deleted somewhere it must be true."""
        if self.errors < self.settings.success_weight:
            return False
        right = self.demands.occurrence[~self.demands.wanted]
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


def sparse(histories: Histories, demands: Demands, success_weight: int) -> UInt8[np.ndarray, " rows"]:
    """The simplest guess: no action affects the head; a named initial state says what is asked more often in it."""
    layout = histories.layout
    effect = np.full(layout.rows, NONE, dtype=np.uint8)
    if layout.rows > layout.actions:
        trace = histories.trace[demands.occurrence]
        begin = histories.row_start[trace]
        first = np.where(
            begin < histories.row_start[trace + 1], histories.rows[np.minimum(begin, len(histories.rows) - 1)], 0
        )
        deleted = np.bincount(first[demands.wanted], minlength=layout.rows)
        true = success_weight * np.bincount(first[~demands.wanted], minlength=layout.rows)
        effect[layout.actions :] = np.where(true >= deleted, ADD, DELETE)[layout.actions :]
    return effect


def purity(histories: Histories, demands: Demands) -> UInt8[np.ndarray, " rows"]:
    """The guess that what always followed was caused; a named initial state says what is asked more often."""
    counts = evidence(histories, demands)
    effect = pure(counts)
    states = histories.layout.actions
    effect[states:] = np.where(counts[states:, 0] > counts[states:, 1], ADD, DELETE)
    return effect


# --- states and preconditions ----------------------------------------------------------------------------------------


def deleted_states(histories: Histories, heads: Heads) -> UInt64[np.ndarray, "states words"]:
    """Which heads are deleted, in every state of every history, 64 heads a word."""
    adds, deletes = (pack(heads.effects == effect) for effect in (ADD, DELETE))
    begin = pack(histories.initially_false[:, heads.start] == 1)
    states = np.empty((len(histories.rows) + len(histories.row_start) - 1, begin.shape[1]), dtype=np.uint64)
    fill_states(histories.rows, histories.row_start, begin, adds, deletes, states)
    return states


@compiled(parallel=True)
def fill_states(rows, row_start, begin, adds, deletes, states):  # type: ignore[no-untyped-def]
    words = states.shape[1]
    for t in numba.prange(len(row_start) - 1):
        s = row_start[t] + t
        for w in range(words):
            states[s, w] = begin[t, w]
        for at in range(row_start[t], row_start[t + 1]):
            r = rows[at]
            for w in range(words):
                states[s + 1, w] = (states[s, w] & ~adds[r, w]) | deletes[r, w]
            s += 1


@compiled()
def count_bits(states, index, count):  # type: ignore[no-untyped-def]
    """count[h]: in how many of the indexed states is head h deleted."""
    for i in range(len(index)):
        for w in range(states.shape[1]):
            bits = states[index[i], w]
            for h in range(64):
                count[w * 64 + h] += np.int64(bits >> np.uint64(h) & np.uint64(1))


def head_counts(
    states: UInt64[np.ndarray, "states words"], index: Int64[np.ndarray, " n"]
) -> Int64[np.ndarray, " bits"]:
    count = np.zeros(states.shape[1] * 64, dtype=np.int64)
    count_bits(states, index, count)
    return count


def is_deleted(
    states: UInt64[np.ndarray, "states words"], index: Int64[np.ndarray, " n"], head: int
) -> Bool[np.ndarray, " n"]:
    return (states[index, head // 64] >> np.uint64(head % 64) & np.uint64(1)).astype(bool)


@dataclass(frozen=True)
class Cover:
    """A smallest precondition list found, and the refusals that no list of safe heads explains."""

    pre: tuple[int, ...]
    unexplained: Int64[np.ndarray, " occurrences"]


def cover(
    histories: Histories,
    states: UInt64[np.ndarray, "states words"],
    asker: int,
    rank: Int64[np.ndarray, " heads"],
    noise: float = 0.0,
    settings: CompletionSettings = DEFAULTS,
) -> Cover:
    """Greedy set cover of the refusals by safe heads, then what proves needless is dropped. Ties go to lower ranks.

    A head is safe if it was never deleted when the action worked; with noisy labels, if it explains more than twice as
    many refusals as it forbids successes.
    """
    heads = len(rank)
    occurrences = histories.occurrences(asker)
    refused = histories.refused[occurrences]
    index = histories.states(occurrences)
    worked, failed = index[~refused], index[refused]
    broken = head_counts(states, worked)[:heads]
    chosen: list[int] = []
    left = np.arange(len(failed))
    order = np.argsort(rank, kind="stable")
    expected = noise * len(index)
    chance = settings.deviations * sqrt(expected)
    while heads and len(left):
        explained = head_counts(states, failed[left])[:heads]
        explained[chosen] = 0
        safe = explained > settings.noise_success * broken + chance if noise else broken == 0
        explained = np.where(safe, explained - broken, 0)
        best = int(order[explained[order].argmax()])
        if explained[best] <= 0:
            break
        chosen.append(best)
        left = left[~is_deleted(states, failed[left], best)]
    unexplained = occurrences[refused][left]
    explains = {head: is_deleted(states, failed, head) for head in chosen}
    everything = np.logical_or.reduce([*explains.values(), np.zeros(len(failed), dtype=bool)])
    for head in sorted(chosen, key=lambda h: (int(explains[h].sum()), -rank[h])):
        rest = [explains[other] for other in chosen if other != head]
        lost = (everything & ~np.logical_or.reduce([*rest, np.zeros(len(failed), dtype=bool)])).sum()
        if lost <= (settings.noise_success * broken[head] if noise else 0):
            chosen.remove(head)
    if len(unexplained) <= settings.noise_refusals * expected + chance:
        unexplained = unexplained[:0]
    return Cover(tuple(chosen), unexplained)


def demands_on(
    histories: Histories, states: UInt64[np.ndarray, "states words"], heads: Heads, which: Collection[int],
    askers: Iterable[int],
) -> Demands:  # fmt: skip
    """What is asked of one atom in place of the heads `which`: to be true where an asker worked, deleted where it was
    refused, unless another of its preconditions decides it.
    """
    parts = []
    width = states.shape[1] * 64
    for asker in askers:
        mine = histories.occurrences(asker)
        refused = histories.refused[mine]
        others = pack(np.isin(np.arange(width), [h for h in heads.pre[asker] if h not in which])[None])
        alone = ~(states[histories.states(mine)] & others).any(axis=1)  # no other precondition decides it
        parts.append(asked(mine[~refused & alone], mine[refused & alone]))
    return join_demands(parts)


# --- the whole -------------------------------------------------------------------------------------------------------


Places = tuple[UInt8[np.ndarray, " bytes"], UInt8[np.ndarray, " bytes"]]  # a bit for each state: true, false


@dataclass
class Candidate:
    """An atom in the making: what it does, where it starts, and the actions that need it with what they ask."""

    effect: UInt8[np.ndarray, " rows"]
    start: int
    askers: list[int]
    demands: Demands


class Completion:
    """The work on one training set. `run` takes binarised parameters and returns heads with preconditions."""

    def __init__(self, dataset: Dataset, layout: Rows, settings: CompletionSettings = DEFAULTS) -> None:
        self.layout = layout
        self.settings = settings
        self.histories = Histories.of(dataset, layout)
        self.aligned = len(layout.aligned)
        self.tested = np.diff(self.histories.occurrence_start)[layout.actions :] > 0
        self.noise = 0.0  # the share of labels that contradict the rest
        self.over_limit = 0  # atoms that were needed beyond the limit
        self.by_latches = False  # the new atoms are from `latches`, which the network has no part in
        self.latched: dict[tuple[int | None, bytes], tuple[Heads, int, int]] = {}  # what `with_latches` has found

    def run(self, guess: Guess | None = None, limit: int | None = None) -> Heads:
        """Heads that explain the labels, at most `limit` of them. A guess may help the search."""
        layout = self.layout
        self.noise, self.over_limit = 0.0, 0
        effects = np.empty((layout.rows, self.aligned), dtype=np.uint8)  # all of it is settled below
        told = Heads(effects, np.arange(self.aligned))
        told.pre = [set() for _ in range(layout.actions)] + [{h} for h in range(self.aligned)]
        self.fit_tested(told, guess)
        told.effects[:, ~self.tested] = untouched(layout)[:, None]
        heads, left = self.with_single_atoms(told, guess, limit)
        self.by_latches = False
        actions_end = self.histories.occurrence_start[layout.actions]  # behind it stand final values
        if (
            left > self.settings.open_refusals * self.histories.refused[:actions_end].sum()
            and not self.noise
            and not self.over_limit
        ):
            several, also_left, excess = self.with_latches(told, limit)
            if also_left < left:
                heads, self.by_latches, self.over_limit = several, True, excess
        if not self.noise and (self.histories.begun[layout.actions :] >= self.settings.state_traces).all():
            self.unite(heads)  # with few traces from a state, two atoms may look like one by chance
        for _ in range(4):  # what one step drops may let the other drop more
            before = heads.effects.copy(), [set(pre) for pre in heads.pre]
            self.simplify(heads)
            self.choose_preconditions(heads)
            if (heads.effects == before[0]).all() and heads.pre == before[1]:
                break
        return heads

    def fit_tested(self, heads: Heads, guess: Guess | None) -> None:
        """The effects of the heads whose final values are told; what stays wrong there says how noisy labels are."""
        wrong = total = 0
        fits: list[tuple[int, Fit]] = []
        for head in np.flatnonzero(self.tested).tolist():
            demands = asked(*self.by_label(self.layout.actions + head))
            fit = self.fit(demands, head, guesses_of(guess, head))
            if fit.errors:
                fit = Fit(self.histories, demands, head, fit.effect, settings=self.settings, even=True)
                fit.descend()
            wrong, total = wrong + fit.errors, total + len(demands.wanted)
            fits.append((head, fit))
        # one head with errors is a search that got stuck; noise is everywhere
        everywhere = sum(fit.errors > 0 for _, fit in fits) > len(fits) / 2
        self.noise = wrong / total if everywhere else 0.0
        for head, fit in fits:
            if self.noise:
                fit.noise = self.noise
                fit.simplify()
            heads.effects[:, head] = fit.effect

    def by_label(self, asker: int) -> tuple[Int64[np.ndarray, " w"], Int64[np.ndarray, " r"]]:
        mine = self.histories.occurrences(asker)
        refused = self.histories.refused[mine]
        return mine[~refused], mine[refused]

    def fit(self, demands: Demands, start: int, guesses: list[UInt8[np.ndarray, " rows"]], simple: bool = True) -> Fit:
        """The best of several beginnings: `sparse`, the guesses in order, `purity`; the first that is done is taken."""
        best: Fit | None = None
        for beginning in ("sparse", *range(len(guesses)), "purity"):
            if isinstance(beginning, int):
                effect = guesses[beginning]
            elif beginning == "sparse":
                effect = sparse(self.histories, demands, self.settings.success_weight)
            else:
                effect = purity(self.histories, demands)
            fit = Fit(self.histories, demands, start, effect, self.noise, self.settings)
            fit.descend()
            if best is None or fit.errors < best.errors:
                best = fit
            if best.done:
                break
        assert best is not None
        if simple:
            best.simplify()
        return best

    def choose_preconditions(self, heads: Heads) -> dict[int, Int64[np.ndarray, " occurrences"]]:
        """Closed-form preconditions of every action; returns the refusals that stay unexplained, by action."""
        states = deleted_states(self.histories, heads)
        unexplained = {}
        rank = self.rank(heads)
        for action in range(self.layout.actions):
            found = cover(self.histories, states, action, rank, self.noise, self.settings)
            heads.pre[action] = set(found.pre)
            if len(found.unexplained):
                unexplained[action] = found.unexplained
        return unexplained

    def rank(self, heads: Heads) -> Int64[np.ndarray, " heads"]:
        """Whom ties go to: aligned heads, then invented ones that many actions ask."""
        count = heads.effects.shape[1]
        users = np.zeros(count, dtype=np.int64)
        for pre in heads.pre[: self.layout.actions]:
            users[list(pre)] += 1
        order = np.lexsort((np.arange(count), -users, np.arange(count) >= self.aligned))
        rank = np.empty(count, dtype=np.int64)
        rank[order] = np.arange(count)
        return rank

    def invent(
        self,
        known: Bool[np.ndarray, " aligned"],
        unexplained: dict[int, Int64[np.ndarray, " occurrences"]],
        guess: Guess | None,
        private: dict[int, list[UInt8[np.ndarray, " rows"]]],
    ) -> list[Candidate]:
        """Atoms that explain the unexplained refusals. Actions are first tried together, where what follows what points
        to one atom; then each alone; then together where at least nothing speaks against it. Atoms that leave nothing
        unexplained are taken; partial ones only where there is no other.
        """
        asks = {action: asked(self.by_label(action)[0], refusals) for action, refusals in unexplained.items()}
        signs = {action: pure(evidence(self.histories, demands)) for action, demands in asks.items()}
        complete: list[Candidate] = []
        partial: list[Candidate] = []
        for group in self.groups(asks, signs, known, 1):
            atom, done = self.try_atom(group, asks, known, guess, private)
            if done:
                complete.append(atom)
                continue
            for action in group:  # not one atom: let it grow from one action after the other
                atom, done = self.try_atom([action], asks, known, guess, private)
                if not done:
                    partial.append(atom)
                elif not any(self.join(other, atom) for other in complete if other.askers[0] in group):
                    complete.append(atom)
        left = [asker for atom in partial for asker in atom.askers]
        for group in self.groups({a: asks[a] for a in left}, signs, known, 0):
            if len(group) > 1:
                atom, done = self.try_atom(group, asks, known, guess, private)
                if done:
                    complete.append(atom)
        return complete or [atom for atom in partial if self.helps(atom)]

    def with_single_atoms(self, told: Heads, guess: Guess | None, limit: int | None) -> tuple[Heads, int]:
        """Heads that explain what they can, each action by one new atom a round, and how many refusals they leave."""
        heads = told.copy()
        known = self.tested.copy()  # heads whose effects are settled
        private: dict[int, list[UInt8[np.ndarray, " rows"]]] = {}
        for i, owner in enumerate([] if guess is None else guess.owner.tolist()):
            private.setdefault(owner, []).extend(guesses_of(guess, self.aligned + i))
        for _ in range(self.settings.rounds):
            unexplained = self.choose_preconditions(heads)
            if not unexplained:
                break
            atoms = self.invent(known, unexplained, guess, private)
            if not atoms:
                break
            for atom in self.share(atoms):
                self.add(heads, known, atom, limit)
            if self.over_limit:
                break
        return heads, count_all(self.choose_preconditions(heads))

    def add(
        self, heads: Heads, known: Bool[np.ndarray, " aligned"], atom: Candidate | Latch, limit: int | None
    ) -> None:
        """Take an atom in: under the name it starts as, or as a new head if there may be one more."""
        if atom.start < self.aligned:
            heads.effects[:, atom.start] = atom.effect
            known[atom.start] = True
        elif limit is None or heads.effects.shape[1] < limit:
            heads.append(atom.effect, atom.start)
        else:
            self.over_limit += 1

    def with_latches(self, told: Heads, limit: int | None) -> tuple[Heads, int, int]:
        """For actions that need several atoms of which none is told: heads, how many refusals they leave open, and how
        many atoms were needed beyond the limit.

        Rows that delete are looked for among the actions first, which many traces tell of; then among named states.
        """
        key = (limit, told.effects.tobytes())
        if key in self.latched:
            heads, left, excess = self.latched[key]
            return heads.copy(), left, excess
        heads, known = told.copy(), self.tested.copy()
        worked = {action: self.by_label(action)[0] for action in range(self.layout.actions)}
        for number in range(self.settings.several_rounds):
            unexplained = self.choose_preconditions(heads)
            if not unexplained:
                break
            search = Latches(self.histories, worked, unexplained, self.settings)
            found = search.find([self.aligned, *np.flatnonzero(~known).tolist()], states=number > 0)
            if not found and number:
                break
            for latch in found:
                self.add(heads, known, latch, None)
        self.choose_preconditions(heads)
        self.simplify(heads)
        left = count_all(self.choose_preconditions(heads))
        if excess := heads.drop_unasked(self.aligned, limit):
            left = count_all(self.choose_preconditions(heads))
        self.latched[key] = heads.copy(), left, excess
        return heads, left, excess

    def helps(self, atom: Candidate) -> bool:
        """A partial atom is of use if it forbids no success and explains some refusal."""
        fit = Fit(self.histories, atom.demands, atom.start, atom.effect, self.noise, self.settings)
        refusals = int(atom.demands.wanted.sum())
        return fit.errors < (refusals // 2 if self.noise else min(self.settings.success_weight, refusals))

    def groups(
        self,
        asks: dict[int, Demands],
        signs: dict[int, UInt8[np.ndarray, " rows"]],
        known: Bool[np.ndarray, " aligned"],
        least: int,
    ) -> list[list[int]]:
        """Actions whose signs are alike by at least `least`, each put to the group that it is most alike."""
        found: list[tuple[list[int], UInt8[np.ndarray, " rows"], int]] = []
        for action in sorted(asks, key=lambda a: -len(asks[a].occurrence)):
            start = self.starts(asks[action], known)[0]
            best, best_score = None, least - 1
            for i, (_, sign, other_start) in enumerate(found):
                score = likeness(sign, signs[action])
                if start == other_start and score > best_score:
                    best, best_score = i, score
            if best is None:
                found.append(([action], signs[action].copy(), start))
            else:
                members, sign, _ = found[best]
                members.append(action)
                sign[sign == NONE] = signs[action][sign == NONE]
        return [members for members, _, _ in found]

    def try_atom(
        self,
        group: list[int],
        asks: dict[int, Demands],
        known: Bool[np.ndarray, " aligned"],
        guess: Guess | None,
        private: dict[int, list[UInt8[np.ndarray, " rows"]]],
    ) -> tuple[Candidate, bool]:
        """The best atom for a group of actions, and whether it explains all that they ask."""
        demands = join_demands([asks[action] for action in group])
        best: Fit | None = None
        best_start = self.aligned
        for start in self.starts(demands, known):
            guesses = guesses_of(guess, start) if start < self.aligned else private.get(group[0], [])
            fit = self.fit(demands, start, guesses, simple=False)
            if best is None or fit.errors < best.errors:
                best, best_start = fit, start
            if fit.done:
                break
        assert best is not None
        return Candidate(best.effect, best_start, list(group), demands), best.done

    def starts(self, demands: Demands, known: Bool[np.ndarray, " aligned"]) -> list[int]:
        """Where an atom may start: as an aligned atom whose effects are not settled yet, or false. Those first that
        agree with what was asked before anything had been applied.
        """
        first = self.histories.depth[demands.occurrence] == 0
        trace, wanted = self.histories.trace[demands.occurrence[first]], demands.wanted[first]
        options = [*np.flatnonzero(~known).tolist(), self.aligned]
        false = self.histories.initially_false[trace][:, options].astype(bool)
        broken = (false != wanted[:, None]).sum(axis=0)
        order = np.argsort(broken, kind="stable")
        return [options[i] for i in order[: self.settings.starts]]

    def share(self, atoms: list[Candidate]) -> list[Candidate]:
        """Let actions share an atom where one can meet the demands of all. An aligned atom is one by its name; of the
        others, those are tried together whose effects are most alike.
        """
        shared: list[Candidate] = []
        for start in sorted({atom.start for atom in atoms if atom.start < self.aligned}):
            same = sorted((atom for atom in atoms if atom.start == start), key=lambda atom: -len(atom.askers))
            for atom in same[1:]:  # who cannot join took the name by chance, and is explained in the next round
                self.join(same[0], atom)
            shared.append(same[0])
        invented: list[Candidate] = []
        for atom in sorted(atoms, key=lambda a: -len(a.demands.occurrence)):
            if atom.start < self.aligned:
                continue
            alike = [(likeness(other.effect, atom.effect), other) for other in invented]
            near = sorted((pair for pair in alike if pair[0] > 0), key=lambda pair: -pair[0])[: self.settings.joins]
            if not any(self.join(other, atom) for _, other in near):
                invented.append(atom)
        for atom in (*shared, *invented):
            fit = Fit(self.histories, atom.demands, atom.start, atom.effect, self.noise, self.settings)
            fit.simplify()
            atom.effect = fit.effect
        return [*shared, *invented]

    def join(self, atom: Candidate, other: Candidate) -> bool:
        """Make `atom` meet the demands on `other` too, if it can."""
        if atom.start != other.start:
            return False
        if not Fit(self.histories, other.demands, atom.start, atom.effect, self.noise, self.settings).done:
            joint = self.fit(join_demands([atom.demands, other.demands]), atom.start, [atom.effect], simple=False)
            if not joint.done:
                return False
            atom.effect = joint.effect
        atom.askers += other.askers
        atom.demands = join_demands([atom.demands, other.demands])
        return True

    def unite(self, heads: Heads) -> None:
        """Two invented atoms become one wherever one can do what both do: the fewer atoms, the more each is tested.

        A state in which one must be true and the other false speaks against it at once; else the joint demands are
        fitted, some of them first. `share` finds most of these atoms before they are two, but only among those that
        look alike.
        """
        states = deleted_states(self.histories, heads)

        def look_at(head: int) -> tuple[list[int], Places]:
            asking = [asker for asker in range(self.layout.actions) if head in heads.pre[asker] and self.asks(asker)]
            return asking, self.places(demands_on(self.histories, states, heads, (head,), asking))

        known = {head: look_at(head) for head in range(self.aligned, heads.effects.shape[1])}
        known = {head: about for head, about in known.items() if about[0]}
        tried: set[tuple[int, int]] = set()
        united = True
        while united:
            united = False
            for one, other in itertools.combinations(sorted(known), 2):
                if (one, other) in tried or heads.start[one] != heads.start[other]:
                    continue
                tried.add((one, other))
                (asking, (true, false)), (also_asking, (also_true, also_false)) = known[one], known[other]
                if (true & also_false).any() or (false & also_true).any():
                    continue
                both = sorted({*asking, *also_asking})
                joint = demands_on(self.histories, states, heads, (one, other), both)
                first, second = heads.column(one), heads.column(other)
                guesses = [first, second, np.where(first == second, first, untouched(self.layout))]
                start = int(heads.start[one])
                fit = self.fit(some(joint, self.settings.trial_demands), start, guesses, simple=False)
                if fit.done and (fit := self.fit(joint, start, [fit.effect, *guesses], simple=False)).done:
                    heads.effects[:, one] = fit.effect
                    heads.effects[:, other] = untouched(self.layout)
                    for asker in both:
                        heads.pre[asker] = (heads.pre[asker] - {other}) | {one}
                    states = deleted_states(self.histories, heads)
                    del known[other]
                    known[one] = look_at(one)
                    tried = {pair for pair in tried if one not in pair}
                    united = True
                    break

    def places(self, demands: Demands) -> Places:
        """The states in which an atom must be true, and those in which it must be false."""
        states = self.histories.states(demands.occurrence)
        marks = np.zeros((2, len(self.histories.rows) + len(self.histories.row_start) - 1), dtype=bool)
        marks[demands.wanted.astype(np.int64), states] = True
        return np.packbits(marks[0]), np.packbits(marks[1])

    def simplify(self, heads: Heads, improve: bool = True) -> None:
        """Drop what no label needs: effects, head by head, each against the current others."""
        for head in range(heads.effects.shape[1]):
            askers = [asker for asker, pre in enumerate(heads.pre) if head in pre and self.asks(asker)]
            if not askers:
                heads.effects[:, head] = untouched(self.layout)
                continue
            states = deleted_states(self.histories, heads)
            demands = demands_on(self.histories, states, heads, (head,), askers)
            start, column = int(heads.start[head]), heads.column(head)
            noise = self.noise if improve else 0.0
            fit = Fit(self.histories, demands, start, column, noise, self.settings, even=not improve)
            if improve:
                fit.descend()
                if not self.noise and fit.forbids_success():  # for many refusals: but then nobody could ask the head
                    fit = Fit(self.histories, demands, start, column, settings=self.settings)
            fit.simplify()
            heads.effects[:, head] = fit.effect

    def prune(self, heads: Heads) -> Heads:
        """For a model that is not completed: drop preconditions, then effects, while no training error is added."""
        states = deleted_states(self.histories, heads)
        for action in range(self.layout.actions):
            occurrences = self.histories.occurrences(action)
            refused, index = self.histories.refused[occurrences], self.histories.states(occurrences)
            deleted = {head: is_deleted(states, index, head) for head in sorted(heads.pre[action])}

            def errors(pre: set[int], deleted: dict[int, np.ndarray] = deleted, refused: np.ndarray = refused) -> int:
                says = np.logical_or.reduce([np.zeros(len(refused), dtype=bool), *(deleted[h] for h in pre)])
                return int((says != refused).sum())

            for head in deleted:
                fewer = heads.pre[action] - {head}
                if errors(fewer) <= errors(heads.pre[action]):
                    heads.pre[action] = fewer
        self.simplify(heads, improve=False)
        return heads

    def asks(self, asker: int) -> bool:
        return bool(self.histories.occurrence_start[asker + 1] > self.histories.occurrence_start[asker])


def count_all(unexplained: dict[int, Int64[np.ndarray, " occurrences"]]) -> int:
    return sum(map(len, unexplained.values()))


def guesses_of(guess: Guess | None, head: int) -> list[UInt8[np.ndarray, " rows"]]:
    return [] if guess is None else [guess.effects[:, head]]
