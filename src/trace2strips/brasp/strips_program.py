"""The B-RASP program of a STRIPS model M = ⟨F, A⟩ over the alphabet A; it computes f_M.

For every atom p, with strict future masking and the rightmost choice:

    Q_p(i) := ∨ I_a(i) over a with p ∈ pre(a)             p is asked for
    K_p(i) := ∨ I_a(i) over a with p ∈ add(a) ∪ del(a)    p is affected
    V_p(i) := ∨ I_a(i) over a with p ∈ del(a)             p is deleted
    Y_p(i) := ▶_j [j < i, Q_p(i) ∧ K_p(j)] V_p(j) : 0     p is asked for and false

and then Y(i) := ∨_p Y_p(i), Z(i) := ▶_j [1, Y(j)] 1 : 0. May import `strips` and `brasp.language`.
"""

from __future__ import annotations

from collections.abc import Iterable

from trace2strips.brasp.language import (
    And,
    Attention,
    Choice,
    Constant,
    Definition,
    Formula,
    Mask,
    Pointwise,
    Program,
    Variable,
    disjunction,
    initial_vector,
)
from trace2strips.model.strips import StripsAction, StripsModel

SIMPLE = StripsModel(
    ("p", "q", "r"),
    (
        StripsAction("a", pre=frozenset("pr"), add=frozenset("q"), delete=frozenset("pr")),
        StripsAction("b", pre=frozenset("qr"), add=frozenset("p"), delete=frozenset("qr")),
        StripsAction("c", add=frozenset("r")),
    ),
    name="simple",
)  # the paper's example: positive traces alternate a and b, with at least one c in between
SIMPLE_TRACES = (tuple("accbca"), tuple("acacbb"))  # τ⁺ and τ⁻


def strips_program(model: StripsModel, running: bool = False) -> Program:
    """The program of the module's docstring.

    Z is the same at every position: 1 iff the trace is negative. With `running`, Z(i) is 1 iff the trace is negative up
    to position i, as the paper's figure draws it: Z(i) := ▶_j [j < i, Y(j)] 1 : Y(i). The last entries agree.
    """
    definitions: list[Definition] = []
    for p in model.atoms:
        q, k, v, y = (f"{letter}_{p}" for letter in "QKVY")
        score = And((Variable(q), Variable(k, "j")))
        definitions += [
            Pointwise(q, any_of(a for a in model.actions if p in a.pre)),
            Pointwise(k, any_of(a for a in model.actions if a.affects(p))),
            Pointwise(v, any_of(a for a in model.actions if p in a.delete)),
            Attention(y, Choice.RIGHTMOST, Mask.FUTURE, score, Variable(v, "j"), Constant(False)),
        ]
    definitions.append(Pointwise("Y", disjunction(Variable(f"Y_{p}") for p in model.atoms)))
    mask, default = (Mask.FUTURE, Variable("Y")) if running else (Mask.NONE, Constant(False))
    definitions.append(Attention("Z", Choice.RIGHTMOST, mask, Variable("Y", "j"), Constant(True), default))
    return Program(tuple(action.name for action in model.actions), tuple(definitions))


def any_of(actions: Iterable[StripsAction]) -> Formula:
    """∨ I_a(i)."""
    return disjunction(Variable(initial_vector(action.name)) for action in actions)
