"""The figures of the paper's appendix to the entry, and their tables in the terminal, as HTML and as JSON."""

import io
import json
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from rich.console import Console
from strategies import ANY_NAME, models

from trace2strips.brasp import EXAMPLES, SIMPLE, SIMPLE_TRACES, parse_program
from trace2strips.errors import BraspError, ModelError
from trace2strips.learners.transformer.illustration import (
    LONGEST,
    HeadView,
    Illustration,
    illustrate_model,
    illustrate_program,
)
from trace2strips.model.strips import StripsModel
from trace2strips.report.illustration import format_html, print_illustration

# Every row i: the scores Q(i)·K(j) of j = 0 … i−1 with * at the chosen one, then V at the chosen position, then y(i).
# In row 0 nothing can be chosen; the paper prints a V there, by no rule (0, 0, 1 for τ⁺ and 1, 0, 0 for τ⁻).
POSITIVE = {
    "p": """
        -                        | - 0
        01*                      | 1 0
        01 00*                   | 0 0
        01 00 00*                | 0 0
        01 00 00 01*             | 0 0
        11 10 10 11* 10          | 0 0""",
    "q": """
        -                        | - 0
        01*                      | 0 0
        01 00*                   | 0 0
        11* 10 10                | 0 0
        01 00 00 01*             | 1 0
        01 00 00 01 00*          | 0 0""",
    "r": """
        -                        | - 0
        01*                      | 1 0
        01 01*                   | 0 0
        11 11 11*                | 0 0
        01 01 01 01*             | 1 0
        11 11 11 11 11*          | 0 0""",
}
NEGATIVE = {
    "p": """
        -                        | - 0
        01*                      | 1 0
        11* 10                   | 1 1
        01 00 01*                | 1 0
        01 00 01 00*             | 0 0
        01 00 01 00 01*          | 0 0""",
    "q": """
        -                        | - 0
        01*                      | 0 0
        01 00*                   | 0 0
        01 00 01*                | 0 0
        11 10 11* 10             | 0 0
        11 10 11 10 11*          | 1 1""",
    "r": """
        -                        | - 0
        01*                      | 1 0
        11 11*                   | 0 0
        01 01 01*                | 1 0
        11 11 11 11*             | 0 0
        11 11 11 11 11*          | 1 1""",
}


def as_in_the_figure(head: HeadView) -> str:
    rows = []
    for i, chosen in enumerate(head.chosen):
        scores = [f"{head.query[i]}{head.key[j]}{'*' if j == chosen else ''}" for j in range(i)]
        value = "-" if chosen is None else head.value[chosen]
        rows.append(f"{' '.join(scores) or '-'} | {value} {head.output[i]}")
    return "\n".join(rows)


@pytest.mark.parametrize(("trace", "figure"), [*zip(SIMPLE_TRACES, [POSITIVE, NEGATIVE], strict=True)])
def test_the_heads_of_the_figure(trace: tuple[str, ...], figure: dict[str, str]) -> None:
    found = illustrate_model(SIMPLE, trace)
    assert [head.atom for head in found.heads] == list(figure)
    for head in found.heads:
        assert as_in_the_figure(head).split() == figure[head.atom].split()
        for i, chosen in enumerate(head.chosen):  # only a chosen cell with score 1 gets the weight
            assert head.attended[i] == (chosen is not None and head.query[i] * head.key[chosen] == 1)


def test_the_inapplicable_actions_of_the_figure() -> None:
    positive, negative = (illustrate_model(SIMPLE, trace) for trace in SIMPLE_TRACES)
    assert (positive.verdict, negative.verdict) == ("positive", "negative")
    assert positive.inapplicable == [False] * 6
    assert [i for i, flag in enumerate(negative.inapplicable) if flag] == [2, 5]
    assert [list(block) for block in negative.blocks] == [
        ["I_a", "I_b", "I_c"], ["Q_p", "K_p", "V_p", "Y_p"], ["Q_q", "K_q", "V_q", "Y_q"],
        ["Q_r", "K_r", "V_r", "Y_r"], ["Y", "Z"],
    ]  # fmt: skip
    assert illustrate_model(SIMPLE, SIMPLE_TRACES[1], running=True).blocks[-1]["Z"] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]


def shown(illustration: Illustration, width: int = 80, colour: bool = False, **options: bool) -> str:
    stream = io.StringIO()
    system = "truecolor" if colour else None
    print_illustration(
        Console(file=stream, width=width, force_terminal=colour, color_system=system), illustration, **options
    )
    return stream.getvalue()


def test_the_table_in_the_terminal() -> None:
    negative = illustrate_model(SIMPLE, SIMPLE_TRACES[1])
    lines = [line.split() for line in shown(negative).splitlines()]
    assert lines[2] == ["a", "c", "a✗", "c", "b", "b✗"]
    assert ["K_p", *"101011"] in lines
    assert ["Y", *"001001"] in lines
    assert lines[-1] == ["negative"]
    heads = [line.split() for line in shown(negative, with_heads=True).splitlines()]
    assert ["2", "a✗", "[1·1]", "1·0", "1", "1"] in heads
    assert ["3", "c", "0·1", "0·0", "(0·1)", "1", "0"] in heads


def test_colour_marks_what_is_inapplicable_and_only_that() -> None:
    positive, negative = (shown(illustrate_model(SIMPLE, trace), colour=True) for trace in SIMPLE_TRACES)
    assert "48;5;214" not in positive  # orange
    # two actions, three Y_p, two Y, the verdict
    assert negative.count("48;5;214") == 8


def test_long_traces_go_on_below_and_keep_every_entry() -> None:
    trace = "acb" * 10
    text = shown(illustrate_model(SIMPLE, trace), width=50)
    assert all(len(line) <= 50 for line in text.splitlines())
    rows = [line.split()[1:] for line in text.splitlines() if line.split()[:1] == ["Y"]]
    expected = illustrate_model(SIMPLE, trace).blocks[-1]["Y"]
    assert [entry for row in rows for entry in row] == [str(int(entry)) for entry in expected]
    assert "29 b" in text


def test_what_does_not_occur_is_hidden_unless_wanted() -> None:
    found = illustrate_model(SIMPLE, ("c", "c"))
    assert [list(block) for block in found.shown(False).blocks] == [["I_c"], ["Q_r", "K_r", "V_r", "Y_r"], ["Y", "Z"]]
    assert [head.atom for head in found.shown(False).heads] == ["r"]
    assert found.shown(True) == found
    assert "10 vectors of symbols and atoms that do not occur are not shown" in shown(found)


def test_the_empty_trace_is_positive() -> None:
    found = illustrate_model(SIMPLE, ())
    assert found.verdict == "positive"
    assert shown(found).startswith("simple: (empty)\n")
    assert "(empty): positive" in format_html([found], "")


def test_programs_have_a_verdict_or_an_output() -> None:
    brackets = parse_program(EXAMPLES["brackets"].text)
    assert illustrate_program(brackets, "llrr", "x").verdict == "accepted"
    assert illustrate_program(brackets, "lr" + "r", "x").verdict == "rejected"
    copy = parse_program("alphabet { a, b } A(i) := I_b(i) B(i) := I_a(i) output { a, b }")
    assert illustrate_program(copy, "ab", "x").verdict == "output b a"


def test_json_holds_every_number() -> None:
    record = json.loads(json.dumps(illustrate_model(SIMPLE, SIMPLE_TRACES[1]).record()))
    assert record["vectors"]["K_q"] == [1, 0, 1, 0, 1, 1]
    assert record["inapplicable"] == [2, 5]
    assert record["heads"][0]["chosen"] == [None, 0, 0, 2, 3, 4]
    assert record["verdict"] == "negative"


class Page(HTMLParser):
    """Checks that tags are closed in order; collects rows of cells, the classes, and what would load from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.classes: list[tuple[str, str]] = []
        self.tags: set[str] = set()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        assert not names.keys() & {"src", "href", "onclick"}
        self.tags.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.classes.append((names.get("class") or "", tag))
            assert tag == "td" or names["scope"] in ("row", "col")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "tr" in self.open:
            self.rows[-1][-1] += data


def test_the_page_says_all_that_the_figures_say() -> None:
    page = Page(format_html([illustrate_model(SIMPLE, SIMPLE_TRACES[1])], "Z(i) := 1"))
    assert ["Y", *"001001"] in page.rows
    assert page.rows[0][3] == "2a ✗ inapplicable"  # words, not only colour
    assert ["2 a", "1·1 attended", "1·0", "", "", "", "", "1", "1"] in page.rows
    assert page.classes.count(("attended", "td")) == 6
    assert page.classes.count(("bad", "td")) == 3 + 2 + 3  # Y_p, Y, y
    assert page.tags <= {"html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "div", "table", "caption",
                         "thead", "tbody", "tr", "th", "td", "br", "span", "pre"}  # fmt: skip


@settings(max_examples=40)
@given(models(ANY_NAME, max_atoms=3))
def test_any_name_is_shown_and_none_is_taken_for_markup(model: StripsModel) -> None:
    trace = [action.name for action in model.actions] * 2
    found = illustrate_model(model, trace)
    shown(found, with_heads=True, everything=True)
    Page(format_html([found], "", everything=True))


def test_markup_in_names_is_escaped() -> None:
    from trace2strips.model.strips import StripsAction

    name = "<script>alert(1)</script>"
    model = StripsModel(
        ("[bold]p", name), (StripsAction("[red]a", frozenset({"[bold]p"}), delete=frozenset({"[bold]p"})),)
    )
    found = illustrate_model(model, ["[red]a", "[red]a"])
    assert "[red]a" in shown(found)
    assert "Q_[bold]p" in shown(found)
    page = format_html([found], f'alphabet {{ "{name}" }}', everything=True)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_mistakes() -> None:
    with pytest.raises(ModelError, match="unknown action 'x'"):
        illustrate_model(SIMPLE, "ax")
    with pytest.raises(BraspError, match="501 positions are too many"):
        illustrate_model(SIMPLE, "a" * (LONGEST + 1))
