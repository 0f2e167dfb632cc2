"""Trace files for people: JSON Lines (canonical), a CSV event log, plain text; and the binary dataset.

Each holds actions and whether they worked, optionally the initial atoms (or the name of a known initial state) and
final atom values. The format is told by the file's ending; `.gz` may follow. docs/trace-files.md describes all.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from io import TextIOBase
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from trace2strips.errors import TraceError, shorten, suggest
from trace2strips.files import read_lines, reading, unpacked, writing_text
from trace2strips.model.vocabulary import SURROGATE, Vocabulary
from trace2strips.traces.dataset import Dataset, Trace, vocabulary_of

MAX_ACTIONS = 100_000  # in one trace; more means that the line breaks between traces are missing

Progress = Callable[[int], None] | None
Numbered = Iterator[tuple[int, Trace]]  # (line, trace): an error found later still knows its line


class MalformedError(Exception):
    """What is wrong with one line; the reader adds file and number."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


# --- JSON Lines ------------------------------------------------------------------------------------------------------

NAMES = {"type": "array", "items": {"type": "string", "minLength": 1}}
SCHEMA = {  # of one line, as JSON Schema; a test checks that the reader accepts what it accepts
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "actions": NAMES,
        "ok": {"type": "array", "items": {"type": "boolean"}},
        "init": {"anyOf": [NAMES, {"type": "null"}]},
        "state": {"type": ["string", "null"], "minLength": 1},
        "final": {
            "type": ["object", "null"],
            "propertyNames": {"minLength": 1},
            "additionalProperties": {"type": "boolean"},
        },
    },
    "required": ["actions", "ok"],
    "additionalProperties": False,
}
FIELDS: tuple[str, ...] = tuple(SCHEMA["properties"])  # type: ignore[arg-type]


def parse_json(text: str) -> Trace:
    try:
        record = json.loads(text, object_pairs_hook=refuse_twice)
    except json.JSONDecodeError as error:
        raise MalformedError(
            f"not JSON: {error.msg} at column {error.colno}", 'for example {"actions": ["a"], "ok": [true]}'
        ) from None
    except RecursionError:
        raise MalformedError("not a trace: JSON nested too deeply") from None
    except ValueError:  # Python refuses to read integers of more than 4300 digits
        raise MalformedError("not a trace: a number with thousands of digits") from None
    if not isinstance(record, dict):
        raise MalformedError(
            "not a trace: a line must be a JSON object", 'for example {"actions": ["a"], "ok": [true]}'
        )
    for key in record:
        if key not in FIELDS:
            raise MalformedError(f"unknown field {shorten(key)!r}", suggest(key, FIELDS, "fields"))
    for key in ("actions", "ok"):
        if key not in record:
            raise MalformedError(
                f"the field {key!r} is missing", "a trace needs 'actions' and 'ok', lists of one length"
            )
    actions = names(record["actions"], "actions")
    ok = record["ok"]
    if not isinstance(ok, list) or not all(isinstance(mark, bool) for mark in ok):
        raise MalformedError("'ok' must be a list of true and false", f"found {shorten(json.dumps(ok))}")
    init = None if record.get("init") is None else frozenset(names(record["init"], "init"))
    state = record.get("state")
    if state is not None and not (isinstance(state, str) and state):
        raise MalformedError("'state' must be the name of an initial state", f"found {shorten(json.dumps(state))}")
    final = {} if record.get("final") is None else record["final"]
    if not isinstance(final, dict) or not all(isinstance(v, bool) for v in final.values()) or "" in final:
        raise MalformedError("'final' must map atoms to true or false", f"found {shorten(json.dumps(final))}")
    if "\\u" in text:  # an escaped half of a pair is the one way to a name that UTF-8 cannot hold
        for name in (*actions, *(init or ()), state or "", *final):
            if SURROGATE.search(name):
                raise MalformedError(
                    f"{shorten(name)!r} is no text: half of a surrogate pair", "write the whole character"
                )
    return make_trace(actions, ok, init, state, final)


def refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON leaves open what a repeated field means, so it means nothing."""
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise MalformedError(f"the field {shorten(twice)!r} is there twice", "keep one")
    return record


def names(value: Any, field: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name for name in value):
        raise MalformedError(f"{field!r} must be a list of names", f"found {shorten(json.dumps(value))}")
    return value


def make_trace(
    actions: list[str], ok: list[bool], init: frozenset[str] | None, state: str | None, final: dict[str, bool]
) -> Trace:
    if len(actions) > MAX_ACTIONS:
        raise MalformedError(
            f"{len(actions)} actions in one trace, at most {MAX_ACTIONS}", "split it into several traces"
        )
    try:
        return Trace(tuple(actions), tuple(ok), init, state, final)
    except TraceError as error:
        raise MalformedError(error.message, error.hint) from None


def read_jsonl(path: Path, progress: Progress) -> Numbered:
    return read_by_line(path, parse_json, None, progress)


def write_jsonl(traces: Iterable[Trace], stream: TextIOBase) -> None:
    for trace in traces:
        record: dict[str, Any] = {"actions": trace.actions, "ok": trace.ok}
        if trace.init is not None:
            record["init"] = sorted(trace.init)
        if trace.state is not None:
            record["state"] = trace.state
        if trace.final:
            record["final"] = dict(sorted(trace.final.items()))
        stream.write(json.dumps(record, ensure_ascii=False) + "\n")


# --- plain text -----------------------------------------------------------------------------------------------------
#     pick-up_a !stack_a_b put-down_a
#     clear_a ontable_a handempty | pick-up_a !pick-up_a | holding_a !clear_a
#     @s3 | pick-up_a |

SPECIAL = re.compile(r"[\s|#!@%\ufeff]|\A-\Z")  # U+FEFF: at the start of a file it would be a byte order mark
NO_ATOM = "-"  # stands for "no atom is true" where a list of atoms would be empty


def parse_text(text: str) -> Trace:
    parts = text.split("|")
    if len(parts) not in (1, 3):
        raise MalformedError(
            f"{len(parts) - 1} '|' on the line", "either none or two: initial atoms | actions | final atoms"
        )
    before, middle, after = parts if len(parts) == 3 else ("", text, "")
    actions, ok = marked(middle)
    init: frozenset[str] | None = None
    state = None
    words = before.split()
    if words and words[0].startswith("@"):
        if len(words) > 1:
            raise MalformedError("a line has the name of an initial state or initial atoms, not both")
        if words[0] == "@":
            raise MalformedError("'@' without a name behind it")
        state = decode(words[0][1:])
    elif words == [NO_ATOM]:
        init = frozenset()
    elif words:
        if any(word.startswith("!") for word in words):
            raise MalformedError("'!' before an initial atom", "list the atoms that are true, leave out the others")
        if NO_ATOM in words:
            raise MalformedError(
                f"{NO_ATOM!r} among initial atoms", "it says that no atom is true; write %2D for a name"
            )
        init = frozenset(map(decode, words))
    final: dict[str, bool] = {}
    for atom, value in zip(*marked(after), strict=True):
        set_final(final, atom, value)
    return make_trace(actions, ok, init, state, final)


def marked(text: str) -> tuple[list[str], list[bool]]:
    words = text.split()
    ok = [not word.startswith("!") for word in words]
    if "!" in words:
        raise MalformedError("'!' without a name behind it")
    return [decode(word.removeprefix("!")) for word in words], ok


def decode(word: str) -> str:
    """The name that a word stands for. A sign that means something elsewhere is more likely a slip than a name."""
    also = {"#": "; a comment has a line of its own", "!": "; what did not work has it in front: !name"}
    for sign in "#!@":
        if sign in word:
            raise MalformedError(
                f"{sign!r} inside {shorten(word)!r}",
                f"write %{ord(sign):02X} for {sign!r} in a name{also.get(sign, '')}",
            )
    return decode_percent(word)


def decode_percent(word: str) -> str:
    try:
        return unquote(word, errors="strict")
    except UnicodeDecodeError:
        raise MalformedError(
            f"{shorten(word)!r}: the bytes after '%' are not UTF-8", "write %25 for '%' in a name"
        ) from None


def encode_percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode())


def set_final(final: dict[str, bool], atom: str, value: bool) -> None:
    if final.setdefault(atom, value) != value:
        raise MalformedError(f"the final atom {shorten(atom)!r} is true and false", "keep one")


def read_plain(path: Path, progress: Progress) -> Numbered:
    return read_by_line(path, parse_text, "#", progress)


def write_plain(traces: Iterable[Trace], stream: TextIOBase) -> None:
    def word(name: str) -> str:  # what would be read as something else is percent-encoded
        return SPECIAL.sub(encode_percent, name)

    def marks(pairs: Iterable[tuple[str, bool]]) -> str:
        return " ".join(("" if good else "!") + word(name) for name, good in pairs)

    for trace in traces:
        middle = marks(zip(trace.actions, trace.ok, strict=True))
        before = " ".join(map(word, sorted(trace.init or ()))) or (NO_ATOM if trace.init is not None else "")
        if trace.state is not None:
            before = "@" + word(trace.state)
        after = marks(sorted(trace.final.items()))
        plain = middle and not before and not after
        stream.write((middle if plain else f"{before} | {middle} | {after}".strip()) + "\n")


# --- CSV event log --------------------------------------------------------------------------------------------------

COLUMNS = ("case", "action", "ok", "phase")
PHASES = ("action", "init", "state", "final")
TRUE = {"true", "1", "yes", "y", "t", "ok", "worked"}
FALSE = {"false", "0", "no", "n", "f", "refused", "failed"}


# what a spreadsheet or the reader would lose is percent-encoded, and so is a '%' that would be read as such a code
CSV_SPECIAL = re.compile(r"\A\s+|\s+\Z|[\x00-\x1f\x7f-\x9f]|%(?=[0-9A-Fa-f]{2})")


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


def read_csv(path: Path, progress: Progress) -> Numbered:
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
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise MalformedError(
                    f"{len(row)} columns where the header has {len(header)}", "quote names with commas"
                )
            case, action, ok, phase = ("" if place is None else row[place].strip() for place in places)
            add_event(cases, rows.line_num, case, decode_percent(action), ok.lower(), phase.lower() or "action")
    except (MalformedError, csv.Error) as error:
        message = f"not CSV: {error}" if isinstance(error, csv.Error) else str(error)
        hint = getattr(error, "hint", None)
        raise TraceError(message, file=path, line=max(rows.line_num, 1), hint=hint) from None
    for found in cases.values():
        yield found.line, found.trace()  # every row was checked: this cannot fail any more


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


def write_csv(traces: Iterable[Trace], stream: TextIOBase) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for case, trace in enumerate(traces):
        rows: list[tuple[str, str, str]] = []
        if trace.init is not None:
            rows += [(atom, "true", "init") for atom in sorted(trace.init)] or [("", "", "init")]
        if trace.state is not None:
            rows.append((trace.state, "", "state"))
        rows += [(a, str(ok).lower(), "action") for a, ok in zip(trace.actions, trace.ok, strict=True)]
        rows += [(atom, str(value).lower(), "final") for atom, value in sorted(trace.final.items())]
        for name, mark, phase in rows or [("", "", "action")]:
            writer.writerow((case, CSV_SPECIAL.sub(encode_percent, name), mark, phase))


# --- any format -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    name: str
    endings: tuple[str, ...]
    read: Callable[[Path, Progress], Numbered]
    write: Callable[[Iterable[Trace], TextIOBase], None]


FORMATS = (
    Format("JSON Lines", (".jsonl", ".ndjson"), read_jsonl, write_jsonl),
    Format("CSV event log", (".csv",), read_csv, write_csv),
    Format("plain text", (".txt", ".traces"), read_plain, write_plain),
)
DATASET_ENDING = ".t2s"
ENDINGS = (DATASET_ENDING, *(ending for form in FORMATS for ending in form.endings))


def format_of(path: Path) -> Format | None:
    """The text format by the file's ending; None for the binary dataset."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(DATASET_ENDING):
        if path.name.lower().endswith(".gz"):
            raise TraceError(
                "a .t2s dataset is mapped into memory and cannot be compressed", file=path, hint="drop .gz"
            )
        return None
    for form in FORMATS:
        if name.endswith(form.endings):
            return form
    raise TraceError("unknown file ending", file=path, hint=f"use one of {', '.join(ENDINGS)} (text ones also .gz)")


def read_by_line(path: Path, parse: Callable[[str], Trace], comment: str | None, progress: Progress) -> Numbered:
    for number, text in read_lines(path, progress):
        if not text.strip() or (comment and text.lstrip().startswith(comment)):
            continue
        try:
            yield number, parse(text)
        except MalformedError as error:
            raise TraceError(str(error), file=path, line=number, hint=error.hint) from None


def read_traces(
    path: str | Path, vocabulary: Vocabulary | None = None, any_state: bool = False, progress: Progress = None
) -> Dataset:
    """Any trace file as a dataset. With a vocabulary, a name that it does not have is an error with its line;
    `any_state` lets the names of initial states pass. `progress` is told how many bytes of a text file are read.
    """
    path = Path(path)
    form = format_of(path)
    if form is None:
        return Dataset.load(path)
    numbered = list(form.read(path, progress))
    if not numbered:
        with reading(path), path.open("rb") as stream:
            empty = not unpacked(stream).read(1)
        raise TraceError("the file is empty" if empty else "no trace in the file", file=path, hint="one trace a line")
    lines, traces = zip(*numbered, strict=True)
    try:
        if vocabulary is not None and any_state:
            vocabulary = replace(vocabulary, init_states=vocabulary_of(traces).init_states)
        return Dataset.of(traces, vocabulary, lines)
    except TraceError as error:
        error.file = str(path)
        raise


def write_traces(dataset: Dataset, path: str | Path, force: bool = False, progress: Progress = None) -> None:
    """A dataset in the format that the file's ending names. `progress` is told how many traces of a text are new."""
    path = Path(path)
    form = format_of(path)
    if form is None:
        dataset.save(path, force)
        return
    with writing_text(path, force) as stream:
        form.write(counted(dataset, progress), stream)


def counted(traces: Iterable[Trace], progress: Progress) -> Iterator[Trace]:
    for trace in traces:
        yield trace
        if progress:
            progress(1)
