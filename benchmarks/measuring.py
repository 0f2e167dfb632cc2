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


def options(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the work, to see that it runs")
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


def write_results(
    out: Path | None, command: str, settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> None:
    """The figures with all that is needed to measure them again; written beside, then renamed."""
    if out is None:
        return
    record = {
        "command": command,
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": asdict(machine()),
        "settings": dict(settings),
        "rows": list(rows),
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with writing_text(out, force=True) as stream:
        stream.write(json.dumps(record, indent=1) + "\n")
    print(f"wrote {out}")
