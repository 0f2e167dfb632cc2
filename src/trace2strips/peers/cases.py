"""A case of `reproduce outside`, and the file of their rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trace2strips.errors import FileError
from trace2strips.files import read_text

OURS = "windows"


@dataclass(frozen=True)
class Case:
    """`final`: whether the final values of the goals' predicates are told too. A goal that no action asks for cannot be
    learned without them, from whatever number of traces."""

    domain: str
    traces: int
    seed: int = 0
    learner: str = OURS
    final: bool = False

    @property
    def suffix(self) -> str:
        return "goal" if self.final else "none"

    def __str__(self) -> str:
        return (
            f"{self.domain} {self.traces:,} traces{' with final values' * self.final} seed {self.seed} {self.learner}"
        )


def read_rows(path: Path) -> dict[Case, dict[str, Any]]:
    """The last row of each case."""
    rows: dict[Case, dict[str, Any]] = {}
    if not path.exists():
        return rows
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            row = json.loads(line)
            rows[Case(**{name: row[name] for name in Case.__dataclass_fields__})] = row
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FileError("no row of `reproduce outside`", file=path, line=number, hint="remove the line") from None
    return rows
