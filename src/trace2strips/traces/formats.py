"""Trace files: the text formats JSON Lines, CSV event log and plain text, and the binary dataset.

Each holds actions and whether they worked, optionally the initial atoms (or the name of a known initial state) and
final atom values. The format is told by the file's ending; `.gz` may follow. docs/trace-files.md describes all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import TextIOBase
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from trace2strips.errors import FileError, TraceError, shorten
from trace2strips.files import opened, read_lines, reading, unpacked, writing_text
from trace2strips.model.goals import START
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces.columns import Columns
from trace2strips.traces.csv_log import read_csv, write_csv
from trace2strips.traces.dataset import SEPARATOR, Dataset, vocabulary_of
from trace2strips.traces.joining import joined
from trace2strips.traces.jsonl import read_jsonl, write_jsonl
from trace2strips.traces.outcomes import Words
from trace2strips.traces.plain_text import read_plain, write_plain
from trace2strips.traces.text_files import Numbered, Progress, Stated
from trace2strips.traces.trace import Trace

if TYPE_CHECKING:
    from trace2strips.traces.tables import Table


@runtime_checkable  # the type checker of the tests asks
class Frame(Protocol):
    """A table in memory: of polars, pandas or another library that speaks Arrow."""

    def drop(self, *columns: Any, **options: Any) -> Any: ...  # all have it, and it costs nothing to look


def is_frame(value: Any) -> TypeGuard[Frame]:
    """Without loading any of these libraries."""
    library = type(value).__module__.partition(".")[0]
    tabular = type(value).__name__ in ("DataFrame", "LazyFrame") and library in ("polars", "pandas")
    return tabular or (hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns"))


@dataclass(frozen=True)
class Format:
    """How traces of one text format are read, each with its line, and written."""

    name: str
    endings: tuple[str, ...]
    read: Callable[[Path, Progress, Stated], Numbered]
    write: Callable[[Iterable[Trace], TextIOBase, str | None], None]  # with a separator of all names, where known


FORMATS = (
    Format("JSON Lines", (".jsonl", ".ndjson"), read_jsonl, write_jsonl),
    Format("CSV event log", (".csv",), read_csv, write_csv),
    Format("plain text", (".txt", ".traces"), read_plain, write_plain),
)
DATASET_ENDING = ".t2s"
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".xes", ".parquet", ".pq")  # of logs of events
ENDINGS = tuple(dict.fromkeys((DATASET_ENDING, *(e for form in FORMATS for e in form.endings), *TABLE_ENDINGS)))


def find_files(path: Path) -> list[Path]:
    """The file itself, the files of a folder with a known ending, or those that a glob such as logs/*.csv names."""
    with reading(path):
        if path.is_dir():
            among, missing = path.iterdir(), "no log in the folder"
        elif set(str(path)) & set("*?[") and not path.exists():
            root = Path(path.anchor)
            among, missing = root.glob(str(path.relative_to(root))), "no file has such a name"
        else:
            path.exists()  # says what is wrong with a name that no file can have
            return [path]
        found = sorted(file for file in among if file.is_file() and is_log_name(file))
    if not found:
        raise FileError(missing, file=path, hint=f"files with the endings {', '.join(ENDINGS)}")
    return found


def find_all(paths: Iterable[Path]) -> list[Path]:
    return [file for path in paths for file in find_files(path)]


def is_log_name(path: Path) -> bool:
    return not path.name.startswith(".") and path.name.lower().removesuffix(".gz").endswith(ENDINGS)


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


def read_traces(
    path: str | PathLike[str] | Sequence[str | PathLike[str]] | Frame,
    vocabulary: Vocabulary | None = None,
    any_state: bool = False,
    progress: Progress = None,
    arguments: Sequence[str] = (),
    columns: Columns | None = None,
    *,
    kept: Columns | None = None,
    case: str | None = None,
    action: str | None = None,
    ok: str | None = None,
    time: str | None = None,
    start: str | None = None,
    worked: Sequence[str] = (),
    refused: Sequence[str] = (),
) -> Dataset:
    """Any trace file or log of events, a folder or a glob of them, or several, or a pandas or polars frame, as a
    dataset. With a vocabulary, a name that it does not have is an error with its line; `any_state` lets the names of
    initial states pass. `progress` is told how many bytes of a text file are read.

    What the columns of a log of events are is said, as far as it is not found out, by `case`, `action`, `ok`, `time`
    and `start`; `arguments` are those that hold the arguments of actions and atoms, in order; `worked` and `refused`
    are words of outcomes. `columns` says all this at once. `kept` is what holds where nothing is said and the log has
    such columns: what was used of the log that a run was learned from.
    """
    told = columns or Columns()
    given: dict[str, Any] = {
        "case": case,
        "action": action,
        "ok": ok,
        "time": time,
        "start": start,
        "arguments": listed(arguments),
    }
    told = replace(told, **{name: value for name, value in given.items() if value})
    if worked or refused:
        told = replace(told, words=Words(listed(worked), listed(refused)))
    if is_frame(path):
        from trace2strips.traces.frames import table_of

        found = read_tables([table_of(path)], told, kept)
        return found if vocabulary is None else in_words(found, vocabulary, any_state)
    files = find_all(as_paths(path))
    if all(is_event_log(file) for file in files):
        found = read_event_files(files, told, kept, progress)
        return found if vocabulary is None else in_words(found, vocabulary, any_state)
    if len(files) > 1:
        parts = [read_traces(file, vocabulary, any_state, progress, columns=told, kept=kept) for file in files]
        return joined(parts)
    return read_file(files[0], vocabulary, any_state, progress, told)


def listed(words: Sequence[str]) -> tuple[str, ...]:
    """One word may stand for itself."""
    return (words,) if isinstance(words, str) else tuple(words)


def as_paths(path: Any) -> list[Path]:
    several = path if isinstance(path, list | tuple) else [path]
    if not several or not all(isinstance(one, str | PathLike) for one in several):
        hint = "a path, a list of paths, or a pandas or polars frame; learn takes lists of (action, ok) as they are"
        raise TraceError(f"{shorten(repr(path))} is no file of traces", hint=hint)
    return [Path(one) for one in several]


def read_event_files(
    files: Sequence[Path], told: Columns, kept: Columns | None = None, progress: Progress = None
) -> Dataset:
    from trace2strips.traces.tables import read_table  # polars is loaded for those who need it

    tables = [read_table(file) for file in files]
    ours = len(tables) == 1 and is_ours(tables[0].names) and told == Columns(arguments=told.arguments)
    if ours and kept is not None:  # these columns have their names; others must not be taken for them
        kept = Columns(arguments=kept.arguments)
    try:
        found = read_tables(tables, told, kept, ours)
    except TraceError:
        if not ours:
            raise
        told = told if kept is None else told.over(kept, tables[0].names)
        found = read_file(files[0], None, False, None, told)  # it may be right all the same, and knows what is wrong
    if progress:
        for file in files:
            progress(file.stat().st_size)
    return found


def read_tables(tables: Sequence[Table], told: Columns, kept: Columns | None, ours: bool = False) -> Dataset:
    from trace2strips.traces.events import read_events

    return read_events(tables, told if kept is None else told.over(kept, tables[0].names), decode=ours)


def is_ours(names: Sequence[str]) -> bool:
    """Whether a CSV file has the columns that `write_traces` writes."""
    lower = [name.strip().lower() for name in names]
    return all(needed in lower for needed in ("case", "action", "ok"))


def is_event_log(path: Path) -> bool:
    """Whether a file is a table of events; else it holds traces, in the form that `write_traces` writes."""
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith(TABLE_ENDINGS):
        return False
    if name.endswith((".jsonl", ".ndjson")):
        return not holds_traces(path)
    if name.endswith(".csv"):
        from trace2strips.traces.tables import read_table

        names = [name.strip().lower() for name in read_table(path).names]
        return not (is_ours(names) and {"phase", "separator"} & set(names))
    return True


def holds_traces(path: Path) -> bool:
    """Whether a line of JSON Lines is a trace: it has lists of actions. What is no JSON is none of events either."""
    text = next((text for _, text in read_lines(path) if text.strip()), "")
    try:
        first = json.loads(text)
    except (ValueError, RecursionError):
        return True
    if not isinstance(first, dict) or not first:
        return True
    return any(isinstance(first.get(key), list | dict) for key in ("action", "actions", "ok", "init", "final"))


def in_words(found: Dataset, vocabulary: Vocabulary, any_state: bool) -> Dataset:
    """With the names of a vocabulary; another name is an error with its line."""
    for name in found.vocabulary.actions:
        try:
            vocabulary.number(Kind.ACTION, name)
        except TraceError as error:
            token = found.vocabulary.number(Kind.ACTION, name)
            is_action = found.vocabulary.kinds[found.tokens] == Kind.ACTION
            assert found.origin is not None
            error.file, error.line = found.origin.place(int(np.argmax(found.tokens[is_action] == token)))
            raise
    states = found.vocabulary.init_states
    if not any_state:
        states = tuple(
            dict.fromkeys((*vocabulary.init_states, START) if found.untold.any() else vocabulary.init_states)
        )
    return found.in_words_of(replace(vocabulary, init_states=states))


def read_file(path: Path, vocabulary: Vocabulary | None, any_state: bool, progress: Progress, told: Columns) -> Dataset:
    """A file of traces."""
    form = format_of(path)
    if told != Columns(arguments=told.arguments if form is not None and form.read is read_csv else ()):
        hint = "in other files write name(argument, …), or a list in JSON Lines"
        raise TraceError("only a log of events (CSV, JSON Lines with an event a line, XES, Parquet) has columns",
                         file=path, hint=hint)  # fmt: skip
    if form is None:
        return replace(Dataset.load(path), file=str(path))
    stated = Stated(told.arguments)
    lines: list[int] = []

    def traces() -> Iterator[Trace]:
        for line, trace in form.read(path, progress, stated):
            lines.append(line)
            yield trace

    try:
        if vocabulary is not None and any_state:
            all_traces = list(traces())
            vocabulary = replace(vocabulary, init_states=vocabulary_of(all_traces).init_states)
            found = Dataset.of(all_traces, vocabulary, lines)
        else:
            found = Dataset.of(traces(), vocabulary, lines)
    except TraceError as error:
        error.file = str(path)
        raise
    if not lines:
        with opened(path) as stream:
            empty = not unpacked(stream).read(1)
        raise TraceError("the file is empty" if empty else "no trace in the file", file=path, hint="one trace a line")
    settings = {} if stated.separator is None else {SEPARATOR: stated.separator}
    return replace(found, file=str(path), lines=tuple(lines), settings=settings)


def write_traces(dataset: Dataset, path: str | Path, force: bool = False, progress: Progress = None) -> None:
    """A dataset in the format that the file's ending names. `progress` is told how many traces of a text are new."""
    path = Path(path)
    form = format_of(path)
    if form is None:
        dataset.save(path, force)
        return
    with writing_text(path, force) as stream:
        form.write(counted(dataset, progress), stream, dataset.separator)


def counted(traces: Iterable[Trace], progress: Progress) -> Iterator[Trace]:
    for trace in traces:
        yield trace
        if progress:
            progress(1)
