"""Heads: the binary model while completion works on it, what may be guessed of it before, and the world it becomes.

The words of this folder:

* A *head* is an atom in the making. The first ones are *aligned*: a setup action names their atom.
* A *row* of the effects table says what one action, or one named initial state, does to each head: the actions come
  first, then the states. The row of a named state adds or deletes every head.
* A *user* of a head is an action that has it as a precondition. The final test `test-p` counts as an action too: its
  one precondition is p.
* An action *works* or is *refused*. A refusal is *explained* by a precondition that is false there, and *open* as long
  as there is none; a head *forbids* a success if it is false there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int64, UInt8

from trace2strips.learners.layout import Rows
from trace2strips.model.strips import StripsAction, StripsModel
from trace2strips.model.world import WorldModel

NONE, ADD, DELETE = 0, 1, 2  # the entries of the effects table


@dataclass(frozen=True)
class Guess:
    """Effects to begin the search with, where somebody has some: of the aligned heads, then of further ones, each for
    the action that owns it."""

    effects: UInt8[np.ndarray, "rows heads"]
    owner: Int64[np.ndarray, " spare"]


@dataclass
class Heads:
    """The binary model while it is being completed: what each row does to each head, and who needs which heads."""

    effects: UInt8[np.ndarray, "rows heads"]
    start: Int64[np.ndarray, " heads"]  # the column of `initially_false` that a head starts with
    pre: list[set[int]] = field(default_factory=list)  # of each action, then of each final test

    def column(self, head: int) -> UInt8[np.ndarray, " rows"]:
        return np.ascontiguousarray(self.effects[:, head])

    def append(self, column: UInt8[np.ndarray, " rows"], start: int) -> int:
        self.effects = np.concatenate([self.effects, column[:, None]], axis=1)
        self.start = np.append(self.start, start)
        return self.effects.shape[1] - 1

    def copy(self) -> Heads:
        return Heads(self.effects.copy(), self.start.copy(), [set(pre) for pre in self.pre])

    def drop_unused(self, aligned: int, limit: int | None = None) -> int:
        """Invented heads without users go; beyond a limit also those with few. Tells how many these are."""
        users = Counter(head for pre in self.pre for head in pre if head >= aligned)
        most = len(users) if limit is None else max(0, limit - aligned)
        kept = [*range(aligned), *sorted(head for head, _ in users.most_common(most))]
        number = {head: i for i, head in enumerate(kept)}
        self.effects, self.start = self.effects[:, kept], self.start[kept]
        self.pre = [{number[head] for head in pre if head in number} for pre in self.pre]
        return max(0, len(users) - most)


def untouched(layout: Rows) -> UInt8[np.ndarray, " rows"]:
    """A head that no action affects; false in every named initial state."""
    effect = np.full(layout.rows, NONE, dtype=np.uint8)
    effect[layout.actions :] = DELETE
    return effect


def world_model(heads: Heads, layout: Rows, name: str = "learned") -> WorldModel:
    """Names and lists. Aligned heads carry their atom's name, invented ones `p<head>`; heads without users are gone.
    Where an invented head starts as a told atom does, that atom tells of both."""
    aligned = len(layout.aligned)
    tested = {layout.aligned.index(atom) for atom in layout.vocabulary.test_atoms}
    used = sorted(set().union(tested, *heads.pre[: layout.actions]))
    taken = set(layout.aligned)
    names: dict[int, str] = {}
    for head in used:
        text = layout.aligned[head] if head < aligned else f"p{head}"
        while head >= aligned and text in taken:
            text += "_"
        names[head] = text

    def chosen(row: int, effect: int) -> frozenset[str]:
        return frozenset(names[head] for head in used if heads.effects[row, head] == effect)

    actions = tuple(
        StripsAction(text, frozenset(names[h] for h in heads.pre[row]), chosen(row, ADD), chosen(row, DELETE))
        for row, text in enumerate(layout.vocabulary.actions)
    )
    states = {text: chosen(layout.actions + i, ADD) for i, text in enumerate(layout.vocabulary.init_states)}
    meaning = {
        layout.aligned[told]: frozenset(names[head] for head in used if heads.start[head] == told)
        for told in sorted({int(heads.start[head]) for head in used if head >= aligned} - {aligned})
    }
    model = StripsModel(tuple(names.values()), actions, name=name)
    return WorldModel(model, layout.vocabulary, states, meaning=meaning)
