"""Hostile files, names and neighbours: each is refused in one line or does no harm. What is attacked, and what is
trusted, is in SECURITY.md; `benchmarks/attacks.py` attacks from outside."""

import datetime
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
import pytest
from conftest import Run
from safetensors.numpy import save

import trace2strips as t2s
from trace2strips.brasp.text import parse_program
from trace2strips.errors import FileError, TraceError, UserError
from trace2strips.experiments import datasets, provenance
from trace2strips.experiments.datasets import DatasetCache
from trace2strips.experiments.runs import Run as ExperimentRun
from trace2strips.files import alone_in, locked, private_folder, read_lines, read_text
from trace2strips.learners import runs
from trace2strips.learners.runs import RunLog, open_run
from trace2strips.learners.training import Report, TrainingSettings, resume, write_checkpoint
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.pages.markdown import plain
from trace2strips.pddl import ground, parse_domain, parse_problem
from trace2strips.schemas import Schema, dump
from trace2strips.screen import visible
from trace2strips.traces import read_traces
from trace2strips.traces.events import Coded
from trace2strips.traces.jsonl import parse_json
from trace2strips.traces.sparse import series
from trace2strips.traces.tables import depth, read_table
from trace2strips.traces.text_files import MalformedError
from trace2strips.traces.times import as_numbers
from trace2strips.traces.xes import XesLog

DOOR = [[("open", True), ("open", False), ("close", True), ("close", False)]] * 3
DEEP = "[" * 100_000 + "]" * 100_000
READ_BY = {"x.pddl": ("ground", "x.pddl", "--problem", "x.pddl"), "x.brasp": ("brasp", "x.brasp")}
HOSTILE = "\x1b]0;x\x07\u202e[a](javascript:x)"


def bomb(mebibytes: int, content: bytes = b" ") -> bytes:
    """Many gzip parts one after the other, as gzip allows."""
    return gzip.compress(content * (2**20 // len(content)), mtime=0) * mebibytes


# --- small files that take long or fill the memory ---


@pytest.mark.parametrize(
    "name", ["x.jsonl", "x.txt", "x.csv", "x.csv.gz", "x.xes.gz", "x.parquet", "x.pddl", "x.brasp"]
)
def test_a_gzip_bomb_is_refused_in_every_format(name: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / name).write_bytes(bomb(2**9, b"\n" if name == "x.txt" else b" "))
    said = run(*READ_BY.get(name, ("check", name)))
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    refusals = (
        "unpacks to more than 100 times its size",
        "bytes of text",
        "longer than 64 MiB",
        "1,000,000 empty lines",
    )
    assert any(text in said.stderr for text in refusals)


def test_what_is_packed_as_logs_are_is_read(tmp_path: Path) -> None:
    text = "".join(f'{{"actions": ["a{i}"], "ok": [true]}}\n' for i in range(2000))
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    assert len(read_traces(tmp_path / "x.jsonl.gz")) == 2000
    with pytest.raises(FileError, match="more than 3 bytes of text"):
        read_text(tmp_path / "x.jsonl.gz", 3)
    assert [number for number, _ in read_lines(tmp_path / "x.jsonl.gz")] == list(range(1, 2001))


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.t2s", "x.xes", "x.parquet", "x.txt", "x.pddl", "x.brasp"])
def test_a_pipe_is_not_waited_for(name: str, tmp_path: Path, run: Run) -> None:
    os.mkfifo(tmp_path / name)
    said = run(*READ_BY.get(name, ("check", name)))
    assert (said.returncode, "is not a regular file" in said.stderr) == (2, True)
    if name not in READ_BY:
        assert "is not a regular file" in run("learn", name, "--stream", "--out", "r").stderr


def lifted(parameters: str, precondition: str = "()", predicates: str = "(p ?x)") -> Any:
    action = f"(:action a :parameters ({parameters}) :precondition {precondition} :effect (p ?x0))"
    return parse_domain(f"(define (domain d) (:predicates {predicates}) {action})")


def objects(count: int, facts: str = "") -> str:
    names = " ".join(f"o{i}" for i in range(count))
    return f"(define (problem q) (:domain d) (:objects {names}) (:init {facts}) (:goal (p o0)))"


def test_instances_are_counted_before_they_are_made() -> None:
    domain = lifted(" ".join(f"?x{i}" for i in range(12)))
    with pytest.raises(UserError, match=r"too large to ground: .* 4,096,000,000,000,000 instances"):
        ground(domain, parse_problem(objects(20), domain))


def test_choices_that_come_to_nothing_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join of 20 × 20 facts after the other, and the last condition, of three new variables, never holds."""
    variables = " ".join(f"?x{i}" for i in range(13))
    chain = " ".join(f"(q ?x{i} ?x{i + 1})" for i in range(9))
    domain = lifted(variables, f"(and {chain} (r ?x10 ?x11 ?x12))", "(p ?x) (q ?x ?y) (r ?x ?y ?z)")
    facts = " ".join(f"(q o{i} o{j})" for i in range(20) for j in range(20))
    monkeypatch.setattr("trace2strips.pddl.grounding.MOST_TRIED", 20_000)
    with pytest.raises(UserError, match="static facts allow more than 20,000 choices"):
        ground(domain, parse_problem(objects(20, facts), domain))


def test_more_parameters_than_the_stack_is_deep() -> None:
    domain = lifted(" ".join(f"?x{i}" for i in range(1500)))
    assert len(ground(domain, parse_problem(objects(1), domain)).model.actions) == 1
    static = lifted(
        " ".join(f"?x{i}" for i in range(1500)), f"(and {' '.join(f'(q ?x{i})' for i in range(1500))})", "(p ?x) (q ?x)"
    )
    assert len(ground(static, parse_problem(objects(1, "(q o0)"), static)).model.actions) == 1


def test_a_long_chain_or_ring_of_types_is_told_at_once() -> None:
    chain = " ".join(f"t{i} - t{i + 1}" for i in range(20_000))
    with pytest.raises(UserError, match="type 't0' has more than 100 types above it"):
        parse_domain(f"(define (domain d) (:types {chain}))")
    with pytest.raises(UserError, match="is its own supertype"):
        parse_domain(f"(define (domain d) (:types {chain} t20000 - t19999))")


def test_unions_of_types_are_walked_once() -> None:
    """Each type below two, these below the same two: 2⁵⁰ ways up."""
    types = " ".join(f"a{i} b{i} - (either a{i + 1} b{i + 1})" for i in range(50))
    domain = parse_domain(f"(define (domain d) (:types {types}) (:predicates (p ?x - a50)))")
    assert domain.is_a("a0", "a50")
    assert not domain.is_a("a50", "a0")
    assert domain.may_be("a50", "b50")
    assert not parse_domain("(define (domain d) (:types a b))").may_be("a", "b")


def test_repeated_names_are_found_without_lists() -> None:
    """Each took a minute where every name was looked up in a list of all."""
    pairs = ", ".join(f'"k{i}": true' for i in range(60_000))
    with pytest.raises(MalformedError, match="'k59999' is there twice"):
        parse_json('{"actions": [], "ok": [], "final": {' + pairs + ', "k59999": true}}')
    names = tuple(f"a{i}" for i in range(60_000))
    with pytest.raises(TraceError, match="'a59999' is there twice"):
        Vocabulary((*names, "a59999"))
    symbols = ", ".join(f"s{i}" for i in range(40_000))
    assert len(parse_program(f"alphabet {{ {symbols} }}\nP(i) := 1\n").alphabet) == 40_000
    with pytest.raises(UserError, match="'s7' is there twice"):
        parse_program(f"alphabet {{ {symbols}, s7 }}\nP(i) := 1\n")


def test_many_adds_and_deletes_are_read_at_once() -> None:
    atoms = " ".join(f"(p{i})" for i in range(8_000))
    deletes = " ".join(f"(not (p{i}))" for i in range(8_000))
    text = f"(define (domain d) (:predicates {atoms}) (:action a :parameters () :effect (and {atoms} {deletes})))"
    domain = parse_domain(text)
    task = ground(domain, parse_problem("(define (problem q) (:domain d) (:init) (:goal (p1)))", domain))
    assert (len(task.model.actions[0].add), len(task.model.actions[0].delete)) == (8_000, 0)


ENTITIES = {
    "entities": '<!DOCTYPE log [<!ENTITY a "ha">]><log>&a;</log>',
    "outside": "<!DOCTYPE log [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><log>&x;</log>",
    "a document type": "<!DOCTYPE log SYSTEM 'http://example.org/x.dtd'><log/>",
}


@pytest.mark.parametrize("text", ENTITIES.values(), ids=ENTITIES)
def test_xes_has_no_entities(text: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "x.xes").write_text(text)
    assert "declares XML entities or a document type" in run("check", "x.xes").stderr


def test_a_table_is_measured_before_its_cells_are_made(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trace2strips.traces.tables.MOST_CELLS", 10**6)
    wide = "".join(f'<string key="k{i}" value="v"/>' for i in range(20_000))
    (tmp_path / "x.xes").write_text(f"<log><trace><event>{wide}</event></trace></log>")
    assert "columns, at most 10,000" in run("check", "x.xes").stderr
    steps = "".join(f'<event><string key="k{i % 900}" value="v"/></event>' for i in range(1_200))
    (tmp_path / "x.xes").write_text(f"<log><trace>{steps}</trace></log>")
    assert "more than 1,000,000 cells" in run("check", "x.xes").stderr
    (tmp_path / "x.jsonl").write_text("".join(f'{{"case": "1", "tool": "a", "k{i % 900}": 1}}\n' for i in range(1_200)))
    assert "more than 1,000,000 cells" in run("check", "x.jsonl").stderr
    frame = pl.DataFrame({name: pl.repeat("a", 510_000, eager=True, dtype=pl.String) for name in ("case", "activity")})
    frame.write_parquet(tmp_path / "x.parquet", compression="zstd")
    del frame
    assert "more than 1,000,000 cells" in run("check", "x.parquet").stderr


# --- files of ours ---


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learned")
    t2s.learn(DOOR).save(folder / "run")
    return folder / "run"


def wrong_values(record: dict[str, Any]) -> list[Any]:
    """The record with one value of another kind, and what is no record."""
    found: list[Any] = [[], 3, "x", None]
    for key, value in record.items():
        for other in ([], {}, "x", 10**400, [["x"]], {"a": {}}, [{"x": 3}]):
            if type(other) is not type(value):
                found.append({**record, key: other})
    return found


@pytest.mark.parametrize("name", ["settings.json", "metrics.json", "model.json"])
def test_a_wrong_value_in_a_run_folder(name: str, learned: Path) -> None:
    """It is refused in one line, or it is one that nobody looks at."""
    before = (learned / name).read_text()
    refused = 0
    try:
        for changed in [DEEP, *map(json.dumps, wrong_values(json.loads(before)))]:
            (learned / name).write_text(changed)
            try:
                str(t2s.load(learned))
            except UserError:
                refused += 1
    finally:
        (learned / name).write_text(before)
    assert refused > 20


RESULTS = Path(__file__).parent.parent / "results"
ROWS = {
    "errors": {"train_errors": 10**400}, "steps": {"steps": ["x"]}, "list": {"domain": ["x"]}, "object": {"domain": {}},
    "accuracy": {"train_accuracy": 10**400}, "settings": {"settings": {"steps": []}}, "seconds": {"seconds": {"a": 10**400}},
    "traces": {"traces": 10**400}, "nested": None,
}  # fmt: skip


@pytest.mark.parametrize("change", ROWS.values(), ids=ROWS)
def test_a_wrong_row_of_results(change: dict[str, Any] | None, tmp_path: Path, run: Run) -> None:
    first, *rest = (RESULTS / "runs.jsonl").read_text().splitlines()
    text = DEEP if change is None else json.dumps(json.loads(first) | change)
    (tmp_path / "runs.jsonl").write_text("\n".join([*rest[:3], text]) + "\n")
    (tmp_path / "paper.json").write_bytes((RESULTS / "paper.json").read_bytes())
    for command in (("report", "--out", "page"), ("reproduce", "main", "--dry-run")):
        said = run(*command, "--results", "runs.jsonl")
        assert (said.returncode, said.stderr.count("\n")) == (2, 1)
        assert "runs.jsonl:4: " in said.stderr


@pytest.mark.parametrize(
    "name", ["paper.json", "notes.json", "traces_needed.json", "world_metrics.json", "outside.jsonl"]
)
@pytest.mark.parametrize(
    "text", [DEEP, "3", '{"main": 3}', '{"main": {"ferry-5c": {"SB atoms": [1]}}}', '{"rows": [{"a": 1}]}', "NaN"]
)
def test_a_broken_file_beside_the_results(name: str, text: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "runs.jsonl").write_text((RESULTS / "runs.jsonl").read_text().splitlines()[0] + "\n")
    (tmp_path / "paper.json").write_bytes((RESULTS / "paper.json").read_bytes())
    (tmp_path / name).write_text(text)
    said = run("report", "--results", "runs.jsonl", "--out", "page")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert name in said.stderr


def change_header(path: Path, change: dict[str, Any]) -> None:
    """Of a dataset: another value in what it says of itself."""
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    outer = json.loads(whole[8 : 8 + length])
    ((name, text),) = outer["__metadata__"].items()
    outer["__metadata__"][name] = json.dumps({**json.loads(text), **change})
    raw = json.dumps(outer).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + whole[8 + length :])


@pytest.mark.parametrize("change", [
    {"settings": {"domain": {}}}, {"settings": {"domain": ["x"]}}, {"settings": {"domain": "\ud800"}}, {"settings": []},
    {"states": []}, {"states": {"a": 3}}, {"vocabulary": {}}, {"vocabulary": []},
])  # fmt: skip
def test_a_dataset_with_a_wrong_header(change: dict[str, Any], tmp_path: Path, run: Run) -> None:
    assert run("sample", "blocksworld:2", "--traces", 20, "--out", "x.t2s").returncode == 0
    change_header(tmp_path / "x.t2s", change)
    for command in (("check", "x.t2s"), ("learn", "x.t2s", "--out", "r")):
        said = run(*command)
        assert (said.returncode, "not a trace2strips dataset" in said.stderr) == (2, True)


class Still:
    """A network that has nothing to learn."""

    def step(self, chosen: Any) -> float:
        return 0.0

    def evaluate(self, dataset: Any) -> float:
        return 0.0

    def save(self) -> dict[str, Any]:
        return {"theta": np.zeros(1)}

    def load(self, arrays: dict[str, Any]) -> None:
        pass


NOWHERE = json.dumps({"settings": asdict(TrainingSettings(5, 1, 500)), "report": {}})  # trained, but how far?


@pytest.mark.parametrize(
    "said",
    [None, "[]", DEEP, "{}", '{"settings": {}, "report": []}', '{"settings": {}, "report": {"step": "x"}}', NOWHERE],
)
def test_a_checkpoint_that_is_none(said: str | None, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint-1.safetensors"
    path.write_bytes(save({"now.theta": np.zeros(1)}, None if said is None else {"checkpoint": said}))
    with pytest.raises(FileError, match="not a checkpoint of trace2strips"):
        resume(Still(), TrainingSettings(5, 1, 500), path)


def test_a_checkpoint_out_of_range(tmp_path: Path) -> None:
    path, settings = tmp_path / "checkpoint-1.safetensors", TrainingSettings(5, 1, 500)
    write_checkpoint(path, Still().save(), Still().save(), settings, Report(step=3))
    assert resume(Still(), settings, path)[0].step == 3
    write_checkpoint(path, Still().save(), Still().save(), settings, Report(step=-3))
    with pytest.raises(FileError, match="out of range"):
        resume(Still(), settings, path)


def test_a_log_of_training_that_somebody_broke(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.write("learning", Report(step=1))
    (tmp_path / "log.jsonl").write_bytes(
        (tmp_path / "log.jsonl").read_bytes() + b'{\n[]\n"x"\n\xff\n{"attempt": "x"}\n' + DEEP.encode()
    )
    log.write("learning", Report(step=2))
    assert [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()] == [1, 2]


# --- names and neighbours ---


def test_a_file_whose_name_is_no_text(tmp_path: Path, run: Run) -> None:
    """All was learned, and then the name of the log could not be written."""
    name = os.fsdecode(b"d\xff.txt")
    (tmp_path / name).write_text("open !open close !close\n" * 3)
    out = os.fsdecode(b"r\xff")
    said = run("learn", name, "--out", out)
    assert said.returncode == 0, said.stderr
    assert "d\\udcff.txt" in (tmp_path / out / "metrics.json").read_text().replace("\\\\", "\\")
    assert run("evaluate", out).returncode == 0
    assert run("next", out, "open").returncode == 0


def test_what_json_cannot_hold_is_written_out() -> None:
    assert Schema(str).parse(dump("a\udcffü")) == "a\\udcffü"
    assert dump("ü") == '"ü"'
    assert dump("ü", ascii_only=True) == '"\\u00fc"'


def test_one_process_a_run_folder(tmp_path: Path, run: Run) -> None:
    (tmp_path / "x.txt").write_text("open !open close !close\n" * 3)
    script = "import sys, pathlib; from trace2strips.files import alone_in\nwith alone_in(pathlib.Path('r')): print('in', flush=True); sys.stdin.read()"
    (tmp_path / "r").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        said = run("learn", "x.txt", "--out", "r")
        assert (said.returncode, "another process works in it" in said.stderr) == (2, True)
        assert not list((tmp_path / "r").iterdir())
        other.send_signal(signal.SIGKILL)  # a kill leaves no lock
    assert run("learn", "x.txt", "--out", "r").returncode == 0
    with (
        open_run(tmp_path / "s", {}),
        pytest.raises(FileError, match="another process works in it"),
        alone_in(tmp_path / "s"),
    ):
        pass


def test_two_updates_of_one_run_at_once(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second read the run while the first was learning, and wrote a run without the first one's log."""
    (tmp_path / "x.txt").write_text("open !open close !close\n" * 3)
    assert run("learn", "x.txt", "--out", "r").returncode == 0
    said = []

    def read(*words: Any, **more: Any) -> Any:
        monkeypatch.undo()
        said.append(run("learn", "x.txt", "--update", "r"))
        return read_traces(*words, **more)

    monkeypatch.setattr("trace2strips.traces.read_traces", read)
    assert run("learn", "x.txt", "--update", "r").returncode == 0
    assert (said[0].returncode, "another process works in it" in said[0].stderr) == (2, True)
    assert t2s.load(tmp_path / "r").figures.earlier_traces == 3
    monkeypatch.setattr("trace2strips.traces.read_traces", read)
    assert run("learn", "x.txt", "--update", "r", "--out", tmp_path / "r", "--force").returncode == 0
    assert (said[1].returncode, t2s.load(tmp_path / "r").figures.earlier_traces) == (2, 6)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("killed", [False, True])
def test_an_update_that_is_cut_off_leaves_the_run_as_it_was(
    killed: bool, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run alone knows the log of before: it was put aside, and removed as soon as anything was learned there."""
    (tmp_path / "x.txt").write_text("open !open close !close\n" * 3)
    (tmp_path / "y.txt").write_text("open close open !open !lock\n" * 3)
    assert run("learn", "x.txt", "--out", "first").returncode == 0
    folder, words = tmp_path / "r", ("learn", "y.txt", "--update", "r", "-q")
    put_back, rename, remove = runs.put_back, Path.replace, Path.unlink
    moved: list[Path] = []

    def counted(act: Any, last: int) -> Any:
        """An update ends at the n-th file that it moves or removes."""

        def do(path: Path, *more: Any, **options: Any) -> Any:
            moved.append(path)
            if len(moved) == last:
                raise KeyboardInterrupt
            return act(path, *more, **options)

        return do

    for last in range(1, 60):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "first", folder)
        moved.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", counted(rename, last))
            patch.setattr(Path, "unlink", counted(remove, last))
            if killed:
                patch.setattr(runs, "put_back", lambda path: None if moved else put_back(path))
            code = run(*words).returncode
        if code == 0:
            break
        is_whole = (folder / "settings.json").exists() and (folder / "metrics.json").exists()
        assert is_whole or killed
        if not is_whole or t2s.load(folder).figures.earlier_traces is None:
            assert killed or contents(folder) == contents(tmp_path / "first")
            assert run(*words).returncode == 0  # all is as if nothing had happened
        assert t2s.load(folder).figures.earlier_traces == 3
    assert last > 20


def test_no_text_moves_the_cursor() -> None:
    assert visible("a\x1b[31m\u202e\x9b\r\n\tü\xa0") == "a\\u001b[31m\\u202e\\u009b\\u000d\n\tü\xa0"


def test_hostile_words_on_the_terminal(learned: Path, run: Run) -> None:
    before = (learned / "metrics.json").read_text()
    words = {name: [HOSTILE] for name in ("assumptions", "warnings", "starts_found", "understood")}
    words |= dict.fromkeys(("domain", "file", "worst_action"), HOSTILE)  # type: ignore[arg-type]
    try:
        (learned / "metrics.json").write_text(json.dumps(json.loads(before) | words))
        said = run("evaluate", learned, "--problems", 1)
    finally:
        (learned / "metrics.json").write_text(before)
    assert said.returncode == 0
    assert "\\u001b" in said.stdout
    for text in (said.stdout, said.stderr):
        assert not set(text) & set("\x1b\x07\u202e")


def test_hostile_words_in_the_report(tmp_path: Path, run: Run) -> None:
    row = json.loads((RESULTS / "runs.jsonl").read_text().splitlines()[0])
    (tmp_path / "runs.jsonl").write_text(json.dumps(row | {"commit": HOSTILE, "equivalence": HOSTILE}) + "\n")
    (tmp_path / "paper.json").write_bytes((RESULTS / "paper.json").read_bytes())
    (tmp_path / "notes.json").write_text(json.dumps([{"runs": {}, "note": HOSTILE}]))
    record = json.loads((RESULTS / "traces_needed.json").read_text())
    (tmp_path / "traces_needed.json").write_text(json.dumps(record | {"commit": HOSTILE}))
    assert run("report", "--results", "runs.jsonl", "--out", "page").returncode == 0
    for name in ("tables.md", "index.html"):
        text = (tmp_path / "page" / name).read_text()
        assert "javascript" in text
        assert not set(text) & set("\x1b\x07\u202e")
    assert "[a](javascript" not in (tmp_path / "page" / "tables.md").read_text().replace("\\[", "")
    assert plain("[a](javascript:x) http://e `code` *x*") == "\\[a\\](javascript:x) http\\://e `code` *x*"


# --- where it is installed and run ---


def test_a_commit_is_told_of_our_own_repository_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", tmp_path, "-c", "user.name=x", "-c", "user.email=x", *words], check=True, capture_output=True
        )

    installed = tmp_path / "venv" / "trace2strips" / "experiments" / "provenance.py"
    installed.parent.mkdir(parents=True)
    installed.touch()
    (tmp_path / "other.py").touch()
    git("init")
    git("add", "other.py")
    git("commit", "-m", "of somebody else")
    monkeypatch.setattr(provenance, "__file__", str(installed))
    assert provenance.commit() is None
    git("add", ".")
    git("commit", "-m", "ours")
    assert len(provenance.commit() or "") == 12
    installed.write_text("changed")
    assert (provenance.commit() or "").endswith("-dirty")


NO_PLACE = """
import numba.core.caching as caching
def refuse(self): raise OSError(30, "Read-only file system")
for locator in (caching.InTreeCacheLocator, caching.InTreeCacheLocatorFsAgnostic, caching.UserWideCacheLocator): locator.ensure_cache_path = refuse
import sys
from trace2strips.cli import main
sys.argv = ["trace2strips", *sys.argv[1:]]
main()
"""


def test_an_install_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("open !open\n")
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"HOME": "/nonexistent", "TMPDIR": str(tmp_path)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", NO_PLACE, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (run("--version").returncode, run("--version").stderr) == (0, "")
    said = run("check", "x.txt")
    assert (said.returncode, said.stderr.count("\n")) == (0, 1)
    assert f"no place for compiled code but {tmp_path}" in said.stderr
    assert (tmp_path / f"trace2strips-{os.getuid()}").stat().st_mode & 0o777 == 0o700


def test_a_folder_in_the_temporary_directory_is_ours_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"trace2strips-{os.getuid()}"
    assert private_folder() == private_folder() == folder
    folder.chmod(0o755)
    with pytest.raises(FileError, match="is not a folder of yours alone"):
        private_folder()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="is not a folder of yours alone"):
        private_folder()


def test_datasets_are_removed_under_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are sampled: else one that somebody is reading goes, or the half of one that somebody is writing."""
    there = []

    @contextmanager
    def noting(stream: IO[bytes]) -> Iterator[None]:
        with locked(stream):
            there.append(len(list(tmp_path.glob("*.t2s"))))
            yield

    monkeypatch.setattr(datasets, "locked", noting)
    for name in (f"blocksworld2-atoms-goal-train-20x50-s0-{'a' * 12}.t2s", "other.t2s", ".other.t2s.x.part"):
        (tmp_path / name).touch()
    DatasetCache(tmp_path).discard(ExperimentRun("blocksworld:2", traces=20, test_traces=20), [])
    assert there == [2]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", ".other.t2s.x.part", "other.t2s"]


# --- folders of a stranger ---


@pytest.fixture
def theirs(learned: Path, tmp_path: Path) -> Path:
    """A run folder that somebody sent, with the log that it is of."""
    return Path(shutil.copytree(learned, tmp_path / "run"))


@pytest.mark.parametrize("name", ["explore.html", "card.html", "card.md"])
@pytest.mark.parametrize("there", [True, False])
def test_a_link_in_a_run_folder_is_replaced_and_not_followed(name: str, there: bool, theirs: Path, run: Run) -> None:
    """`explore` writes the page into the folder and its name into the card: never where a link there leads to."""
    outside = theirs.parent / "outside"
    if there:
        outside.write_text("mine")
    (theirs / name).unlink(missing_ok=True)
    (theirs / name).symlink_to(outside)
    said = run("explore", "run", "--no-open")
    assert (said.returncode, said.stderr) == (0, "")
    assert outside.exists() == there
    assert not there or outside.read_text() == "mine"
    assert not (theirs / "explore.html").is_symlink()
    assert (theirs / "explore.html").stat().st_size > 10_000


def test_a_run_that_is_done_anew_stays_in_its_folder(theirs: Path, run: Run) -> None:
    """Its old results are put aside, its shards too: both into folders of its own, whatever stands under their names."""
    (theirs.parent / "x.txt").write_text("open !open close !close\n" * 3)
    outside = theirs.parent / "outside"
    outside.mkdir()
    (outside / "model.json").write_text("mine")
    for name in ("previous", "shards"):
        (theirs / name).symlink_to(outside)
    (theirs / "metrics.json").rename(outside / "metrics.json")
    (theirs / "metrics.json").symlink_to(outside / "metrics.json")
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    assert run("learn", "x.txt", "--stream", "--out", "run", "--force").returncode == 0
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before
    assert not (theirs / "metrics.json").is_symlink()


ROW = {"stage": "training", "attempt": 1, "step": 3, "loss": 0.5, "accuracy": 0.25, "best": 0.25}


@pytest.mark.parametrize("text", [
    DEEP, "[]", "3", "null", "\udcff", "{}", '{"stage": "training"}', json.dumps(ROW | {"loss": float("nan")}),
    json.dumps(ROW | {"accuracy": [1]}), json.dumps(ROW | {"step": 10**400}),
], ids=str.__len__)  # fmt: skip
def test_a_log_of_training_that_is_shown(text: str, theirs: Path) -> None:
    from trace2strips.commands.explore import page_of, surroundings

    raw = f"{text}\n{json.dumps(ROW)}\n".encode("utf-8", "surrogateescape")
    (theirs / "log.jsonl").write_bytes(raw)
    around = surroundings(t2s.load(theirs), theirs)
    assert around.training == (() if b"\xff" in raw else (ROW,))
    assert page_of(t2s.load(theirs), around)


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_a_log_of_training_that_is_no_file(kind: str, theirs: Path, run: Run) -> None:
    path = theirs / "log.jsonl"
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
    assert run("explore", "run", "--no-open").returncode == 0


def test_suspects_that_are_none(theirs: Path, run: Run) -> None:
    """Python's reader of CSV refuses cells of more than 131,072 letters by an error of its own."""
    header = "file,line,trace,attempt,action,written,probably\n"
    for text in (
        header + "x" * 200_000,
        header + '"' + "x" * 200_000,
        header + "a,1,1,1,b,worked",
        "\0",
        header + "a,x,1,1,b,c,d",
    ):
        (theirs / "suspects.csv").write_text(text)
        said = run("evaluate", "run", "--problems", 0)
        assert (said.returncode, said.stderr) == (
            2,
            "trace2strips: run: a file of the run is broken (hint: learn it again)\n",
        )


# --- logs of a stranger ---


def test_xes_says_much_of_a_trace_once(tmp_path: Path) -> None:
    """It was kept for each event: 9,000 attributes of a trace of 11,000 events took twenty seconds, in 357 kB."""
    said = "".join(f'<string key="k{i}" value="v"/>' for i in range(900))
    name = '<string key="concept:name" value="{}"/>'
    first = f"<trace>{name.format('x')}{said}{'<event/>' * 1_000}</trace>"
    own = f'<event><string key="case:k0" value="own"/>{name.format("a")}</event>'
    second = f"<trace>{name.format('y')}{own}<event>{name.format('b')}{name.format('c')}</event></trace>"
    (tmp_path / "x.xes").write_text(f"<log>{first}{second}</log>")
    log = XesLog(lambda *_: None)
    log.read(iter([(tmp_path / "x.xes").read_bytes()]))
    assert sum(len(column.values) for column in log.case_columns.values()) == 902
    table = read_table(tmp_path / "x.xes")
    frame = table.read(range(len(table.names)), ()).rename({str(i): name for i, name in enumerate(table.names)})
    assert frame.shape == (1_002, 902)
    assert frame["case:k1"].to_list() == ["v"] * 1_000 + [None] * 2
    assert frame["case:k0"].to_list() == ["v"] * 1_000 + ["own", None]
    assert frame["concept:name"].to_list()[-2:] == ["a", "c"]
    assert frame["case:concept:name"].to_list() == ["x"] * 1_000 + ["y"] * 2


@pytest.mark.parametrize("encoding", ["hex", "zlib", "rot13", "idna", "utf-7", "no such"])
def test_xes_in_an_encoding_that_is_none(encoding: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "x.xes").write_text(f'<?xml version="1.0" encoding="{encoding}"?><log/>')
    said = run("check", "x.xes")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)


EVENT = '{"case": "1", "tool": "open", "ok": true'


def test_json_that_is_nested_deeply(tmp_path: Path, run: Run) -> None:
    """A list of 500 lists, in one kilobyte, took more than 3 GiB: polars makes a type of each level."""
    for inside in ("[" * 500 + "1" + "]" * 500, '{"a":' * 33 + "1" + "}" * 33):
        (tmp_path / "x.jsonl").write_text(f'{EVENT}}}\n{EVENT}, "x": {inside}}}\n')
        assert "nested more than 32 deep" in run("check", "x.jsonl").stderr
    (tmp_path / "x.jsonl").write_text(f'{EVENT}, "x": "{"[" * 100}\\"{"{" * 100}"}}\n{EVENT}, "y": [[[1]]]}}\n')
    assert run("check", "x.jsonl").returncode == 0  # brackets of a text are none
    assert depth(b'{"a": [1, {"b": []}]}\n[[1]]\n{}') == 4
    assert depth(b'{"a": "[[["}\n' * 50) <= 32


def test_json_of_many_kinds_of_events(tmp_path: Path) -> None:
    """9,000 events with a key of their own each, in 400 kB, took twenty seconds, and as fields of a field 3 GiB."""
    for before, after, name in (("", "", "k{}"), ('"args": {', "}", "args.k{}")):
        rows = [f'{EVENT}, {before}"k{i}": {i}{after}}}' for i in range(600)]
        (tmp_path / "x.jsonl").write_text("\n\n".join(rows) + "\n")
        table = read_table(tmp_path / "x.jsonl")
        assert table.names == ("case", "tool", "ok", *(name.format(i) for i in range(600)))
        assert table.lines(600).tolist() == list(range(1, 1200, 2))
        frame = table.read(range(603), ())
        assert frame["2"].to_list() == [True] * 600
        assert frame["10"].to_list() == [None] * 7 + [7] + [None] * 592
    for line, said in (("[1]", "an event must be a JSON object"), ('{"a": NaN}', "not JSON"), ('{"a": ', "not JSON")):
        (tmp_path / "x.jsonl").write_text("\n".join([*rows, line]))
        with pytest.raises(TraceError, match=said):
            read_table(tmp_path / "x.jsonl")


def test_columns_of_which_one_row_has_a_value_are_not_looked_at_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9,000 events with a key of their own each took `learn --stream` more than twenty seconds."""
    looked: list[str] = []
    of = Coded.of

    def note(column: pl.Series) -> Coded:
        looked.append(column.name)
        return of(column)

    monkeypatch.setattr("trace2strips.traces.events.Coded.of", staticmethod(note))
    rows = [f'{EVENT}, "k{i}": {i}, "who": "{"ab"[i % 2]}", "l": [{i % 3}]}}' for i in range(300)]
    (tmp_path / "x.jsonl").write_text("\n".join(rows) + "\n")
    understood = read_traces(tmp_path / "x.jsonl").origin.understood  # type: ignore[union-attr]
    assert len(looked) < 20
    assert any("--arg who (a, b)" in line for line in understood)


def test_columns_that_are_mostly_empty() -> None:
    cases: tuple[tuple[list[Any], list[Any]], ...] = (
        ([True, None], [True, None]), ([1, None, 2], [1, None, 2]), ([1, 0.5], [1.0, 0.5]), ([None], [None]), ([], []),
        ([1, "a", True, None], ["1", "a", "true", None]), ([10**30, 1], ["1" + "0" * 30, "1"]), ([True, 1], ["true", "1"]),
    )  # fmt: skip
    for values, found in cases:
        assert series(values).to_list() == found


def test_a_cell_as_long_as_a_tool_may_answer(tmp_path: Path, run: Run) -> None:
    """Python's reader of CSV, which finds the lines of rows, gave up at 131,072 letters with a traceback."""
    text = "case,activity,status\n1,open,ok\n1,open,denied\n"
    (tmp_path / "x.csv").write_text(text + '1,"' + "a\n" * 100_000 + '",ok\n1,open,open\n')
    said = run("check", "x.csv", "--refused", "denied", "--worked", "ok")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert "x.csv:100005: " in said.stderr


def test_bytes_in_parquet(tmp_path: Path) -> None:
    columns = {"case": ["1", "1"], "activity": [b"open", b"close"], "raw": [b"\xff\x00", None]}
    pl.DataFrame(columns).write_parquet(tmp_path / "x.parquet")
    frame = read_table(tmp_path / "x.parquet").read(range(3), ())
    assert sorted(frame.row(0)) == ["1", "ff00", "open"]


TIMES = ["nan", "inf", "-inf", "1e999", "9" * 400]


@pytest.mark.parametrize("time", TIMES)
def test_numbers_that_are_no_times(time: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "x.csv").write_text(f"case,activity,status,time\n1,a,ok,{time}\n1,b,denied,1\n")
    said = run("check", "x.csv")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert "x.csv:2: " in said.stderr
    assert "is no time that is understood" in said.stderr


def test_times_in_nanoseconds_and_of_other_sizes() -> None:
    """They were turned into microseconds, which for nanoseconds overflowed."""
    cases: tuple[list[Any], ...] = (
        [1_700_000_000_000_000_002, 1_700_000_000_000_000_001], ["1700000000000000002", "1700000000000000001"],
        [1e30, -1e30], ["1e30", "5"], [0.2, 0.1], [datetime.date(9999, 1, 1), datetime.date(1, 1, 1)],
    )  # fmt: skip
    for later, sooner in cases:
        found = as_numbers(pl.Series([later, sooner, later]))
        assert found[0] == found[2] > found[1]
