"""20,000 mutants of right inputs: each is read, or refused with a UserError; anything else is a failure.

Mutants that die in the first stage (no JSON, no list in parentheses, no XML) test little. So each target counts how many
get past it, and a share is required, about two in a hundred below what is reached: traces 0.940, events 0.941, CSV
0.955, text 0.947, XES 0.609, PDDL 0.830, B-RASP 0.616, Parquet 0.946, datasets, run folders and what stands beside results
1.000, summaries 0.914, results 0.931, checkpoints 0.925. One mutant in ten is of bytes and mostly breaks the form; XES and
B-RASP lose more, since an odd word as a tag or a name is no tag and no name. A mutation or a reader that makes the suite
blind fails here. A seed for each target: a failure can be repeated.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

import polars as pl
import pytest
from mutants import ODD, csv_text, json_lines, json_text, lisp, mutants, mutate_bytes, read_lisp, several, words, xml

import trace2strips as t2s
from trace2strips.brasp.evaluation import evaluate
from trace2strips.brasp.text import parse_program, split_tokens
from trace2strips.errors import UserError
from trace2strips.experiments.rows import read_row
from trace2strips.learners.training import HEADER
from trace2strips.pddl import ground, parse_domain, parse_problem
from trace2strips.pddl.parsing import parse_expression
from trace2strips.report import load_results, make_sections
from trace2strips.traces import read_traces
from trace2strips.traces.checking import describe

ROOT = Path(__file__).parent.parent
INPUTS = 20_000
DOOR = [[("open", True), ("open", False), ("close", True), ("close", False)], [("close", False), ("open", True)]]

TRACES = [
    [{"actions": ["pick a", "stack a b"], "ok": [True, False], "init": ["clear a"], "final": {"on a b": True}},
     {"actions": ["pick a"], "ok": [True], "state": None, "separator": " "}],
    [{"actions": [["pick", "a"], ["stack", "a", "b"]], "ok": [True, True], "state": "s1"}],
]  # fmt: skip
EVENTS = [
    [{"session": "1", "tool": "open", "args": {"path": "x"}, "error": None, "time": "2026-01-01T10:00:00"},
     {"session": "1", "tool": "close", "args": {"path": "x"}, "error": "denied", "time": "2026-01-01T10:00:01"}],
]  # fmt: skip
CSV = [
    [["case", "activity", "status", "time"], ["1", "open", "ok", "2026-01-01 10:00"], ["1", "open", "denied", "2026-01-01 10:01"], ["2", "close", "ok", "2026-01-02"]],
    [["case", "action", "ok", "phase"], ["1", "handempty", "true", "init"], ["1", "pick", "true", "action"], ["1", "on", "false", "final"]],
]  # fmt: skip
TEXT = [
    [["open", "!open", "close"], ["#", "separator", "_"], ["@start", "open", "close"]],
    [["pick-up(a)", "stack(a,b)"], ["a%20b", "!c"]],
]
XES = [["log", {"xes.version": "1.0"}, ["trace", {}, ["string", {"key": "concept:name", "value": "1"}],
        *(["event", {}, ["string", {"key": "concept:name", "value": name}], ["date", {"key": "time:timestamp", "value": "2026-01-01T10:00:00"}],
           ["string", {"key": "status", "value": status}]] for name, status in (("open", "ok"), ("close", "denied")))]]]  # fmt: skip
DOMAIN = """(define (domain d) (:requirements :strips :typing :negative-preconditions) (:types block - thing thing place)
 (:constants table - place) (:predicates (on ?x - thing ?y) (clear ?x) (free))
 (:action move :parameters (?x ?y - block ?z) :precondition (and (on ?x ?z) (clear ?y) (not (= ?x ?y)) (not (on ?y ?x)))
  :effect (and (on ?x ?y) (not (on ?x ?z)) (not (clear ?y))))
 (:action put :parameters (?x - block) :precondition (free) :effect (and (clear ?x) (on ?x table))))"""
PROBLEM = "(define (problem q) (:domain d) (:objects a b - block) (:init (on a table) (clear b) (free)) (:goal (and (on a b) (not (free)))))"
BRASP = [line.split(" ") for line in (
    "alphabet { a , b }", "P ( i ) := rightmost j [ j < i , I_a ( j ) ] I_b ( j ) & ! I_a ( i ) : 0", "Q ( i ) := P ( i ) | I_a ( i )",
    "output { a }")]  # fmt: skip


def is_json(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def are_json(raw: bytes) -> bool:
    return all(map(is_json, raw.split(b"\n")[:-1]))


def is_xml(raw: bytes) -> bool:
    try:
        ParserCreate().Parse(raw, True)
    except ExpatError:
        return False
    return True


def is_text(raw: bytes) -> bool:
    try:
        return b"\x00" not in raw and bool(raw.decode())
    except UnicodeDecodeError:
        return False


def goes(work: Callable[[], object]) -> bool:
    try:
        work()
    except (UserError, ValueError):
        return False
    return True


def read_log(name: str, raw: bytes, folder: Path) -> None:
    path = folder / name
    path.write_bytes(raw)
    describe(read_traces(path))


def read_pddl(raw: bytes, _: Path) -> None:
    """Two definitions, one after the other, of which one is a mutant."""
    first, _, second = raw.decode().partition("\0")
    domain = parse_domain(first)
    ground(domain, parse_problem(second, domain))


def both(tree: Any) -> bytes:
    return lisp(tree[0]) + b"\0" + lisp(tree[1]) if isinstance(tree, list) and len(tree) == 2 else lisp(tree)


def are_lists(raw: bytes) -> bool:
    return is_text(raw.replace(b"\0", b"")) and all(
        goes(partial(parse_expression, part)) for part in raw.decode().split("\0")
    )


def read_brasp(raw: bytes, _: Path) -> None:
    evaluate(parse_program(raw.decode()), ["a", "b", "a"])


def read_result(raw: bytes, folder: Path) -> None:
    read_row(raw, folder / "runs.jsonl", 1)


def read_beside(raw: bytes, folder: Path) -> None:
    """The first line says which file."""
    name, _, text = raw.partition(b"\n")
    path = folder / name.decode()
    before = path.read_bytes()
    path.write_bytes(text)
    try:
        results = load_results(folder / "runs.jsonl")
        if zlib.crc32(text) % 16 == 0:  # the tables take most of a second
            make_sections(results)
    finally:
        path.write_bytes(before)


@dataclass(frozen=True)
class Target:
    """`read` takes a mutant to its end; `passes` tells whether it is past the first stage."""

    make: Callable[[int], Iterator[bytes]]
    read: Callable[[bytes, Path], object]
    passes: Callable[[bytes], bool]
    least: float
    share: float = 1.0  # of the inputs: some targets are slower


def of_trees(
    name: str, trees: list[Any], write: Callable[[Any], bytes], odd: list[Any] = ODD
) -> Callable[[int], Iterator[bytes]]:
    return lambda count: mutants(trees, write, count, name, odd)


LISP_WORDS = [
    *(str(word) for word in ODD if isinstance(word, str | int)),
    "and",
    "not",
    "?x",
    "either",
    ":action",
    "object",
    "=",
    "forall",
    "when",
]
TARGETS = {
    "traces.jsonl": Target(of_trees("traces", TRACES, json_lines), partial(read_log, "x.jsonl"), are_json, 0.92, 3),
    "events.jsonl": Target(of_trees("events", EVENTS, json_lines), partial(read_log, "x.jsonl"), are_json, 0.92),
    "log.csv": Target(of_trees("csv", CSV, csv_text), partial(read_log, "x.csv"), is_text, 0.93),
    "log.txt": Target(of_trees("text", TEXT, words), partial(read_log, "x.txt"), is_text, 0.92, 2),
    "log.xes": Target(of_trees("xes", XES, xml), partial(read_log, "x.xes"), is_xml, 0.59),
    "domain.pddl": Target(of_trees("pddl", [[read_lisp(DOMAIN), read_lisp(PROBLEM)]], both, LISP_WORDS), read_pddl, are_lists, 0.81, 3),
    "program.brasp": Target(of_trees("brasp", [BRASP], words, LISP_WORDS), read_brasp,
                            lambda raw: is_text(raw) and goes(lambda: list(split_tokens(raw.decode(), None))), 0.59, 3),
}  # fmt: skip


@pytest.fixture(autouse=True)
def few_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grounding is refused sooner than for users: the suite shall be fast."""
    monkeypatch.setattr("trace2strips.pddl.grounding.MOST_ACTIONS", 2_000)
    monkeypatch.setattr("trace2strips.pddl.grounding.MOST_TRIED", 2_000)


def attack(
    made: Iterator[bytes], read: Callable[[bytes, Path], object], passes: Callable[[bytes], bool], folder: Path
) -> tuple[int, int, int]:
    """How many there were, were past the first stage, and were accepted."""
    count = past = accepted = 0
    for raw in made:
        count += 1
        try:
            past += passes(raw)
            read(raw, folder)
            accepted += 1
        except UserError as error:
            assert "\n" not in str(error)  # noqa: PT017
        except UnicodeDecodeError:  # of texts that are given as bytes here; files are decoded by their readers
            pass
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error}: mutant {count}: {raw[:2000]!r}") from error
    return count, past, accepted


UNIT = 1_000
OTHERS = {"datasets": 2 * UNIT, "run folders": UNIT, "summaries": UNIT, "results": 2 * UNIT, "beside results": 600,
          "checkpoints": 3 * UNIT}  # fmt: skip


def test_there_are_as_many_inputs_as_is_said() -> None:
    """Each test below makes sure that it was given its number."""
    assert sum(int(target.share * UNIT) for target in TARGETS.values()) + sum(OTHERS.values()) >= INPUTS


@pytest.mark.parametrize("name", TARGETS)
def test_mutants_are_read_or_refused(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    count, past, accepted = attack(target.make(int(target.share * UNIT)), target.read, target.passes, tmp_path)
    assert count == int(target.share * UNIT)
    assert past / count >= target.least, f"{past} of {count} get past the first stage"
    assert 0 < accepted < count


def test_mutants_of_parquet(tmp_path: Path) -> None:
    random, made = Random("parquet"), []
    path = tmp_path / "made.parquet"
    for _ in range(500):
        rows = several(EVENTS[0], random, [value for value in ODD if value != 10**400])
        try:
            pl.DataFrame(rows, strict=False).write_parquet(path)
        except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, AttributeError, RuntimeError):
            continue  # no table: polars does not even make it
        made.append(path.read_bytes() if random.random() < 0.8 else mutate_bytes(path.read_bytes(), random))
    count, past, _ = attack(
        iter(made), partial(read_log, "x.parquet"), lambda raw: raw[:4] == raw[-4:] == b"PAR1", tmp_path
    )
    assert count >= 250
    assert past / count >= 0.92


def test_mutants_of_datasets(tmp_path: Path) -> None:
    """The header as a tree, the arrays as bytes."""
    t2s.write_traces(t2s.sample("blocksworld:2", t2s.SampleSettings(20, 10)), tmp_path / "whole.t2s")
    whole = (tmp_path / "whole.t2s").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    outer = json.loads(whole[8 : 8 + length])
    ((name, text),) = outer["__metadata__"].items()

    def made(count: int) -> Iterator[bytes]:
        random = Random("t2s")
        for _ in range(count):
            changed, arrays = dict(outer), whole[8 + length :]
            match random.randrange(4):
                case 0:
                    changed = several(outer, random, ODD)
                case 1:
                    arrays = mutate_bytes(arrays, random)
                case _:
                    changed["__metadata__"] = {name: json.dumps(several(json.loads(text), random, ODD))}
            raw = json.dumps(changed).encode()
            yield len(raw).to_bytes(8, "little") + raw + arrays

    def passes(raw: bytes) -> bool:
        return is_json(raw[8 : 8 + int.from_bytes(raw[:8], "little")])

    count, past, accepted = attack(made(OTHERS["datasets"]), partial(read_log, "x.t2s"), passes, tmp_path)
    assert count == OTHERS["datasets"]
    assert past / count >= 0.98
    assert accepted


def test_mutants_of_run_folders(tmp_path: Path) -> None:
    """Whoever loads one and prints it gets a model or a line."""
    t2s.learn(DOOR).save(tmp_path / "run")
    files = {
        name: json.loads((tmp_path / "run" / name).read_text())
        for name in ("settings.json", "metrics.json", "model.json")
    }
    whole = {name: (tmp_path / "run" / name).read_bytes() for name in files}

    def made(count: int) -> Iterator[bytes]:
        random = Random("run")
        for _ in range(count):
            name = random.choice(list(files))
            yield name.encode() + b"\n" + json.dumps(several(files[name], random, ODD)).encode()

    def read(raw: bytes, folder: Path) -> None:
        name, _, text = raw.partition(b"\n")
        (folder / "run" / name.decode()).write_bytes(text)
        try:
            str(t2s.load(folder / "run"))
        finally:
            (folder / "run" / name.decode()).write_bytes(whole[name.decode()])

    count, past, accepted = attack(
        made(OTHERS["run folders"]), read, lambda raw: is_json(raw.partition(b"\n")[2]), tmp_path
    )
    assert count == OTHERS["run folders"]
    assert past / count >= 0.98
    assert 0 < accepted < count


def test_mutants_of_summaries(tmp_path: Path) -> None:
    t2s.learn(DOOR).save(tmp_path / "run")
    path = tmp_path / "run" / "summary.json.gz"
    tree = json.loads(zlib.decompress(path.read_bytes(), 31))

    def read(raw: bytes, folder: Path) -> None:
        path.write_bytes(raw)
        str(t2s.load(folder / "run").next("open"))

    count, past, accepted = attack(mutants([tree], json_text, OTHERS["summaries"], "summary"), read, is_json, tmp_path)
    assert count == OTHERS["summaries"]
    assert past / count >= 0.89
    assert 0 < accepted < count


def test_mutants_of_results(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (ROOT / "results" / "runs.jsonl").read_text().splitlines()[::40]]
    count, past, accepted = attack(mutants(rows, json_text, OTHERS["results"], "row"), read_result, is_json, tmp_path)
    assert count == OTHERS["results"]
    assert past / count >= 0.91
    assert 0 < accepted < count


def test_mutants_of_what_stands_beside_results(tmp_path: Path) -> None:
    names = ("paper.json", "notes.json", "traces_needed.json", "world_metrics.json")
    for name in (*names, "runs.jsonl"):
        (tmp_path / name).write_bytes((ROOT / "results" / name).read_bytes())
    (tmp_path / "runs.jsonl").write_text((ROOT / "results" / "runs.jsonl").read_text().splitlines()[0] + "\n")
    trees = {name: json.loads((tmp_path / name).read_text()) for name in names}
    for name in names[2:]:
        trees[name]["rows"] = trees[name]["rows"][:4]

    def made(count: int) -> Iterator[bytes]:
        random = Random("beside")
        for _ in range(count):
            name = random.choice(names)
            yield name.encode() + b"\n" + json.dumps(several(trees[name], random, ODD)).encode()

    count, past, accepted = attack(
        made(OTHERS["beside results"]), read_beside, lambda raw: is_json(raw.partition(b"\n")[2]), tmp_path
    )
    assert count == OTHERS["beside results"]
    assert past / count >= 0.98
    assert 0 < accepted < count


def test_mutants_of_checkpoints(tmp_path: Path) -> None:
    tree = {
        "settings": {"steps": 5, "seed": 0},
        "report": {
            "step": 1,
            "steps": 5,
            "loss": None,
            "accuracy": 0.5,
            "best": 0.5,
            "best_step": 1,
            "seconds": 0.1,
            "carried": 0.0,
            "attempt": 1,
            "mark": 0.5,
            "mark_step": 1,
        },
    }

    def read(raw: bytes, _: Path) -> None:
        try:
            HEADER.parse(raw)
        except ValueError:
            raise UserError("no checkpoint") from None

    count, past, accepted = attack(
        mutants([tree], json_text, OTHERS["checkpoints"], "checkpoint"), read, is_json, tmp_path
    )
    assert count == OTHERS["checkpoints"]
    assert past / count >= 0.9
    assert 0 < accepted < count
