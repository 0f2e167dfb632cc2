"""B-RASP: text and back, the evaluator against the definition, star-free examples, and the program of a STRIPS model."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ANY_NAME, programs, random_model, random_program, random_strings

from trace2strips.brasp import (
    EXAMPLES,
    SIMPLE,
    SIMPLE_TRACES,
    Attention,
    Program,
    accepts,
    evaluate,
    evaluate_by_definition,
    evaluation,
    format_program,
    parse_program,
    read_program,
    strips_program,
    transduce,
)
from trace2strips.errors import BraspError, FileError
from trace2strips.learners.transformer.module import StripsTransformer
from trace2strips.learners.transformer.parameters import SHARED, Layout, theta_of
from trace2strips.learners.transformer.references import attention_reference, factored_reference
from trace2strips.model.strips import StripsAction, StripsModel, is_negative, is_negative_by_definition
from trace2strips.model.vocabulary import Vocabulary

# --- the language ----------------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(programs(ANY_NAME))
def test_text_and_back(program: Program) -> None:
    text = format_program(program)
    again = parse_program(text)
    assert again == program
    assert format_program(again) == text


def test_the_signs_of_the_paper_are_read_too() -> None:
    plain = "alphabet { a }\nP(i) := !I_a(i) & 1 | 0\nZ(i) := rightmost j [j < i, P(j)] 1 : 0\nW(i) := leftmost j [1, 1] 1 : 0"
    signs = "alphabet { a }\nP(i) := ¬I_a(i) ∧ 1 ∨ 0\nZ(i) := ▶ j [j < i, P(j)] 1 : 0\nW(i) := ◀ j [1, 1] 1 : 0"
    assert parse_program(signs) == parse_program(plain)


def test_and_binds_more_than_or_and_blank_space_is_free() -> None:
    one = parse_program("alphabet{a,b} P(i):=I_a(i)|I_b(i)&!I_a(i) # remark\n Z(i):=P(i)")
    two = parse_program("alphabet { a, b }\nP(i) := I_a(i) | (I_b(i)\n  & (!I_a(i)))\nZ(i) := P(i)\n")
    assert one == two


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "the program is empty"),
        ("# nothing\n\n", "3:1", "the program is empty"),
        ("P(i) := 1", "1:1", "expected 'alphabet', found 'P'"),
        ("alphabet { a, a }", "1:15", "symbol 'a' is there twice"),
        ("alphabet { a b }", "1:14", "expected ',' or '}', found 'b'"),
        ("alphabet { a", "1:13", "expected ',' or '}', found the end of the program"),
        ("alphabet { a }", "1:1", "the program defines no vector"),
        ("alphabet { a }\nP(i) := Q(i)", "2:9", "unknown vector 'Q'"),
        ("alphabet { a }\nP(i) := P(i)", "2:9", "unknown vector 'P'"),
        ("alphabet { a }\nP(i) := I_a(j)", "2:9", "there is no position j in a position-wise operation"),
        ("alphabet { a }\nP(i) := leftmost j [1, I_a(j)] 1 : I_a(j)", "2:36", "there is no position j in the default"),
        ("alphabet { a }\nP(j) := 1", "2:3", "expected i, found 'j'"),
        ("alphabet { a }\nP(i) := 1\nP(i) := 0", "3:1", "vector 'P' is defined twice"),
        ("alphabet { a }\nI_a(i) := 1", "2:1", "vector 'I_a' is defined twice"),
        ("alphabet { a }\nP(i) := I_a(i) I_a(i)", "2:22", "expected ':=' or, inside a formula, an operator"),
        ("alphabet { a }\nP(i) := (1 | 0", "2:15", "expected an operator or ')', found the end"),
        ("alphabet { a }\nP(i) := 1 |", "2:12", "expected a formula, found the end of the program"),
        ("alphabet { a }\nP(i) := leftmost j [j <= i, 1] 1 : 0", "2:24", "unexpected character '='"),
        ("alphabet { a }\nP(i) := leftmost j [i < j, 1] 1 : 0", "2:21", "expected a mask, found 'i'"),
        ("alphabet { a }\nP(i) := leftmost j [j : i, 1] 1 : 0", "2:23", "expected '<' or '>', found ':'"),
        ("alphabet { a }\nP(i) := leftmost j [1, 1] 1", "2:28", "expected an operator, or ':' and the default"),
        ("alphabet { a }\nP(i) := leftmost i [1, 1] 1 : 0", "2:18", "expected j, found 'i'"),
        ("alphabet { a }\nP(i) := I_a", "2:12", "expected '(i)' or '(j)' after 'I_a'"),
        ("alphabet { a }\nP(i) := $", "2:9", "unexpected character '$'"),
        ('alphabet { "a }', "1:12", "unexpected character '\"'"),
        ('alphabet { "\\q" }', "1:12", "broken string"),
        ("alphabet { a }\nP(i) := 1\noutput { x, y }", "1:1", "2 output symbols but 1 vectors"),
        ("alphabet { a }\nP(i) := 1\noutput { x } Z(i) := 1", "3:14", "expected a definition such as"),
        ("alphabet { a }\nP(i) := " + "(" * 5000, "2:109", "formulas nested deeper than 100"),
        ("alphabet { a }\nP(i) := " + "!" * 5000 + "1", "2:109", "formulas nested deeper than 100"),
    ],
)  # fmt: skip
def test_mistakes_in_a_program_have_line_and_column(text: str, place: str, message: str) -> None:
    with pytest.raises(BraspError) as caught:
        parse_program(text, "x.brasp")
    assert str(caught.value).startswith(f"x.brasp:{place}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_programs_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "simple.brasp"
    path.write_text(format_program(strips_program(SIMPLE)))
    assert read_program(path) == strips_program(SIMPLE)
    with pytest.raises(FileError, match="no such file"):
        read_program(tmp_path / "other.brasp")


# --- evaluation ------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(st.one_of(programs(), st.integers(0, 10**6).map(random_program)), st.integers(0, 10**6))
def test_the_evaluator_is_the_definition(program: Program, seed: int) -> None:
    strings = random_strings(program.alphabet, 10, 6, seed)
    found = evaluate(program, strings)
    for index, string in enumerate(strings):
        expected = evaluate_by_definition(program, string)
        assert found.of(index) == expected
        last = expected[program.vectors[-1]]
        assert found.accepted()[index] == bool(last and last[-1])


def test_large_batches_are_evaluated_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    program = parse_program(EXAMPLES["brackets"].text)
    strings = random_strings(program.alphabet, 100, 8, 0)
    whole = accepts(program, strings)
    for cells in (200, 20, 1):  # several strings, some rows of one string, one row at a time
        monkeypatch.setattr(evaluation, "CELLS", cells)
        assert accepts(program, strings).tolist() == whole.tolist()
    assert 2 <= whole.sum() < 50


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=lambda example: example.name)
def test_star_free_examples_accept_their_language(example) -> None:  # type: ignore[no-untyped-def]
    program = parse_program(example.text)
    strings = [s for n in range(9) for s in itertools.product(program.alphabet, repeat=n)]
    expected = [re.fullmatch(example.language, "".join(s)) is not None for s in strings]
    assert accepts(program, strings).tolist() == expected
    assert 3 < sum(expected) < len(strings) - 3


def test_string_to_string() -> None:
    """Each symbol moves one to the right; a bar comes in front."""
    program = parse_program(
        "alphabet { a, b } A(i) := rightmost j [j < i, 1] I_a(j) : 0  B(i) := rightmost j [j < i, 1] I_b(j) : 0 "
        'F(i) := !A(i) & !B(i)  output { a, b, "|" }'
    )
    assert transduce(program, ["abba", "", "b"]) == [("|", "a", "b", "b"), (), ("|",)]
    with pytest.raises(BraspError, match="no output symbols"):
        transduce(strips_program(SIMPLE), ["a"])
    both = parse_program("alphabet { a, b } A(i) := 1 B(i) := I_b(i) output { x, y }")
    assert transduce(both, ["aa"]) == [("x", "x")]
    with pytest.raises(BraspError, match="string 2 has 2 output symbols at position 1"):
        transduce(both, ["aa", "ab"])


def test_symbols_outside_the_alphabet_are_refused() -> None:
    for run in (
        lambda: evaluate(strips_program(SIMPLE), ["ax"]),
        lambda: evaluate_by_definition(strips_program(SIMPLE), "ax"),
    ):
        with pytest.raises(BraspError, match="unknown symbol 'x'"):
            run()


# --- the program of a STRIPS model -----------------------------------------------------------------------------------

POSITIVE = """
I_a 100001  I_b 000100  I_c 011010
Q_p 100001  K_p 100101  V_p 100001  Y_p 000000
Q_q 000100  K_q 100101  V_q 000100  Y_q 000000
Q_r 100101  K_r 111111  V_r 100101  Y_r 000000
Y   000000  Z   000000
"""
NEGATIVE = """
I_a 101000  I_b 000011  I_c 010100
Q_p 101000  K_p 101011  V_p 101000  Y_p 001000
Q_q 000011  K_q 101011  V_q 000011  Y_q 000001
Q_r 101011  K_r 111111  V_r 101011  Y_r 000001
Y   001001  Z   001111
"""


@pytest.mark.parametrize(("trace", "figure"), [*zip(SIMPLE_TRACES, [POSITIVE, NEGATIVE], strict=True)])
def test_the_vectors_of_the_figure(trace: tuple[str, ...], figure: str) -> None:
    words = figure.split()
    expected = {name: [bit == "1" for bit in bits] for name, bits in zip(words[::2], words[1::2], strict=True)}
    program = strips_program(SIMPLE, running=True)
    assert tuple(expected) == program.vectors
    assert evaluate(program, [trace]).of(0) == evaluate_by_definition(program, trace) == expected
    # by the equations Z has no mask: every entry is the figure's last one
    plain = evaluate(strips_program(SIMPLE), [trace]).of(0)
    assert plain == expected | {"Z": [expected["Z"][-1]] * 6}


def test_the_simple_model_is_that_of_the_figure() -> None:
    assert SIMPLE.atoms == ("p", "q", "r")
    lists = {a.name: ["".join(sorted(part)) for part in (a.pre, a.add, a.delete)] for a in SIMPLE.actions}
    assert lists == {"a": ["pr", "q", "pr"], "b": ["qr", "p", "qr"], "c": ["", "r", ""]}
    assert [is_negative(SIMPLE, trace) for trace in SIMPLE_TRACES] == [False, True]


def test_the_program_has_one_attention_for_each_atom_and_one_for_the_trace() -> None:
    program = strips_program(SIMPLE)
    assert [d.name for d in program.definitions if isinstance(d, Attention)] == ["Y_p", "Y_q", "Y_r", "Z"]


def test_a_model_without_atoms_accepts_nothing_and_one_without_actions_has_no_trace() -> None:
    free = StripsModel((), (StripsAction("a"),))
    assert accepts(strips_program(free), ["", "a", "aaa"]).tolist() == [False] * 3
    assert accepts(strips_program(StripsModel(("p",), ())), [""]).tolist() == [False]


MODELS, TRACES = 110, 100  # at least 10⁴ pairs


def test_the_random_pairs_hold_the_corner_cases() -> None:
    models = [random_model(seed) for seed in range(MODELS)]
    actions = [action for model in models for action in model.actions]
    assert any(not model.atoms for model in models)
    assert any(not action.pre and not action.add and not action.delete for action in actions)
    assert any(not any(a.affects(p) or p in a.pre for a in model.actions) for model in models for p in model.atoms)
    traces = random_strings(("a0", "a1"), TRACES, 7, 0)
    assert {len(trace) for trace in traces} == set(range(8))
    labels = [is_negative(m, t) for m in models for t in random_strings(names_of(m), TRACES, 7, 0)]
    assert len(labels) >= 10**4
    assert 0.2 < np.mean(labels) < 0.8


def names_of(model: StripsModel) -> tuple[str, ...]:
    return tuple(action.name for action in model.actions)


@pytest.mark.parametrize("running", [False, True])
def test_the_program_computes_the_classifier(running: bool) -> None:
    """f_M = the B-RASP program."""
    for seed in range(MODELS):
        model = random_model(seed)
        program = strips_program(model, running)
        traces = random_strings(program.alphabet, TRACES, 10, seed)
        found = evaluate(program, traces)
        expected = [is_negative(model, trace) for trace in traces]
        assert found.accepted().tolist() == expected
        assert [is_negative_by_definition(model, trace) for trace in traces] == expected
        if running:  # Z(i): negative up to i
            trace = traces[-1]
            prefixes = [is_negative(model, trace[: i + 1]) for i in range(len(trace))]
            assert found.of(len(traces) - 1)["Z"] == prefixes


def test_the_program_is_the_network_at_its_parameters() -> None:
    """B-RASP = attention form = factored form at θ_M, position by position and for the trace; nobody is masked."""
    for seed in range(MODELS):
        model = random_model(seed)
        program = strips_program(model)
        traces = random_strings(program.alphabet, TRACES, 7, seed)
        found = evaluate(program, traces)
        layout = Layout(Vocabulary(program.alphabet), np.full(len(model.atoms), SHARED))
        theta = theta_of(model, layout)
        tokens, _ = evaluation.pad(program, traces)
        nobody = np.zeros(tokens.shape, dtype=bool)
        for form in ("attention", "factored"):
            module = StripsTransformer(layout, theta, form)
            y = module(torch.from_numpy(tokens), torch.from_numpy(nobody)).detach().numpy()
            assert y.tolist() == found.vectors["Y"].tolist()
            assert (1 - np.prod(1 - y, axis=1)).tolist() == found.accepted().tolist()
        for index in range(TRACES - 8, TRACES):  # the slow references
            numbers = tokens[index, : len(traces[index])]
            for reference in (attention_reference, factored_reference):
                assert reference(theta, layout, numbers, nobody[index, : len(numbers)]).tolist() == found.of(index)["Y"]
