"""Doing what is missing or stale: what an executor is, and the loop around it that notes each finished run.

An executor takes runs, does them wherever it likes and gives each back with its row, or with why there is none. It
takes the next run when it can begin with it, so that the loop can stop giving out runs at any time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from trace2strips.experiments.code import run_code
from trace2strips.experiments.datasets import DatasetCache
from trace2strips.experiments.results import put_result
from trace2strips.experiments.rows import Row
from trace2strips.experiments.runs import Run
from trace2strips.learners.training import Report


@dataclass(frozen=True)
class Failure:
    """A run without a row: why, and where more is said. One that was killed may end well when it is tried again."""

    message: str
    log: Path | None = None
    killed: bool = False


Tell = Callable[[Run, str, Report], None]  # where a run stands: its stage, and in training the step


@runtime_checkable  # for the check of types in tests
class Executor(Protocol):
    def __call__(self, runs: Iterable[Run], tell: Tell) -> Iterator[tuple[Run, Row | Failure]]: ...


def is_stale(row: Row) -> bool:
    """Has other code made this row than there is now?"""
    return row.code != run_code(row.run.learner)


def left_to_do(runs: Sequence[Run], rows: Mapping[Run, Row], stale: bool = False) -> list[Run]:
    """The runs that have no row; with `stale` those whose row older code has made."""
    return [run for run in runs if (run in rows and is_stale(rows[run]) if stale else run not in rows)]


def execute(
    runs: Sequence[Run],
    results: Path,
    executor: Executor,
    tell: Tell,
    cache: DatasetCache | None = None,
    seconds: float | None = None,
) -> Iterator[tuple[Run, Row | Failure]]:
    """Do runs; each row is in the file of results before it is given on.

    After `seconds` no further run is begun. With a cache, datasets that no run needs any more are removed from it.
    """
    left = list(runs)
    end = None if seconds is None else time.monotonic() + seconds
    given = (run for run in runs if end is None or time.monotonic() < end)
    for run, outcome in executor(given, tell):
        if not isinstance(outcome, Failure):
            put_result(results, outcome)
            left.remove(run)
            if cache is not None:
                cache.discard(run, left)
        yield run, outcome
