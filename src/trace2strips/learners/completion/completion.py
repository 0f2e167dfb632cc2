"""Completion: a model that explains every training label, with nothing in it to spare.

What makes that cheap: the labels say which actions were applied, so a head's state at any position depends on its own
effects alone, whatever the other heads are.

`effects` finds what actions do to a head whose values are told, `preconditions` which heads an action needs, `atoms`
what refusals are due to that no known head explains; where an action needs several new atoms at once, `several_atoms`
finds them. `Completion.run` is the whole: it goes round until no refusal is open, then drops what no label needs.

One wrong label among many hurts. Noise is recognised only where most of the told final values show it; else each label
counts as right. One success that never was takes away every precondition that was false there, and what these
explained must then be explained by atoms that do not exist. docs/learning.md has figures.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int64

from trace2strips.learners.completion.atoms import AtomSearch, Candidate, guesses_of, unite
from trace2strips.learners.completion.effects import Fit, Fitter
from trace2strips.learners.completion.heads import Guess, Heads, untouched
from trace2strips.learners.completion.histories import Histories, demand
from trace2strips.learners.completion.preconditions import (
    choose_preconditions,
    demands_on,
    false_in,
    find_false_heads,
    renew_head,
)
from trace2strips.learners.completion.settings import DEFAULTS, CompletionSettings
from trace2strips.learners.completion.several_atoms import Part, PartSearch
from trace2strips.learners.layout import Rows
from trace2strips.traces import Dataset


class Completion:
    """The work on one training set: `run` returns heads with effects and preconditions."""

    def __init__(self, dataset: Dataset, layout: Rows, settings: CompletionSettings = DEFAULTS) -> None:
        self.layout = layout
        self.settings = settings
        self.histories = Histories.of(dataset, layout)
        self.aligned = len(layout.aligned)
        self.tested = np.diff(self.histories.occurrence_start)[layout.actions :] > 0
        self.noise = 0.0  # the share of labels that contradict the rest
        self.over_limit = 0  # atoms that were needed beyond the limit
        self.several_at_once = False  # the new atoms are from `several_atoms`, which takes no guess
        self.found_several: dict[tuple[int | None, bytes], tuple[Heads, int, int]] = {}  # from earlier runs

    def run(self, guess: Guess | None = None, limit: int | None = None) -> Heads:
        """Heads that explain the labels, at most `limit` of them. A guess may help the search."""
        self.noise, self.over_limit, self.several_at_once = 0.0, 0, False
        told = self.fit_told(guess)
        heads, left = self.with_single_atoms(told, guess, limit)
        if left > self.few_refusals and not self.noise and not self.over_limit:
            several, also_left, excess = self.with_several_atoms(told, limit)
            if also_left < left:
                heads, self.several_at_once, self.over_limit = several, True, excess
        if not self.noise and (self.histories.begun[self.layout.actions :] >= self.settings.state_traces).all():
            unite(self.fitter, heads)  # with few traces from a state, two atoms may look like one by chance
        for _ in range(4):  # what one step drops may let the other drop more
            before = heads.copy()
            self.simplify(heads)
            self.choose_preconditions(heads)
            if (heads.effects == before.effects).all() and heads.pre == before.pre:
                break
        return heads

    @property
    def few_refusals(self) -> float:
        """So many may stay open."""
        final_values = self.histories.occurrence_start[self.layout.actions]  # they stand behind the actions
        return self.settings.open_refusals * int(self.histories.refused[:final_values].sum())

    @property
    def fitter(self) -> Fitter:
        return Fitter(self.histories, self.noise, self.settings)

    def choose_preconditions(self, heads: Heads) -> dict[int, Int64[np.ndarray, " occurrences"]]:
        """Of every action; returns the refusals that stay unexplained, by action."""
        return choose_preconditions(self.histories, heads, self.noise, self.settings)

    def fit_told(self, guess: Guess | None) -> Heads:
        """The aligned heads, with effects where final values are told; what stays wrong there says how noisy labels
        are.
        """
        heads = Heads(np.repeat(untouched(self.layout)[:, None], self.aligned, axis=1), np.arange(self.aligned))
        heads.pre = [set() for _ in range(self.layout.actions)] + [{head} for head in range(self.aligned)]
        wrong = total = 0
        fits: list[tuple[int, Fit]] = []
        for head in np.flatnonzero(self.tested).tolist():
            demands = demand(*self.histories.by_label(self.layout.actions + head))
            fit = self.fitter.best(demands, head, guesses_of(guess, head))
            if fit.errors:
                fit = Fit(self.histories, demands, head, fit.effect, settings=self.settings, even=True)
                fit.descend()
            wrong, total = wrong + fit.errors, total + len(demands.must_be_false)
            fits.append((head, fit))
        # one head with errors is a search that got stuck; noise is everywhere
        everywhere = sum(fit.errors > 0 for _, fit in fits) > len(fits) / 2
        self.noise = wrong / total if everywhere else 0.0
        for head, fit in fits:
            if self.noise:
                fit.noise = self.noise
                fit.simplify()
            heads.effects[:, head] = fit.effect
        return heads

    def with_single_atoms(self, told: Heads, guess: Guess | None, limit: int | None) -> tuple[Heads, int]:
        """Heads that explain what they can, each action by one new atom a round, and how many refusals they leave."""
        heads = told.copy()
        known = self.tested.copy()  # heads whose effects are settled
        search = AtomSearch(self.fitter, known, guess)
        for _ in range(self.settings.rounds):
            unexplained = self.choose_preconditions(heads)
            if not unexplained:
                break
            atoms = search.invent(unexplained)
            if not atoms:
                break
            for atom in search.share(atoms):
                self.add(heads, known, atom, limit)
            if self.over_limit:
                break
        return heads, count_all(self.choose_preconditions(heads))

    def add(self, heads: Heads, known: Bool[np.ndarray, " aligned"], atom: Candidate | Part, limit: int | None) -> None:
        """Take an atom in: under the name it starts as, or as a new head if there may be one more."""
        if atom.start < self.aligned:
            heads.effects[:, atom.start] = atom.effect
            known[atom.start] = True
        elif limit is None or heads.effects.shape[1] < limit:
            heads.append(atom.effect, atom.start)
        else:
            self.over_limit += 1

    def with_several_atoms(self, told: Heads, limit: int | None) -> tuple[Heads, int, int]:
        """For actions that need several atoms of which none is told: heads, how many refusals they leave open, and how
        many atoms were needed beyond the limit.

        Rows that delete are looked for among the actions first, which many traces tell of; then among named states.
        """
        key = (limit, told.effects.tobytes())
        if key in self.found_several:
            heads, left, excess = self.found_several[key]
            return heads.copy(), left, excess
        heads, known = told.copy(), self.tested.copy()
        worked = {action: self.histories.by_label(action)[0] for action in range(self.layout.actions)}
        for number in range(self.settings.several_rounds):
            unexplained = self.choose_preconditions(heads)
            if not unexplained:
                break
            search = PartSearch(self.histories, worked, unexplained, self.settings)
            found = search.find([self.aligned, *np.flatnonzero(~known).tolist()], states=number > 0)
            if not found and number:
                break
            for atom in found:
                self.add(heads, known, atom, None)
        self.choose_preconditions(heads)
        self.simplify(heads)
        left = count_all(self.choose_preconditions(heads))
        if excess := heads.drop_unused(self.aligned, limit):
            left = count_all(self.choose_preconditions(heads))
        self.found_several[key] = heads.copy(), left, excess
        return heads, left, excess

    def simplify(self, heads: Heads, improve: bool = True) -> None:
        """Drop what no label needs: effects, head by head, each against the current others."""
        states = find_false_heads(self.histories, heads)
        for head in range(heads.effects.shape[1]):
            users = [user for user, pre in enumerate(heads.pre) if head in pre and self.histories.occurs(user)]
            if not users:
                heads.effects[:, head] = untouched(self.layout)
                renew_head(self.histories, heads, head, states)
                continue
            demands = demands_on(self.histories, states, heads, (head,), users)
            start, column = int(heads.start[head]), heads.column(head)
            noise = self.noise if improve else 0.0
            fit = Fit(self.histories, demands, start, column, noise, self.settings, even=not improve)
            if improve:
                fit.descend()
                if not self.noise and fit.forbids_success():  # for many refusals: but then it is a precondition of none
                    fit = Fit(self.histories, demands, start, column, settings=self.settings)
            fit.simplify()
            if (heads.effects[:, head] != fit.effect).any():
                heads.effects[:, head] = fit.effect
                renew_head(self.histories, heads, head, states)

    def prune(self, heads: Heads) -> Heads:
        """For a model that is not completed: drop preconditions, then effects, while no training error is added."""
        states = find_false_heads(self.histories, heads)
        for action in range(self.layout.actions):
            occurrences = self.histories.occurrences(action)
            refused, index = self.histories.refused[occurrences], self.histories.states(occurrences)
            false = {head: false_in(states, index, head) for head in sorted(heads.pre[action])}

            def errors(pre: set[int], false: dict[int, np.ndarray] = false, refused: np.ndarray = refused) -> int:
                says = np.logical_or.reduce([np.zeros(len(refused), dtype=bool), *(false[h] for h in pre)])
                return int((says != refused).sum())

            for head in false:
                fewer = heads.pre[action] - {head}
                if errors(fewer) <= errors(heads.pre[action]):
                    heads.pre[action] = fewer
        self.simplify(heads, improve=False)
        return heads


def count_all(unexplained: dict[int, Int64[np.ndarray, " occurrences"]]) -> int:
    return sum(map(len, unexplained.values()))
