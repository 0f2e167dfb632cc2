"""How the cost of learner `windows` grows: with attempts, with ground actions, shard by shard, with an update.

    python benchmarks/scale.py --out results/scale.json

Every measurement is a process of its own with its peak of memory; the log is a `.t2s` file. "shards": learned shard by
shard; "at once": the whole log in memory; "update": 10⁵ further attempts for a run that is there; "one shard",
"merge": what the figures on paper in docs/scale.md are made of. Other learners: `other_learners.py`.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numba
from measuring import options, write_results

from trace2strips.learners.learner import Job
from trace2strips.learners.learning import learn, load
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.parts import Wanted, merge_parts, summarise_shard
from trace2strips.learners.windows.saving import to_text
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.streaming import first_traces, hash_files, learn_shards
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset, Trace, read_traces, write_traces
from trace2strips.traces.names import understand
from trace2strips.traces.shards import find_shards
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

LENGTH = 50
DOMAIN = "logistics-3c"
TRACES = (40, 400, 4_000, 40_000, 400_000)  # about 10³ to 10⁷ attempts
PARTS = 10  # files of 400,000 traces: 10⁸ attempts
WORLDS = {"ferry:4x4": (1,), "ferry:10x10": (1, 10, 100, 1_000)}  # and how many copies, with other objects in each
FEW, SOME = 4_000, 8_000  # traces


def main() -> None:
    if sys.argv[1:2] == ["--child"]:  # its peak of memory is its own
        how, out, *files = sys.argv[2:]
        print(json.dumps(CHILDREN[how](Path(out), [Path(file) for file in files])))
        return
    arguments = options(__doc__)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in measure(Path(folder), arguments.quick):
            rows.append(row)
            print(row, flush=True)
    settings = {"length": LENGTH, "init": "atoms", "suffix": "none", "threads": numba.config.NUMBA_NUM_THREADS}
    write_results(arguments.out, "python benchmarks/scale.py", settings, rows)


def measure(folder: Path, quick: bool) -> Iterator[dict[str, Any]]:
    scale = 100 if quick else 1
    few, _ = write(DOMAIN, 40, folder / "few.t2s")
    for how, run in (("shards", "few"), ("at once", "few at once"), ("update", "few"), ("pieces", "few")):
        child(how, folder / run, few)  # what is compiled is kept: nobody shall be measured while it is
    for traces in TRACES[: 2 if quick else None]:
        file, row = write(DOMAIN, traces, folder / f"{traces}.t2s")
        for how in ("shards", "at once"):
            yield {"part": "attempts", "how": how, **row, **child(how, folder / f"{how} {traces}", file)}
    runs = [t for t in TRACES[: 2 if quick else None] if t >= FEW // scale]
    new, row = write(DOMAIN, FEW // scale, folder / "new.t2s", seed=1)
    for traces in runs:
        more = child("update", folder / f"shards {traces}", new)
        yield {"part": "update", "how": "update", "known_traces": traces, **row, **more}
    piece = folder / f"{TRACES[1 if quick else 3]}.t2s"
    yield {"part": "shard", "how": "one shard", **row, **child("pieces", folder, piece)}
    for world, counts in list(WORLDS.items())[: 1 if quick else None]:
        for copies in counts[: 1 if quick else None]:
            file, row = write(world, SOME // scale, folder / f"{copies} {world.replace(':', '-')}.t2s", copies=copies)
            for how in ("shards", "at once"):
                place = folder / f"{how} {file.stem}"
                yield {"part": "ground actions", "how": how, "copies": copies, **row, **child(how, place, file)}
    lines, row = write(DOMAIN, TRACES[3] // scale, folder / "text.jsonl")
    yield {"part": "text", "how": "shards", **row, **child("shards", folder / "text", lines)}
    written = [write(DOMAIN, TRACES[4] // scale**2, folder / f"part-{i}.t2s", seed=i) for i in range(PARTS)]
    files = [file for file, _ in written]
    whole = written[0][1] | {name: sum(row[name] for _, row in written) for name in ("attempts", "bytes")}
    yield {"part": "attempts", "how": "shards", **whole, **child("shards", folder / "all", *files)}


def write(
    name: str, traces: int, file: Path, seed: int = 0, copies: int = 1, suffix: str = "none"
) -> tuple[Path, dict[str, Any]]:
    dataset = sample(get_domain(name), SampleSettings(traces, LENGTH, suffix=suffix, seed=seed))
    if copies > 1:
        settings = dataset.settings
        dataset = Dataset.of(copied(trace, number % copies) for number, trace in enumerate(dataset))
        dataset = replace(dataset, settings=settings)
    write_traces(dataset, file)
    return file, {"domain": name, **size(dataset), "bytes": file.stat().st_size}


def copied(trace: Trace, number: int) -> Trace:
    """The same in a world of other objects."""

    def other(name: str) -> str:
        word, *objects = name.split("_")
        return "_".join((word, *(f"{thing}.{number}" for thing in objects)))

    return Trace(tuple(map(other, trace.actions)), trace.ok, frozenset(map(other, trace.init or ())))


def size(dataset: Dataset) -> dict[str, int]:
    is_action = dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION
    return {
        "attempts": int(is_action.sum()),
        "ground_actions": len(dataset.vocabulary.actions),
        "tried_actions": len(set(dataset.tokens[is_action].tolist())),
    }


def child(how: str, out: Path, *files: Path) -> dict[str, Any]:
    words = [sys.executable, __file__, "--child", how, str(out), *map(str, files)]
    found: dict[str, Any] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return found


def loaded() -> None:
    """All compiled code is there before the clock starts."""
    few = sample(get_domain("ferry:2x2"), SampleSettings(20, 20, suffix="none"))
    learn(few)


def learn_in_shards(out: Path, files: list[Path]) -> dict[str, Any]:
    loaded()
    clock = time.perf_counter()
    shards = find_shards(files)
    learner = Windows().told_by(first_traces(shards))
    learned = learn_shards(learner, shards, Job(), hash_files(files))
    learned.save(out)
    return figures(out, clock) | {"shards": len(shards), "train_errors": learned.figures.train_errors}


def learn_at_once(out: Path, files: list[Path]) -> dict[str, Any]:
    loaded()
    clock = time.perf_counter()
    learned = learn(files[0])
    learned.save(out)
    return figures(out, clock) | {"train_errors": learned.figures.train_errors}


def update(run: Path, files: list[Path]) -> dict[str, Any]:
    loaded()
    clock = time.perf_counter()
    learned = load(run).update(files[0])
    learned.save(run.with_name(f"{run.name} updated"))
    return figures(run.with_name(f"{run.name} updated"), clock) | {"train_errors": learned.figures.train_errors}


def pieces(_: Path, files: list[Path]) -> dict[str, Any]:
    """One shard, two parts merged, and what a part is in bytes."""
    loaded()
    shards = find_shards(files)[:2]
    naming = understand(first_traces(shards).vocabulary.actions)
    task = partial(summarise_shard, wanted=Wanted(naming, 2, StartLevel.SAME), read=read_traces)
    clock = time.perf_counter()
    found = [part for shard in (shards * 2)[:2] if (part := task(shard)) is not None]
    shard_seconds = (time.perf_counter() - clock) / 2
    clock = time.perf_counter()
    merge_parts(*found)
    merge_seconds = time.perf_counter() - clock
    text = to_text(found[0].summary).encode()
    return {
        "attempts": found[0].attempts, "seconds": shard_seconds, "merge_seconds": merge_seconds,
        "summary_bytes": len(gzip.compress(text, mtime=0)), "peak_memory_mb": peak_memory_mb(),
    }  # fmt: skip


CHILDREN = {"shards": learn_in_shards, "at once": learn_at_once, "update": update, "pieces": pieces}


def figures(run: Path, clock: float) -> dict[str, Any]:
    return {
        "seconds": time.perf_counter() - clock,
        "peak_memory_mb": peak_memory_mb(),
        "summary_bytes": (run / "summary.json.gz").stat().st_size,
    }


def peak_memory_mb() -> float:
    """Of this process alone: what `resource` tells begins with the peak of the one that started it (Linux)."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    main()
