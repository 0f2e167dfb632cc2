"""A case of `reproduce outside`, and the file of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trace2strips.files import read_text
from trace2strips.schemas import Schema, record, refusal

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


MEASURED = (
    "seconds", "memory_mb", "syntax_precision", "syntax_recall", "applicable_precision", "applicable_recall",
    "effects_precision", "effects_recall", "solved", "false_plans", "certain_share", "wrong_certificates", "plans",
    "plans_right", "equivalent", "test_accuracy",
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
    for number, line in enumerate(read_text(path).splitlines(), 1):
        try:
            row = ROW.parse(line)
        except ValidationError as error:
            wrong = refusal(error, path, number, "a row of `reproduce outside`", "remove the line")
            raise wrong from None
        rows[Case(**{name: row[name] for name in Case.__dataclass_fields__})] = row
    return rows
