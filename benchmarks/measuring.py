"""What every benchmark here shares: its options, the commit and machine of a measurement, the result file."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trace2strips.experiments.provenance import commit, machine
from trace2strips.files import writing_text


def options(description: str | None, **filters: Sequence[Any]) -> argparse.Namespace:
    """The options of every benchmark, and one for each filter: of these values only the named ones, by default all."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the work, to see that it runs")
    for name, values in filters.items():
        parser.add_argument(f"--{name}", nargs="+", choices=values, default=values, type=type(values[0]))
    return parser.parse_args()


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median of several runs after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def seconds_of_both(
    slow: Callable[[], object], fast: Callable[[], object], rounds: int, more: int = 4
) -> tuple[float, float]:
    """Medians of two works that are measured in turn, so that a slow phase of the machine meets both. In each round
    `fast` comes `more` times as often, and one run of either does not count: threads of the other one still wind down.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, found, repeats in ((slow, times[0], 2), (fast, times[1], 2 * more)):
            work()
            for _ in range(repeats):
                start = time.perf_counter()
                work()
                found.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


class Growing:
    """A result file that grows by one row at a time. The same command, started again, goes on where it was stopped.

    `key` names the fields that tell one row from another. Each row has the commit whose code measured it.
    """

    def __init__(self, out: Path | None, command: str, settings: Mapping[str, Any], key: Sequence[str]) -> None:
        self.out, self.command, self.key = out, command, tuple(key)
        self.settings = json.loads(json.dumps(settings))  # as they are read from a file
        self.commit = commit()  # of the code that is loaded now: it may change while it measures
        self.rows: list[dict[str, Any]] = []
        self.read()

    def read(self) -> None:
        if self.out is None or not self.out.exists():
            return
        record = json.loads(self.out.read_text(encoding="utf-8"))
        if record["settings"] != self.settings:
            raise SystemExit(f"{self.out} has rows of other settings: remove it, or name another file")
        self.rows = record["rows"]

    def find(self, **key: Any) -> dict[str, Any] | None:
        """The row that was measured already."""
        if key.keys() != set(self.key):
            raise KeyError(f"a row is told by {', '.join(self.key)}")
        return next((row for row in self.rows if all(row[name] == key[name] for name in self.key)), None)

    def add(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Into the file at once, beside what another process has added meanwhile."""
        self.read()
        found = {**row, "commit": self.commit, "date": datetime.now(UTC).date().isoformat()}
        self.rows.append(found)
        commits = ", ".join(sorted({str(row["commit"]) for row in self.rows}))
        write_results(self.out, self.command, self.settings, self.rows, commits)
        return found


def write_results(
    out: Path | None,
    command: str,
    settings: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    commits: str | None = None,
) -> None:
    """The figures with all that is needed to measure them again; written beside, then renamed. Rows of several commits
    say which."""
    if out is None:
        return
    record = {
        "command": command,
        "commit": commits or commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": asdict(machine()),
        "settings": dict(settings),
        "rows": list(rows),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with writing_text(out, force=True) as stream:
        stream.write(json.dumps(record, indent=1) + "\n")
    print(f"wrote {out}")
