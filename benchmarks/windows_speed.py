"""How fast learner `windows` is, and how much memory it takes.

    python benchmarks/windows_speed.py --out results/windows_speed.json

Three parts. Collecting: about 10⁶ attempts from traces to a summary, and how the time divides. The same work in plain
Python, written down as directly as it goes (`collect_slowly`), on the first traces of the same log, in the same run;
what both find is compared. Learning: all of it on worlds with thousands of ground actions, and on about 10⁷ attempts
from a file, in a process of its own, with its peak of memory.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numba
from measuring import options, seconds, seconds_of_both, write_results

from trace2strips.learners.learning import learn
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.projection import Projection
from trace2strips.learners.windows.summary import Refusal, Summary, reduce, summarise
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

NAMING = Naming("separator", "_")
ARITY = 2
DOMAINS = ("blocksworld-5b", "ferry-5c", "logistics-3c", "npuzzle-5t", "maze-5x5")
TRACES, COMPARED, LENGTH = 40_000, 4_000, 50
LARGE = {"blocksworld:50": 5_000, "logistics:20x20": 5_000}  # traces
MANY = {"logistics-3c": 400_000}


def main() -> None:
    if sys.argv[1:2] == ["--learn"]:  # a child: its peak of memory is its own
        print(json.dumps(learn_file(Path(sys.argv[2]), Path(sys.argv[3]))))
        return
    arguments = options(__doc__)
    scale = 100 if arguments.quick else 1
    rows = []
    for name in DOMAINS[: 1 if arguments.quick else None]:
        rows.append({"part": "collecting", "domain": name, **measure_collecting(name, scale)})
        print(rows[-1], flush=True)
    for part, sizes in (("large worlds", LARGE), ("many attempts", MANY)):
        for name, traces in sizes.items():
            rows.append({"part": part, "domain": name, **measure_learning(name, traces // scale)})
            print(rows[-1], flush=True)
    settings = {"traces": TRACES // scale, "compared": COMPARED // scale, "length": LENGTH, "arity": ARITY,
                "init": "atoms", "suffix": "none", "threads": numba.config.NUMBA_NUM_THREADS}  # fmt: skip
    write_results(arguments.out, "python benchmarks/windows_speed.py", settings, rows)


def count_attempts(dataset: Dataset) -> int:
    return int((dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION).sum())


def collect_fast(dataset: Dataset) -> Summary:
    return summarise(collect_windows(dataset, encode(dataset, NAMING, ARITY)), dataset.vocabulary)


def measure_collecting(name: str, scale: int) -> dict[str, Any]:
    dataset = sample(get_domain(name), SampleSettings(TRACES // scale, LENGTH, suffix="none"))
    encoding = encode(dataset, NAMING, ARITY)
    found = collect_windows(dataset, encoding)
    times = {
        "encode": seconds(lambda: encode(dataset, NAMING, ARITY), 5),
        "collect": seconds(lambda: collect_windows(dataset, encoding), 5),
        "summarise": seconds(lambda: summarise(found, dataset.vocabulary), 5),
    }
    attempts = count_attempts(dataset)
    few = dataset.first(COMPARED // scale)
    fast, slow = collect_fast(few), collect_slowly(few)
    if (fast.smallest, fast.refusals) != slow:
        sys.exit(f"{name}: the two find different windows")
    python, ours = seconds_of_both(lambda: collect_slowly(few), lambda: collect_fast(few), 1 if scale > 1 else 2)
    return {
        "attempts": attempts, **times, "attempts_per_second": attempts / sum(times.values()),
        "compared_attempts": count_attempts(few), "python_seconds": python, "seconds": ours, "ratio": python / ours,
    }  # fmt: skip


def collect_slowly(dataset: Dataset) -> tuple[dict[Any, dict[int, int]], tuple[Refusal, ...]]:
    """The smallest windows and the refusals that say most, in plain Python: what is told of a tuple, what happened to
    it, and windows as sets of bits."""
    words = {token: NAMING.schema(subject) for token, subject in enumerate(dataset.vocabulary.subjects)}
    atoms = [NAMING.words(subject) for subject in dataset.vocabulary.subjects]
    kinds = dataset.vocabulary.kinds.tolist()
    actions = sorted({words[t][0] for t, kind in enumerate(kinds) if kind == Kind.ACTION})
    projection = Projection(tuple(actions), (), ARITY)
    tokens: dict[int, list[tuple[tuple[str, ...], int]]] = {}  # of an action: its tuples and what it leaves there
    asked: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
    for token, kind in enumerate(kinds):
        if kind == Kind.ACTION:
            schema, objects = words[token]
            number = projection.schemas.index(schema)
            tokens[token] = [
                (tuple(objects[i] for i in places), projection.bit[r][number, places])
                for r in range(ARITY + 1)
                for places in permutations(range(len(objects)), r)
            ]
            asked[token] = [
                (projection.query_number[number, places], tuple(objects[i] for i in places))
                for r in range(ARITY + 1)
                for places in combinations(range(len(objects)), r)
            ]
    numbers = {token: projection.schemas.index(words[token][0]) for token in asked}
    windows: dict[Any, dict[int, int]] = defaultdict(dict)
    refused: dict[Any, int] = {}
    offsets = dataset.offsets.tolist()
    for t in range(len(dataset)):
        recent: dict[tuple[str, ...], tuple[int, ...]] = {}
        starts: dict[tuple[str, ...], tuple[Any, ...]] = {}
        told: list[tuple[str, ...]] = []
        position = t << 32
        where = slice(offsets[t], offsets[t + 1])
        labels = dataset.inapplicable[where].tolist()
        for token, is_refused in zip(dataset.tokens[where].tolist(), labels, strict=True):
            if kinds[token] == Kind.INIT_ATOM:
                told.append(atoms[token])
            if kinds[token] != Kind.ACTION:
                continue
            situation: list[tuple[Any, int]] = []
            for query, about in asked[token]:
                if about not in starts:
                    known = [(q, *map(about.index, others)) for q, *others in told if set(others) <= set(about)]
                    starts[about] = ("told", *sorted(known, key=repr))
                window = 0
                for bit in reversed(recent.get(about, ())):
                    situation.append(((query, bit), window))
                    window |= 1 << bit
                situation.append(((query, starts[about]), window))
            if is_refused:
                refused.setdefault((numbers[token], tuple(situation)), position)
            else:
                for reason, window in situation:
                    windows[reason].setdefault(window, position)
                for about, bit in tokens[token]:
                    recent[about] = (*(other for other in recent.get(about, ()) if other != bit), bit)
            position += 1
    smallest = {reason: smallest_of(found) for reason, found in windows.items()}
    return reduce(smallest, [Refusal(schema, dict(situation), place) for (schema, situation), place in refused.items()])


def smallest_of(windows: dict[int, int]) -> dict[int, int]:
    kept: dict[int, int] = {}
    for window in sorted(windows, key=int.bit_count):
        if not any(other & ~window == 0 for other in kept):
            kept[window] = windows[window]
    return kept


def measure_learning(name: str, traces: int) -> dict[str, Any]:
    domain = get_domain(name)
    train = sample(domain, SampleSettings(traces, LENGTH, suffix="none"))
    test = sample(domain, SampleSettings(max(10, min(traces, 1_000)), 200, "test", suffix="none", seed=1))
    row = {"attempts": count_attempts(train), "ground_actions": len(train.vocabulary.actions)}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "train.t2s", Path(folder) / "test.t2s"]
        train.save(paths[0])
        test.save(paths[1])
        words = [sys.executable, __file__, "--learn", *map(str, paths)]
        return row | json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def learn_file(train: Path, test: Path) -> dict[str, Any]:
    learner = Windows(separator="_")
    learn(Dataset.load(train).first(10), learner)  # load the compiled code
    clock = time.perf_counter()
    dataset = Dataset.load(train)
    learned = learn(dataset, learner)
    took = time.perf_counter() - clock
    peak = peak_memory_mb()
    wrong = learned.predictor.wrong_traces(Dataset.load(test))
    return {
        "learn_seconds": took, "peak_memory_mb": peak, "train_errors": learned.figures.train_errors,
        "test_traces": len(wrong), "test_errors": int(wrong.sum()),
    }  # fmt: skip


def peak_memory_mb() -> float:
    """Of this process alone: what `resource` tells begins with the peak of the one that started it (Linux)."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    main()
