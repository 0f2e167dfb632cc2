"""The command line as a user meets it: results, and one clear line with exit code 2 for every mistake."""

import gzip
import json
from pathlib import Path

import pytest
from conftest import Run, unreadable

from trace2strips.domains import BENCHMARKS
from trace2strips.pddl import read_model
from trace2strips.traces import Dataset, read_traces

DOMAIN = """(define (domain lamp) (:predicates (on ?l) (off ?l))
  (:action press :parameters (?l) :precondition (off ?l) :effect (and (on ?l) (not (off ?l))))
  (:action release :parameters (?l) :precondition (on ?l) :effect (and (off ?l) (not (on ?l)))))"""
PROBLEM = "(define (problem p) (:domain lamp) (:objects l1 l2) (:init (off l1) (on l2)) (:goal (on l1)))"


BLOCKED = """(define (domain walk) (:predicates (at ?x) (blocked ?x))
  (:action go :parameters (?x ?y) :precondition (and (at ?x) (not (blocked ?y)) (not (= ?x ?y)))
   :effect (and (at ?y) (not (at ?x)))))"""
BLOCKED_PROBLEM = "(define (problem p) (:domain walk) (:objects a b c) (:init (at a) (blocked b)) (:goal (at c)))"


def refused(run: Run, tmp_path: Path, *arguments: object, message: str) -> None:
    """Exit code 2, one line on stderr that says `message`, no traceback, and no file that was not there before."""
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_mode & 0o400}
    names = set(tmp_path.rglob("*"))
    result = run(*arguments)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
    assert result.stderr.startswith("trace2strips: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert set(tmp_path.rglob("*")) == names
    assert all(path.read_bytes() == data for path, data in before.items())


def test_domains_lists_all_ten(run: Run) -> None:
    result = run("domains")
    assert result.returncode == 0
    assert all(name in result.stdout for name in BENCHMARKS)
    assert "695,417" in result.stdout  # states of eight blocks
    rows = json.loads(run("domains", "ferry:10x8", "--json").stdout)
    assert rows == [{"domain": "ferry:10x8", "atoms": 99, "actions": 216, "ever_applicable": 216,
                     "states": 19327352832, "init_atoms": 89, "goal_atoms": 80}]  # fmt: skip


def test_sample_then_check(run: Run, tmp_path: Path) -> None:
    words = ("sample", "blocksworld-5b", "--traces", 200, "--max-length", 10, "--seed", 1)
    assert run(*words, "--out", "a.t2s").returncode == 0
    assert run(*words, "--out", "a.jsonl.gz", "--suffix", "all", "--init", "states:50").returncode == 0
    assert len(Dataset.load(tmp_path / "a.t2s")) == 200
    shown = run("check", "a.t2s", "--domain", "blocksworld-5b")
    assert shown.returncode == 0, shown.stderr
    assert "every label agrees with blocksworld-5b" in shown.stdout
    told = json.loads(run("check", "a.jsonl.gz", "--json").stdout)
    assert told["traces"] == told["with_state"] == told["with_final"] == 200
    assert told["contradictions"] == []
    test = run("sample", "blocksworld-5b", "--traces", 50, "--split", "test", "--like", "a.t2s", "--out", "t.t2s", "-q")
    assert (test.returncode, test.stdout, test.stderr) == (0, "", "")
    assert Dataset.load(tmp_path / "t.t2s").vocabulary == Dataset.load(tmp_path / "a.t2s").vocabulary


def test_sample_from_pddl_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(DOMAIN)
    (tmp_path / "p.pddl").write_text(PROBLEM)
    result = run("sample", "d.pddl", "--problem", "p.pddl", "--traces", 50, "--max-length", 5, "--out", "x.csv")
    assert result.returncode == 0, result.stderr
    assert {trace.init for trace in read_traces(tmp_path / "x.csv")} == {frozenset({"off_l1", "on_l2"})}
    assert run("check", "x.csv", "--domain", "d.pddl", "--problem", "p.pddl").returncode == 0
    assert run("ground", "d.pddl", "--problem", "p.pddl", "--out", "g.pddl", "--out-problem", "gp.pddl").returncode == 0
    model = read_model(tmp_path / "g.pddl")
    assert model.atoms == ("off_l1", "off_l2", "on_l1", "on_l2")
    assert [action.name for action in model.actions] == ["press_l1", "press_l2", "release_l1", "release_l2"]
    assert "(:goal (and (on_l1)))" in (tmp_path / "gp.pddl").read_text()


def test_several_problems_share_one_domain(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(DOMAIN)
    (tmp_path / "p.pddl").write_text(PROBLEM)
    (tmp_path / "q.pddl").write_text(PROBLEM.replace("(off l1)", "(on l1)"))
    (tmp_path / "r.pddl").write_text(PROBLEM.replace("l1 l2", "l1 l2 l3"))
    words = ("sample", "d.pddl", "--problem", "p.pddl", "--traces", 50, "--out", "x.txt")
    assert run(*words, "--problem", "q.pddl").returncode == 0
    starts = {trace.init for trace in read_traces(tmp_path / "x.txt")}
    assert starts == {frozenset({"off_l1", "on_l2"}), frozenset({"on_l1", "on_l2"})}
    refused(run, tmp_path, *words, "--force", "--problem", "r.pddl", message="r.pddl: its objects differ")


def test_the_first_problem_file_is_the_one_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(DOMAIN)
    (tmp_path / "p.pddl").write_text(PROBLEM)
    (tmp_path / "q.pddl").write_text(PROBLEM.replace("(off l1)", "(on l1)").replace("(:goal (on l1))", "(:goal (off l2))"))
    words = ("ground", "d.pddl", "--problem", "p.pddl", "--problem", "q.pddl", "--out-problem", "x.pddl")
    assert run(*words).returncode == 0
    text = (tmp_path / "x.pddl").read_text()
    assert "(:init (off_l1) (on_l2))" in text
    assert "(:goal (and (on_l1)))" in text


def test_ground_prints_a_benchmark(run: Run) -> None:
    result = run("ground", "blocksworld:2")
    assert result.returncode == 0
    assert result.stdout.startswith("(define (domain blocksworld)\n  (:requirements :strips)\n")
    assert result.stdout.count("(:action ") == 8


def test_version_and_help(run: Run) -> None:
    assert run("--version").stdout == "trace2strips 0.1.0\n"
    assert "sample" in run("--help").stdout


def test_demo(run: Run) -> None:
    result = run("demo")
    assert result.returncode == 0, result.stderr
    assert "0 of 682,872 positions differ" in result.stdout
    assert "→ negative" in result.stdout


OUT = ("--traces", 10, "--out", "o.t2s")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sample", "blockworld-5b", *OUT), "unknown domain 'blockworld-5b' (hint: did you mean 'blocksworld-5b'?"),
        (("sample", "ferry-5c", "--traces", 0, "--out", "o.t2s"), "cannot sample 0 traces"),
        (("sample", "ferry-5c", "--traces", "many", "--out", "o.t2s"), "Invalid value for '--traces'"),
        (("sample", "ferry-5c", *OUT, "--init", "states:x"), "unknown encoding of initial states"),
        (("sample", "blocksworld:2", *OUT, "--init", "states:50"), "has only 3 initial states"),
        (("sample", "ferry-5c", "--traces", 10, "--out", "o.xyz"), "o.xyz: unknown file ending"),
        (("sample", "ferry-5c", "--traces", 10, "--out", "o.t2s.gz"), "cannot be compressed"),
        (("sample", "ferry-5c", "--traces", 10, "--out", "no/such/o.t2s"), "its folder does not exist"),
        (("sample", "ferry-5c", "--traces", 10, "--out", "."), "unknown file ending"),
        (("sample", "ferry-5c", *OUT, "--like", "none.t2s"), "none.t2s: no such file"),
        (("sample", "ferry-5c", *OUT, "--problem", "p.pddl"), "ferry-5c: no such file"),
        (("sample", "d.pddl", *OUT), "a PDDL domain needs a problem file"),
        (("sample", "ferry-5c"), "--out"),
        (("sample", "none.pddl", *OUT, "--problem", "p.pddl"), "none.pddl: no such file"),
        (("check", "none.jsonl"), "none.jsonl: no such file"),
        (("check",), "Missing argument"),
        (("explode",), "explode"),
        (("domains", "--colour"), "--colour"),
        (("domains", "ferry:1"), "is no size of ferry"),
    ],
)
def test_wrong_words(run: Run, tmp_path: Path, words: tuple[object, ...], message: str) -> None:
    (tmp_path / "p.pddl").write_text(PROBLEM)
    refused(run, tmp_path, *words, message=message)


BAD_PDDL = {
    "not a PDDL file": ("hello", PROBLEM, "d.pddl:1:1: not a PDDL file"),
    "unbalanced": (DOMAIN[:-1], PROBLEM, "d.pddl:1:1: '(' is never closed (hint: unbalanced parenthesis)"),
    "unknown type": (DOMAIN.replace("(on ?l)", "(on ?l - lamp)", 1), PROBLEM, "d.pddl:1:45: unknown type 'lamp'"),
    "unknown predicate": (DOMAIN.replace("(off ?l) :effect", "(of ?l) :effect"), PROBLEM,
                          "d.pddl:2:49: unknown predicate 'of' (hint: did you mean 'off'?)"),
    "wrong arity": (DOMAIN, PROBLEM.replace("(off l1)", "(off l1 l2)"), "p.pddl:1:60: 'off' takes 1 arguments, not 2"),
    "unsupported": (DOMAIN.replace(":precondition (off ?l)", ":precondition (or (off ?l) (on ?l))"), PROBLEM,
                    "unsupported feature: disjunctions (or)"),
    "adds and deletes": (DOMAIN.replace("(not (on ?l))", "(not (off ?l))"), PROBLEM,
                         "d.pddl:3:3: action 'release' adds and deletes (off ?l)"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PDDL)
def test_bad_pddl(run: Run, tmp_path: Path, case: str) -> None:
    domain, problem, message = BAD_PDDL[case]
    (tmp_path / "d.pddl").write_text(domain)
    (tmp_path / "p.pddl").write_text(problem)
    refused(run, tmp_path, "sample", "d.pddl", "--problem", "p.pddl", *OUT, message=message)


def test_pddl_errors_name_the_file_that_is_wrong(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(BLOCKED)
    (tmp_path / "p.pddl").write_text(BLOCKED_PROBLEM)
    (tmp_path / "q.pddl").write_text(BLOCKED_PROBLEM.replace("(blocked b)", "(blocked c)"))
    (tmp_path / "r.pddl").write_text(BLOCKED_PROBLEM.replace("(:goal (at c))", "(:goal (at b))"))
    words = ("sample", "d.pddl", "--problem", "p.pddl", *OUT)
    refused(run, tmp_path, *words, "--problem", "q.pddl", message="d.pddl:2: unsupported feature: negative precondition over 'blocked', in which problems differ")
    refused(run, tmp_path, *words, "--problem", "r.pddl", message="r.pddl: the goal atom (at b) can never become true")
    (tmp_path / "d.pddl").write_text(BLOCKED.replace("(not (= ?x ?y))", ""))
    refused(run, tmp_path, *words, message="d.pddl:2: action (go a a) adds and deletes (at a)")


BAD_TRACES = {
    "empty": ("x.jsonl", b"", "x.jsonl: the file is empty"),
    "truncated gzip": ("x.jsonl.gz", gzip.compress(b'{"actions": [], "ok": []}\n' * 99)[:-9], "broken gzip file"),
    "not JSON": ("x.jsonl", b'{"actions": [], "ok": []}\n{"actions"\n', "x.jsonl:2: not JSON"),
    "field type": ("x.jsonl", b'{"actions": ["a"], "ok": ["yes"]}\n', "x.jsonl:1: 'ok' must be a list of true and false"),
    "unknown action": ("x.txt", b"pick-up_b1\npick-up_b7\n", "x.txt:2: unknown action 'pick-up_b7' (hint: did you mean"),
    "wrong label": ("x.txt", b"clear_b1 | pick-up_b1 |", "1 labels disagree with blocksworld-5b: in trace 1, 'pick-up_b1' worked"),
    "a million": ("x.txt", b"pick-up_b1 " * 10**6, "x.txt:1: 1000000 actions in one trace, at most 100000"),
    "not a dataset": ("x.t2s", b"12345678" * 9, "x.t2s: not a trace2strips dataset"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TRACES)
def test_bad_traces(run: Run, tmp_path: Path, case: str) -> None:
    name, data, message = BAD_TRACES[case]
    (tmp_path / name).write_bytes(data)
    refused(run, tmp_path, "check", name, "--domain", "blocksworld-5b", message=message)


def test_directories_and_permissions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").mkdir()
    refused(run, tmp_path, "check", "d.jsonl", message="d.jsonl: is a directory, not a file")
    unreadable(tmp_path / "u.jsonl") if (tmp_path / "u.jsonl").write_text("{}") else None
    refused(run, tmp_path, "check", "u.jsonl", message="u.jsonl: no permission to read it")


def test_existing_output_needs_force(run: Run, tmp_path: Path) -> None:
    (tmp_path / "o.t2s").write_text("precious")
    refused(run, tmp_path, "sample", "ferry-5c", *OUT, message="o.t2s: exists already (hint: --force overwrites it)")
    assert run("sample", "ferry-5c", *OUT, "--force").returncode == 0
    assert len(Dataset.load(tmp_path / "o.t2s")) == 10


def test_no_progress_bar_without_a_terminal(run: Run) -> None:
    result = run("sample", "ferry-5c", *OUT)
    assert result.stderr == ""
    assert result.stdout.startswith("10 traces, ")
