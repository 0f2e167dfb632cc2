"""Lifted STRIPS: action schemas and predicates over typed objects, and the domains and problems made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from trace2strips.errors import PddlError

OBJECT = "object"  # the root of every type hierarchy


@dataclass(frozen=True)
class Literal:
    """A predicate over variables (`?x`) and objects."""

    predicate: str
    arguments: tuple[str, ...] = ()

    def bind(self, binding: dict[str, str]) -> Literal:
        return Literal(self.predicate, tuple(binding.get(a, a) for a in self.arguments))

    def __str__(self) -> str:
        return "(" + " ".join((self.predicate, *self.arguments)) + ")"


@dataclass(frozen=True)
class Schema:
    """An action schema; `negative_pre` may hold static literals only, `=` stands among both."""

    name: str
    parameters: tuple[tuple[str, str], ...]  # (variable, type)
    pre: tuple[Literal, ...]
    negative_pre: tuple[Literal, ...]
    add: tuple[Literal, ...]
    delete: tuple[Literal, ...]
    file: str | None = field(default=None, compare=False)  # where it was read, for errors that only grounding finds
    line: int | None = field(default=None, compare=False)

    def fail(self, message: str, hint: str) -> NoReturn:
        raise PddlError(message, file=self.file, line=self.line, hint=hint)


@dataclass(frozen=True)
class LiftedDomain:
    name: str
    types: tuple[tuple[str, str], ...]  # (type, its supertype), without the root
    constants: tuple[tuple[str, str], ...]  # (object, type)
    predicates: tuple[tuple[str, tuple[str, ...]], ...]  # (name, types of the arguments)
    schemas: tuple[Schema, ...]
    typed: bool = True

    def is_a(self, kind: str, ancestor: str) -> bool:
        parents = dict(self.types)
        while kind != ancestor:
            if kind == OBJECT:
                return False
            kind = parents.get(kind, OBJECT)
        return True

    @property
    def changing(self) -> frozenset[str]:
        """The predicates that some action affects; all others are static."""
        return frozenset(literal.predicate for s in self.schemas for literal in (*s.add, *s.delete))


@dataclass(frozen=True)
class LiftedProblem:
    name: str
    domain: str
    objects: tuple[tuple[str, str], ...]
    init: tuple[Literal, ...]
    goal: tuple[Literal, ...]
