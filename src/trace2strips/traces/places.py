"""Where attempts stand in a log, for people: the file, the line of the trace, and which of its attempts it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from trace2strips.model.vocabulary import ACTION
from trace2strips.traces.dataset import Dataset


@dataclass(frozen=True)
class Place:
    """Traces and attempts are counted from 1; a final value counts as an attempt after all actions."""

    trace: int
    attempt: int
    file: str | None = None
    line: int | None = None  # of the trace in its file

    def __str__(self) -> str:
        if self.file is None:
            return f"trace {self.trace}, attempt {self.attempt}"
        where = f"{self.file}:{self.line}" if self.line is not None else f"{self.file}, trace {self.trace}"
        return f"{where}, attempt {self.attempt}"


def find_places(dataset: Dataset, positions: Iterable[int]) -> Iterator[Place]:
    """Of positions of a dataset that are attempts."""
    attempted = dataset.vocabulary.kinds[dataset.tokens] >= ACTION
    before = np.append(0, np.cumsum(attempted))
    actions = np.cumsum(dataset.vocabulary.kinds[dataset.tokens] == ACTION) - 1
    for position in positions:
        trace = int(np.searchsorted(dataset.offsets, position, side="right")) - 1
        attempt = int(before[position + 1] - before[dataset.offsets[trace]])
        file, line = dataset.file, int(dataset.lines[trace]) if len(dataset.lines) else None
        if dataset.origin is not None:
            file, line = dataset.origin.place(int(actions[position]))
        yield Place(trace + 1, attempt, file, line)
