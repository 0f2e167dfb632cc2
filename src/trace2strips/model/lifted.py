"""Lifted STRIPS: action schemas and predicates over typed objects, and the domains and problems made of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from trace2strips.errors import PddlError

OBJECT = "object"  # the root of every type hierarchy
EITHER = "|"  # between the parts of a union type: (either truck plane) is truck|plane


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
    """An action schema; `=` stands among `pre` and `negative_pre`. What it adds and deletes at once is added."""

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
    remarks: tuple[str, ...] = field(default=(), compare=False)  # what was read but does not count, such as costs

    @cached_property
    def signatures(self) -> dict[str, tuple[str, ...]]:
        return dict(self.predicates)

    @cached_property
    def parents(self) -> dict[str, str]:
        return dict(self.types)

    def is_a(self, kind: str, ancestor: str) -> bool:
        """Whether a type is below another one; of a union one part is enough, on either side."""
        wanted = set(ancestor.split(EITHER))
        return OBJECT in wanted or not wanted.isdisjoint(self.above(kind))

    def above(self, kind: str) -> dict[str, None]:
        """A type and all that stand above it."""
        if (found := self.known_above.get(kind)) is None:
            waiting = kind.split(EITHER)
            found = dict.fromkeys(waiting)
            for one in waiting:  # grows while it is walked: up to the root
                parents = self.parents.get(one, OBJECT).split(EITHER) if one != OBJECT else []
                waiting += [parent for parent in parents if parent not in found]
                found |= dict.fromkeys(parents)
            self.known_above[kind] = found
        return found

    @cached_property
    def known_above(self) -> dict[str, dict[str, None]]:
        return {}

    def may_be(self, kind: str, other: str) -> bool:
        """Whether something of the first type may be of the second: one is below the other, or a third below both."""
        return self.is_a(kind, other) or self.is_a(other, kind) or (
            self.has_unions and any(self.is_a(one, kind) and self.is_a(one, other) for one in self.parents)
        )  # fmt: skip

    @cached_property
    def has_unions(self) -> bool:
        """Else each type stands directly below one other, and where a third is below two of them, one of these is
        below the other."""
        return any(EITHER in parent for parent in self.parents.values())

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
    negative_goal: tuple[Literal, ...] = ()
    remarks: tuple[str, ...] = field(default=(), compare=False)
