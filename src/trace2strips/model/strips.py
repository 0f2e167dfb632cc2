"""STRIPS models M = ⟨F, A⟩, problems ⟨F, A, I, G⟩, progress, applicability and the trace classifier f_M.

At the boundary states are readable sets of atoms; in hot loops they are bit sets, 64 atoms a word (`BitModel`).
Each fast function stands beside a slow, obvious one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int, UInt, UInt64

from trace2strips.bits import pack
from trace2strips.compilation import compiled
from trace2strips.errors import ModelError, first_repeated, suggest

Atom = str
State = frozenset[Atom]


@dataclass(frozen=True)
class StripsAction:
    """An action a with its precondition, add and delete lists."""

    name: str
    pre: frozenset[Atom] = frozenset()
    add: frozenset[Atom] = frozenset()
    delete: frozenset[Atom] = frozenset()

    def applicable(self, state: State) -> bool:
        """a ∈ A(s) iff pre(a) ⊆ s."""
        return self.pre <= state

    def progress(self, state: State) -> State:
        """f(a, s) = (s ∪ add(a)) \\ del(a)."""
        return (state | self.add) - self.delete

    def affects(self, atom: Atom) -> bool:
        return atom in self.add or atom in self.delete


@dataclass(frozen=True)
class StripsModel:
    """M = ⟨F, A⟩. The order of atoms and actions is kept: it numbers bits and rows."""

    atoms: tuple[Atom, ...]
    actions: tuple[StripsAction, ...]
    name: str = "model"

    def __post_init__(self) -> None:
        known = set(self.atoms)
        refuse_twice(self.atoms, "atom")
        refuse_twice([action.name for action in self.actions], "action")
        for action in self.actions:
            for atom in sorted((action.pre | action.add | action.delete) - known):
                raise ModelError(
                    f"action {action.name!r} names an atom {atom!r} that the model does not have",
                    hint=suggest(atom, self.atoms, "atoms"),
                )
            for atom in sorted(action.add & action.delete):
                raise ModelError(
                    f"action {action.name!r} adds and deletes {atom!r}",
                    hint="planners disagree on what that means; drop one of the two",
                )

    @cached_property
    def atom_index(self) -> dict[Atom, int]:
        return {atom: i for i, atom in enumerate(self.atoms)}

    @cached_property
    def action_index(self) -> dict[str, int]:
        return {action.name: i for i, action in enumerate(self.actions)}

    def action(self, name: str) -> StripsAction:
        if name not in self.action_index:
            raise ModelError(f"unknown action {name!r}", hint=suggest(name, self.action_index, "actions"))
        return self.actions[self.action_index[name]]

    def state(self, atoms: Iterable[Atom]) -> State:
        """A state from names; a name that is no atom of the model is the user's error."""
        state = frozenset(atoms)
        for atom in sorted(state - self.atom_index.keys()):
            raise ModelError(f"unknown atom {atom!r}", hint=suggest(atom, self.atoms, "atoms"))
        return state

    @cached_property
    def bits(self) -> BitModel:
        return BitModel.of(self)


@dataclass(frozen=True)
class StripsProblem:
    """P = ⟨F, A, I, G⟩."""

    model: StripsModel
    init: State
    goal: frozenset[Atom]
    name: str = "problem"

    def __post_init__(self) -> None:
        self.model.state(self.init)
        self.model.state(self.goal)

    def solved_by(self, plan: Sequence[str]) -> bool:
        """A plan: applicable in I from its first action to its last, and G holds at the end."""
        state = self.init
        for name in plan:
            action = self.model.action(name)
            if not action.applicable(state):
                return False
            state = action.progress(state)
        return self.goal <= state


def refuse_twice(names: Sequence[str], noun: str) -> None:
    if (twice := first_repeated(names)) is not None:
        raise ModelError(f"{noun} {twice!r} is there twice", hint="names must differ")


# --- the trace classifier -------------------------------------------------------------------------------------


def is_negative_by_definition(model: StripsModel, trace: Sequence[str]) -> bool:
    """f_M(τ), word for word: τ is negative iff some a_i has a precondition p such that the last earlier action
    that affects p deletes it. An atom that no earlier action affects counts as true.
    """
    actions = [model.action(name) for name in trace]
    for i, action in enumerate(actions):
        for atom in action.pre:
            for earlier in reversed(actions[:i]):
                if earlier.affects(atom):
                    if atom in earlier.delete:
                        return True
                    break
    return False


def is_negative(model: StripsModel, trace: Sequence[str]) -> bool:
    """f_M(τ) in one pass: atoms that nothing has touched are true, so the walk starts in the state F."""
    state = frozenset(model.atoms)
    for name in trace:
        action = model.action(name)
        if not action.applicable(state):
            return True
        state = action.progress(state)
    return False


def label(model: StripsModel, trace: Sequence[str], init: State | None = None) -> list[bool]:
    """z_i for each position: True where a_i is inapplicable. An inapplicable action does not change the state.

    Without `init` the walk starts in F, as for f_M; so f_M(τ) = any(label(M, τ)).
    """
    return [not applicable for _, applicable in walk(model, trace, init)]


def walk(model: StripsModel, trace: Sequence[str], init: State | None = None) -> Iterator[tuple[State, bool]]:
    """The state before each position, and whether the action there is applicable in it."""
    state = frozenset(model.atoms) if init is None else model.state(init)
    for name in trace:
        action = model.action(name)
        applicable = action.applicable(state)
        yield state, applicable
        if applicable:
            state = action.progress(state)


def final_state(model: StripsModel, trace: Sequence[str], init: State | None = None) -> State:
    """The state after the trace; inapplicable actions are skipped."""
    state = frozenset(model.atoms) if init is None else model.state(init)
    for name in trace:
        action = model.action(name)
        if action.applicable(state):
            state = action.progress(state)
    return state


# --- bit sets --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BitModel:
    """A model for compiled loops: one row of words per action; atom i is bit i % 64 of word i // 64."""

    pre: UInt64[np.ndarray, "actions words"]
    add: UInt64[np.ndarray, "actions words"]
    delete: UInt64[np.ndarray, "actions words"]
    atoms: int

    @staticmethod
    def of(model: StripsModel) -> BitModel:
        def rows(lists: Iterable[frozenset[Atom]]) -> UInt64[np.ndarray, "actions words"]:
            return pack(membership(model, lists))

        return BitModel(
            pre=rows(action.pre for action in model.actions),
            add=rows(action.add for action in model.actions),
            delete=rows(action.delete for action in model.actions),
            atoms=len(model.atoms),
        )

    @property
    def words(self) -> int:
        return int(self.pre.shape[1])

    @cached_property
    def all_true(self) -> UInt64[np.ndarray, " words"]:
        """The state F: nothing touched yet."""
        return pack(np.ones((1, self.atoms), dtype=bool))[0]


def membership(model: StripsModel, states: Iterable[Iterable[Atom]]) -> Bool[np.ndarray, "states atoms"]:
    """One row per set of atoms, one column per atom of the model."""
    rows = [[model.atom_index[atom] for atom in state] for state in states]
    matrix = np.zeros((len(rows), len(model.atoms)), dtype=bool)
    for i, row in enumerate(rows):
        matrix[i, row] = True
    return matrix


def state_of(model: StripsModel, row: Bool[np.ndarray, " atoms"]) -> State:
    return frozenset(model.atoms[i] for i in np.flatnonzero(row))


def label_tokens(
    bits: BitModel,
    tokens: UInt[np.ndarray, " positions"],
    offsets: Int[np.ndarray, " boundaries"],
    out: Bool[np.ndarray, " positions"] | None = None,
) -> Bool[np.ndarray, " positions"]:
    """`label` for many traces at once: trace t is tokens[offsets[t]:offsets[t+1]], a token is an action's number."""
    labels = np.empty(len(tokens), dtype=np.bool_) if out is None else out
    label_rows(bits.pre, bits.add, bits.delete, bits.all_true, tokens, offsets, labels)
    return labels


@compiled()
def label_rows(pre, add, delete, start, tokens, offsets, labels):  # type: ignore[no-untyped-def]
    words = start.shape[0]
    state = np.empty(words, dtype=np.uint64)
    for trace in range(len(offsets) - 1):
        state[:] = start
        for i in range(offsets[trace], offsets[trace + 1]):
            action = tokens[i]
            inapplicable = False
            for w in range(words):
                if pre[action, w] & ~state[w]:
                    inapplicable = True
                    break
            labels[i] = inapplicable
            if not inapplicable:
                for w in range(words):
                    state[w] = (state[w] | add[action, w]) & ~delete[action, w]


def label_given(
    bits: BitModel,
    tokens: UInt[np.ndarray, " positions"],
    refused: Bool[np.ndarray, " positions"],
    offsets: Int[np.ndarray, " boundaries"],
) -> Bool[np.ndarray, " positions"]:
    """Which positions the model refuses if the history is what really happened: all that was not `refused`."""
    labels = np.empty(len(tokens), dtype=np.bool_)
    label_rows_given(bits.pre, bits.add, bits.delete, bits.all_true, tokens, refused, offsets, labels)
    return labels


@compiled()
def label_rows_given(pre, add, delete, start, tokens, refused, offsets, labels):  # type: ignore[no-untyped-def]
    words = start.shape[0]
    state = np.empty(words, dtype=np.uint64)
    for trace in range(len(offsets) - 1):
        state[:] = start
        for i in range(offsets[trace], offsets[trace + 1]):
            action = tokens[i]
            labels[i] = False
            for w in range(words):
                if pre[action, w] & ~state[w]:
                    labels[i] = True
                    break
            if not refused[i]:
                for w in range(words):
                    state[w] = (state[w] | add[action, w]) & ~delete[action, w]
