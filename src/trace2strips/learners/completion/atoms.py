"""New atoms: refusals that no known head explains call for one.

It must be true where the action worked and false at those refusals, so its effects can be fitted like any other's
(`AtomSearch.invent`). Actions whose new atoms can be one and the same share it (`AtomSearch.share`, `unite`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64, UInt8

from trace2strips.learners.completion.effects import Fit, Fitter
from trace2strips.learners.completion.heads import NONE, Guess, Heads, untouched
from trace2strips.learners.completion.histories import (
    Demands,
    Histories,
    demand,
    evidence,
    join_demands,
    likeness,
    sample_demands,
    signs_of,
)
from trace2strips.learners.completion.preconditions import demands_on, find_false_heads

Places = tuple[UInt8[np.ndarray, " bytes"], UInt8[np.ndarray, " bytes"]]  # a bit for each state: true, false


@dataclass
class Candidate:
    """An atom in the making: what it does, where it starts, and the actions that need it with what they demand."""

    effect: UInt8[np.ndarray, " rows"]
    start: int
    actions: list[int]
    demands: Demands


class AtomSearch:
    """The search for new atoms. `known` tells which aligned heads are settled, `guess` may help."""

    def __init__(self, fitter: Fitter, known: Bool[np.ndarray, " aligned"], guess: Guess | None) -> None:
        self.fitter = fitter
        self.histories, self.settings = fitter.histories, fitter.settings
        self.aligned = len(known)
        self.known = known
        self.guess = guess
        self.private: dict[int, list[UInt8[np.ndarray, " rows"]]] = {}
        for i, owner in enumerate([] if guess is None else guess.owner.tolist()):
            self.private.setdefault(owner, []).extend(guesses_of(guess, self.aligned + i))

    def invent(self, unexplained: dict[int, Int64[np.ndarray, " occurrences"]]) -> list[Candidate]:
        """Atoms that explain the unexplained refusals. Actions are first tried together, where what follows what points
        to one atom; then each alone; then together where at least nothing speaks against it. Atoms that leave nothing
        unexplained are taken; partial ones only where there is no other.
        """
        demands = {action: demand(self.histories.by_label(action)[0], where) for action, where in unexplained.items()}
        signs = {action: signs_of(evidence(self.histories, some)) for action, some in demands.items()}
        complete: list[Candidate] = []
        partial: list[Candidate] = []
        for group in self.groups(demands, signs, 1):
            atom, done = self.try_atom(group, demands)
            if done:
                complete.append(atom)
                continue
            for action in group:  # not one atom: let it grow from one action after the other
                atom, done = self.try_atom([action], demands)
                if not done:
                    partial.append(atom)
                elif not any(self.join(other, atom) for other in complete if other.actions[0] in group):
                    complete.append(atom)
        left = [action for atom in partial for action in atom.actions]
        for group in self.groups({a: demands[a] for a in left}, signs, 0):
            if len(group) > 1:
                atom, done = self.try_atom(group, demands)
                if done:
                    complete.append(atom)
        return complete or [atom for atom in partial if self.helps(atom)]

    def helps(self, atom: Candidate) -> bool:
        """A partial atom is of use if it explains some refusal, forbids no success and leaves fewer refusals open than
        one success weighs; with noise, if its errors are fewer than half of the refusals.
        """
        fit = self.fitter.at(atom.demands, atom.start, atom.effect)
        refusals = int(atom.demands.must_be_false.sum())
        return fit.errors < (refusals // 2 if self.fitter.noise else min(self.settings.success_weight, refusals))

    def groups(
        self, demands: dict[int, Demands], signs: dict[int, UInt8[np.ndarray, " rows"]], least: int
    ) -> list[list[int]]:
        """Actions whose signs are alike by at least `least`, each put to the group that it is most alike."""
        found: list[tuple[list[int], UInt8[np.ndarray, " rows"], int]] = []
        for action in sorted(demands, key=lambda a: -len(demands[a].occurrence)):
            start = self.starts(demands[action])[0]
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

    def try_atom(self, group: list[int], demands: dict[int, Demands]) -> tuple[Candidate, bool]:
        """The best atom for a group of actions, and whether it meets all their demands."""
        joint = join_demands([demands[action] for action in group])
        best: Fit | None = None
        best_start = self.aligned
        for start in self.starts(joint):
            guesses = guesses_of(self.guess, start) if start < self.aligned else self.private.get(group[0], [])
            fit = self.fitter.best(joint, start, guesses, simple=False)
            if best is None or fit.errors < best.errors:
                best, best_start = fit, start
            if fit.done:
                break
        assert best is not None
        return Candidate(best.effect, best_start, list(group), joint), best.done

    def starts(self, demands: Demands) -> list[int]:
        """Where an atom may start: as an aligned atom whose effects are not settled yet, or false. Those first that
        agree with what was demanded before anything had been applied.
        """
        first = self.histories.depth[demands.occurrence] == 0
        trace, must_be_false = self.histories.trace[demands.occurrence[first]], demands.must_be_false[first]
        options = [*np.flatnonzero(~self.known).tolist(), self.aligned]
        false = self.histories.initially_false[trace][:, options].astype(bool)
        broken = (false != must_be_false[:, None]).sum(axis=0)
        order = np.argsort(broken, kind="stable")
        return [options[i] for i in order[: self.settings.starts]]

    def share(self, atoms: list[Candidate]) -> list[Candidate]:
        """Let actions share an atom where one can meet the demands of all. An aligned atom is one by its name; of the
        others, those are tried together whose effects are most alike.
        """
        shared: list[Candidate] = []
        for start in sorted({atom.start for atom in atoms if atom.start < self.aligned}):
            same = sorted((atom for atom in atoms if atom.start == start), key=lambda atom: -len(atom.actions))
            for atom in same[1:]:  # who cannot join took the name by chance, and is explained in the next round
                self.join(same[0], atom)
            shared.append(same[0])
        invented: list[Candidate] = []
        for atom in sorted(atoms, key=lambda a: -len(a.demands.occurrence)):
            if atom.start < self.aligned:
                continue
            alike = [(likeness(other.effect, atom.effect), other) for other in invented]
            near = sorted((pair for pair in alike if pair[0] > 0), key=lambda pair: -pair[0])
            if not any(self.join(other, atom) for _, other in near[: self.settings.joins]):
                invented.append(atom)
        for atom in (*shared, *invented):
            fit = self.fitter.at(atom.demands, atom.start, atom.effect)
            fit.simplify()
            atom.effect = fit.effect
        return [*shared, *invented]

    def join(self, atom: Candidate, other: Candidate) -> bool:
        """Make `atom` meet the demands on `other` too, if it can."""
        if atom.start != other.start:
            return False
        if not self.fitter.at(other.demands, atom.start, atom.effect).done:
            both = join_demands([atom.demands, other.demands])
            joint = self.fitter.best(both, atom.start, [atom.effect], simple=False)
            if not joint.done:
                return False
            atom.effect = joint.effect
        atom.actions += other.actions
        atom.demands = join_demands([atom.demands, other.demands])
        return True


def unite(fitter: Fitter, heads: Heads) -> None:
    """Two invented atoms become one wherever one can do what both do: the fewer atoms, the more each is tested.

    A state in which one must be true and the other false speaks against it at once; else the joint demands are
    fitted, some of them first. `share` finds most of these atoms before they are two, but only among those that
    look alike.
    """
    histories, layout = fitter.histories, fitter.histories.layout
    states = find_false_heads(histories, heads)

    def look_at(head: int) -> tuple[list[int], Places]:
        users = [action for action in range(layout.actions) if head in heads.pre[action] and histories.occurs(action)]
        return users, places(histories, demands_on(histories, states, heads, (head,), users))

    known = {head: look_at(head) for head in range(len(layout.aligned), heads.effects.shape[1])}
    known = {head: about for head, about in known.items() if about[0]}
    tried: set[tuple[int, int]] = set()
    united = True
    while united:
        united = False
        for one, other in itertools.combinations(sorted(known), 2):
            if (one, other) in tried or heads.start[one] != heads.start[other]:
                continue
            tried.add((one, other))
            (users, (true, false)), (also_users, (also_true, also_false)) = known[one], known[other]
            if (true & also_false).any() or (false & also_true).any():
                continue
            both = sorted({*users, *also_users})
            joint = demands_on(histories, states, heads, (one, other), both)
            first, second = heads.column(one), heads.column(other)
            guesses = [first, second, np.where(first == second, first, untouched(layout))]
            start = int(heads.start[one])
            fit = fitter.best(sample_demands(joint, fitter.settings.trial_demands), start, guesses, simple=False)
            if fit.done and (fit := fitter.best(joint, start, [fit.effect, *guesses], simple=False)).done:
                heads.effects[:, one] = fit.effect
                heads.effects[:, other] = untouched(layout)
                for action in both:
                    heads.pre[action] = (heads.pre[action] - {other}) | {one}
                states = find_false_heads(histories, heads)
                del known[other]
                known[one] = look_at(one)
                tried = {pair for pair in tried if one not in pair}
                united = True
                break


def places(histories: Histories, demands: Demands) -> Places:
    """The states in which an atom must be true, and those in which it must be false."""
    states = histories.states(demands.occurrence)
    marks = np.zeros((2, len(histories.rows) + len(histories.row_start) - 1), dtype=bool)
    marks[demands.must_be_false.astype(np.int64), states] = True
    return np.packbits(marks[0]), np.packbits(marks[1])


def guesses_of(guess: Guess | None, head: int) -> list[UInt8[np.ndarray, " rows"]]:
    return [] if guess is None else [guess.effects[:, head]]
