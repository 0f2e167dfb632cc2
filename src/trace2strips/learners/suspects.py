"""Labels that are probably wrong: `suspects.csv` in the run folder, one a line with the place in the log."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import printable
from trace2strips.traces import Dataset
from trace2strips.traces.names import readable
from trace2strips.traces.places import Place, find_places

COLUMNS = ("file", "line", "trace", "attempt", "action", "written", "probably")
WORKED, REFUSED = "worked", "refused"


@dataclass(frozen=True)
class Suspect:
    """An attempt whose label is probably the other one, and its `Place`."""

    action: str
    worked: bool  # as the log has it
    trace: int
    attempt: int
    file: str | None = None
    line: int | None = None  # of the attempt in its file, or of its trace

    @property
    def place(self) -> str:
        return str(Place(self.trace, self.attempt, self.file, self.line))

    def __str__(self) -> str:
        written, probably = (WORKED, REFUSED) if self.worked else (REFUSED, WORKED)
        return printable(f"{readable(self.action)} at {self.place} ({written}, probably {probably})")


def find_suspects(dataset: Dataset, refused: Bool[np.ndarray, " positions"]) -> list[Suspect]:
    """Where what really happened is not what the log says."""
    words = dataset.vocabulary.subjects
    positions = np.flatnonzero(refused != dataset.inapplicable).tolist()
    return [
        Suspect(words[dataset.tokens[i]], not dataset.inapplicable[i], at.trace, at.attempt, at.file, at.line)
        for i, at in zip(positions, find_places(dataset, positions), strict=True)
    ]


def to_csv(suspects: Iterable[Suspect]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for s in suspects:
        labels = (WORKED, REFUSED) if s.worked else (REFUSED, WORKED)
        writer.writerow((s.file or "", "" if s.line is None else s.line, s.trace, s.attempt, s.action, *labels))
    return stream.getvalue()


def from_csv(text: str) -> list[Suspect]:
    """The inverse; a ValueError where the text is none of ours."""
    try:
        rows = list(csv.reader(io.StringIO(text)))
    except csv.Error:
        raise ValueError("no list of suspects") from None
    if not rows or tuple(rows[0]) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise ValueError("no list of suspects")
    return [
        Suspect(action, written == WORKED, int(trace), int(attempt), file or None, int(line) if line else None)
        for file, line, trace, attempt, action, written, _ in rows[1:]
    ]
