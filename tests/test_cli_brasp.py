"""`trace2strips brasp` as a user meets it."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

from trace2strips.brasp import SIMPLE, format_program, strips_program, text
from trace2strips.traces import read_traces, write_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(run: Run) -> Call:
    """Exit code, stdout and stderr of one command in an empty folder."""

    def call(*words: object) -> tuple[int, str, str]:
        done = run(*words)
        return done.returncode, done.stdout, done.stderr

    return call


def test_the_figures_of_the_paper(run_process: Run, tmp_path: Path) -> None:
    """Once as a process of its own."""
    shown = run_process("brasp", "simple", "--running", "--html", "x.html")
    assert (shown.returncode, shown.stderr) == (0, "")
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert [row for row in rows if row[:1] == ["Z"]] == [["Z", *"000000"], ["Z", *"001111"]]
    assert '<td class="attended">1·1<span' in (tmp_path / "x.html").read_text()


def test_json_program_and_heads(call: Call) -> None:
    told = json.loads(call("brasp", "simple", "a", "c", "a", "--json")[1])
    assert told["program"] == call("brasp", "simple", "--program")[1]
    assert told["traces"][0]["inapplicable"] == [2]
    assert told["traces"][0]["vectors"]["Z"] == [1, 1, 1]
    assert "[1·1]" in call("brasp", "simple", "a", "c", "a", "--heads")[1]
    assert "[1·1]" not in call("brasp", "simple", "a", "c", "a")[1]


def test_domains_files_and_runs(call: Call, tmp_path: Path) -> None:
    write_traces(sample(get_domain("blocksworld:2"), SampleSettings(60, 6)), tmp_path / "t.jsonl")
    assert call("ground", "blocksworld:2", "--out", "m.pddl")[0] == 0
    assert call("learn", "t.jsonl", "--out", "run", "-q")[0] == 0
    dataset = read_traces(tmp_path / "t.jsonl")
    for number in range(1, 9):
        labels = dataset.inapplicable[dataset.offsets[number - 1] : dataset.offsets[number]].nonzero()[0].tolist()
        for source in ("blocksworld:2", "m.pddl", "run"):
            code, out, err = call("brasp", source, "--trace", "t.jsonl", "--number", number, "--json")
            assert (code, err) == (0, "")
            (told,) = json.loads(out)["traces"]
            assert told["string"] == dataset.names(number - 1)
            assert told["verdict"] == ("negative" if labels else "positive")
            assert told["inapplicable"][:1] == labels[:1]  # up to there both speak of the same state
    assert call("brasp", "m.pddl")[1] == call("brasp", "blocksworld:2", "--program")[1]
    assert call("brasp", "m.pddl", "pick-up_b1", "pick-up_b2")[1].endswith("negative\n")
    assert call("brasp", "run", "init-false", "pick-up_b1")[1].endswith("negative\n")


def test_named_states_are_known_in_a_dataset(call: Call, tmp_path: Path) -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(5, 6, init="states:3"))
    dataset.save(tmp_path / "t.t2s")
    (told,) = json.loads(call("brasp", "blocksworld:2", "--trace", "t.t2s", "--json")[1])["traces"]
    assert told["string"] == dataset.names(0)
    assert told["string"][0].startswith("init-s")


def test_any_program(call: Call, tmp_path: Path) -> None:
    (tmp_path / "x.brasp").write_text('alphabet { a, b }\nA(i) := I_b(i)\nB(i) := I_a(i)\noutput { a, "b c" }\n')
    assert call("brasp", "x.brasp", "a", "b", "b")[1].splitlines()[-1] == "output b c a a"
    assert call("brasp", "brackets", "l", "r", "l")[1].splitlines()[-1] == "rejected"
    (tmp_path / "t.txt").write_text("a\na b\n")
    assert call("brasp", "x.brasp", "--trace", "t.txt", "--number", 2)[1].splitlines()[-1] == "output b c a"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("x.brasp", "a"), "x.brasp:3:3: unknown vector 'Q'"),
        (("empty.brasp", "a"), "empty.brasp:1:1: the program is empty"),
        (("none.brasp", "a"), "none.brasp: no such file"),
        (("none.pddl", "a"), "none.pddl: no such file"),
        (("empty.pddl", "a"), "empty.pddl: not a PDDL file: it is empty"),
        (("simple", "a", "x"), "unknown action 'x' (hint: known actions: a, b, c)"),
        (("sorted", "a", "x"), "unknown symbol 'x' (hint: known symbols: a, b)"),
        (("sorted", "a", "--heads"), "--heads and --running are about STRIPS models"),
        (("simpel", "a"), "'simpel' is no run folder, no .pddl file and no domain"),
        (("folder", "a"), "folder: no run of trace2strips"),
        (("lifted.pddl", "a"), "this is a lifted domain"),
        (("simple", "--trace", "empty.txt"), "empty.txt: the file is empty"),
        (("simple", "--trace", "none.txt"), "none.txt: no such file"),
        (("simple", "--trace", "t.jsonl"), "t.jsonl:1: unknown action 'x'"),
        (("simple", "--trace", "t.jsonl", "--number", 2), "t.jsonl: it does not say what holds in state 's'"),
        (("simple", "--trace", "t.jsonl", "--number", 3), "t.jsonl: there is no trace 3 (hint: it has 2)"),
        (("simple", "a", "--trace", "t.jsonl"), "a trace in the arguments and one in a file"),
        (("simple", "--html", "t.jsonl"), "t.jsonl: exists already"),
        (("simple", "--html", "no/x.html"), "no/x.html: its folder does not exist"),
        (("simple", *"a" * 501), "501 positions are too many"),
    ],
)
def test_mistakes(call: Call, tmp_path: Path, words: tuple[object, ...], message: str) -> None:
    files = {
        "x.brasp": "alphabet { a }\nP(i) :=\n  Q(i)\n", "empty.brasp": "", "empty.txt": "", "empty.pddl": "",
        "lifted.pddl": "(define (domain d) (:predicates (on ?l)) (:action a :parameters (?l) :effect (on ?l)))",
        "t.jsonl": '{"actions": ["x"], "ok": [true]}\n{"actions": ["a"], "ok": [true], "state": "s"}\n',
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "folder").mkdir()
    code, out, err = call("brasp", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("trace2strips: ")
    assert err.count("\n") == 1
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == files


PAGE = (Path(__file__).parent.parent / "docs" / "brasp.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_commands_of_the_page(call: Call) -> None:
    (commands,) = blocks("sh")
    assert len(commands.splitlines()) >= 5
    for command in commands.splitlines():
        code, out, err = call(*shlex.split(command, comments=True)[1:])
        assert (code, err) == (0, ""), command
        assert out


def test_the_program_of_the_page() -> None:
    (shown,) = blocks("brasp")
    assert shown == format_program(strips_program(SIMPLE))


@pytest.mark.parametrize("code", blocks("python"))
def test_the_python_of_the_page(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "brasp.md", "exec"), {})
    assert capsys.readouterr().out in ("[ True False False]\n", "(3, 1) [False  True]\n")


def test_the_grammar_of_the_page_is_that_of_the_parser() -> None:
    (grammar,) = blocks("text")
    assert [line.strip() for line in grammar.splitlines()] == [
        line.strip()
        for line in (text.__doc__ or "").splitlines()
        if " = " in line and not line.strip().startswith("name ")
    ]
