"""Random STRIPS models and traces, B-RASP programs and strings for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from trace2strips.brasp import (
    And,
    Attention,
    Choice,
    Constant,
    Definition,
    Formula,
    Mask,
    Not,
    Or,
    Pointwise,
    Program,
    Variable,
)
from trace2strips.brasp.language import initial_vector
from trace2strips.model.strips import StripsAction, StripsModel

PLAIN = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True)
ANY_NAME = st.one_of(
    PLAIN,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.sampled_from(["x--a", "and", "not", "object", "Stack A B", "x--", "-", "a|b", "!a", "@s", "100%", "#1", " "]),
)


@st.composite
def models(draw: st.DrawFn, names: st.SearchStrategy[str] = PLAIN, max_atoms: int = 6) -> StripsModel:
    """Few atoms and actions, every combination of lists: also empty ones, and atoms that nobody touches."""
    atoms = draw(st.lists(names, max_size=max_atoms, unique=True))
    subset = st.frozensets(st.sampled_from(atoms)) if atoms else st.just(frozenset())
    actions = []
    for name in draw(st.lists(names, max_size=5, unique=True)):
        add = draw(subset)
        actions.append(StripsAction(name, draw(subset), add, draw(subset) - add))
    return StripsModel(tuple(atoms), tuple(actions), name=draw(names))


@st.composite
def models_and_traces(draw: st.DrawFn) -> tuple[StripsModel, list[str]]:
    model = draw(models())
    actions = [action.name for action in model.actions]
    return model, draw(st.lists(st.sampled_from(actions), max_size=12)) if actions else []


@st.composite
def formulas(draw: st.DrawFn, vectors: list[str], positions: str, depth: int = 3) -> Formula:
    """Any Boolean formula over vectors at i, or at i and j."""
    kinds = ["variable", "constant"] if depth == 0 else ["variable", "not", "and", "or"]
    match draw(st.sampled_from(kinds)) if vectors or depth else "constant":
        case "variable" if vectors:
            return Variable(draw(st.sampled_from(vectors)), draw(st.sampled_from(positions)))
        case "not":
            return Not(draw(formulas(vectors, positions, depth - 1)))
        case "and" | "or" as kind:
            parts = draw(st.lists(formulas(vectors, positions, depth - 1), min_size=2, max_size=3))
            return And(tuple(parts)) if kind == "and" else Or(tuple(parts))
        case _:
            return Constant(draw(st.booleans()))


@st.composite
def programs(draw: st.DrawFn, names: st.SearchStrategy[str] = PLAIN, max_vectors: int = 6) -> Program:
    """Any operations, each from any earlier vectors."""
    alphabet = tuple(draw(st.lists(names, max_size=3, unique=True)))
    vectors = [initial_vector(symbol) for symbol in alphabet]
    definitions: list[Definition] = []
    for number, word in enumerate(draw(st.lists(names, min_size=1, max_size=max_vectors))):
        name = f"{word}{number}"
        if name in vectors:
            continue
        if draw(st.booleans()):
            definitions.append(Pointwise(name, draw(formulas(vectors, "i"))))
        else:
            score, value = draw(formulas(vectors, "ij")), draw(formulas(vectors, "ij"))
            choice, mask = draw(st.sampled_from(Choice)), draw(st.sampled_from(Mask))
            definitions.append(Attention(name, choice, mask, score, value, draw(formulas(vectors, "i"))))
        vectors.append(name)
    return Program(alphabet, tuple(definitions))


def random_strings(alphabet: tuple[str, ...], count: int, longest: int, seed: int) -> list[tuple[str, ...]]:
    """The empty string, every string of one symbol, then random ones."""
    if not alphabet:
        return [()]
    rng = np.random.default_rng(seed)
    strings: list[tuple[str, ...]] = [(), *((symbol,) for symbol in alphabet)]
    for length in rng.integers(2, longest + 1, max(0, count - len(strings))).tolist():
        strings.append(tuple(alphabet[k] for k in rng.integers(len(alphabet), size=length).tolist()))
    return strings[:count]


def random_model(seed: int) -> StripsModel:
    """1 to 5 actions over 0 to 5 atoms with lists from empty to full; quicker than `models`, never without actions."""
    rng = np.random.default_rng(seed)
    atoms, actions = int(rng.integers(0, 6)), int(rng.integers(1, 6))
    pre = rng.random((actions, atoms)) < rng.choice([0.0, 0.3, 0.7])
    effect = rng.choice(3, size=(actions, atoms), p=[0.5, 0.25, 0.25])  # none, add, delete
    effect[:, rng.random(atoms) < 0.2] = 0  # atoms that nobody affects
    names = [f"p{k}" for k in range(atoms)]

    def chosen(row: np.ndarray) -> frozenset[str]:
        return frozenset(name for name, there in zip(names, row.tolist(), strict=True) if there)

    return StripsModel(
        tuple(names),
        tuple(
            StripsAction(f"a{k}", chosen(pre[k]), chosen(effect[k] == 1), chosen(effect[k] == 2))
            for k in range(actions)
        ),
    )


def random_program(seed: int) -> Program:
    """4 to 8 vectors over 2 or 3 symbols, most of them attention to recent ones; larger than what `programs` draws."""
    rng = np.random.default_rng(seed)
    alphabet = tuple("abc"[: int(rng.integers(2, 4))])
    vectors = [initial_vector(symbol) for symbol in alphabet]

    def formula(positions: str, depth: int) -> Formula:
        if depth == 0 or rng.random() < 0.2:
            return Variable(
                vectors[-1 - min(len(vectors) - 1, int(rng.geometric(0.3)) - 1)], str(rng.choice([*positions]))
            )
        if rng.random() < 0.3:
            return Not(formula(positions, depth - 1))
        parts = tuple(formula(positions, depth - 1) for _ in range(int(rng.integers(2, 4))))
        return And(parts) if rng.random() < 0.5 else Or(parts)

    definitions: list[Definition] = []
    for number in range(int(rng.integers(4, 9))):
        name = f"P{number}"
        if rng.random() < 0.3:
            definitions.append(Pointwise(name, formula("i", 3)))
        else:
            choice, mask = list(Choice)[int(rng.integers(2))], list(Mask)[int(rng.integers(3))]
            definitions.append(Attention(name, choice, mask, formula("ij", 3), formula("ij", 2), formula("i", 2)))
        vectors.append(name)
    return Program(alphabet, tuple(definitions))
