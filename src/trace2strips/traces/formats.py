"""Trace files: the text formats JSON Lines, CSV event log and plain text, and the binary dataset.

Each holds actions and whether they worked, optionally the initial atoms (or the name of a known initial state) and
final atom values. The format is told by the file's ending; `.gz` may follow. docs/trace-files.md describes all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import TextIOBase
from pathlib import Path

from trace2strips.errors import TraceError
from trace2strips.files import reading, unpacked, writing_text
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces.csv_log import read_csv, write_csv
from trace2strips.traces.dataset import SEPARATOR, Dataset, vocabulary_of
from trace2strips.traces.jsonl import read_jsonl, write_jsonl
from trace2strips.traces.plain_text import read_plain, write_plain
from trace2strips.traces.text_files import Numbered, Progress, Stated
from trace2strips.traces.trace import Trace


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


def read_traces(
    path: str | Path,
    vocabulary: Vocabulary | None = None,
    any_state: bool = False,
    progress: Progress = None,
    arguments: Sequence[str] = (),
) -> Dataset:
    """Any trace file as a dataset. With a vocabulary, a name that it does not have is an error with its line;
    `any_state` lets the names of initial states pass. `progress` is told how many bytes of a text file are read.
    `arguments` are the columns of a CSV log that hold the arguments of actions and atoms, in order.
    """
    path = Path(path)
    form = format_of(path)
    if arguments and (form is None or form.read is not read_csv):
        hint = "in other files write name(argument, …), or a list in JSON Lines"
        raise TraceError("only a CSV event log has columns of arguments", file=path, hint=hint)
    if form is None:
        return replace(Dataset.load(path), file=str(path))
    stated = Stated(tuple(arguments))
    numbered = list(form.read(path, progress, stated))
    if not numbered:
        with reading(path), path.open("rb") as stream:
            empty = not unpacked(stream).read(1)
        raise TraceError("the file is empty" if empty else "no trace in the file", file=path, hint="one trace a line")
    lines, traces = zip(*numbered, strict=True)
    try:
        if vocabulary is not None and any_state:
            vocabulary = replace(vocabulary, init_states=vocabulary_of(traces).init_states)
        found = replace(Dataset.of(traces, vocabulary, lines), file=str(path))
        return found if stated.separator is None else replace(found, settings={SEPARATOR: stated.separator})
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
        form.write(counted(dataset, progress), stream, dataset.separator)


def counted(traces: Iterable[Trace], progress: Progress) -> Iterator[Trace]:
    for trace in traces:
        yield trace
        if progress:
            progress(1)
