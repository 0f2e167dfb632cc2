"""Logs larger than memory, and than one machine: shard by shard, the outcome is that of learning at once, to the byte."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Run as Command
from hypothesis import given, settings
from hypothesis import strategies as st

from test_windows import roads_log
from test_windows_memory import random_log
from trace2strips.errors import TraceError, UserError
from trace2strips.learners.learner import Job, Learned
from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.learners.training import Report
from trace2strips.learners.windows import fitting, parts, streaming
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.parts import fold, merge_parts, summarise_shard
from trace2strips.learners.windows.spreading import OnRay
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.streaming import Here, Wanted, first_traces, hash_files, learn_shards
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset, Trace, read_traces, shards, write_traces
from trace2strips.traces.names import Naming
from trace2strips.traces.shards import Shard, find_shards, hash_shard, read_blocks
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

RESULTS = ("domain.pddl", "model.json", "model.pddl", "summary.json.gz", "support.txt", "suspects.csv")
CALL = Naming("call", "")


def bytes_of(learned: Learned, folder: Path) -> dict[str, bytes]:
    learned.save(folder)
    return {name: (folder / name).read_bytes() for name in RESULTS if (folder / name).exists()}


def in_shards(
    files: Sequence[Path], learner: Windows | None = None, job: Job | None = None, run: Any = None
) -> Learned:
    found = find_shards(files)
    learner = (learner or Windows()).told_by(first_traces(found))
    return learn_shards(learner, found, job or Job(), hash_files(files), run=run)


def cut_small(patch: pytest.MonkeyPatch, file: Path, tokens: int, pieces: int = 6) -> None:
    patch.setattr(shards, "SHARD_TOKENS", max(1, tokens // pieces))
    patch.setattr(shards, "SHARD_BYTES", max(1, file.stat().st_size // pieces))
    patch.setattr(shards, "BLOCK_TOKENS", max(1, tokens // (2 * pieces)))


def look_at_few(patch: pytest.MonkeyPatch, attempts: int) -> None:
    """As if the log were so large that only its beginning is looked at as a whole."""
    patch.setattr(fitting, "MOST_ATTEMPTS", attempts)
    patch.setattr(streaming, "MOST_ATTEMPTS", attempts)


def compare(dataset: Dataset, file: Path, patch: pytest.MonkeyPatch, learner: Windows | None = None) -> Learned:
    """Learned at once, and the same in shards."""
    write_traces(dataset, file)
    once = learn(file, learner)
    cut_small(patch, file, len(dataset.tokens))
    parted = in_shards([file], learner)
    assert bytes_of(once, file.with_name("once")) == bytes_of(parted, file.with_name("parted"))
    figures = [replace(found.figures, train_seconds=0.0, warnings=()) for found in (once, parted)]
    assert figures[0] == figures[1]
    assert bool(once.figures.warnings) == bool(parted.figures.warnings)
    assert once.learner == parted.learner
    return parted


def world(name: str, traces: int, **more: Any) -> Dataset:
    return sample(get_domain(name), SampleSettings(traces, 30, **more))


@pytest.mark.parametrize(
    ("name", "more", "ending"),
    [
        ("blocksworld-5b", {}, ".t2s"),
        ("logistics-3c", {"suffix": "none"}, ".jsonl"),
        ("npuzzle-5t", {"init": "states:1"}, ".txt"),
        ("ferry-5c", {"init": "states:20"}, ".jsonl"),
        ("ferry-5c", {}, ".jsonl.gz"),
        ("ferry-5c", {}, ".csv"),
    ],
)
def test_shards_give_what_learning_at_once_gives(
    name: str, more: dict[str, Any], ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = world(name, 200, **more)
    compare(dataset, tmp_path / f"log{ending}", monkeypatch)
    pieces = len(find_shards([tmp_path / f"log{ending}"]))
    assert pieces > 4 if ending in (".t2s", ".jsonl", ".txt") else pieces == 1


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from((".t2s", ".jsonl", ".txt")), st.integers(1, 9))
def test_any_log_in_any_shards(seed: int, told_nothing: bool, ending: str, pieces: int) -> None:
    """Named starts, told ones and traces that tell nothing; explainable and not."""
    dataset = Dataset.of(random_log(seed, 12, told_nothing))
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / f"log{ending}"
        write_traces(dataset, file)
        once = learn(file)
        cut_small(patch, file, len(dataset.tokens), pieces)
        parted = in_shards([file])
        assert bytes_of(once, Path(folder) / "once") == bytes_of(parted, Path(folder) / "parted")


def three_at_once() -> list[Trace]:
    """`use` works once for each three objects: a condition on all of them."""
    triples = [x for x in product("abcd", repeat=3) if len(set(x)) == 3]
    rng = np.random.default_rng(0)
    found = []
    for _ in range(30):
        chosen = rng.integers(len(triples), size=25).tolist()
        names = tuple(f"use({', '.join(triples[i])})" for i in chosen)
        found.append(Trace(names, tuple(name not in names[:i] for i, name in enumerate(names))))
    return found


def wake_in_different_states() -> list[Trace]:
    """A door that is open or closed at first, and nobody says which."""
    rng = random.Random(0)
    found = []
    for _ in range(40):
        is_open, names, ok = rng.random() < 0.5, [], []
        for _ in range(12):
            names.append(rng.choice(("open", "close")))
            ok.append(is_open == (names[-1] == "close"))
            is_open = is_open != ok[-1]
        found.append(Trace(tuple(names), tuple(ok)))
    return found


@pytest.mark.parametrize(
    ("log", "start", "arity", "learner"),
    [
        (three_at_once, "same", 3, Windows()),
        (roads_log, "objects", 2, Windows()),
        (wake_in_different_states, "own", 2, Windows(start="own")),
    ],
)
def test_shards_are_read_again_at_the_next_arity_and_level(
    log: Callable[[], list[Trace]], start: str, arity: int, learner: Windows, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    dataset = Dataset.of(log())
    look_at_few(monkeypatch, len(dataset.tokens) // 2)
    found = compare(dataset, tmp_path / "log.jsonl", monkeypatch, learner)
    assert (found.figures.start, found.figures.arity) == (start, arity)
    assert not found.summary.nothing_certain


def test_a_later_shard_may_need_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first shards are explained by two objects, and their names have no arguments that one could see."""
    simple = [Trace(("wait", "wait"), (True, True))] * 20
    dataset = Dataset.of([*simple, *three_at_once()])
    look_at_few(monkeypatch, 10)
    found = compare(dataset, tmp_path / "log.jsonl", monkeypatch)
    assert found.figures.arity == 3
    assert found.summary.naming.form == "call"


def with_wrong_labels(dataset: Dataset, share: float) -> Dataset:
    flipped = np.random.default_rng(0).random(len(dataset.tokens)) < share
    flipped &= dataset.vocabulary.kinds[dataset.tokens] == ACTION
    return replace(dataset, inapplicable=dataset.inapplicable ^ flipped)


def test_wrong_labels_of_a_small_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = with_wrong_labels(world("blocksworld:3", 100, suffix="none"), 0.02)
    found = compare(dataset, tmp_path / "log.t2s", monkeypatch)
    assert found.suspects


def test_wrong_labels_of_a_large_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The beginning decides about the model, as at once; suspects are found in all shards. Nothing is certain."""
    dataset = with_wrong_labels(world("blocksworld:3", 300, suffix="none"), 0.02)
    look_at_few(monkeypatch, len(dataset.tokens) // 2)
    write_traces(dataset, tmp_path / "log.t2s")
    once = learn(tmp_path / "log.t2s")
    cut_small(monkeypatch, tmp_path / "log.t2s", len(dataset.tokens))
    parted = in_shards([tmp_path / "log.t2s"])
    assert parted.lifted == once.lifted
    assert parted.suspects == once.suspects
    assert max(suspect.trace for suspect in parted.suspects) > 200
    assert (parted.figures.noise, parted.figures.wrong_labels) == (once.figures.noise, once.figures.wrong_labels)
    assert parted.figures.train_errors == once.figures.train_errors
    assert parted.summary.nothing_certain
    assert parted.summary.sample == once.summary.sample


def test_what_no_model_explains_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parts, "MOST_REFUSALS", 30)
    dataset = with_wrong_labels(world("blocksworld:3", 100, suffix="none"), 0.05)
    write_traces(dataset, tmp_path / "log.t2s")
    cut_small(monkeypatch, tmp_path / "log.t2s", len(dataset.tokens))
    wanted = Wanted(Naming("separator", "_"), 2, StartLevel.SAME)
    found = fold((summarise_shard(s, wanted, read_traces) for s in find_shards([tmp_path / "log.t2s"])), merge_parts)
    assert found is not None
    assert found.summary.inexplicable
    assert 20 < len(found.summary.refusals) <= 30  # of hundreds
    assert found.summary.witnesses() >= found.summary.lines.keys()


@settings(max_examples=30)
@given(st.integers(0, 40), st.integers(0, 10))
def test_results_are_joined_in_order_and_evenly(count: int, seed: int) -> None:
    rng = random.Random(seed)
    values = [None if rng.random() < 0.2 else (f"{i} ", 0) for i in range(count)]
    found = fold(values, lambda one, other: (one[0] + other[0], 1 + max(one[1], other[1])))
    wanted = [value[0] for value in values if value is not None]
    assert (None if found is None else found[0]) == ("".join(wanted) or None)
    if found is not None:
        assert found[1] <= 1 + 2 * np.log2(len(wanted) + 1)  # as deep as a tree, not as a chain


def test_a_shard_is_whole_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the cuts are: no trace is lost, doubled or halved, and lines are those of the file."""
    text = "# a comment\n" + "".join(f"a !b{i % 7} {'c ' * (i % 5)}\n" + "\n" * (i % 3) for i in range(60))
    (tmp_path / "log.txt").write_text(text)
    whole = read_traces(tmp_path / "log.txt")
    for size in (1, 7, 64, 300, 10**6):
        monkeypatch.setattr(shards, "SHARD_BYTES", size)
        monkeypatch.setattr(shards, "BLOCK_TOKENS", 1 + size % 13)
        blocks = [b.traces for shard in find_shards([tmp_path / "log.txt"]) for b in read_blocks(shard)]
        assert [trace for block in blocks for trace in block] == list(whole)
        assert [line for block in blocks for line in block.lines] == list(whole.lines)


def test_the_hash_of_a_shard_is_of_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for ending in (".t2s", ".txt"):
        dataset = world("ferry:2x2", 40)
        file = tmp_path / f"log{ending}"
        write_traces(dataset, file)
        cut_small(monkeypatch, file, len(dataset.tokens))
        before = [hash_shard(shard) for shard in find_shards([file])]
        assert len(set(before)) == len(before) > 3
        changed = dataset.inapplicable.copy()
        changed[-1] ^= True
        write_traces(replace(dataset, inapplicable=changed), file, force=True)
        cut_small(monkeypatch, file, len(dataset.tokens))
        after = [hash_shard(shard) for shard in find_shards([file])]
        if ending == ".t2s":
            assert [a == b for a, b in zip(before, after, strict=True)] == [True] * (len(before) - 1) + [False]
        else:
            assert before[0] == after[0]
            assert before[-1] != after[-1]


# --- bounded memory ---

CHILD = """
import json, re, resource, sys
from pathlib import Path
from trace2strips.learners.learner import Job
from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.streaming import first_traces, learn_shards
from trace2strips.traces import shards

def memory(what):
    return int(re.search(what + r":\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024

def parted(file):
    found = shards.find_shards([file])
    return learn_shards(Windows().told_by(first_traces(found)), found, Job(), "")

how, small, file, out, more = sys.argv[1], *map(Path, sys.argv[2:5]), int(sys.argv[5])
shards.SHARD_BYTES, shards.BLOCK_TOKENS = 2**21, 25_000
learn(small), parted(small)  # all that is compiled is loaded
before = memory("VmHWM")
if more:
    limit = memory("VmData") + more
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
(parted(file) if how == "parted" else learn(file)).save(out)
print(json.dumps(memory("VmHWM") - before))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
def test_a_log_larger_than_memory(tmp_path: Path) -> None:
    """Under a limit that learning at once does not keep to, shards give what learning at once gives without it; and
    twice the log takes no more memory."""
    sizes = {"small": 200, "once": 60_000, "twice": 120_000}
    for name, traces in sizes.items():
        write_traces(world("ferry:2x2", traces, suffix="none"), tmp_path / f"{name}.jsonl")

    def child(how: str, log: str, out: str, more: int) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", CHILD, how, tmp_path / "small.jsonl", tmp_path / f"{log}.jsonl", tmp_path / out]
        one = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        return subprocess.run(
            [*map(str, words), str(more)], capture_output=True, text=True, check=False, env=os.environ | one
        )

    free = child("once", "once", "free", 0)
    needs = json.loads(free.stdout)
    limit = needs * 2 // 3  # about 32 MB; shards take 24, most of it whatever the length of the log
    assert child("once", "once", "dies", limit).returncode != 0
    held = child("parted", "once", "held", limit)
    assert held.returncode == 0, held.stderr
    for name in RESULTS[:-1]:
        assert (tmp_path / "free" / name).read_bytes() == (tmp_path / "held" / name).read_bytes()
    longer = child("parted", "twice", "longer", limit)
    assert longer.returncode == 0, longer.stderr


# --- killed, and started again ---


def six_files(folder: Path) -> list[Path]:
    files = []
    for seed in range(6):
        files.append(folder / f"log-{seed}.jsonl")
        write_traces(world("ferry:3x2", 60, seed=seed), files[-1])
    return files


def test_what_is_ready_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = six_files(tmp_path)
    whole = bytes_of(in_shards(files), tmp_path / "whole")
    done: list[str] = []
    real = streaming.summarise_shard

    def counted(shard: Shard, **more: Any) -> Any:
        done.append(Path(shard.file).name)
        return real(shard, **more)

    monkeypatch.setattr(streaming, "summarise_shard", counted)

    def stop(stage: str, report: Report) -> None:
        if (stage, report.step) == ("windows", 4):
            raise KeyboardInterrupt

    (tmp_path / "run").mkdir()
    with pytest.raises(KeyboardInterrupt):
        in_shards(files, job=Job(0, tmp_path / "run", stop))
    assert done == [f"log-{i}.jsonl" for i in range(4)]
    kept = sorted((tmp_path / "run" / "shards").iterdir())
    assert len(kept) == 4
    kept[0].write_bytes(b"broken")
    kept[1].write_bytes(gzip.compress(gzip.decompress(kept[1].read_bytes()).replace(b'"format', b'"form')))
    done.clear()
    told: list[int] = []
    parted = in_shards(
        files, job=Job(0, tmp_path / "run", lambda stage, r: told.append(r.step) if stage == "windows" else None)
    )
    assert done == [f"log-{i}.jsonl" for i in (0, 1, 4, 5)]
    assert told[-1] == 6
    assert bytes_of(parted, tmp_path / "again") == whole

    lines = files[2].read_text().splitlines()
    files[2].write_text("\n".join([*lines[1:], lines[0]]) + "\n")  # other content in the same number of bytes
    done.clear()
    parted = in_shards(files, job=Job(0, tmp_path / "run"))
    assert done == ["log-2.jsonl"]
    assert bytes_of(parted, tmp_path / "other") == bytes_of(in_shards(files), tmp_path / "other-at-once")


def test_killed_and_started_again(tmp_path: Path, run: Command) -> None:
    files = six_files(tmp_path)
    words = ["learn", *(file.name for file in files), "--stream", "--out", "run", "--quiet"]
    ended = subprocess.Popen([sys.executable, "-m", "trace2strips", *words], cwd=tmp_path)
    end = time.monotonic() + 120
    while len(list((tmp_path / "run" / "shards").glob("*-00000[12].json.gz"))) < 1:
        assert ended.poll() is None, "it was too fast to be killed"
        assert time.monotonic() < end
        time.sleep(0.001)
    ended.send_signal(signal.SIGKILL)
    ended.wait()
    assert not (tmp_path / "run" / "metrics.json").exists()
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "shards").glob("*.json.gz")}
    assert kept
    again = run(*words)
    assert (again.returncode, again.stderr) == (0, "")
    assert not (tmp_path / "run" / "shards").exists()
    run("learn", *(file.name for file in files), "--out", "other", "--quiet")
    for name in RESULTS[:-1]:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


# --- the command line ---


def test_learn_takes_several_files(tmp_path: Path, run: Command) -> None:
    files = [file.name for file in six_files(tmp_path)]
    assert run("learn", *files, "--out", "run", "--test", files[0]).returncode == 0
    assert run("learn", "log-*.jsonl", "--stream", "--out", "several").returncode == 0
    for name in RESULTS[:-1]:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "several" / name).read_bytes()
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert (metrics["traces"], metrics["test_traces"], metrics["test_errors"]) == (360, 60, 0)
    one = "".join((tmp_path / name).read_text() for name in files)
    (tmp_path / "all.jsonl").write_text(one)
    assert run("learn", "all.jsonl", "--out", "once").returncode == 0
    assert run("learn", "all.jsonl", "--stream", "--out", "parted").returncode == 0
    for name in RESULTS[:-1]:
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "parted" / name).read_bytes()
    for name in ("domain.pddl", "model.pddl"):
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "run" / name).read_bytes()
    new = world("ferry:3x2", 10, seed=9)
    write_traces(new, tmp_path / "new.jsonl")
    assert run("learn", "new.jsonl", "--update", "run").returncode == 0  # a run is a run, however it was learned


def write_days(folder: Path, ending: str, overnight: bool = False) -> None:
    """A log of events in a file a day; `overnight`: the last case of a day goes on."""
    import polars as pl

    rng, rows, case = random.Random(0), [], 0
    for day in range(4):
        first = len(rows)
        for _ in range(20):
            case += 1
            is_open = False
            for _ in range(8):
                action = rng.choice(("open", "close"))
                worked = is_open == (action == "close")
                is_open = is_open != worked
                rows.append((f"c{case}", action, "ok" if worked else "failed", f"2026-01-0{day + 1} 10:00:00"))
        case -= overnight
        table = pl.DataFrame(rows[first:], schema=["case_id", "activity", "status", "timestamp"], orient="row")
        file = folder / f"day-{day}{ending}"
        table.write_csv(file) if ending == ".csv" else table.write_parquet(file)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_shard_may_be_a_table_of_events(ending: str, tmp_path: Path, run: Command) -> None:
    write_days(tmp_path, ending)
    assert run("learn", f"day-*{ending}", "--out", "once").returncode == 0
    assert run("learn", f"day-*{ending}", "--stream", "--out", "parted").returncode == 0
    for name in RESULTS[:-1]:
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "parted" / name).read_bytes()


def test_a_case_in_two_files_is_no_shard(tmp_path: Path, run: Command) -> None:
    """Its second half would seem to start in the middle, and make certain what is not."""
    write_days(tmp_path, ".csv", overnight=True)
    assert run("learn", "day-*.csv", "--out", "once").returncode == 0
    result = run("learn", "day-*.csv", "--stream", "--out", "parted")
    assert result.returncode == 2
    assert "cases go on in another file, and a shard sees one file (hint: " in result.stderr


def test_a_large_file_is_learned_in_shards(tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from trace2strips.commands import streamed_run

    write_traces(world("ferry:3x2", 60), tmp_path / "log.jsonl")
    monkeypatch.setattr(streamed_run, "LARGE", 1000)
    assert run("learn", "log.jsonl", "--out", "run").returncode == 0
    assert '"stage": "testing"' in (tmp_path / "run" / "log.jsonl").read_text()


def test_mistakes_are_one_line(tmp_path: Path, run: Command) -> None:
    files = [file.name for file in six_files(tmp_path)]
    with (tmp_path / files[3]).open("a") as stream:
        stream.write("{}\n")
    (tmp_path / "empty.jsonl").write_text("")
    for words, message in (
        ((*files, "--stream", "--out", "run"), f"{files[3]}:61: the field 'actions' is missing"),
        (
            (*files, "--stream", "--out", "run", "--learner", "completion"),
            "learner 'completion' needs the whole log in memory",
        ),
        ((*files[:2], "--update", "run"), "--update takes one log, on one machine"),
        ((files[0], "missing.jsonl", "--out", "run2"), "missing.jsonl: no such file"),
        (("empty.jsonl", files[0], "--out", "run3"), "empty.jsonl: the file is empty"),
        ((files[0], "--ray", "nowhere", "--out", "run4"), "'nowhere' is no address"),
    ):
        result = run("learn", *words)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(f"trace2strips: {message}"), result.stderr
        assert result.stderr.count("\n") == 1


def test_a_separator_that_is_said_late(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"actions": ["a"], "ok": [true]}\n')
    (tmp_path / "b.jsonl").write_text('{"actions": ["a"], "ok": [true], "separator": "_"}\n')
    (tmp_path / "c.jsonl").write_text('{"actions": ["a"], "ok": [true], "separator": ":"}\n')
    with pytest.raises(TraceError, match="the separator '_' is said after the first traces"):
        in_shards([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    with pytest.raises(TraceError, match="separator ':', before it was '_'"):
        in_shards([tmp_path / "b.jsonl", tmp_path / "c.jsonl"])
    assert in_shards([tmp_path / "b.jsonl", tmp_path / "a.jsonl"]).learner == Windows(separator="_")


def test_no_action_at_all(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"actions": [], "ok": []}\n')
    with pytest.raises(TraceError, match="there is no action in the traces"):
        in_shards([tmp_path / "a.jsonl", tmp_path / "a.jsonl"])


# --- more machines ---

on_ray = [
    pytest.mark.slow,
    # Ray leaves the pipes of its processes to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def marked(test: Any) -> Any:
    for mark in on_ray:
        test = mark(test)
    return test


@marked
def test_learn_on_a_cluster(head: tuple[Any, Path], run: Command, tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    files = [file.name for file in six_files(tmp_path)]
    assert run("learn", *files, "--out", "here").returncode == 0
    result = run("learn", *files, "--out", "there", "--ray", head[0].address)
    assert (result.returncode, result.stderr) == (0, "")
    for name in RESULTS[:-1]:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    with (tmp_path / files[3]).open("a") as stream:
        stream.write("{}\n")
    wrong = run("learn", *files, "--out", "wrong", "--ray", head[0].address)
    assert wrong.returncode == 2
    assert f"{files[3]}:61: the field 'actions' is missing" in wrong.stderr
    assert not ray.is_initialized()


@marked
def test_a_node_is_killed_while_it_has_a_shard(
    head: tuple[Any, Path],
    add_second: Callable[[], tuple[Any, Path]],
    tmp_path: Path,
) -> None:
    """Its shard is done again elsewhere."""
    ray = pytest.importorskip("ray")
    (cluster, _), (node, second) = head, add_second()
    found = find_shards(six_files(tmp_path) * 2)
    wanted = Wanted(Naming("separator", "_"), 2, StartLevel.SAME)

    def slowly(shard: Shard) -> Any:  # also says on which node it is
        begun = Path(tempfile.gettempdir()) / f"begun-{time.time_ns()}"
        begun.touch()
        time.sleep(30 if tempfile.gettempdir() == str(second) else 1)
        part = summarise_shard(shard, wanted, read_traces, 1)
        begun.rename(begun.with_name(f"ended-{begun.name}"))
        return part

    finished: list[int] = []
    lost: list[Path] = []

    def kill(number: int, _: Any) -> None:
        finished.append(number)
        if not lost and (working := list(second.glob("begun-*"))):
            cluster.remove_node(node, allow_graceful=False)
            lost.extend(working)

    ray.init(cluster.address, log_to_driver=False, logging_level="CRITICAL")
    try:
        there = OnRay(ray)(slowly, merge_parts, found, lambda _: None, kill)
    finally:
        ray.shutdown()
    assert lost
    assert all(path.exists() for path in lost)  # it was not finished there
    assert sorted(finished) == list(range(len(found)))
    here = Here()(
        partial(summarise_shard, wanted=wanted, read=read_traces), merge_parts, found, lambda _: None, lambda *_: None
    )
    assert there is not None
    assert here is not None
    assert there.summary == here.summary
    assert (there.names, there.attempts, there.refused) == (here.names, here.attempts, here.refused)


@marked
def test_a_cluster_of_this_machine_alone(tmp_path: Path, run_process: Command) -> None:
    pytest.importorskip("ray")
    files = [file.name for file in six_files(tmp_path)[:2]]
    result = run_process("learn", *files, "--out", "run", "--ray", "local", "--quiet")
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "run" / "domain.pddl").exists()


def test_an_error_comes_back_from_a_node_as_it_is() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(TraceError("wrong", file="log.txt", line=3, hint="mend it")))
    assert str(error) == "log.txt:3: wrong (hint: mend it)"
    assert isinstance(error, UserError)
    assert re.match("log", str(error))


def test_how_long_other_learners_take_is_said_before(
    tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More actions, more traces or more steps take longer; `windows` says nothing."""
    from trace2strips.commands import learning_run

    small, large = world("ferry:2x2", 50), world("ferry:6x6", 50)
    for name in ("completion", "strips", "strips+completion"):
        expected = [make_learner(name).expected_seconds(dataset) for dataset in (small, large)]
        assert expected[0] is not None
        assert expected[1] is not None
        assert expected[0] < expected[1]
    fewer = make_learner("strips", {"steps": 10}).expected_seconds(large)
    assert fewer is not None
    assert fewer < (make_learner("strips").expected_seconds(large) or 0)
    assert make_learner("windows").expected_seconds(large) is None
    monkeypatch.setattr(learning_run, "LONG", 0.1)
    write_traces(small, tmp_path / "log.jsonl")
    result = run("learn", "log.jsonl", "--learner", "completion", "--out", "run")
    assert result.returncode == 0  # it goes on
    line = (
        r"trace2strips: completion takes about 0 minutes for \d+ actions and 50 traces \(hint: --learner windows .*\)\n"
    )
    assert re.match(line, result.stderr)
    quiet = run("learn", "log.jsonl", "--learner", "completion", "--out", "quiet", "--quiet")
    assert "takes about" not in quiet.stderr
    assert run("learn", "log.jsonl", "--out", "windows").stderr == ""
