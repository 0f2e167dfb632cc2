"""The token vocabulary: domain actions and the setup actions `init-false`, `init-p`, `init-s`, `test-p`.

Setup actions tell a trace's initial state (before the domain actions) and final atom values (after them). They are
STRIPS actions like any other, so f_M and every network see one kind of token (`Vocabulary.extend`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NoReturn

import numpy as np
from jaxtyping import UInt8

from trace2strips.errors import TraceError, first_repeated, suggest
from trace2strips.model.strips import Atom, State, StripsAction, StripsModel

SURROGATE = re.compile(r"[\ud800-\udfff]")  # what JSON can escape and UTF-8 cannot hold


class Kind(IntEnum):
    """What a token is. The order is that of the tokens' numbers."""

    INIT_FALSE = 0  # makes every atom false
    INIT_ATOM = 1  # init-p: makes p true
    INIT_STATE = 2  # init-s: makes the atoms of s true and all others false
    ACTION = 3  # a domain action
    TEST_ATOM = 4  # test-p: applicable iff p is true


INIT_FALSE, INIT_ATOM, INIT_STATE, ACTION, TEST_ATOM = map(int, Kind)  # constants for compiled loops


@dataclass(frozen=True)
class Vocabulary:
    """Tokens are numbered `init-false`, `init-p` …, `init-s` …, actions …, `test-p` …"""

    actions: tuple[str, ...]
    init_atoms: tuple[Atom, ...] = ()
    init_states: tuple[str, ...] = ()
    test_atoms: tuple[Atom, ...] = ()
    has_init_false: bool = False

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            self.refuse_clash()
        for name in self.names:
            if not name.isascii() and SURROGATE.search(name):
                raise TraceError(f"{name!r} is no text: half of a surrogate pair", hint="names must be valid Unicode")

    def refuse_clash(self) -> NoReturn:
        twice = first_repeated(self.names)
        nouns = {Kind.INIT_ATOM: "an initial atom", Kind.INIT_STATE: "an initial state", Kind.TEST_ATOM: "a final atom"}
        first, second = [Kind(k) for k, name in zip(self.kinds.tolist(), self.names, strict=True) if name == twice][:2]
        if first == second:
            raise TraceError(f"the name {twice!r} is there twice", hint="names must differ")
        if Kind.ACTION in (first, second):
            raise TraceError(
                f"the action name {twice!r} is also that of a setup action", hint="rename the action or the atom"
            )
        raise TraceError(
            f"the setup action {twice!r} would stand for {nouns.get(first, 'no atom at all')} and for {nouns[second]}",
            hint="rename one of the two",
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (
            *(("init-false",) if self.has_init_false else ()),
            *(f"init-{atom}" for atom in self.init_atoms),
            *(f"init-{state}" for state in self.init_states),
            *self.actions,
            *(f"test-{atom}" for atom in self.test_atoms),
        )

    @cached_property
    def kinds(self) -> UInt8[np.ndarray, " tokens"]:
        counts = (int(self.has_init_false), *map(len, self.groups))
        return np.repeat(np.array(list(Kind), dtype=np.uint8), counts)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        return self.init_atoms, self.init_states, self.actions, self.test_atoms

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def first(self) -> dict[Kind, int]:
        """The number of the first token of each kind."""
        return {kind: int(np.searchsorted(self.kinds, kind)) for kind in Kind}

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """What each token is about: the atom, the state's name or the action; '' for `init-false`."""
        return (*(("",) if self.has_init_false else ()), *(name for group in self.groups for name in group))

    @cached_property
    def numbers(self) -> Mapping[tuple[Kind, str], int]:
        return {(Kind(k), s): i for i, (k, s) in enumerate(zip(self.kinds.tolist(), self.subjects, strict=True))}

    def number(self, kind: Kind, subject: str = "") -> int:
        found = self.numbers.get((kind, subject))
        if found is None:
            nouns = {Kind.ACTION: "action", Kind.INIT_STATE: "initial state", Kind.INIT_FALSE: "init-false"}
            noun = nouns.get(kind, "atom")
            known = [s for k, s in self.numbers if k == kind]
            raise TraceError(f"unknown {noun} {subject!r}", hint=suggest(subject, known, f"{noun}s"))
        return found

    def extend(
        self, model: StripsModel, states: Mapping[str, State] | None = None, of_its_atoms: bool = False
    ) -> StripsModel:
        """The model over tokens: A extended by the setup actions, in the order of the token numbers.

        `of_its_atoms`: setup actions about atoms that the model does without do nothing; else they are an error.
        """
        every = frozenset(model.atoms)
        actions: list[StripsAction] = []
        for name, kind, subject in zip(self.names, self.kinds.tolist(), self.subjects, strict=True):
            one = frozenset({subject}) & every if of_its_atoms else frozenset({subject})
            match Kind(kind):
                case Kind.INIT_FALSE:
                    actions.append(StripsAction(name, delete=every))
                case Kind.INIT_ATOM:
                    actions.append(StripsAction(name, add=one))
                case Kind.INIT_STATE:
                    state = (states or {}).get(subject)
                    if state is None:
                        raise TraceError(
                            f"nothing says what is true in the initial state {subject!r}",
                            hint="traces that were sampled into a .t2s file say it",
                        )
                    actions.append(StripsAction(name, add=state, delete=every - state))
                case Kind.ACTION:
                    actions.append(model.action(subject))
                case Kind.TEST_ATOM:
                    actions.append(StripsAction(name, pre=one))
        return StripsModel(model.atoms, tuple(actions), name=model.name)
