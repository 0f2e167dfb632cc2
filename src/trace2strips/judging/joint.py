"""Two models side by side: `JointModel`, whose states are pairs (s_A, s_B), and `Starts`, the pairs they begin in.

A joint step is an action that both models accept. An action that a model does not have is one it always refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, UInt64

from trace2strips.bits import pack
from trace2strips.errors import ModelError, suggest
from trace2strips.model.strips import State, StripsAction, StripsModel, membership, state_of


@dataclass(frozen=True)
class Starts:
    """Pairs of initial states, one row each: what holds in A and what holds in B. `names` may be empty."""

    a: Bool[np.ndarray, "starts atoms_a"]
    b: Bool[np.ndarray, "starts atoms_b"]
    names: tuple[str, ...] = ()
    origin: str = "given starts"

    def __len__(self) -> int:
        return len(self.a)

    @staticmethod
    def of(a: StripsModel, b: StripsModel, pairs: Mapping[str, tuple[State, State]], origin: str = "given") -> Starts:
        first, second = (membership(m, [m.state(p[i]) for p in pairs.values()]) for i, m in enumerate((a, b)))
        return Starts(first, second, tuple(pairs), origin)

    @cached_property
    def joint(self) -> Bool[np.ndarray, "starts atoms"]:
        return np.concatenate([self.a, self.b], axis=1)

    def only(self, name: str) -> Starts:
        """The one start of that name."""
        if name not in self.names:
            raise ModelError(f"unknown initial state {name!r}", hint=suggest(name, self.names, "initial states"))
        here = slice(self.names.index(name), self.names.index(name) + 1)
        return Starts(self.a[here], self.b[here], (name,), self.origin)

    def and_also(self, others: Starts) -> Starts:
        return Starts(np.concatenate([self.a, others.a]), np.concatenate([self.b, others.b]), (), self.origin)


def everything_true(a: StripsModel, b: StripsModel) -> Starts:
    """The start of f_M: nothing is touched yet, so f_A = f_B on all traces is what is asked."""
    every = frozenset(a.atoms), frozenset(b.atoms)
    return Starts.of(a, b, {"every atom true": every}, "every atom true, as f_M has it")


@dataclass(frozen=True)
class JointModel:
    """Two models over the union of their actions. A joint state is A's words, then B's."""

    a: StripsModel
    b: StripsModel

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(action.name for model in (self.a, self.b) for action in model.actions))

    @cached_property
    def sides(self) -> tuple[StripsModel, StripsModel]:
        """Both models with all actions; one that a model lacks has no lists there, and `known` says so."""
        return tuple(  # type: ignore[return-value]
            StripsModel(m.atoms, tuple(m.action(n) if n in m.action_index else StripsAction(n) for n in self.names))
            for m in (self.a, self.b)
        )

    @cached_property
    def known(self) -> Bool[np.ndarray, "2 actions"]:
        return np.array([[n in m.action_index for n in self.names] for m in (self.a, self.b)], dtype=bool)

    def rows(self, part: str) -> UInt64[np.ndarray, "actions words"]:
        lists = [membership(side, [getattr(action, part) for action in side.actions]) for side in self.sides]
        return np.concatenate([pack(matrix) for matrix in lists], axis=1)

    @property
    def split(self) -> int:
        """The number of A's words."""
        return pack(np.zeros((0, len(self.a.atoms)), dtype=bool)).shape[1]

    def pack(self, starts: Starts) -> UInt64[np.ndarray, "starts words"]:
        return np.concatenate([pack(starts.a), pack(starts.b)], axis=1)

    def states(self, start: Starts, number: int) -> tuple[State, State]:
        return state_of(self.a, start.a[number]), state_of(self.b, start.b[number])
