"""B-RASP programs compiled to hard-attention transformers compute what the programs compute."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, random_model, random_program, random_strings

from trace2strips.brasp import (
    EXAMPLES,
    SIMPLE,
    SIMPLE_TRACES,
    And,
    Attention,
    Choice,
    Mask,
    Not,
    Or,
    Program,
    Variable,
    evaluate,
    parse_program,
    strips_program,
)
from trace2strips.brasp.evaluation import pad
from trace2strips.brasp.hard_attention import FeedForward, Gate, HardAttention, Literal, compile_program
from trace2strips.brasp.hard_attention import Head as AttentionHead
from trace2strips.errors import BraspError
from trace2strips.model.strips import is_negative


def assert_same(program: Program, strings: list[tuple[str, ...]]) -> int:
    """Every vector, entry by entry; the transformer's numbers are exactly 0 and 1. Returns its attention layers."""
    expected = evaluate(program, strings)
    symbols, _ = pad(program, strings)
    transformer = compile_program(program)
    found = transformer(torch.from_numpy(symbols)).numpy()
    for number, name in enumerate(program.vectors):
        np.testing.assert_array_equal(found[:, :, number], expected.vectors[name].astype(np.float32), err_msg=name)
    return len(transformer.attention)


@settings(max_examples=80)
@given(programs(), st.integers(0, 10**6))
def test_any_programs_on_random_strings(program: Program, seed: int) -> None:
    assert_same(program, random_strings(program.alphabet, 40, 7, seed))


def test_large_programs_on_random_strings() -> None:
    depths = []
    for seed in range(120):
        program = random_program(seed)
        depths.append(assert_same(program, random_strings(program.alphabet, 100, 8, seed)))
    assert set(depths) >= {1, 2, 3, 4, 5}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_on_all_short_strings(name: str) -> None:
    program = parse_program(EXAMPLES[name].text)
    assert_same(program, [s for n in range(6) for s in itertools.product(program.alphabet, repeat=n)])


def test_programs_of_strips_models() -> None:
    """f_M = B-RASP = the compiled transformer: at least 10⁴ pairs of a model and a trace."""
    for seed in range(105):
        model = random_model(seed)
        program = strips_program(model)
        traces = random_strings(program.alphabet, 100, 8, seed)
        found = compile_program(program).evaluate(traces)
        assert found.accepted().tolist() == [is_negative(model, trace) for trace in traces]
        assert found.vectors["Y"].tolist() == evaluate(program, traces).vectors["Y"].tolist()


def test_one_layer_for_each_attention_depth_with_heads_in_parallel() -> None:
    transformer = compile_program(strips_program(SIMPLE))
    assert transformer.heads == (3, 1)  # Y_p, Y_q, Y_r side by side, then Z
    assert [layer.query.shape[1] for layer in transformer.attention] == [1, 1]  # Q_p(i) ∧ K_p(j) is one product
    assert transformer.evaluate(SIMPLE_TRACES).accepted().tolist() == [False, True]
    assert compile_program(parse_program(EXAMPLES["brackets"].text)).heads == (2, 2, 1)


def test_the_weights_of_the_score_are_those_of_the_strips_transformer() -> None:
    """In layer 1 the query of head p reads Q_p and its key K_p, at one symbol each: θ_M."""
    transformer = compile_program(strips_program(SIMPLE))
    x = transformer.feed_forward[0](transformer.embedding[:-1][None])  # the string a b c
    layer = transformer.attention[0]
    query = torch.einsum("btw,hrw->bhtr", x, layer.query) + layer.query_bias[:, None]
    key = torch.einsum("btw,hrw->bhtr", x, layer.key) + layer.key_bias[:, None]
    assert query[0, :, :, 0].tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 0]]  # p, q, r asked for by a, b, c
    assert key[0, :, :, 0].tolist() == [[1, 1, 0], [1, 1, 0], [1, 1, 1]]


def test_a_gate_is_one_hidden_unit() -> None:
    block = FeedForward([Gate(frozenset({Literal(0), Literal(1, positive=False)}), 2)], 3)
    rows = torch.tensor([[[0.0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]]])
    assert block(rows)[0, :, 2].tolist() == [0, 0, 1, 0]
    assert block.into.tolist() == [[1, -1, 0]]
    assert block.bias.tolist() == [0]


@pytest.mark.parametrize(
    ("choice", "mask", "expected"),
    [
        (Choice.LEFTMOST, Mask.NONE, [1, 1, 1, 1]),
        (Choice.RIGHTMOST, Mask.NONE, [3, 3, 3, 3]),
        (Choice.LEFTMOST, Mask.FUTURE, [0, 0, 1, 1]),
        (Choice.RIGHTMOST, Mask.FUTURE, [0, 0, 1, 1]),
        (Choice.LEFTMOST, Mask.PAST, [1, 3, 3, 0]),
        (Choice.RIGHTMOST, Mask.PAST, [3, 3, 3, 0]),
    ],
)
def test_heads_choose_the_outermost_of_the_best(choice: Choice, mask: Mask, expected: list[int]) -> None:
    """Coordinate 0 is the score, at positions 1 and 3; coordinates 1 to 4 name the position; 5 to 8 receive it."""
    places = tuple(Literal(1 + k) for k in range(4))
    layer = HardAttention([AttentionHead(choice, mask, (True,), (Literal(0),), places, (5, 6, 7, 8))], 9)
    x = torch.zeros(1, 4, 9)
    x[0, [1, 3], 0] = 1
    x[0, range(4), range(1, 5)] = 1
    brought = layer(x, torch.ones(1, 4, dtype=torch.bool))[0, :, 5:]
    none = [i for i in range(4) if (mask == Mask.FUTURE and i == 0) or (mask == Mask.PAST and i == 3)]
    assert brought.sum(dim=1).tolist() == [0.0 if i in none else 1.0 for i in range(4)]
    assert [int(row.argmax()) for i, row in enumerate(brought) if i not in none] == [
        e for i, e in enumerate(expected) if i not in none
    ]


def test_a_score_with_too_many_parts_is_refused() -> None:
    alphabet = tuple("abcdefghijklmn")
    differs = [
        Or((And((Variable(f"I_{a}"), Variable(f"I_{a}", "j"))), And((Not(Variable(f"I_{a}")), Not(Variable(f"I_{a}", "j"))))))
        for a in alphabet
    ]  # fmt: skip
    same = Attention("Z", Choice.LEFTMOST, Mask.FUTURE, And(tuple(differs)), Variable("I_a"), Variable("I_a"))
    with pytest.raises(BraspError, match="a score with 14 independent parts"):
        compile_program(Program(alphabet, (same,)))


def test_state_dict_holds_every_weight() -> None:
    one, two = (compile_program(strips_program(SIMPLE)) for _ in range(2))
    for tensor in two.state_dict().values():
        tensor.zero_()
    assert not two.evaluate(SIMPLE_TRACES).accepted().any()
    two.load_state_dict(one.state_dict())
    assert two.evaluate(SIMPLE_TRACES).accepted().tolist() == [False, True]
