"""Rows and aligned atoms: what completion and the STRIPS Transformer number alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int64

from trace2strips.model.strips import Atom
from trace2strips.model.vocabulary import Kind, Vocabulary


@dataclass(frozen=True)
class Rows:
    """What can change an atom, numbered: a row for each action, then one for each `init-s`. Hard-wired setup actions
    have none. An atom that a setup action names is *aligned*; these come first among all atoms."""

    vocabulary: Vocabulary

    @cached_property
    def aligned(self) -> tuple[Atom, ...]:
        """The atoms that some setup action names."""
        return tuple(dict.fromkeys((*self.vocabulary.init_atoms, *self.vocabulary.test_atoms)))

    @property
    def actions(self) -> int:
        return len(self.vocabulary.actions)

    @property
    def rows(self) -> int:
        """Rows of parameters: one per action, then one per `init-s`. Tokens find theirs through `row`, so rows may
        come to be shared by several tokens."""
        return self.actions + len(self.vocabulary.init_states)

    @cached_property
    def row(self) -> Int64[np.ndarray, " tokens"]:
        """The parameter row of each token, −1 for hard-wired ones."""
        first = self.vocabulary.first
        rows = np.full(len(self.vocabulary), -1)
        rows[first[Kind.ACTION] : first[Kind.ACTION] + self.actions] = np.arange(self.actions)
        states = len(self.vocabulary.init_states)
        rows[first[Kind.INIT_STATE] : first[Kind.INIT_STATE] + states] = self.actions + np.arange(states)
        return rows

    @cached_property
    def head(self) -> Int64[np.ndarray, " tokens"]:
        """The head that an `init-p` or `test-p` is about, −1 for other tokens."""
        number = {atom: i for i, atom in enumerate(self.aligned)}
        about = (Kind.INIT_ATOM, Kind.TEST_ATOM)
        pairs = zip(self.vocabulary.kinds.tolist(), self.vocabulary.subjects, strict=True)
        return np.array([number[subject] if kind in about else -1 for kind, subject in pairs], dtype=np.int64)
