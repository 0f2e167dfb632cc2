"""B-RASP programs as data. A program over an alphabet Σ starts from one Boolean vector for each symbol,

    I_σ(i) = 1 iff w_i = σ,

and defines new vectors from earlier ones, position by position or by attention:

    P(i) := φ(i)                                  Pointwise
    P(i) := ◀_j or ▶_j [M(i,j), S(i,j)] V(i,j) : D(i)    Attention

where φ, S, V and D are Boolean formulas and M is 1, j < i or j > i. P(i) = V(i, j_i) for the leftmost (◀) or
rightmost (▶) position j_i with M(i, j_i) = S(i, j_i) = 1, and D(i) if there is none. May import `errors` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NoReturn

from trace2strips.errors import BraspError, first_repeated, suggest


@dataclass(frozen=True)
class Place:
    """Where a part of a program stands in its text, for errors that only the whole program shows."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        raise BraspError(message, file=self.file, line=self.line, column=self.column, hint=hint)


NOWHERE = Place()


# --- formulas --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    value: bool


@dataclass(frozen=True)
class Variable:
    """P(i), or P(j) in the score and the value of an attention operation."""

    vector: str
    at: str = "i"
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Not:
    operand: Formula


@dataclass(frozen=True)
class And:
    operands: tuple[Formula, ...]  # two or more; a conjunction of one is that one


@dataclass(frozen=True)
class Or:
    operands: tuple[Formula, ...]  # two or more


Formula = Constant | Variable | Not | And | Or


def disjunction(operands: Iterable[Formula]) -> Formula:
    """φ_1 ∨ … ∨ φ_n; of none it is 0, of one that one."""
    parts = tuple(operands)
    if len(parts) > 1:
        return Or(parts)
    return parts[0] if parts else Constant(False)


def variables(formula: Formula) -> Iterator[Variable]:
    """Every occurrence of a vector in a formula, from left to right."""
    waiting: list[Formula] = [formula]
    while waiting:
        part = waiting.pop()
        match part:
            case Variable():
                yield part
            case Not(operand):
                waiting.append(operand)
            case And(operands) | Or(operands):
                waiting += reversed(operands)
            case Constant():
                pass


# --- programs --------------------------------------------------------------------------------------------------------


class Mask(StrEnum):
    """M(i, j), as it is written in a program's text."""

    NONE = "1"
    FUTURE = "j < i"  # strict future masking: only earlier positions are seen
    PAST = "j > i"  # strict past masking: only later positions are seen


class Choice(StrEnum):
    """Which of the positions that match."""

    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"


@dataclass(frozen=True)
class Pointwise:
    """P(i) := φ(i)."""

    name: str
    formula: Formula
    place: Place = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Attention:
    """P(i) := choice_j [M(i,j), S(i,j)] V(i,j) : D(i)."""

    name: str
    choice: Choice
    mask: Mask
    score: Formula
    value: Formula
    default: Formula
    place: Place = field(default=NOWHERE, compare=False, repr=False)


Definition = Pointwise | Attention


@dataclass(frozen=True)
class Program:
    """Σ, the definitions in their order and, where the program maps strings to strings, Γ.

    Without Γ the program accepts or rejects: w ∈ L iff the last entry of the last vector is 1. With Γ the last |Γ|
    vectors spell the output: w'_i = γ iff Z_γ(i) = 1.
    """

    alphabet: tuple[str, ...]
    definitions: tuple[Definition, ...]
    output: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for symbols, noun in ((self.alphabet, "symbol"), (self.output, "output symbol")):
            if (twice := first_repeated(symbols)) is not None:
                raise BraspError(f"{noun} {twice!r} is there twice", hint="symbols must differ")
        if not self.definitions:
            raise BraspError("the program defines no vector", hint="its output is the last vector that it defines")
        if len(self.output) > len(self.definitions):
            raise BraspError(
                f"{len(self.output)} output symbols but {len(self.definitions)} vectors",
                hint="the last vectors spell the output, one for each symbol",
            )
        known = dict.fromkeys(map(initial_vector, self.alphabet))
        for definition in self.definitions:
            if definition.name in known:
                definition.place.fail(f"vector {definition.name!r} is defined twice", hint="give it another name")
            check(definition, known)
            known[definition.name] = None

    @cached_property
    def vectors(self) -> tuple[str, ...]:
        """The names of all vectors: initial ones, then defined ones."""
        return (*map(initial_vector, self.alphabet), *(definition.name for definition in self.definitions))

    @cached_property
    def symbol_index(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.alphabet)}

    @property
    def output_vectors(self) -> tuple[str, ...]:
        """The vectors that hold the result: the last |Γ|, or the last one."""
        return self.vectors[-max(1, len(self.output)) :]

    def encode(self, string: Iterable[str]) -> list[int]:
        """Symbols as numbers; one that is not in Σ is the user's error."""
        numbers = []
        for symbol in string:
            if symbol not in self.symbol_index:
                raise BraspError(f"unknown symbol {symbol!r}", hint=suggest(symbol, self.alphabet, "symbols"))
            numbers.append(self.symbol_index[symbol])
        return numbers


def initial_vector(symbol: str) -> str:
    """The name of I_σ."""
    return f"I_{symbol}"


def check(definition: Definition, known: dict[str, None]) -> None:
    """Only earlier vectors are used, and P(j) only where there is a j."""
    match definition:
        case Pointwise(_, formula):
            parts = [(formula, "in a position-wise operation")]
        case Attention(_, _, _, score, value, default):
            parts = [(score, ""), (value, ""), (default, "in the default")]
    for formula, where in parts:
        for variable in variables(formula):
            if variable.vector not in known:
                hint = suggest(variable.vector, known, "vectors")
                variable.place.fail(
                    f"unknown vector {variable.vector!r}", hint=f"{hint}; define it above its first use"
                )
            if variable.at == "j" and where:
                variable.place.fail(f"there is no position j {where}", hint=f"write {variable.vector}(i)")
