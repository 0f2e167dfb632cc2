"""CSV event log: one row an event, with the columns case, action, ok and, where needed, phase and separator (what
stands between a name and its arguments). Whoever reads it may name further columns that hold arguments.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from io import TextIOBase
from pathlib import Path

from trace2strips.errors import TraceError, listing, shorten
from trace2strips.files import read_lines
from trace2strips.traces.names import join_list
from trace2strips.traces.text_files import (
    MAX_ACTIONS,
    MalformedError,
    Numbered,
    Progress,
    Stated,
    decode_percent,
    encode_percent,
    make_trace,
    set_final,
)
from trace2strips.traces.trace import Trace

COLUMNS = ("case", "action", "ok", "phase", "separator")
PHASES = ("action", "init", "state", "final")
TRUE = {"true", "1", "yes", "y", "t", "ok", "worked"}
FALSE = {"false", "0", "no", "n", "f", "refused", "failed"}

# what a spreadsheet or the reader would lose is percent-encoded, and so is a '%' that would be read as such a code
SPECIAL = re.compile(r"\A\s+|\s+\Z|[\x00-\x1f\x7f-\x9f]|%(?=[0-9A-Fa-f]{2})")


@dataclass
class Case:
    """The events of one case so far."""

    line: int  # of its first row
    actions: list[str] = field(default_factory=list)
    ok: list[bool] = field(default_factory=list)
    init: dict[str, bool] | None = None
    state: str | None = None
    final: dict[str, bool] = field(default_factory=dict)
    said_no_action: bool = False
    said_no_atom: bool = False

    def check(self) -> None:
        """What is there must not contradict what was said not to be there; called after each row, to name its line."""
        if self.said_no_action and self.actions:
            raise MalformedError("an empty action in a case with actions", "only a case without any action has one")
        if self.said_no_atom and any((self.init or {}).values()):
            raise MalformedError("an empty initial atom in a case with true ones", "it says that no atom is true")
        if self.init is not None and self.state is not None:
            raise MalformedError("a case has initial atoms or the name of an initial state, not both")

    def trace(self) -> Trace:
        init = None if self.init is None else frozenset(atom for atom, value in self.init.items() if value)
        return make_trace(self.actions, self.ok, init, self.state, self.final)


def read_csv(path: Path, progress: Progress, stated: Stated) -> Numbered:
    """One row an event. Rows of one case stay in their order; cases may be interleaved."""
    lines = (text + "\n" for _, text in read_lines(path, progress))
    rows = csv.reader(lines, strict=True)
    cases: dict[str, Case] = {}
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        if not header:
            return
        for needed in COLUMNS[:3]:
            if needed not in header:
                raise MalformedError(f"the column {needed!r} is missing", "the first line must be: case,action,ok")
        for name in COLUMNS:
            if header.count(name) > 1:
                raise MalformedError(f"the column {name!r} is there twice", "keep one, or rename the other")
        places = [header.index(name) if name in header else None for name in COLUMNS]
        columns = Columns(stated.arguments, header)
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise MalformedError(
                    f"{len(row)} columns where the header has {len(header)}", "quote names with commas"
                )
            case, action, ok, phase, separator = ("" if place is None else row[place].strip() for place in places)
            if separator:
                stated.say(decode_percent(separator))
            phase = phase.lower() or "action"
            action = columns.join(phase, decode_percent(action), row)
            add_event(cases, rows.line_num, case, action, ok.lower(), phase)
    except (MalformedError, csv.Error) as error:
        message = f"not CSV: {error}" if isinstance(error, csv.Error) else str(error)
        hint = getattr(error, "hint", None)
        raise TraceError(message, file=path, line=max(rows.line_num, 1), hint=hint) from None
    for found in cases.values():
        yield found.line, found.trace()  # every row was checked: this cannot fail any more


def columns_of(names: list[str]) -> str:
    return ", ".join(map(repr, names)) or "no column"


class Columns:
    """The columns that hold arguments. An action has its arguments always in the same ones: what is empty is none."""

    def __init__(self, names: tuple[str, ...], header: list[str]) -> None:
        self.names = names
        for name in names:
            if header.count(name.strip().lower()) != 1 or name.strip().lower() in COLUMNS:
                hint = "columns: " + listing([other for other in header if other not in COLUMNS])
                raise MalformedError(f"no column {shorten(name)!r} for arguments", hint)
        self.places = [header.index(name.strip().lower()) for name in names]
        self.filled: dict[tuple[str, str], list[str]] = {}

    def join(self, phase: str, action: str, row: list[str]) -> str:
        if not self.names or not action or phase == "state":
            return action
        cells = [decode_percent(row[place].strip()) for place in self.places]
        filled = [name for name, cell in zip(self.names, cells, strict=True) if cell]
        known = self.filled.setdefault((phase, action), filled)
        if filled != known:
            raise MalformedError(
                f"{shorten(action)!r} has arguments in {columns_of(filled)} here, before in {columns_of(known)}",
                "an action has its arguments always in the same columns; give the two different names",
            )
        return join_list((action, *filter(None, cells)))


def add_event(cases: dict[str, Case], line: int, case: str, action: str, ok: str, phase: str) -> None:
    if not case:
        raise MalformedError("the case is empty", "every row needs the name of its trace")
    if phase not in PHASES:
        raise MalformedError(f"unknown phase {shorten(phase)!r}", "action, init, state or final")
    record = cases.setdefault(case, Case(line))
    if not action:  # a case without actions, or with no atom true at the start
        if ok or phase not in ("action", "init"):
            raise MalformedError("the action is empty", "only a case without any action has an empty action and mark")
        if phase == "init":
            record.init = record.init or {}
            record.said_no_atom = True
        else:
            record.said_no_action = True
    elif phase == "state":
        if record.state is not None:
            raise MalformedError(f"a second initial state in case {shorten(case)!r}", "keep one")
        record.state = action
    elif ok not in TRUE | FALSE:
        raise MalformedError(f"{shorten(ok)!r} is no mark", "true or false (also 1 0, yes no, worked refused)")
    elif phase == "action":
        record.actions.append(action)
        record.ok.append(ok in TRUE)
        if len(record.actions) > MAX_ACTIONS:
            raise MalformedError(
                f"more than {MAX_ACTIONS} actions in case {shorten(case)!r}", "split it into several cases"
            )
    elif phase == "final":
        set_final(record.final, action, ok in TRUE)
    else:
        record.init = record.init or {}
        if record.init.setdefault(action, ok in TRUE) != (ok in TRUE):
            raise MalformedError(f"the initial atom {shorten(action)!r} is true and false", "keep one")
    record.check()


def write_csv(traces: Iterable[Trace], stream: TextIOBase, separator: str | None = None) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    more = (SPECIAL.sub(encode_percent, separator),) if separator else ()  # an empty cell cannot say that there is none
    writer.writerow(COLUMNS if more else COLUMNS[:-1])
    for case, trace in enumerate(traces):
        rows: list[tuple[str, str, str]] = []
        if trace.init is not None:
            rows += [(atom, "true", "init") for atom in sorted(trace.init)] or [("", "", "init")]
        if trace.state is not None:
            rows.append((trace.state, "", "state"))
        rows += [(a, str(ok).lower(), "action") for a, ok in zip(trace.actions, trace.ok, strict=True)]
        rows += [(atom, str(value).lower(), "final") for atom, value in sorted(trace.final.items())]
        for name, mark, phase in rows or [("", "", "action")]:
            writer.writerow((case, SPECIAL.sub(encode_percent, name), mark, phase, *more))
