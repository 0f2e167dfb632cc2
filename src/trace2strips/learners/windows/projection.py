"""Projection: what each action of a log means for each tuple of its objects.

A step with action b(o₁ … oₙ) leaves, for each tuple u of its objects, one *token* in the history of u: the schema of b
and where the objects of u stand among its arguments. Asking whether b works looks at the histories of the tuples of its
own arguments: a *query* is the schema and the positions that are looked at. Positions of a query are ascending, which
fixes the order of u's objects; tokens are written for that order (its *frame*).

An action with one object in several places is an action of its own kind: `move x x` is the schema `move` with the
pattern (0, 0) and one argument. So the objects of a tuple always differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from math import perm

from trace2strips.traces.names import Schema

Token = tuple[int, tuple[int, ...]]  # a schema's number, and the positions of the objects of u
Query = tuple[int, tuple[int, ...]]  # a schema's number, and the positions looked at, ascending


def arity_of(schema: Schema) -> int:
    return max(schema[1], default=-1) + 1


def count_tokens(schemas: Iterable[Schema], arity: int) -> int:
    """The most bits that a window has where tuples have up to so many objects."""
    arguments = [arity_of(schema) for schema in schemas]
    return max(sum(perm(n, r) for n in arguments) for r in range(arity + 1))


@dataclass(frozen=True)
class Projection:
    """Schemas, sorted, with all tokens and queries of up to `arity` objects. Tests are queries only: they change
    nothing."""

    schemas: tuple[Schema, ...]
    tests: tuple[Schema, ...]
    arity: int

    @cached_property
    def asked(self) -> tuple[Schema, ...]:
        """What can be attempted: the schemas of actions, then those of tests."""
        return (*self.schemas, *self.tests)

    @cached_property
    def tokens(self) -> tuple[tuple[Token, ...], ...]:
        """For each number of objects r the tokens of tuples of r objects; their places are their bits."""
        return tuple(
            tuple(
                (number, positions)
                for number, schema in enumerate(self.schemas)
                for positions in permutations(range(arity_of(schema)), r)
            )
            for r in range(self.arity + 1)
        )

    @cached_property
    def bit(self) -> tuple[dict[Token, int], ...]:
        return tuple({token: bit for bit, token in enumerate(tokens)} for tokens in self.tokens)

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        return tuple(
            (number, positions)
            for number, schema in enumerate(self.asked)
            for r in range(self.arity + 1)
            for positions in combinations(range(arity_of(schema)), r)
        )

    @cached_property
    def query_number(self) -> dict[Query, int]:
        return {query: number for number, query in enumerate(self.queries)}

    def reframe(self, r: int, order: tuple[int, ...]) -> list[int]:
        """For each token of a tuple v of r objects its bit in the frame of u, where u[j] = v[order[j]]."""
        return [self.bit[r][schema, tuple(positions[i] for i in order)] for schema, positions in self.tokens[r]]
