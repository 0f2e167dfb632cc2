"""Learner `windows` on five logs of a person's kind (`worlds/everyday.py`), with and without wrong labels.

    python benchmarks/windows_everyday.py --out results/windows_everyday.json

Nothing is told but names, one start. Trace accuracy of the small model on 1,000 clean test traces; how many labels were
wrong, how many were listed as probably wrong, and how many of these are.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from measuring import options, write_results

from trace2strips.learners.learning import learn
from trace2strips.learners.windows.learner import Windows
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset
from trace2strips.worlds.everyday import WORLDS, everyday_log, everyday_traces

TRACES = (200, 1_000, 5_000)
ONE = "one"
WRONG = (0.0, ONE, 0.01, 0.05)
TEST, TEST_SEED = 1_000, 99


def main() -> None:
    arguments = options(__doc__)
    rows = []
    for name in ("door",) if arguments.quick else WORLDS:
        test = Dataset.of(everyday_log(name, 50 if arguments.quick else TEST, TEST_SEED))
        for traces in (50,) if arguments.quick else TRACES:
            for wrong in WRONG:
                rows.append({"world": name, "traces": traces, "wrong": wrong, **measure(name, traces, wrong, test)})
                print(rows[-1], flush=True)
    settings = {"seed": 0, "test_traces": TEST, "test_seed": TEST_SEED}
    write_results(arguments.out, "python benchmarks/windows_everyday.py", settings, rows)


def measure(name: str, traces: int, wrong: float | str, test: Dataset) -> dict[str, float | int | str]:
    log, truth = log_and_truth(name, traces, wrong)
    start = time.perf_counter()
    learned = learn(log, Windows())
    seconds = time.perf_counter() - start
    mistakes = {
        (trace, attempt)
        for trace, (told, really) in enumerate(zip(log, truth, strict=True), 1)
        for attempt, (one, other) in enumerate(zip(told.ok, really.ok, strict=True), 1)
        if one != other
    }
    listed = {(suspect.trace, suspect.attempt) for suspect in learned.suspects}
    return {
        "accuracy": learned.accuracy(test),
        "attempts": int((log.vocabulary.kinds[log.tokens] >= ACTION).sum()),
        "wrong_labels": len(mistakes),
        "listed": len(listed),
        "rightly_listed": len(mistakes & listed),
        "unexplained": sum("no STRIPS model" in warning for warning in learned.figures.warnings),
        "names": "" if learned.lifted is None else learned.lifted.understood(),
        "seconds": seconds,
    }


def log_and_truth(name: str, traces: int, wrong: float | str) -> tuple[Dataset, Dataset]:
    """With a share of the labels wrong, or one of all."""
    pairs = list(everyday_traces(name, traces, 0, 0.0 if isinstance(wrong, str) else wrong))
    log, truth = (Dataset.of(found) for found in ([t for t, _ in pairs], [replace(t, ok=ok) for t, ok in pairs]))
    if isinstance(wrong, str):
        labels = log.inapplicable.copy()
        position = np.random.default_rng(5).choice(np.flatnonzero(log.vocabulary.kinds[log.tokens] >= ACTION))
        labels[position] = ~labels[position]
        log = replace(log, inapplicable=labels)
    return log, truth


if __name__ == "__main__":
    main()
