"""What a finished run tells, as a typed row. Every field is declared here; one reader and one writer serve all.

In files a row is one flat JSON object: the run's settings, then the figures; what was not measured is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, NoReturn, get_type_hints

from trace2strips.errors import FileError, UserError, shorten, suggest
from trace2strips.experiments.records import describe, read_value
from trace2strips.experiments.runs import Run

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


def read_row(text: str | bytes, path: Path, line: int | None = None) -> Row:
    """The inverse of `format_row`. Whatever is not exactly a row is refused with its place."""

    def fail(message: str, hint: str | None = None) -> NoReturn:
        raise FileError(message, file=path, line=line, hint=hint)

    try:
        record = json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        fail(f"not JSON: {error}", "one JSON object a line")
    if not isinstance(record, dict):
        fail("not a JSON object", "one JSON object a line")
    for name in record:
        if name not in KINDS or name == "run":
            hint = OLD_ROW if "network" in record else suggest(name, KINDS, "fields")
            fail(f"a row has no field {shorten(name)!r}", hint)
    for name in REQUIRED:
        if name not in record:
            fail(f"no {name!r}", f"a row has {', '.join(REQUIRED)}")
    found = {}
    for name, value in record.items():
        try:
            found[name] = read_value(value, KINDS[name])
        except TypeError:
            fail(f"{name} is {shorten(repr(value))}", f"it should be {describe(KINDS[name])}")
    try:
        run = Run(**{name: found.pop(name) for name in RUN_FIELDS})
    except UserError as error:
        fail(error.message, error.hint)
    return Row(run=run, **found)


def refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")
