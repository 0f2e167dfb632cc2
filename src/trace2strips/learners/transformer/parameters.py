"""The parameters of the STRIPS Transformer: one attention head per atom; θ(l, m, pre / affect / delete) is the model.

For each head l and action m, θ says how likely m needs the atom, affects it, and, if it affects it, deletes it. Binary
parameters are a STRIPS model (`model_of`), and every STRIPS model is binary parameters (`theta_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

from trace2strips.learners.layout import Rows
from trace2strips.model.strips import Atom, StripsAction, StripsModel
from trace2strips.model.vocabulary import Kind

SHARED = -1  # owner of a head that any action may ask


@dataclass(frozen=True)
class Layout(Rows):
    """Which heads there are and what each token does to them.

    Aligned heads come first, one for every atom that a setup action names, then spare heads for atoms to be invented.
    A spare head with an owner is *private*: only that action may have it as a precondition, so that the action's
    refusals train it undisturbed; equal heads are merged afterwards.
    """

    owner: Int64[np.ndarray, " spare"]  # for each spare head the number of its action, or SHARED

    @property
    def heads(self) -> int:
        return len(self.aligned) + len(self.owner)

    @cached_property
    def askable(self) -> Bool[np.ndarray, "rows heads"]:
        """Where a query may be learned: every action on aligned and shared heads, the owner on its private ones."""
        mask = np.zeros((self.rows, self.heads), dtype=bool)
        mask[: self.actions, : len(self.aligned)] = True
        for spare, owner in enumerate(self.owner):
            mask[slice(self.actions) if owner == SHARED else owner, len(self.aligned) + spare] = True
        return mask

    @cached_property
    def hard_wired(self) -> Float32[np.ndarray, "3 tokens heads"]:
        """Query, key and value of every token on every head, NaN where they are learned: all of an action, and the
        values of `init-s`. `init-false` deletes every head, `init-p` makes p's head true, `test-p` asks p's head alone.
        """
        table = np.zeros((3, len(self.vocabulary), self.heads), dtype=np.float32)
        query, key, value = table
        for token, kind in enumerate(self.vocabulary.kinds.tolist()):
            head = self.head[token]
            match Kind(kind):
                case Kind.INIT_FALSE:
                    key[token], value[token] = 1, 1
                case Kind.INIT_ATOM:
                    key[token, head] = 1
                case Kind.INIT_STATE:
                    key[token], value[token] = 1, np.nan
                case Kind.ACTION:
                    table[:, token] = np.nan
                case Kind.TEST_ATOM:
                    query[token, head] = 1
        return table

    def names(self) -> tuple[Atom, ...]:
        """Aligned heads carry their atom's name, invented ones `p<head>`."""
        taken = set(self.aligned)
        names = []
        for number in range(len(self.aligned), self.heads):
            name = f"p{number}"
            while name in taken:
                name += "_"
            taken.add(name)
            names.append(name)
        return (*self.aligned, *names)


@dataclass(frozen=True)
class Theta:
    """θ as probabilities: queries (preconditions), keys (affects), values (deletes) of each row and head."""

    query: Float[np.ndarray, "rows heads"]
    key: Float[np.ndarray, "rows heads"]
    value: Float[np.ndarray, "rows heads"]

    def binarise(self) -> Theta:
        """θ̄ = [θ ≥ 0.5]."""
        return Theta(*((part >= 0.5).astype(np.float32) for part in (self.query, self.key, self.value)))


def theta_of(model: StripsModel, layout: Layout) -> Theta:
    """θ_M (Eqs. 1-3) of a model whose atoms are the layout's heads, in order."""
    parts = np.zeros((3, layout.rows, layout.heads), dtype=np.float32)
    heads = {atom: i for i, atom in enumerate(model.atoms)}
    for row, name in enumerate((*layout.vocabulary.actions, *(f"init-{s}" for s in layout.vocabulary.init_states))):
        action = model.action(name)
        parts[0, row, [heads[a] for a in action.pre]] = 1  # Eq. 1
        parts[1, row, [heads[a] for a in action.add | action.delete]] = 1  # Eq. 2
        parts[2, row, [heads[a] for a in action.delete]] = 1  # Eq. 3
    return Theta(*parts)


def over_tokens(theta: Theta, layout: Layout) -> Theta:
    """Q, K, V of every token, a row each: what is hard-wired, and θ where it is learned."""
    table = layout.hard_wired.astype(theta.query.dtype)
    has_row = layout.row >= 0
    rows = np.stack([theta.query * layout.askable, theta.key, theta.value])[:, layout.row[has_row]]
    table[:, has_row] = np.where(np.isnan(table[:, has_row]), rows, table[:, has_row])
    return Theta(*table)


def model_of(theta: Theta, layout: Layout, name: str = "learned") -> StripsModel:
    """The STRIPS model over tokens that binarised parameters are, with the hard-wired setup actions."""
    return model_over_tokens(over_tokens(theta.binarise(), layout), layout, name)


def model_over_tokens(binary: Theta, layout: Layout, name: str = "learned") -> StripsModel:
    """The STRIPS model whose actions are the tokens, of their binary queries, keys and values."""
    atoms = layout.names()
    actions = []
    for token, text in enumerate(layout.vocabulary.names):
        query, key, value = (part[token] > 0 for part in (binary.query, binary.key, binary.value))
        chosen = (frozenset(atoms[i] for i in np.flatnonzero(heads)) for heads in (query, key & ~value, key & value))
        actions.append(StripsAction(text, *chosen))
    return StripsModel(atoms, tuple(actions), name=name)
