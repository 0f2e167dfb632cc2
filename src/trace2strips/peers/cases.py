"""A case of `reproduce outside`, and the file of their rows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trace2strips.errors import FileError
from trace2strips.files import locked, read_text
from trace2strips.schemas import Schema, record, refusal

OURS = "windows"
BEGINNING = '{"domain": '  # of a row
ANY = Schema(Any)


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


MEASURED = (
    "seconds", "cpu_seconds", "memory_mb", "syntax_precision", "syntax_recall", "applicable_precision",
    "applicable_recall", "effects_precision", "effects_recall", "solved", "false_plans", "certain_share",
    "wrong_certificates", "plans", "plans_right", "equivalent", "test_accuracy",
)  # fmt: skip
ROW = Schema(
    record(
        "OutsideRow",
        {"domain": str, "traces": int, "seed": int, "learner": str, "final": bool, "commit": str | None, "date": str,
         "amlgym": str},
        {**dict.fromkeys(MEASURED, bool | int | float | None), "failed": str, "not_scored": str},
        "allow",
    )
)  # fmt: skip


def read_rows(path: Path) -> dict[Case, dict[str, Any]]:
    """The last row of each case."""
    rows: dict[Case, dict[str, Any]] = {}
    if not path.exists():
        return rows
    for number, line in enumerate(without_cut_off(read_text(path)).splitlines(), 1):
        try:
            row = ROW.parse(line)
        except ValidationError as error:
            wrong = refusal(error, path, number, "a row of `reproduce outside`", "remove the line")
            raise wrong from None
        rows[Case(**{name: row[name] for name in Case.__dataclass_fields__})] = row
    return rows


def put_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row, in the place of one at the end that was cut off, by a kill or a full disk."""
    try:
        with path.open("a+b") as stream, locked(stream):
            stream.seek(0)
            found = stream.read()
            whole = without_cut_off(found.decode(errors="surrogateescape")).encode(errors="surrogateescape")
            stream.truncate(len(whole))
            line = json.dumps(row).encode() + b"\n"
            stream.write(b"\n" + line if whole and not whole.endswith(b"\n") else line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise FileError(error.strerror or str(error), file=path, hint="is the disk full?") from None


def without_cut_off(text: str) -> str:
    """Without a last line that begins as a row of ours does and does not end. Any other that is no row is refused."""
    last = text[text.rfind("\n") + 1 :]
    if not (last.startswith(BEGINNING) or (0 < len(last) < len(BEGINNING) < len(text) and BEGINNING.startswith(last))):
        return text
    with suppress(ValueError):
        ANY.parse(last)
        return text
    return text[: len(text) - len(last)]
