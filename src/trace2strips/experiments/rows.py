"""What a finished run tells, as a typed row. Every field is declared here; one reader and one writer serve all.

In files a row is one flat JSON object: the run's settings, then the figures; what was not measured is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import ValidationError

from trace2strips.errors import FileError, UserError, shorten, suggest
from trace2strips.experiments.records import Value, describe
from trace2strips.experiments.runs import Run
from trace2strips.schemas import Schema, record, refusal

Bin = tuple[int, float, int]  # longest trace in it, share of traces that are right, number of traces


@dataclass(frozen=True)
class Machine:
    """`threads` is what the run was given of the cores; rows of before do not tell: they had all."""

    cores: int
    python: str
    system: str
    threads: int | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of one run; None where there was nothing to measure.

    `train_…` and `test_…` are of what predicts: the model, or a decoder's network; then `model_…` are of the model that
    was read out of it. `long_…` are of M_L, the model read out of long traces.
    """

    run: Run

    # learning
    train_accuracy: float
    train_errors: int
    train_seconds: float
    steps: int | None = None
    attempts: int | None = None
    network_train_accuracy: float | None = None  # of the network before completion
    clean_train_accuracy: float | None = None  # without the flipped labels
    contradictions: int | None = None
    warnings: tuple[str, ...] = ()
    model_train_accuracy: float | None = None
    model_train_errors: int | None = None
    probing_seconds: float | None = None
    probed_traces: int | None = None
    least_sure_precondition: float | None = None
    least_sure_effect: float | None = None

    # testing
    test_accuracy: float
    test_errors: int
    model_test_accuracy: float | None = None
    model_test_errors: int | None = None
    accuracy_by_length: tuple[Bin, ...] | None = None

    # the learned model beside the hidden one
    atoms: int | None = None
    preconditions: int | None = None
    effects: int | None = None
    invented_atoms: int | None = None
    hidden_atoms: int | None = None
    hidden_preconditions: int | None = None
    hidden_effects: int | None = None
    missing_preconditions: int | None = None
    extra_preconditions: int | None = None
    missing_effects: int | None = None
    extra_effects: int | None = None
    equivalence: str | None = None
    equivalence_how: tuple[str, ...] | None = None
    counterexample: tuple[str, ...] | None = None
    counterexample_start: str | None = None
    refused_by: str | None = None

    # planning
    problems: int | None = None
    plan_accuracy: float | None = None
    plans_correct: int | None = None
    plans_inapplicable: int | None = None
    plans_bad_goal: int | None = None
    plans_unsolved: int | None = None
    plan_mean_length: float | None = None
    plan_max_length: int | None = None
    plan_seconds: float | None = None
    plan_states: float | None = None
    unsolved_because: Mapping[str, int] | None = None
    unseen_actions: int | None = None
    problems_with_unseen_actions: int | None = None

    # M_L
    long_probed_traces: int | None = None
    long_missing_preconditions: int | None = None
    long_extra_preconditions: int | None = None
    long_missing_effects: int | None = None
    long_extra_effects: int | None = None
    long_problems: int | None = None
    long_plan_accuracy: float | None = None
    long_plans_correct: int | None = None
    long_plans_inapplicable: int | None = None
    long_plans_bad_goal: int | None = None
    long_plans_unsolved: int | None = None
    long_plan_mean_length: float | None = None
    long_plan_max_length: int | None = None
    long_plan_seconds: float | None = None
    long_plan_states: float | None = None
    long_unsolved_because: Mapping[str, int] | None = None

    # where it comes from
    seconds: Mapping[str, float] | None = None  # by stage; None: measured before all stages were timed
    machine: Machine | None = None
    commit: str | None = None
    code: str | None = None  # a hash of the code that made it; None: made before it was noted
    version: str | None = None
    date: str | None = None

    def record(self) -> dict[str, Any]:
        """As JSON says it: flat, without what is None."""
        found = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "run"}
        if self.machine is not None:
            found["machine"] = {name: value for name, value in asdict(self.machine).items() if value is not None}
        return self.run.record() | {name: value for name, value in found.items() if value is not None}


RUN_FIELDS = tuple(item.name for item in fields(Run))
KINDS = {**get_type_hints(Run), **get_type_hints(Row)}
REQUIRED = (*RUN_FIELDS, *(item.name for item in fields(Row) if item.default is MISSING and item.name != "run"))
OLD_ROW = "a row of an older version: python benchmarks/migrate_rows.py FILE"


def format_row(row: Row) -> str:
    """One line, without its end."""
    return json.dumps(row.record())


ROW = Schema(
    record(
        "Row",
        {name: dict[str, Value] if name == "settings" else KINDS[name] for name in REQUIRED},
        {name: kind for name, kind in KINDS.items() if name not in (*REQUIRED, "run")},
    )
)


def read_row(text: str | bytes, path: Path, line: int | None = None) -> Row:
    """The inverse of `format_row`. Whatever is not exactly a row is refused with its place."""
    try:
        found = ROW.parse(text)
    except ValidationError as error:
        raise row_refusal(error, text, path, line) from None
    try:
        run = Run(**{name: found.pop(name) for name in RUN_FIELDS})
    except UserError as error:
        raise FileError(error.message, file=path, line=line, hint=error.hint) from None
    if (machine := found.get("machine")) is not None:
        found["machine"] = Machine(**machine)
    return Row(run=run, **found)


def row_refusal(error: ValidationError, text: str | bytes, path: Path, line: int | None) -> FileError:
    """What is wrong with it, in words of rows: a field that no row has first, then one that is missing."""
    faults = error.errors(include_url=False)
    unknown = [
        str(fault["loc"][0]) for fault in faults if fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1
    ]
    missing = [str(fault["loc"][0]) for fault in faults if fault["type"] == "missing" and len(fault["loc"]) == 1]
    if not faults[0]["loc"]:
        wrong = refusal(error, path, line, hint="one JSON object a line")
        return FileError(wrong.message, file=path, line=line, hint=wrong.hint)
    if unknown:
        hint = OLD_ROW if "network" in unknown else suggest(unknown[0], KINDS, "fields")
        return FileError(f"a row has no field {shorten(unknown[0])!r}", file=path, line=line, hint=hint)
    if missing:
        return FileError(f"no {missing[0]!r}", file=path, line=line, hint=f"a row has {', '.join(REQUIRED)}")
    field = str(faults[0]["loc"][0])
    found = shorten(repr(Schema(Any).parse(text)[field]))
    return FileError(f"{field} is {found}", file=path, line=line, hint=f"it should be {describe(KINDS[field])}")
