"""The definition of f_M, its fast forms, and the bit sets agree."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import models, models_and_traces

from trace2strips.bits import pack, unpack
from trace2strips.errors import ModelError
from trace2strips.model.strips import (
    StripsAction,
    StripsModel,
    StripsProblem,
    final_state,
    is_negative,
    is_negative_by_definition,
    label,
    label_tokens,
    membership,
    walk,
)

A = StripsAction("a", frozenset("p"), frozenset("q"), frozenset("p"))
B = StripsAction("b", frozenset("q"), frozenset("p"), frozenset("q"))
C = StripsAction("c", frozenset("r"), frozenset(), frozenset("r"))
SIMPLE = StripsModel(("p", "q", "r"), (A, B, C))


def test_progress_is_union_then_difference() -> None:
    assert A.progress(frozenset("pr")) == frozenset("qr")
    assert A.applicable(frozenset("pq"))
    assert not A.applicable(frozenset("q"))


@pytest.mark.parametrize(
    ("trace", "negative"),
    [("", False), ("a", False), ("aa", True), ("ab", False), ("aba", False), ("abb", True), ("bb", True), ("cc", True)],
)
def test_untouched_atoms_are_true_and_the_last_effect_decides(trace: str, negative: bool) -> None:
    assert is_negative_by_definition(SIMPLE, list(trace)) is negative
    assert is_negative(SIMPLE, list(trace)) is negative


@settings(max_examples=500)
@given(models_and_traces())
@example((StripsModel((), ()), []))
def test_the_one_pass_classifier_is_the_definition(case: tuple[StripsModel, list[str]]) -> None:
    model, trace = case
    expected = is_negative_by_definition(model, trace)
    assert is_negative(model, trace) is expected
    assert any(label(model, trace)) is expected
    states = [state for state, _ in walk(model, trace)]
    assert all(
        model.action(name).applicable(s) != z for name, s, z in zip(trace, states, label(model, trace), strict=True)
    )


@settings(max_examples=500)
@given(models_and_traces(), st.integers(0, 12))
def test_compiled_labels_equal_the_reference(case: tuple[StripsModel, list[str]], cut: int) -> None:
    model, trace = case
    traces = [trace[:cut], [], trace]
    tokens = np.array([model.action_index[name] for t in traces for name in t], dtype=np.uint16)
    offsets = np.cumsum([0, *map(len, traces)])
    expected = [z for t in traces for z in label(model, t)]
    assert label_tokens(model.bits, tokens, offsets).tolist() == expected


@given(models(max_atoms=6), st.data())
def test_pack_and_unpack_are_inverse(model: StripsModel, data: st.DataObject) -> None:
    subset = st.frozensets(st.sampled_from(model.atoms)) if model.atoms else st.just(frozenset())
    matrix = membership(model, data.draw(st.lists(subset, max_size=4)))
    assert (unpack(pack(matrix), len(model.atoms)) == matrix).all()


@pytest.mark.parametrize("atoms", [1, 63, 64, 65, 130])
def test_bits_cross_word_boundaries(atoms: int) -> None:
    names = tuple(f"p{i}" for i in range(atoms))
    last = frozenset({names[-1]})
    model = StripsModel(names, (StripsAction("use", pre=last), StripsAction("lose", delete=last)))
    tokens = np.array([0, 1, 0], dtype=np.uint16)
    assert label_tokens(model.bits, tokens, np.array([0, 3])).tolist() == [False, False, True]


def test_a_plan_is_applicable_and_reaches_the_goal() -> None:
    problem = StripsProblem(SIMPLE, frozenset("pr"), frozenset("q"))
    assert problem.solved_by(["a"])
    assert problem.solved_by(["a", "b", "a"])
    assert not problem.solved_by([])
    assert not problem.solved_by(["a", "b"])
    assert not problem.solved_by(["b"])
    assert final_state(SIMPLE, ["a", "a"], frozenset("pr")) == frozenset("qr")


def test_models_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(ModelError, match="adds and deletes 'p'"):
        StripsModel(("p",), (StripsAction("a", add=frozenset("p"), delete=frozenset("p")),))
    with pytest.raises(ModelError, match="'p' is there twice"):
        StripsModel(("p", "p"), ())
    with pytest.raises(ModelError, match=r"names an atom 'pp'.*did you mean 'ppp'"):
        StripsModel(("ppp",), (StripsAction("a", pre=frozenset(["pp"])),))
    with pytest.raises(ModelError, match="unknown atom 'x'"):
        StripsProblem(SIMPLE, frozenset("x"), frozenset())
