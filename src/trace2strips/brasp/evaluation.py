"""What a B-RASP program computes: by the definition, one string at a time, and vectorised over many strings.

May import `errors` and `brasp.language`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from jaxtyping import Bool, Int64

from trace2strips.brasp.language import (
    And,
    Attention,
    Choice,
    Constant,
    Formula,
    Mask,
    Not,
    Or,
    Pointwise,
    Program,
    Variable,
    initial_vector,
)
from trace2strips.errors import BraspError

CELLS = 2**24  # at most so many scores S(i, j) at once
PADDING = -1

Strings = Sequence[Sequence[str]]
Lookup = Callable[[str], np.ndarray]


# --- the definition, word for word -----------------------------------------------------------------------------------


def evaluate_by_definition(program: Program, string: Sequence[str]) -> dict[str, list[bool]]:
    """Every vector of the program on one string, entry by entry."""
    program.encode(string)  # refuses unknown symbols
    n = len(string)
    vectors = {initial_vector(symbol): [w == symbol for w in string] for symbol in program.alphabet}

    for definition in program.definitions:
        match definition:
            case Pointwise(name, formula):
                vectors[name] = [holds(formula, vectors, i) for i in range(n)]
            case Attention(name, choice, mask, score, value, default):
                entries = []
                for i in range(n):
                    matching = [j for j in range(n) if allowed(mask, i, j) and holds(score, vectors, i, j)]
                    if matching:
                        chosen = min(matching) if choice == Choice.LEFTMOST else max(matching)
                        entries.append(holds(value, vectors, i, chosen))
                    else:
                        entries.append(holds(default, vectors, i))
                vectors[name] = entries
    return vectors


def holds(formula: Formula, vectors: Mapping[str, list[bool]], i: int, j: int = -1) -> bool:
    """φ(i), or φ(i, j)."""
    match formula:
        case Constant(value):
            return value
        case Variable(vector, at):
            return vectors[vector][i if at == "i" else j]
        case Not(operand):
            return not holds(operand, vectors, i, j)
        case And(operands):
            return all(holds(operand, vectors, i, j) for operand in operands)
        case Or(operands):
            return any(holds(operand, vectors, i, j) for operand in operands)


def allowed(mask: Mask, i: int, j: int) -> bool:
    """M(i, j)."""
    return mask == Mask.NONE or (j < i if mask == Mask.FUTURE else j > i)


# --- many strings at once --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    """Every vector of a program on a batch of strings, padded on the right; entries beyond a string's end are False."""

    program: Program
    lengths: Int64[np.ndarray, " strings"]
    vectors: Mapping[str, Bool[np.ndarray, "strings positions"]]

    def of(self, index: int) -> dict[str, list[bool]]:
        """The vectors of one string."""
        return {name: vector[index, : self.lengths[index]].tolist() for name, vector in self.vectors.items()}

    def accepted(self) -> Bool[np.ndarray, " strings"]:
        """Z(n−1) of the last vector Z. The empty string has no last entry; it is not accepted."""
        last = self.vectors[self.program.vectors[-1]]
        found = np.zeros(len(self.lengths), dtype=bool)
        some = self.lengths > 0
        found[some] = last[some, self.lengths[some] - 1]
        return found

    def outputs(self) -> list[tuple[str, ...]]:
        """w'_i = γ iff Z_γ(i) = 1; a position with no symbol or with several has none that could be written."""
        symbols = self.program.output
        if not symbols:
            raise BraspError("the program has no output symbols", hint="end it with: output { x, y }")
        spelled = np.stack([self.vectors[name] for name in self.program.output_vectors])  # (Γ, strings, positions)
        there = np.arange(spelled.shape[2]) < self.lengths[:, None]
        wrong = np.argwhere((spelled.sum(axis=0) != 1) & there)
        if len(wrong):
            string, position = wrong[0].tolist()
            count = int(spelled[:, string, position].sum())
            raise BraspError(
                f"string {string + 1} has {count} output symbols at position {position}",
                hint="of the last vectors exactly one must be 1 at each position",
            )
        chosen = spelled.argmax(axis=0)
        return [
            tuple(symbols[s] for s in row[:length]) for row, length in zip(chosen.tolist(), self.lengths, strict=True)
        ]


def pad(program: Program, strings: Strings) -> tuple[Int64[np.ndarray, "strings positions"], Int64[np.ndarray, " n"]]:
    """Strings as rows of symbol numbers, filled up with PADDING, and their lengths."""
    rows = [program.encode(string) for string in strings]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    symbols = np.full((len(rows), int(lengths.max(initial=0))), PADDING, dtype=np.int64)
    for padded, row in zip(symbols, rows, strict=True):
        padded[: len(row)] = row
    return symbols, lengths


def evaluate(program: Program, strings: Strings) -> Evaluation:
    """As `evaluate_by_definition` for each string, all at once: one array operation for each formula's operator."""
    symbols, lengths = pad(program, strings)
    there = symbols != PADDING  # (strings, positions)
    vectors = {initial_vector(name): symbols == number for number, name in enumerate(program.alphabet)}
    for definition in program.definitions:
        if isinstance(definition, Pointwise):
            found = truth(definition.formula, vectors.__getitem__)
        else:
            found = np.zeros_like(there)
            for part, rows in pieces(*there.shape):
                some = {name: vector[part] for name, vector in vectors.items()}
                found[part, rows] = attend(definition, some, there[part], rows)
        vectors[definition.name] = found & there
    return Evaluation(program, lengths, vectors)


def pieces(strings: int, n: int) -> Iterator[tuple[slice, slice]]:
    """Some strings and some of their positions i at a time: there are n scores for each, and memory has an end."""
    many = max(1, CELLS // max(1, n * n))
    rows = max(1, CELLS // max(1, n * min(many, strings)))
    for string in range(0, strings, many):
        for row in range(0, n, rows):
            yield slice(string, string + many), slice(row, row + rows)


def attend(
    operation: Attention, vectors: Mapping[str, np.ndarray], there: Bool[np.ndarray, "strings positions"], rows: slice
) -> Bool[np.ndarray, "strings rows"]:
    """One attention operation at the positions i of `rows`: all scores S(i, j), then the value at the chosen j only."""
    strings, n = there.shape
    i, j = np.arange(n)[rows, None], np.arange(n)
    seen = {Mask.NONE: np.True_, Mask.FUTURE: j < i, Mask.PAST: j > i}[operation.mask]
    score = truth(operation.score, lambda name: vectors[name][:, rows, None], lambda name: vectors[name][:, None])
    matches = np.broadcast_to(score & seen & there[:, None], (strings, len(i), n))  # (strings, i, j)
    if operation.choice == Choice.LEFTMOST:
        chosen = matches.argmax(axis=2)  # (strings, i)
    else:
        chosen = n - 1 - matches[:, :, ::-1].argmax(axis=2)
    string = np.arange(strings)[:, None]
    value = truth(operation.value, lambda name: vectors[name][:, rows], lambda name: vectors[name][string, chosen])
    default = truth(operation.default, lambda name: vectors[name][:, rows])
    return np.where(matches.any(axis=2), value, default)


def truth(formula: Formula, here: Lookup, there: Lookup | None = None) -> np.ndarray:
    """A formula on whole arrays: `here` gives P(i), `there` P(j)."""
    match formula:
        case Constant(value):
            return np.asarray(value)
        case Variable(vector, "i"):
            return here(vector)
        case Variable(vector, _):
            assert there is not None  # Program has checked that there is a j
            return there(vector)
        case Not(operand):
            return np.asarray(~truth(operand, here, there))
        case And(operands):
            return np.asarray(reduce(np.logical_and, [truth(operand, here, there) for operand in operands]))
        case Or(operands):
            return np.asarray(reduce(np.logical_or, [truth(operand, here, there) for operand in operands]))


def accepts(program: Program, strings: Strings) -> Bool[np.ndarray, " strings"]:
    """w ∈ L, for each string."""
    return evaluate(program, strings).accepted()


def transduce(program: Program, strings: Strings) -> list[tuple[str, ...]]:
    """The output string of each string."""
    return evaluate(program, strings).outputs()
