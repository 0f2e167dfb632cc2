"""Labels that are probably wrong: `suspects.csv` in the run folder, one a line with the place in the log."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import printable
from trace2strips.model.vocabulary import ACTION
from trace2strips.traces import Dataset

COLUMNS = ("file", "line", "trace", "attempt", "action", "written", "probably")
WORKED, REFUSED = "worked", "refused"


@dataclass(frozen=True)
class Suspect:
    """An attempt whose label is probably the other one. Traces and attempts are counted from 1; a final value counts as
    an attempt after all actions."""

    action: str
    worked: bool  # as the log has it
    trace: int
    attempt: int
    file: str | None = None
    line: int | None = None  # of the attempt in its file, or of its trace

    @property
    def place(self) -> str:
        if self.file is None:
            return f"trace {self.trace}, attempt {self.attempt}"
        where = f"{self.file}:{self.line}" if self.line is not None else f"{self.file}, trace {self.trace}"
        return f"{where}, attempt {self.attempt}"

    def __str__(self) -> str:
        written, probably = (WORKED, REFUSED) if self.worked else (REFUSED, WORKED)
        return printable(f"{self.action} at {self.place} ({written}, probably {probably})")


def find_suspects(dataset: Dataset, refused: Bool[np.ndarray, " positions"]) -> list[Suspect]:
    """Where what really happened is not what the log says."""
    words, found = dataset.vocabulary.subjects, []
    attempted = dataset.vocabulary.kinds[dataset.tokens] >= ACTION
    before = np.append(0, np.cumsum(attempted))
    actions = np.cumsum(dataset.vocabulary.kinds[dataset.tokens] == ACTION) - 1
    for position in np.flatnonzero(refused != dataset.inapplicable).tolist():
        trace = int(np.searchsorted(dataset.offsets, position, side="right")) - 1
        attempt = int(before[position + 1] - before[dataset.offsets[trace]])
        file, line = dataset.file, int(dataset.lines[trace]) if len(dataset.lines) else None
        if dataset.origin is not None:
            file, line = dataset.origin.place(int(actions[position]))
        worked = not dataset.inapplicable[position]
        found.append(Suspect(words[dataset.tokens[position]], worked, trace + 1, attempt, file, line))
    return found


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
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or tuple(rows[0]) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise ValueError("no list of suspects")
    return [
        Suspect(action, written == WORKED, int(trace), int(attempt), file or None, int(line) if line else None)
        for file, line, trace, attempt, action, written, _ in rows[1:]
    ]
