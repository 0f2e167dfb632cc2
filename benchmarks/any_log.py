"""Logs as others write them: other columns, XES, Parquet, starts that nobody tells, and five million rows.

    python benchmarks/any_log.py --out results/any_log.json

The five everyday worlds, written as CSV with other columns, XES and Parquet, must give the model of the traces
themselves. Logs whose traces start in two or three ways: how many starts are found, and how fresh traces are predicted
that tell theirs. A CSV of 5·10⁶ rows: seconds from the file to the run folder, beside the seconds in which polars reads
it.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import polars as pl
from measuring import options, write_results

from trace2strips.learners.holding_out import measure
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.learners.windows.learner import Windows
from trace2strips.model.strips import StripsAction
from trace2strips.traces import Dataset
from trace2strips.traces.trace import Trace
from trace2strips.worlds.everyday import WORLDS, everyday_log

BEGIN = datetime(2026, 1, 1)
TRACES = 300
ROWS = 5_000_000
REPEATS = 3
STARTS = {  # of worlds, besides the one that they have
    "door": ("closed unlocked hook disarmed outside quiet",),
    "order": ("draft unbilled items", "approved unbilled"),
    "api": ("in no-notes no-plan",),
}


def rows_of(traces: Iterable[Trace]) -> list[tuple[str, str, bool, datetime]]:
    """Case, action, whether it worked, and when."""
    found: list[tuple[str, str, bool, datetime]] = []
    for case, trace in enumerate(traces, 1):
        for action, ok in zip(trace.actions, trace.ok, strict=True):
            found.append((f"case-{case}", action, ok, BEGIN + timedelta(seconds=len(found))))
    return found


def write_csv_log(traces: Iterable[Trace], path: Path) -> None:
    """With `;`, other names and words; the newest row first."""
    lines = ["Session;When;Operation;Result;Host"]
    for n, (case, action, ok, when) in enumerate(rows_of(traces)):
        name = f'"{action}"' if ";" in action else action
        lines.append(f"{case};{when:%d.%m.%Y %H:%M:%S};{name};{'Succeeded' if ok else 'DENIED'};host-{n % 7}")
    path.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n", encoding="utf-8")


def write_parquet_log(traces: Iterable[Trace], path: Path) -> None:
    case, action, ok, when = zip(*rows_of(traces), strict=True)
    codes = [200 if good else 403 for good in ok]
    pl.DataFrame({"trace_id": case, "event": action, "status_code": codes, "timestamp": when}).write_parquet(path)


def write_xes_log(traces: Iterable[Trace], path: Path) -> None:
    """Gzipped where the name ends in .gz."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<log xes.version="1.0" xmlns="http://www.xes-standard.org/">']
    last = None
    for case, action, ok, when in rows_of(traces):
        if case != last:
            lines += ["</trace>"] * (last is not None) + ["<trace>", f'<string key="concept:name" value="{case}"/>']
        last = case
        lines.append(
            f'<event><string key="concept:name" value={quoteattr(action)}/>'
            f'<date key="time:timestamp" value="{when.isoformat()}.000+01:00"/>'
            f'<string key="outcome" value="{"success" if ok else "failure"}"/></event>'
        )
    text = "\n".join([*lines, "</trace>", "</log>"]).encode()
    path.write_bytes(gzip.compress(text) if path.name.endswith(".gz") else text)


WRITERS = {"csv": write_csv_log, "xes.gz": write_xes_log, "parquet": write_parquet_log}


def log_with_starts(
    actions: Sequence[StripsAction], starts: Sequence[str], traces: int, seed: int
) -> tuple[list[Trace], list[int]]:
    """A log whose traces begin in one of several states, of which nothing is told, and in which each does."""
    rng = np.random.default_rng([seed, len(starts)])
    found, which = [], []
    for _ in range(traces):
        which.append(int(rng.integers(len(starts))))
        state = frozenset(starts[which[-1]].split())
        tried, worked = [], []
        for _ in range(rng.integers(10, 25)):
            able = [action for action in actions if action.pre <= state]
            unable = [action for action in actions if not action.pre <= state]
            pool = able if not unable or (able and rng.random() < 0.5) else unable
            chosen = pool[rng.integers(len(pool))]
            tried.append(chosen.name)
            worked.append(chosen.pre <= state)
            if worked[-1]:
                state = (state - chosen.delete) | chosen.add
        found.append(Trace(tuple(tried), tuple(worked)))
    return found, which


def names_of_starts(learned: Learned, log: Sequence[Trace], which: Sequence[int]) -> dict[int, str]:
    """What the start is called that most traces of each real start fit, by what was learned."""
    wrong = learned.learner.wrong_by_start(learned, Dataset.of(log))
    votes: dict[int, Counter[str]] = {}
    for trace, real in enumerate(which):
        for name, bad in zip(learned.vocabulary.init_states, wrong[:, trace], strict=True):
            votes.setdefault(real, Counter())[name] += not bad
    return {real: count.most_common(1)[0][0] for real, count in votes.items()}


def measure_formats(world: str, traces: int, folder: Path) -> Iterable[dict[str, Any]]:
    log = everyday_log(world, traces)
    expected = learn(log, Windows())
    for ending, write in WRITERS.items():
        path = folder / f"{world}.{ending}"
        write(log, path)
        learned = learn(path, Windows())
        same = learned.lifted is not None and learned.lifted.pddl() == expected.lifted.pddl()  # type: ignore[union-attr]
        yield {"what": "format", "world": world, "format": ending, "traces": traces, "same_model": same}


def measure_starts(world: str, traces: int) -> dict[str, Any]:
    actions, starts = tuple(WORLDS[world].actions()), (WORLDS[world].start, *STARTS[world])
    log, which = log_with_starts(actions, starts, traces, 0)
    learned = learn(log, Windows())
    fresh, real = log_with_starts(actions, starts, 300, 1)
    names = names_of_starts(learned, log, which) if learned.figures.starts_found else dict.fromkeys(which, "start")
    told = [replace(trace, state=names[start]) for trace, start in zip(fresh, real, strict=True)]
    return {
        "what": "starts", "world": world, "traces": traces, "starts": len(starts),
        "starts_found": len(learned.figures.starts_found) or 1, "wrong_labels": learned.figures.wrong_labels,
        "accuracy_untold": learned.accuracy(fresh), "accuracy_told": learned.accuracy(told),
        "held_out": measure(Dataset.of(log), learned.learner, 0.2, 0).get("held_out_told_accuracy"),
        "said": "; ".join(learned.figures.starts_found),
    }  # fmt: skip


def write_large(path: Path, rows: int, world: str = "order", different: int = 20_000) -> None:
    """Different traces, again and again under other names, in order of time."""
    log = everyday_log(world, min(different, max(1, rows // 25)))
    action = np.concatenate([np.array(trace.actions) for trace in log])
    ok = np.concatenate([np.array(trace.ok) for trace in log])
    case = np.repeat(np.arange(len(log)), [len(trace.actions) for trace in log])
    times = -(-rows // len(action))
    pl.DataFrame(
        {
            "case_id": np.tile(case, times)[:rows] + np.repeat(np.arange(times) * len(log), len(action))[:rows],
            "activity": np.tile(action, times)[:rows],
            "result": np.where(np.tile(ok, times)[:rows], "ok", "denied"),
            "user": np.random.default_rng(0).integers(0, 50, rows),
        }
    ).select(
        pl.format("order-{}", "case_id").alias("case_id"), "activity", "result",
        (pl.lit(BEGIN) + pl.int_range(rows) * pl.duration(seconds=1)).alias("timestamp"), "user",
    ).write_csv(path)  # fmt: skip


READ = "import polars, sys, time; b = time.perf_counter(); polars.read_csv(sys.argv[1]); print(time.perf_counter() - b)"
UNDERSTAND = (
    "import sys, time; from trace2strips.traces import read_traces; import polars; b = time.perf_counter(); "
    "read_traces(sys.argv[1]); print(time.perf_counter() - b)"
)


def measure_large(rows: int, folder: Path) -> dict[str, Any]:
    """Each in a process of its own, in turn; the median of several."""
    path, run = folder / "large.csv", folder / "run"
    write_large(path, rows)
    found: dict[str, list[float]] = {"polars_reads": [], "understand": [], "learn_command": []}
    for _ in range(REPEATS):
        for name, program in (("polars_reads", READ), ("understand", UNDERSTAND)):
            words = [sys.executable, "-c", program, str(path)]
            found[name].append(float(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
        begin = time.perf_counter()
        words = [sys.executable, "-m", "trace2strips", "learn", str(path), "--out", str(run), "--force", "--quiet"]
        subprocess.run(words, check=True, capture_output=True)
        found["learn_command"].append(time.perf_counter() - begin)
    figures = json.loads((run / "metrics.json").read_text())
    middle = {name: float(np.median(times)) for name, times in found.items()}
    return {
        "what": "large", "rows": rows, "megabytes": path.stat().st_size / 1e6, **middle,
        "times_polars": middle["learn_command"] / middle["polars_reads"],
        "train_errors": figures["train_errors"], "held_out": figures.get("held_out_accuracy"),
    }  # fmt: skip


def main() -> None:
    arguments = options(__doc__)
    traces = 40 if arguments.quick else TRACES
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for world in ("door",) if arguments.quick else WORLDS:
            rows += measure_formats(world, traces, folder)
        for world in ("door",) if arguments.quick else STARTS:
            rows += [measure_starts(world, count) for count in ((traces,) if arguments.quick else (60, 300, 1_000))]
        rows.append(measure_large(20_000 if arguments.quick else ROWS, folder))
    for row in rows:
        print(row, flush=True)
    settings = {"seed": 0, "traces": TRACES, "rows": ROWS, "repeats": REPEATS}
    write_results(arguments.out, "python benchmarks/any_log.py", settings, rows)


if __name__ == "__main__":
    main()
