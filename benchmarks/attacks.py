"""Attack by attack: hostile files, names and moments, and whether each is accepted, refused in one line, or fails.

    python benchmarks/attacks.py --out results/attacks.json
    python benchmarks/attacks.py --code OTHER_CHECKOUT --name before --out results/attacks.json

Every input goes through the command line of the code in `--code`, in a process that may take so many seconds of CPU
time and so much memory, and may not sleep for long: what else runs on the machine does not matter. Accepted: exit code
0 and nothing raw on the terminal or in what was written. Refused: exit code 2 and one line. All else has failed: a
traceback, a hang, memory without end, lost work, a mark that was let through. The figures of several names stand side
by side in one file; docs/security-tests.md shows them.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECONDS = 20  # of CPU time, with its children, that one command may take; those that are right take less than seven
ASLEEP = 20  # seconds in which it may do nothing at all: it waits for what never comes
MEMORY = 3 * 2**30  # bytes that it may hold
HERE = Path(__file__).resolve().parent.parent
LOG = "open !open close !close open close\n!close open close open !open close\n" * 5
DOOR: list[dict[str, Any]] = [
    {"actions": line.replace("!", "").split(), "ok": [not word.startswith("!") for word in line.split()]}
        for line in LOG.splitlines()]  # fmt: skip
NOISY = LOG + "open open\n"  # no model fits it, so training does not end early
DEEP = "[" * 100_000 + "]" * 100_000
OTHERS: tuple[Any, ...] = ([], {}, "x", 10**400, None, [["x"]], {"a": {}}, -1, True, ["x", 3])
RAW = ("\x1b", "\x07", "\u202e", "\x9b")  # what moves a terminal's cursor or turns text round


@dataclass(frozen=True)
class Outcome:
    """Of one command: its exit code (None: it was stopped from outside), what it said, and why it was stopped."""

    code: int | None
    out: str
    err: str
    why: str = ""
    seconds: float = 0.0  # of CPU time

    @property
    def verdict(self) -> str:
        lines = [line for line in self.err.splitlines() if line.strip()]
        if self.code == 0 and "Traceback" not in self.err and not raw_in(self.out + self.err):
            return "accepted"
        ours = all(line.startswith("trace2strips: ") and len(line) < 2000 for line in lines)
        one_line = ours and 0 < len(lines) <= 2  # a remark may stand before the refusal
        if self.code == 2 and one_line and not raw_in(self.err):
            return "refused"
        return "failed"

    @property
    def reason(self) -> str:
        if self.why:
            return self.why
        if raw_in(self.out + self.err):
            return "raw control characters on the terminal"
        last = [line for line in self.err.splitlines() if line.strip()][-1:] or ["nothing said"]
        return f"exit code {self.code}: {ascii(last[0])[:120]}"


def raw_in(text: str) -> bool:
    return any(mark in text for mark in RAW)


@dataclass
class Target:
    """The code that is attacked, and a folder to do it in."""

    code: Path
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, *words: object, **more: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.code / "src"), "COLUMNS": "200", "OMP_NUM_THREADS": "1",
                       "NUMBA_NUM_THREADS": "1", **self.environment, **more}  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "trace2strips", *map(str, words)], cwd=self.folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, errors="surrogateescape",
            start_new_session=True,
        )  # fmt: skip

    def run(self, *words: object, **more: str) -> Outcome:
        process = self.start(*words, **more)
        watch, why = Watch(process.pid), ""
        while True:
            try:
                out, err = process.communicate(timeout=0.2)
                return Outcome(None if why else process.returncode, out, err, why, watch.seconds)
            except subprocess.TimeoutExpired:
                why = why or watch.look()
                if why:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    def has(self, command: str) -> bool:
        """Older code has fewer commands: where there is none, nothing is attacked."""
        return command in self.run("--help").out.split()

    def python(self, script: str, *words: object, **more: str) -> Outcome:
        """For what no command shows by itself: a script that ends with exit code 2 and a line, or has done no harm."""
        self.write("script.py", script)
        environment = {**os.environ, "PYTHONPATH": str(self.code / "src"), **self.environment, **more}
        done = subprocess.run(
            [sys.executable, "script.py", *map(str, words)], cwd=self.folder, env=environment, capture_output=True,
            text=True, check=False, timeout=120,
        )  # fmt: skip
        return Outcome(done.returncode, done.stdout, done.stderr)

    def learned(self, *words: object) -> Path:
        """A run folder of the door."""
        self.write("door.txt", LOG)
        found = self.run("learn", "door.txt", "--out", "run", *words)
        assert found.code == 0, found
        return self.folder / "run"


@dataclass
class Watch:
    """What a process takes: CPU time, memory, and whether it does anything."""

    process: int
    seconds: float = 0.0
    awake: float = field(default_factory=time.monotonic)

    def look(self) -> str:
        """Why it has to be stopped, if so."""
        seconds, running = work_of(self.process)
        if running or seconds > self.seconds:
            self.awake = time.monotonic()
        self.seconds = max(self.seconds, seconds)
        if self.seconds > SECONDS:
            return f"more than {SECONDS} seconds of CPU time"
        if time.monotonic() - self.awake > ASLEEP:
            return f"asleep for {ASLEEP} seconds"
        if memory_of(self.process) > MEMORY:
            return f"more than {MEMORY // 2**30} GiB"
        return ""


def work_of(process: int) -> tuple[float, bool]:
    """CPU time of a process and those it has started, also of those that have ended; whether one of them runs now."""
    found: dict[int, tuple[int, str, int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError, ValueError):
            parts = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = (int(parts[1]), parts[0], sum(map(int, parts[11:15])))
    ours = more = {process}
    while more:
        more = {number for number, (parent, _, _) in found.items() if parent in ours} - ours
        ours = ours | more
    ticks = sum(found[number][2] for number in ours if number in found)
    return ticks / os.sysconf("SC_CLK_TCK"), any(found[number][1] in "RD" for number in ours if number in found)


def memory_of(process: int) -> int:
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


Check = Callable[[Target], Iterator[Outcome]]
ATTACKS: dict[tuple[str, str], Check] = {}


def attack(group: str, what: str) -> Callable[[Check], Check]:
    def note(check: Check) -> Check:
        ATTACKS[group, what] = check
        return check

    return note


# --- small files that take long or fill the memory ---


def bomb(gigabytes: int) -> bytes:
    """A gzip file that unpacks to so much: one after the other, as gzip allows, many parts of 64 MiB of spaces."""
    return gzip.compress(b" " * 2**26, mtime=0) * (16 * gigabytes)


@attack("bombs and hangs", "gzip that unpacks to 8 GiB, every reader")
def gzip_bombs(target: Target) -> Iterator[Outcome]:
    data = bomb(8)
    for name in ("x.jsonl", "x.txt", "x.csv", "x.csv.gz", "x.xes.gz", "x.parquet", "x.pddl", "x.brasp"):
        target.write(name, data)
    for name in ("x.jsonl", "x.txt", "x.csv", "x.csv.gz", "x.xes.gz", "x.parquet"):
        yield target.run("check", name)
    yield target.run("ground", "x.pddl")
    yield target.run("brasp", "x.brasp")


@attack("bombs and hangs", "gzip that unpacks to 8 GiB, run folders and results")
def gzip_bombs_of_ours(target: Target) -> Iterator[Outcome]:
    data = bomb(8)
    run = target.learned()
    for name in ("settings.json", "metrics.json", "model.json", "summary.json.gz"):
        if (run / name).exists():
            before = (run / name).read_bytes()
            (run / name).write_bytes(data)
            yield target.run("evaluate", "run", "--problems", "0")
            (run / name).write_bytes(before)
    shutil.copytree(target.code / "results", target.folder / "results")
    for name in ("paper.json", "notes.json"):
        before = (target.folder / "results" / name).read_bytes()
        target.write(f"results/{name}", data)
        yield target.run("report", "--out", "page")
        target.write(f"results/{name}", before)


@attack("bombs and hangs", "grounding: 12 parameters, 20 objects in 297 bytes")
def grounding(target: Target) -> Iterator[Outcome]:
    variables = " ".join(f"?x{i}" for i in range(12))
    objects = " ".join(f"o{i}" for i in range(20))
    domain = f"(define (domain d) (:predicates (p ?x)) (:action a :parameters ({variables}) :effect (p ?x0)))"
    target.write("d.pddl", domain)
    target.write("p.pddl", f"(define (problem q) (:domain d) (:objects {objects}) (:init) (:goal (p o1)))")
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")
    static = domain.replace("(p ?x)", "(p ?x) (q ?x ?y)", 1).replace(
        ":effect", f":precondition (and {' '.join(f'(q ?x{i} ?x{i + 1})' for i in range(11))}) :effect"
    )
    facts = " ".join(f"(q o{i} o{j})" for i in range(20) for j in range(20))
    target.write("d.pddl", static)
    target.write("p.pddl", f"(define (problem q) (:domain d) (:objects {objects}) (:init {facts}) (:goal (p o1)))")
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")
    unequal = " ".join(f"(not (= ?x{i} ?x{i}))" for i in range(12))
    target.write("d.pddl", domain.replace(":effect", f":precondition (and {unequal}) :effect"))
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")


@attack("bombs and hangs", "a chain of 20,000 types")
def types(target: Target) -> Iterator[Outcome]:
    chain = " ".join(f"t{i} - t{i + 1}" for i in range(20_000))
    target.write("d.pddl", f"(define (domain d) (:types {chain}) (:predicates (p ?x - t0)) (:action a :parameters "
                           "(?x - t0) :effect (p ?x)))")  # fmt: skip
    target.write("p.pddl", "(define (problem q) (:domain d) (:objects o - t0) (:init) (:goal (p o)))")
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")
    ring = f"{chain} t20000 - t0"
    target.write("d.pddl", f"(define (domain d) (:types {ring}) (:predicates (p ?x - t0)))")
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")
    many = " ".join(f"?x{i} - t{i}" for i in range(300))
    used = " ".join(f"(p ?x{i})" for i in range(300))
    target.write("d.pddl", f"(define (domain d) (:types {chain}) (:predicates (p ?x - t0)) (:action a :parameters "
                           f"({many}) :precondition (and {used}) :effect (p ?x0)))")  # fmt: skip
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")


@attack("bombs and hangs", "60,000 keys, one repeated")
def repeated(target: Target) -> Iterator[Outcome]:
    pairs = ", ".join(f'"k{i}": true' for i in range(60_000))
    target.write("x.jsonl", '{"actions": ["a"], "ok": [true], "final": {' + pairs + ', "k59999": true}}\n')
    yield target.run("check", "x.jsonl")
    names = ", ".join(f'"a{i}"' for i in range(60_000))
    marks = ", ".join(["true"] * 60_000)
    clash = '{"actions": ["init-a59999"], "ok": [true]}'
    target.write("x.jsonl", f'{{"actions": [{names}], "ok": [{marks}], "init": ["a59999"]}}\n{clash}\n')
    yield target.run("check", "x.jsonl")


@attack("bombs and hangs", "8,000 adds and deletes")
def effects(target: Target) -> Iterator[Outcome]:
    atoms = " ".join(f"(p{i})" for i in range(8_000))
    deletes = " ".join(f"(not (p{i}))" for i in range(8_000))
    target.write(
        "d.pddl",
        f"(define (domain d) (:predicates {atoms}) (:action a :parameters () :effect (and {atoms} {deletes})))",
    )
    target.write("p.pddl", "(define (problem q) (:domain d) (:init) (:goal (p1)))")
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")
    yield target.run("compare", "d.pddl", "d.pddl")


@attack("bombs and hangs", "a B-RASP program of 40,000 symbols")
def symbols(target: Target) -> Iterator[Outcome]:
    names = ", ".join(f"s{i}" for i in range(40_000))
    target.write("x.brasp", f"alphabet {{ {names} }}\nP(i) := 1\n")
    yield target.run("brasp", "x.brasp", "s1")
    target.write("x.brasp", f"alphabet {{ {names}, s1 }}\nP(i) := 1\n")
    yield target.run("brasp", "x.brasp", "s1")


@attack("bombs and hangs", "a FIFO where a file is expected")
def fifo(target: Target) -> Iterator[Outcome]:
    for name in ("x.jsonl", "x.csv", "x.t2s", "x.pddl", "x.brasp", "x.xes", "x.parquet"):
        os.mkfifo(target.folder / name)
        command = {"x.pddl": "ground", "x.brasp": "brasp"}.get(name, "check")
        yield target.run(command, name)
    run = target.learned()
    (run / "model.json").unlink()
    os.mkfifo(run / "model.json")
    yield target.run("evaluate", "run", "--problems", "0")


@attack("bombs and hangs", "XES: entities, depth, a million attributes")
def xes(target: Target) -> Iterator[Outcome]:
    lol = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10 if i else "ha"}">' for i in range(10))
    event = '<log><trace><event><string key="concept:name" value="{}"/></event></trace></log>'
    target.write("x.xes", f"<?xml version='1.0'?><!DOCTYPE log [{lol}]>{event.format('&a9;')}")
    yield target.run("check", "x.xes")
    target.write("x.xes", f"<!DOCTYPE log [<!ENTITY x SYSTEM 'file:///etc/hostname'>]>{event.format('&x;')}")
    yield target.run("check", "x.xes")
    target.write("x.xes", "<log>" + "<a>" * 200_000 + "</a>" * 200_000 + "</log>")
    yield target.run("check", "x.xes")
    wide = "".join(f'<string key="k{i}" value="v"/>' for i in range(300_000))
    target.write("x.xes", f"<log><trace><event>{wide}</event></trace></log>")
    yield target.run("check", "x.xes")
    rows = "".join(f'<event><string key="k{i}" value="v"/></event>' for i in range(20_000))
    target.write("x.xes", f"<log><trace>{rows}</trace></log>")
    yield target.run("check", "x.xes")


@attack("bombs and hangs", "Parquet: a table that unpacks to 3 GiB, a broken one")
def parquet(target: Target) -> Iterator[Outcome]:
    import polars as pl

    stream = io.BytesIO()
    rows = 60_000_000
    frame = pl.DataFrame({name: pl.repeat("a" * 40, rows, eager=True) for name in ("case", "activity")})
    frame.write_parquet(stream, compression="zstd")
    del frame
    target.write("x.parquet", stream.getvalue())
    yield target.run("check", "x.parquet")
    target.write("x.parquet", stream.getvalue()[:-5] + b"\xff" * 5)
    yield target.run("check", "x.parquet")


SWITCHES = 24
FILLING = {"mimir": (60, 6_000), "fast-downward": (40, 30_000), "pyperplan": (40, 6_000), "plain": (40, 0)}


@attack("bombs and hangs", "a search that fills the memory it may have, each planner")
def memory(target: Target) -> Iterator[Outcome]:
    """2²⁴ states and two goals of which only one can be reached: no limit but that on memory ends the search. With the
    same limit a plan of one step is found."""
    switches = [(f"{a}{i}", f"{b}{i}") for i in range(SWITCHES) for a, b in (("dark", "lit"), ("lit", "dark"))]
    moves = [*((f"to-{b}", a, b) for a, b in switches), ("left", "p", "q"), ("right", "p", "r")]
    actions = " ".join(
        f"(:action {name} :parameters () :precondition ({a}) :effect (and ({b}) (not ({a}))))" for name, a, b in moves
    )
    known = target.run("plan", "--help").out
    for planner, (megabytes, idle) in FILLING.items():
        if planner not in known:
            continue
        true = ["p", *(f"dark{i}" for i in range(SWITCHES)), *(f"idle{i}" for i in range(idle))]
        atoms = " ".join(f"({atom})" for atom in (*true, "q", "r", *(f"lit{i}" for i in range(SWITCHES))))
        target.write("d.pddl", f"(define (domain d) (:predicates {atoms}) {actions})")
        init = " ".join(f"({atom})" for atom in true)
        for name, goal in (("near", "(q)"), ("far", "(and (q) (r))")):
            target.write(f"{name}.pddl", f"(define (problem x) (:domain d) (:init {init}) (:goal {goal}))")
        words = ("plan", "d.pddl", "--planner", planner, "--max-memory", megabytes, "--max-states", 10**9, "--problem")
        yield target.run(*words, "near.pddl")
        found = target.run(*words, "far.pddl")
        told = found.code == 1 and "out of memory" in found.out + found.err
        yield Outcome(0 if told else found.code, found.out, found.err, found.why, found.seconds)


# --- tracebacks ---


CSV = "case,activity,status\n1,open,ok\n1,open,denied\n1,close,ok\n2,open,ok\n2,close,ok\n2,close,denied\n"


def broken_logs() -> dict[str, str | bytes]:
    """Files of the four kinds of logs of events, each with something that readers trip over."""
    import polars as pl

    event = '{"case": "1", "activity": "open", "status": "ok"'
    xes = "<log><trace><event><string key='concept:name' value='{}'/></event></trace></log>"
    stream = io.BytesIO()
    columns = {"case": ["1", "1"], "activity": [b"\xff", None], "status": [["ok"], ["denied"]]}
    pl.DataFrame(columns).write_parquet(stream)
    whole = stream.getvalue()
    return {
        "zero.csv": CSV + "2,a\0b,ok\n", "quote.csv": CSV + '2,"open,ok\n' * 3,
        "ragged.csv": CSV + "2,a,b,c,d,e\n2\n",
        "empty.csv": CSV + ",,\n", "long.csv": CSV + f'2,{"x" * 10**6},ok\n',
        "bytes.csv": CSV.encode() + b"2,\xff,ok\n",
        "twice.csv": CSV.replace("case,", "status,", 1), "wide.csv": "a," * 20_000 + "\n" + "1," * 20_000 + "\n",
        "deep.jsonl": f'{event}}}\n{event}, "x": {"[" * 500}{"]" * 500}}}\n', "cut.jsonl": f"{event}}}\n{event}",
        "nan.jsonl": f'{event}}}\n{event}, "x": NaN}}\n', "half.jsonl": f'{event}}}\n{event}, "x": "\\ud800"}}\n',
        "list.jsonl": f'{event}}}\n[1]\n', "huge.jsonl": f'{event}, "x": {"9" * 5000}}}\n' * 2,
        "keys.jsonl": "".join(f'{event}, "k{i}": 1}}\n' for i in range(9_000)),
        "hex.xes": f"<?xml version='1.0' encoding='hex'?>{xes.format('a')}", "cut.xes": xes.format("a")[:-20],
        "nothing.xes": "<log/>", "name.xes": xes.format("&#0;"), "deep.xes": "<a>" * 200_000,
        "lists.parquet": whole, "cut.parquet": whole[: len(whole) // 2], "short.parquet": b"PAR1",
        "middle.parquet": whole[:40] + b"\xff" * 40 + whole[80:],
    }  # fmt: skip


@attack("tracebacks", "broken logs of events (CSV, JSON Lines, XES, Parquet) in `learn --stream` and `judge`")
def event_logs(target: Target) -> Iterator[Outcome]:
    """Code of before has only `check` for them."""
    target.learned()
    judges = target.has("judge")
    for name, content in broken_logs().items():
        target.write(name, content)
        if not judges:
            yield target.run("check", name)
        else:
            yield target.run("learn", name, "--stream", "--out", "r", "--force", "-q")
            found = target.run("judge", "run", name)
            yield Outcome(0 if found.code == 3 else found.code, found.out, found.err, found.why, found.seconds)


@attack("tracebacks", "a wrong value in columns.json, summary.json.gz, suspects.csv or log.jsonl of a run")
def further_files(target: Target) -> Iterator[Outcome]:
    """Files that runs have only since there is `judge`."""
    if not target.has("judge"):
        return
    target.write("door.csv", CSV)
    made = target.run("learn", "door.csv", "--out", "run", "-q")
    assert made.code == 0, made
    run = target.folder / "run"
    columns = json.loads((run / "columns.json").read_text())
    packed = (run / "summary.json.gz").read_bytes()
    summary = json.loads(gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed)
    changes: list[tuple[str, bytes]] = []
    for key in columns:
        changes += [
            ("columns.json", json.dumps(columns | {key: other}).encode()) for other in (10**400, [["x"]], {"a": 1})
        ]
    for key in summary:
        wrong = (summary | {key: other} for other in ([[-1]],))
        changes += [("summary.json.gz", json.dumps(record).encode()) for record in wrong]
    header = "file,line,trace,attempt,action,written,probably\n"
    changes += [
        ("suspects.csv", (header + row).encode()) for row in ("x" * 200_000, "a,1,1,1,b,c", "a,-1,1e9,x,b,c,d", "\0")
    ]
    changes += [("log.jsonl", text.encode()) for text in (DEEP, "[]", '{"stage": "training", "step": 1e999}', "\0")]
    commands = {"columns.json": ("judge", "run", "door.csv"), "summary.json.gz": ("next", "run", "open"),
                "suspects.csv": ("explain", "run"), "log.jsonl": ("explore", "run", "--no-open")}  # fmt: skip
    shutil.copytree(run, target.folder / "whole")
    for name, content in changes:
        shutil.rmtree(run)
        shutil.copytree(target.folder / "whole", run)
        (run / name).write_bytes(content)
        found = target.run(*commands[name])
        yield Outcome(0 if found.code == 3 else found.code, found.out, found.err, found.why, found.seconds)


@attack("tracebacks", "100,000 nested brackets in files of ours")
def nested(target: Target) -> Iterator[Outcome]:
    run = target.learned()
    for name in ("settings.json", "metrics.json", "model.json", "summary.json.gz"):
        if (run / name).exists():
            before = (run / name).read_bytes()
            (run / name).write_text(DEEP)
            yield target.run("evaluate", "run", "--problems", "0")
            (run / name).write_bytes(before)
    shutil.copytree(target.code / "results", target.folder / "results")
    for name in ("paper.json", "notes.json", "runs.jsonl", "traces_needed.json", "outside.jsonl"):
        if (target.folder / "results" / name).exists():
            before = (target.folder / "results" / name).read_bytes()
            target.write(f"results/{name}", DEEP)
            yield target.run("report", "--out", "page", "--force")
            if name == "runs.jsonl":
                yield target.run("reproduce", "main", "--dry-run")
            target.write(f"results/{name}", before)


@attack("tracebacks", "a row of results with a wrong value")
def rows(target: Target) -> Iterator[Outcome]:
    shutil.copytree(target.code / "results", target.folder / "results")
    first, *rest = (target.folder / "results" / "runs.jsonl").read_text().splitlines()
    changes: tuple[dict[str, Any], ...] = (
                   {"train_errors": 10**400}, {"steps": ["x"]}, {"domain": ["x"]}, {"domain": {}}, {"seed": [0]},
                   {"train_accuracy": 10**400}, {"traces": 10**400}, {"settings": [1]}, {"settings": {"steps": []}},
                   {"machine": {"cores": []}}, {"seconds": {"a": 10**400}}, {"domain": "x" * 10**6},
                   {"test_traces": 10**400}, {"noise": 10**400})  # fmt: skip
    for change in changes:
        changed = json.dumps(json.loads(first) | change)
        target.write("results/runs.jsonl", "\n".join([changed, *rest]) + "\n")
        yield target.run("report", "--out", "page", "--force")
        yield target.run("reproduce", "main", "--dry-run")


@attack("tracebacks", "a broken paper.json, notes.json or benchmark in `report`")
def beside(target: Target) -> Iterator[Outcome]:
    shutil.copytree(target.code / "results", target.folder / "results")
    contents = ("", "null", "[]", "{}", '{"main": 3}', '{"main": {"blocksworld-5b": []}}', '{"baselines": [1, 2]}',
                '{"main": {"blocksworld-5b": {"STRIPS atoms": {"train": {"mean": "x"}}}}}',
                '{"main": {"blocksworld-5b": {"STRIPS atoms": {"train": 1}}}}',
                '{"main": {"blocksworld-5b": {"STRIPS atoms": [1]}}}', '{"rows": [{"a": 1}]}', '{"rows": 3}', "1e999",
                '{"rows": [{"domain": "door", "learner": "windows", "traces": "x", "seed": {}}]}')  # fmt: skip
    for name in ("paper.json", "notes.json", "traces_needed.json", "world_metrics.json", "outside.jsonl"):
        if not (target.folder / "results" / name).exists():
            continue
        before = (target.folder / "results" / name).read_bytes()
        for content in contents:
            target.write(f"results/{name}", content)
            yield target.run("report", "--out", "page", "--force")
        target.write(f"results/{name}", before)


@attack("tracebacks", "a wrong value in a run folder")
def run_folder(target: Target) -> Iterator[Outcome]:
    run = target.learned()
    for name in ("settings.json", "metrics.json", "model.json"):
        before = (run / name).read_text()
        record = json.loads(before)
        changes: list[Any] = [[], 3, "x", None, {}]
        for key, value in record.items():
            for other in OTHERS:
                if type(other) is not type(value):
                    changes.append({**record, key: other})
        for changed in changes[:60]:
            (run / name).write_text(json.dumps(changed))
            yield target.run("evaluate", "run", "--problems", "0")
        (run / name).write_text(before)


@attack("tracebacks", "a .t2s file with a wrong header")
def header(target: Target) -> Iterator[Outcome]:
    made = target.run("sample", "blocksworld:2", "--traces", 20, "--out", "x.t2s")
    assert made.code == 0, made
    whole = (target.folder / "x.t2s").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    outer = json.loads(whole[8 : 8 + length])
    (name,) = outer["__metadata__"]
    meta = json.loads(outer["__metadata__"][name])

    def write(changed: dict[str, Any], new: Any) -> None:
        raw = json.dumps({**changed, "__metadata__": {name: new if isinstance(new, str) else json.dumps(new)}}).encode()
        target.write("x.t2s", len(raw).to_bytes(8, "little") + raw + whole[8 + length :])

    settings = meta["settings"]
    for change in (
        *({"settings": {**settings, key: value}} for key in settings for value in (*OTHERS[:5], "\ud800")),
        {"settings": []}, {"states": []}, {"states": {"a": 3}}, {"vocabulary": {}}, {"vocabulary": []},
    ):  # fmt: skip
        write(outer, meta | change)
        for command in (("check", "x.t2s"), ("learn", "x.t2s", "--out", "r", "--force", "-q")):
            yield target.run(*command)
    write(outer, DEEP)
    yield target.run("check", "x.t2s")
    target.write("x.t2s", (len(DEEP)).to_bytes(8, "little") + DEEP.encode())
    yield target.run("check", "x.t2s")


def trained(target: Target) -> tuple[Path, list[str]]:
    """A run folder in the middle of training: killed after its first checkpoint."""
    target.write("door.txt", NOISY)
    help_text = target.run("learn", "--help").out
    learner = ["--learner", "strips"] if "--learner" in help_text else []
    words = ["learn", "door.txt", "--out", "run", "--preset", "paper", "--steps", "1000000", *learner]
    process = target.start(*words)
    deadline = time.monotonic() + 120
    while not list(target.folder.glob("run/checkpoint-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (checkpoint,) = target.folder.glob("run/checkpoint-*.safetensors")
    return checkpoint, words


def trains_on(target: Target, words: list[str]) -> Outcome:
    """A run that goes on with training would take long: it is right as soon as its log says so."""
    log = target.folder / "run" / "log.jsonl"
    before = log.read_bytes()
    process = target.start(*words)
    watch, why, going_on = Watch(process.pid), "", False
    while process.poll() is None and not going_on and not why:
        time.sleep(0.05)
        now = log.read_bytes() if log.exists() else b""
        going_on = now != before and (now.splitlines() or [b""])[-1].startswith(b'{"stage": "training"')
        why = watch.look()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    out, err = process.communicate()
    if going_on:
        return Outcome(0, out, err, "", watch.seconds)
    return Outcome(None if why else process.returncode, out, err, why, watch.seconds)


@attack("tracebacks", "a checkpoint without metadata or with a wrong report")
def checkpoints(target: Target) -> Iterator[Outcome]:
    checkpoint, words = trained(target)
    whole = checkpoint.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    outer = json.loads(whole[8 : 8 + length])
    meta = json.loads(outer["__metadata__"]["checkpoint"])
    shutil.copytree(checkpoint.parent, target.folder / "cut off")

    def write(changed: dict[str, Any]) -> None:
        shutil.rmtree(checkpoint.parent)  # an input before may have ended the run
        shutil.copytree(target.folder / "cut off", checkpoint.parent)
        raw = json.dumps(changed).encode()
        checkpoint.write_bytes(len(raw).to_bytes(8, "little") + raw + whole[8 + length :])

    write({key: value for key, value in outer.items() if key != "__metadata__"})
    yield trains_on(target, words)
    reports: tuple[Any, ...] = ([], {}, {"x": 1}, {**meta["report"], "step": "x"}, {**meta["report"], "step": -5},
                   {**meta["report"], "step": 10**30}, {**meta["report"], "seconds": "x"})  # fmt: skip
    for report in reports:
        write({**outer, "__metadata__": {"checkpoint": json.dumps({**meta, "report": report})}})
        yield trains_on(target, words)
    for text in ("[]", DEEP, "{}", '"x"'):
        write({**outer, "__metadata__": {"checkpoint": text}})
        yield trains_on(target, words)
    write(outer)
    checkpoint.write_bytes(whole[: len(whole) // 2])
    yield trains_on(target, words)


@attack("tracebacks", "a broken log.jsonl on resume")
def logs(target: Target) -> Iterator[Outcome]:
    checkpoint, words = trained(target)
    log = checkpoint.parent / "log.jsonl"
    keep = checkpoint.read_bytes()
    for text in ("{", "[]", "{}", DEEP, '{"attempt": "x", "step": [], "stage": 3}', "\udcff", "null"):
        checkpoint.write_bytes(keep)
        log.write_bytes((text + "\n").encode("utf-8", "surrogatepass"))
        yield trains_on(target, words)


@attack("tracebacks", "an action with 1,500 parameters")
def parameters(target: Target) -> Iterator[Outcome]:
    variables = " ".join(f"?x{i}" for i in range(1500))
    target.write(
        "d.pddl", f"(define (domain d) (:predicates (p ?x)) (:action a :parameters ({variables}) :effect (p ?x0)))"
    )
    target.write("p.pddl", "(define (problem q) (:domain d) (:objects o) (:init) (:goal (p o)))")
    yield target.run("ground", "d.pddl", "--problem", "p.pddl")
    arguments = ", ".join(f"x{i}" for i in range(1500))
    target.write("x.jsonl", json.dumps({"actions": [f"a({arguments})", "b(x1)"], "ok": [True, True]}) + "\n")
    yield target.run("check", "x.jsonl")
    yield target.run("learn", "x.jsonl", "--out", "run", "-q")


# --- work that is lost ---


@attack("lost work", "`learn` on names with a lone surrogate")
def surrogates(target: Target) -> Iterator[Outcome]:
    made = target.run("sample", "blocksworld:2", "--traces", 20, "--out", "x.t2s")
    assert made.code == 0, made
    name = os.fsdecode(b"d\xff.txt")
    (target.folder / name).write_text(LOG)
    yield target.run("learn", name, "--out", "run", "-q")
    yield target.run("evaluate", "run", "--problems", "0")
    yield target.run("learn", "x.t2s", "--out", os.fsdecode(b"r\xff"), "-q")
    target.write("x.jsonl", '{"actions": ["a\\ud800", "b"], "ok": [true, false]}\n')
    yield target.run("learn", "x.jsonl", "--out", "run2", "-q")
    whole = (target.folder / "x.t2s").read_bytes()
    length = int.from_bytes(whole[:8], "little")
    changed = whole[8 : 8 + length].replace(b"blocksworld:2", b"bl\\\\ud800rld:2")
    target.write("y.t2s", len(changed).to_bytes(8, "little") + changed + whole[8 + length :])
    yield target.run("learn", "y.t2s", "--out", "run3", "-q")
    source = target.folder / os.fsdecode(b"d\xff.pddl")
    forth = "(:action a :parameters () :precondition (p) :effect (and (q) (not (p))))"
    back = "(:action b :parameters () :precondition (q) :effect (and (p) (not (q))))"
    source.write_text(f"(define (domain d) (:predicates (p) (q)) {forth} {back})")
    target.write("p.pddl", "(define (problem q) (:domain d) (:init (p)) (:goal (q)))")
    yield target.run("sample", source.name, "--problem", "p.pddl", "--traces", 20, "--out", "z.t2s")
    if (target.folder / "z.t2s").exists():
        yield target.run("learn", "z.t2s", "--out", "run4", "-q")


@attack("lost work", "two `learn` in one folder at once")
def two_at_once(target: Target) -> Iterator[Outcome]:
    target.write("door.txt", NOISY)
    help_text = target.run("learn", "--help").out
    learner = ["--learner", "strips"] if "--learner" in help_text else []
    words = ["learn", "door.txt", "--out", "run", "--preset", "paper", "--steps", "1000000", *learner]
    first = target.start(*words)
    deadline = time.monotonic() + 120
    while not (target.folder / "run" / "log.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    second = target.run(*words)
    with suppress(ProcessLookupError):
        os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    yield second if second.code == 2 else Outcome(None, second.out, second.err, "both ran")


@attack("lost work", "two `learn --update` of one run at once")
def two_updates(target: Target) -> Iterator[Outcome]:
    """Whoever reads the run before the other has written it must not write it after."""
    if "--update" not in target.run("learn", "--help").out:
        return
    target.learned()
    target.write("long.txt", LOG * 20_000)
    first = target.start("learn", "long.txt", "--update", "run", "-q")
    second = target.run("learn", "door.txt", "--update", "run", "-q")
    out, err = first.communicate(timeout=120)
    done = [found for found in (Outcome(first.returncode, out, err), second) if found.code == 0]
    metrics = json.loads((target.folder / "run" / "metrics.json").read_text())
    traces = metrics["traces"] + (metrics.get("earlier_traces") or 0)
    expected = 10 + (10 * 20_000 if first.returncode == 0 else 0) + (10 if second.code == 0 else 0)
    lost = "" if traces == expected and done else f"{traces} traces of {expected}"
    yield Outcome(None if lost else max(first.returncode, second.code or 0), second.out, second.err or err, lost)


# --- marks that get through ---

HOSTILE = ("\x1b]0;x\x07", "a\u202eb", "\x9b31m", "[a](javascript:alert(1))", "![x](http://e)", "<script>x</script>",
           "`x`", "| a | b |", "a\nb", "\\[a](javascript:x)")  # fmt: skip


def escaped_badly(path: Path) -> str:
    text = path.read_text()
    if raw_in(text):
        return "raw control characters in a file"
    if "<script>" in text:
        return "HTML in a file"
    bare = text.replace("\\[", "").replace("\\]", "")
    linked = path.suffix == ".md" and ("](javascript:" in bare or "](http://e)" in bare)
    return "a link in Markdown" if linked else ""


@attack("escapes", "hostile names in `evaluate`, `learn`, `check`, `plan`")
def hostile_names(target: Target) -> Iterator[Outcome]:
    traces = [trace | {"actions": [HOSTILE[i % 10] + a for i, a in enumerate(trace["actions"])]} for trace in DOOR]
    target.write("x.jsonl", "".join(json.dumps(trace) + "\n" for trace in traces))
    for words in (("check", "x.jsonl"), ("learn", "x.jsonl", "--out", "run"),
                  ("evaluate", "run", "--problems", "0", "--test", "x.jsonl"),
                  ("plan", "run", "--goal", "\x1b[31m\u202e"), ("brasp", "run", "\x1b[31m"),
                  ("compare", "run", "run")):  # fmt: skip
        yield target.run(*words)
    for path in sorted((target.folder / "run").rglob("*")):
        if path.suffix in (".md", ".html", ".txt", ".csv"):
            why = escaped_badly(path)
            yield Outcome(None if why else 0, "", "", f"{path.name}: {why}" if why else "")


@attack("escapes", "hostile text in metrics.json, as `evaluate` shows it")
def hostile_metrics(target: Target) -> Iterator[Outcome]:
    run = target.learned()
    record = json.loads((run / "metrics.json").read_text())
    for key in ("domain", "encoding", "file", "start", "worst_action"):
        for text in HOSTILE[:3]:
            (run / "metrics.json").write_text(json.dumps(record | {key: text}))
            yield target.run("evaluate", "run", "--problems", "1")
    for key in ("warnings", "assumptions", "starts_found", "understood", "hidden_files"):
        (run / "metrics.json").write_text(json.dumps(record | {key: list(HOSTILE)}))
        yield target.run("evaluate", "run", "--problems", "1")


@attack("escapes", "hostile text in results, as `report` shows and writes it")
def hostile_rows(target: Target) -> Iterator[Outcome]:
    shutil.copytree(target.code / "results", target.folder / "results")
    lines = (target.folder / "results" / "runs.jsonl").read_text().splitlines()
    notes = [{"runs": {}, "note": text} for text in HOSTILE]
    for text in HOSTILE:
        changed = [json.dumps(json.loads(line) | {"commit": text, "version": text, "date": text, "warnings": [text],
                                                  "counterexample_start": text, "equivalence": text})
                   for line in lines]  # fmt: skip
        target.write("results/runs.jsonl", "\n".join(changed) + "\n")
        target.write("results/notes.json", json.dumps([notes[HOSTILE.index(text)]]))
        yield target.run("report", "--out", "page", "--force")
        for name in ("tables.md", "index.html"):
            path = target.folder / "page" / name
            why = escaped_badly(path) if path.exists() else ""
            yield Outcome(None if why else 0, "", "", f"{name}: {why}" if why else "")


NAMES = ("a\u202eb", "\x9b31m", "[a](javascript:alert(1))", "![x](http://e)", "<script>x</script>",
         "</script><img src=x onerror=alert(1)>", "`x`", "| a | b |", "x" * 500, "${x}", "%s",
         "'; rm -rf x; '")  # fmt: skip


def logs_of(names: Sequence[str]) -> dict[str, bytes]:
    """The same events in each form: names of actions, of cases and of a further column."""
    from xml.sax.saxutils import quoteattr

    import polars as pl

    rows = [
        {"case": f"{case}{names[case]}", "activity": name, "status": "ok" if (i + case) % 3 else "denied", "tool": name}
        for case in range(3) for i, name in enumerate(names)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    table = io.BytesIO()
    frame.write_parquet(table)
    xes = "<log>"
    for (case,), part in frame.group_by(["case"], maintain_order=True):
        xes += f'<trace><string key="concept:name" value={quoteattr(str(case))}/>'
        for name, status in part.select("activity", "status").rows():
            xes += f'<event><string key="concept:name" value={quoteattr(name)}/>'
            xes += f'<string key="status" value="{status}"/></event>'
        xes += "</trace>"
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    return {"x.csv": frame.write_csv().encode(), "x.jsonl": lines.encode(), "x.parquet": table.getvalue(),
            "x.xes": f"{xes}</log>".encode()}  # fmt: skip


@attack("escapes", "hostile names in logs of events, from `learn` to `explore`, and in the files these write")
def event_names(target: Target) -> Iterator[Outcome]:
    if not target.has("judge"):
        return
    for name, content in logs_of(NAMES).items():
        target.write(name, content)
        svg = ("--format", "svg", "--max-states", 500, "--out", "run/x.svg", "--force")
        for words in (("learn", name, "--out", "run", "--force"), ("judge", "run", name), ("explain", "run"),
                      ("next", "run"), ("export", "run"), ("export", "run", *svg), ("explore", "run", "--no-open"),
                      ("why", "run", f"{name}:2")):  # fmt: skip
            found = target.run(*words)
            yield Outcome(0 if found.code == 3 else found.code, found.out, found.err, found.why, found.seconds)
        for path in sorted((target.folder / "run").rglob("*")):
            if path.suffix in (".md", ".html", ".txt", ".csv", ".pddl", ".svg"):
                text = path.read_text()
                marked = any(mark in text for mark in ("<script>x", "</script><img", "<img src=x"))
                is_page = path.name == "explore.html"  # which has a script of its own, and policies against others
                bad = ("raw" if raw_in(text) else "") if is_page else escaped_badly(path)
                why = "HTML in a file" if marked else bad
                yield Outcome(None if why else 0, "", "", f"{path.name}: {why}" if why else "")


@attack("escapes", "links under our names in a run folder")
def links(target: Target) -> Iterator[Outcome]:
    run = target.learned()
    shutil.copytree(run, target.folder / "whole")
    outside = target.folder / "outside"
    again = ("learn", "door.txt", "--out", "run", "--force", "-q")
    files = ("model.pddl", "model.json", "metrics.json", "log.jsonl", "previous", "card.md", "explore.html")
    commands: list[tuple[str, tuple[str, ...]]] = [(name, again) for name in files]
    if target.has("explore"):
        commands += [(name, ("explore", "run", "--no-open")) for name in ("explore.html", "card.md", "card.html")]
    for name, words in commands:
        shutil.rmtree(run)
        shutil.copytree(target.folder / "whole", run)
        path = run / name
        kept = path.read_bytes() if path.is_file() else b"mine"
        path.unlink(missing_ok=True)
        if name == "previous":
            outside.mkdir()
            (outside / "model.json").write_text("mine")
        else:
            outside.write_bytes(kept)
        path.symlink_to(outside)
        found = target.run(*words)
        same = (outside / "model.json").read_text() == "mine" if name == "previous" else outside.read_bytes() == kept
        yield found if same else Outcome(None, "", "", f"{name}: a file outside was written")
        shutil.rmtree(outside) if outside.is_dir() else outside.unlink()


@attack("escapes", "the explorer's server: other hosts, origins, tokens, paths, methods and lengths")
def server(target: Target) -> Iterator[Outcome]:
    """Refused is what is answered by 4xx or 5xx; whatever else is given to those who should have nothing has failed."""
    import http.client
    import socket

    if not target.has("explore"):
        return
    target.learned()
    browser = target.write("browser", f'#!/bin/sh\necho "$@" > {target.folder}/seen\n')
    browser.chmod(0o755)
    process = target.start("explore", "run", "--serve", BROWSER=f"{browser} %s", PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    address = [process.stdout.readline() for _ in range(2)][1].split()[0]
    port, token = int(address.split(":")[2].split("/")[0]), address.split("/")[3]
    question = '{"trace": {"steps": [], "init": null, "state": null}, "true": [], "false": []}'
    ours = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json"}
    here, plan, no = f"/{token}/", f"/{token}/plan", dict[str, str]()
    paths = ("/", "/x/", f"{here}../model.json", f"{here}..%2fmodel.json", f"{here}metrics.json", f"{here[:-2]}/",
             f"{here[:-1]}x/", f"/x/..{here}", f"{here}?x", "/" + "a" * 70_000)  # fmt: skip
    hosts = ("evil.example", f"evil.example:{port}", "127.0.0.1", "", f"[::1]:{port}")
    origins = ("null", "http://evil.example", f"https://127.0.0.1:{port}", "http://127.0.0.1:1")
    bodies = ("", "[1]", "[" * 100_000, question + "x", question.replace("null", "{}"))
    welcome = [("GET", here, no, ""), ("POST", plan, no, question)]
    unwelcome = [
        *(("GET", path, no, "") for path in paths),
        *(("GET", here, {"Host": host}, "") for host in hosts),
        *(("POST", plan, {"Origin": origin}, question) for origin in origins),
        *(("POST", plan, {"Content-Type": kind}, question) for kind in ("text/plain", "multipart/form-data")),
        *(("POST", plan, no, body) for body in bodies),
        *(("POST", plan, {"Content-Length": size}, "") for size in ("-1", "9" * 5000, "1e3")),
        *((method, here, no, "") for method in ("PUT", "DELETE", "HEAD", "OPTIONS", "TRACE")),
    ]
    for method, path, headers, body in (*welcome, *unwelcome):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ASLEEP)
        connection.putrequest(method, path, skip_host=True)
        for name, value in ({"Content-Length": str(len(body))} | ours | headers).items():
            connection.putheader(name, value)
        try:
            connection.endheaders(body.encode())
            status = connection.getresponse().status
        except OSError as error:
            status = 0 if isinstance(error, TimeoutError) else 400  # it has hung up
        connection.close()
        asked = f"{method} {ascii(path)[:60]}: {status}"
        if (method, path, headers, body) in welcome:
            yield Outcome(0 if status == 200 else None, "", "", "" if status == 200 else asked)
        else:
            yield Outcome(2 if status >= 400 else None, "", f"trace2strips: {asked}", "" if status >= 400 else asked)
    try:
        others = socket.gethostbyname(socket.gethostname())
        reached = not others.startswith("127.") and socket.socket().connect_ex((others, port)) == 0
    except OSError:
        reached = False
    yield Outcome(None if reached else 0, "", "", "it is reached by another address" if reached else "")
    shown = token in (target.folder / "seen").read_text()
    yield Outcome(None if shown else 0, "", "", "the token is in the command line of the browser" if shown else "")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=ASLEEP)
    silent = process.returncode == 130 and not raw_in(out + err) and err.strip() in ("", "trace2strips: stopped")
    yield Outcome(0 if silent else None, out, err, "" if silent else "something was printed on the terminal")


# --- where it is installed and runs ---


def installed(target: Target) -> Path:
    """What a wheel holds, in a folder of its own."""
    script = f"import hatchling.build as b; print(b.build_wheel({str(target.folder)!r}))"
    subprocess.run([sys.executable, "-c", script], cwd=target.code, capture_output=True, check=True)
    site = target.folder / "site"
    shutil.unpack_archive(next(target.folder.glob("*.whl")), site, "zip")
    return site


COMMIT = """
try:
    from trace2strips.experiments.provenance import commit
except ImportError:
    from trace2strips.experiments.performing import commit
found = commit()
assert found is None, "the commit of another repository is told"
"""
NO_PLACE = """
import numba.core.caching as caching
def refuse(self): raise OSError(30, "Read-only file system")
for name in ("InTreeCacheLocator", "InTreeCacheLocatorFsAgnostic", "UserWideCacheLocator"):
    if hasattr(caching, name): getattr(caching, name).ensure_cache_path = refuse
"""


@attack("installed", "as a wheel: no results beside it, a repository around it, nothing that can be written")
def wheel(target: Target) -> Iterator[Outcome]:
    site = installed(target)
    row = (target.code / "results" / "runs.jsonl").read_text().splitlines()[0]
    target.write("runs.jsonl", row + "\n")
    inside = {"PYTHONPATH": str(site)}
    yield target.run("report", "--results", "runs.jsonl", "--out", "page", **inside)
    for words in (
        ["init", "-q"],
        ["add", "runs.jsonl"],
        ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=target.folder, check=True, capture_output=True)
    yield target.python(COMMIT, **inside)
    target.write("door.txt", LOG)
    target.write("first/sitecustomize.py", NO_PLACE)
    nowhere = {"PYTHONPATH": f"{target.folder / 'first'}:{site}", "HOME": "/nonexistent", "TMPDIR": str(target.folder)}
    for words in (["--version"], ["check", "door.txt"]):
        found = target.run(*words, **nowhere)
        said = found.code == 0 and all(line.startswith("trace2strips: no place") for line in found.err.splitlines())
        yield found if said or found.code else Outcome(None, found.out, found.err, "something else was said")


# the scratch folder of a run on a node, as it was and is called, made before by somebody else: with figures in it
BELIEVED = """
import os, shutil, sys, tempfile, types
from pathlib import Path
ray = types.ModuleType("ray"); ray.util = types.SimpleNamespace(get_node_ip_address=lambda: "here")
ray.exceptions = types.SimpleNamespace(RayError=Exception); sys.modules["ray"] = ray
from trace2strips.experiments import cluster
from trace2strips.experiments.runs import Run
run = Run("blocksworld:2", traces=20, test_traces=20)
ours = Path(tempfile.gettempdir()) / f"trace2strips-{os.getuid()}"
folder = ours / cluster.code_version().replace(" ", "-") / run.name / run.name
folder.mkdir(parents=True)
match sys.argv[1]:
    case "open": ours.chmod(0o777)
    case "owner": os.chown(ours, 65534, 65534)
    case "link": ours.rename("elsewhere"); ours.symlink_to(Path("elsewhere").resolve())
    case "figures": pass
(folder / "figures.json").write_text(sys.argv[2])
board = types.SimpleNamespace(pin=types.SimpleNamespace(remote=lambda *_: None))
result = cluster.work(run, cluster.code_version(), 1, board)
if result.failure:
    sys.exit(print("trace2strips: " + result.failure.splitlines()[-1], file=sys.stderr) or 2)
import io, zipfile
assert b"forged" not in zipfile.ZipFile(io.BytesIO(result.archive)).read("figures.json"), "forged figures are believed"
"""
DISCARD = """
import fcntl, sys, threading, time
from pathlib import Path
from trace2strips.experiments.datasets import DatasetCache
from trace2strips.experiments.runs import Run
folder = Path("datasets"); folder.mkdir()
mine = folder / f"blocksworld2-atoms-goal-train-20x50-s0-{'a' * 12}.t2s"
others = folder / f".blocksworld2-atoms-goal-train-20x50-s0-{'b' * 12}.t2s.x.part"
for path in (mine, others): path.touch()
with (folder / ".lock").open("wb") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)  # somebody samples or reads
    run = Run("blocksworld:2", traces=20, test_traces=20)
    thread = threading.Thread(target=DatasetCache(folder).discard, args=(run, []))
    thread.start(); time.sleep(1)
    assert mine.exists(), "removed while somebody held the lock"
    fcntl.flock(lock, fcntl.LOCK_UN)
thread.join()
assert not mine.exists() and others.exists(), "the half of a dataset that somebody is writing was removed"
"""


@attack("installed", "on a cluster: a scratch folder of somebody else's, datasets that somebody else uses")
def cluster(target: Target) -> Iterator[Outcome]:
    row = json.loads((target.code / "results" / "runs.jsonl").read_text().splitlines()[0])
    forged = json.dumps(row | {"domain": "blocksworld:2", "commit": "forged"})
    for kind in ("open", "link", *(("owner",) if os.getuid() == 0 else ())):
        folder = target.folder / f"tmp-{kind}"
        folder.mkdir()
        yield target.python(BELIEVED, kind, forged, TMPDIR=str(folder))
    yield target.python(DISCARD)


def tally(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    verdicts = [outcome.verdict if not outcome.why else "failed" for outcome in outcomes]
    found: dict[str, Any] = {"inputs": len(outcomes)}
    found |= {name: verdicts.count(name) for name in ("accepted", "refused", "failed")}
    reasons = [outcome.reason for outcome, verdict in zip(outcomes, verdicts, strict=True) if verdict == "failed"]
    most = round(max((outcome.seconds for outcome in outcomes), default=0.0), 1)
    return found | {"reasons": sorted(set(reasons))[:6], "most_seconds": most}


PAGE = """# Security tests: attack by attack

Each attack is a set of inputs for the command line, made and judged by `benchmarks/attacks.py`, which says what an
input is. Accepted: exit code 0 and nothing raw on the terminal or in what was written. Refused: exit code 2 and one
line. Failed: all else (a traceback, more than {seconds} seconds of CPU time, {asleep} seconds asleep, more than
{memory} GiB, lost work, a mark that was let through). Limits are on CPU time, so a busy machine changes nothing. A run
that trains on is accepted. Inputs differ where the older code has no such file or command; none: it has nothing of the
kind. A search that fills its memory is accepted where that is told; of the explorer's server, 4xx is a refusal. Before:
commit {before}; after: commit {after}; why inputs failed is in `results/attacks.json`.

Measured by `python benchmarks/attacks.py --out results/attacks.json` (before: with `--code CHECKOUT --name before`),
written by `python benchmarks/attacks.py --page docs/security-tests.md --out results/attacks.json`. What is attacked and
what is trusted is in [SECURITY.md](../SECURITY.md); the attacks that failed are tests now (`tests/test_hardening.py`).

| attack | before: inputs | accepted | refused | failed | after: inputs | accepted | refused | failed |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
"""
FIGURES = ("inputs", "accepted", "refused", "failed")


def page(path: Path) -> str:
    """The table of what was measured; a dash where something was not."""
    code = json.loads(path.read_text())["code"]
    columns = [code.get(name, {}) for name in ("before", "after")]
    commits = [", ".join(sorted({row["commit"] for row in column.values()})) or "–" for column in columns]
    text = PAGE.format(
        seconds=SECONDS, asleep=ASLEEP, memory=MEMORY // 2**30, before=commits[0], after=commits[1]
    )  # fmt: skip
    for group, what in ATTACKS:
        name = f"{group}: {what}"
        cells = [str(column.get(name, {}).get(figure, "–")) for column in columns for figure in FIGURES]
        text += f"| {name} | {' | '.join(cells)} |\n"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--code", type=Path, default=HERE, help="a checkout of trace2strips")
    parser.add_argument("--name", default="after", help="what its column is called")
    parser.add_argument("--commit", help="of that code, where it is no checkout of git")
    parser.add_argument("--only", action="append", help="attacks with these words in their names; repeat it")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", type=Path, help="write the table of --out and attack nothing")
    arguments = parser.parse_args()
    if arguments.page:
        arguments.page.write_text(page(arguments.out))
        return
    compile_code(arguments.code.resolve())
    for (group, what), check in ATTACKS.items():
        if arguments.only and not any(words in f"{group}: {what}" for words in arguments.only):
            continue
        with tempfile.TemporaryDirectory(prefix="attack-") as folder:
            target = Target(arguments.code.resolve(), Path(folder))
            outcomes = []
            try:
                for outcome in check(target):
                    outcomes.append(outcome)
            except AssertionError as error:
                outcomes.append(Outcome(None, "", "", f"could not be prepared: {ascii(str(error))[-300:]}"))
        row = tally(outcomes)
        print(f"{group}: {what}: {row}", flush=True)
        if arguments.out:
            keep(arguments.out, arguments.name, arguments.commit or commit_of(arguments.code), f"{group}: {what}", row)


def compile_code(code: Path) -> None:
    """Numba compiles once for each checkout; no input shall pay for it."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        target = Target(code, Path(folder))
        target.write("door.txt", LOG)
        for words in (
            ("learn", "door.txt", "--out", "run"),
            ("evaluate", "run", "--problems", "1"),
            ("sample", "blocksworld:2", "--traces", "20", "--out", "x.t2s"),
            ("learn", "x.t2s", "--out", "other"),
        ):
            target.start(*words).communicate()


def commit_of(code: Path) -> str:
    done = subprocess.run(
        ["git", "-C", code, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def keep(path: Path, name: str, commit: str, what: str, row: dict[str, Any]) -> None:
    """Row by row, so that attacks can be tried one by one."""
    whole: Any = (
        json.loads(path.read_text()) if path.exists() else {"command": "python benchmarks/attacks.py", "code": {}}
    )
    whole["code"].setdefault(name, {})[what] = row | {"commit": commit}
    path.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
