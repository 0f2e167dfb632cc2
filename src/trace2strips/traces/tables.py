"""Files of events as tables: CSV (also `;` or tabs), JSON Lines with an event a line, XES and Parquet, gzipped or not.

A table knows its columns, a few rows to understand them by, and reads the columns that are asked for. Polars reads and
groups; nothing here goes through rows one by one but the XML parser and whoever looks for the line of a mistake.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Int64

from trace2strips.errors import FileError, TraceError, UserError, shorten
from trace2strips.files import MAX_LINE_BYTES, opened, unpacked
from trace2strips.traces.sparse import Column
from trace2strips.traces.text_files import MalformedError
from trace2strips.traces.xes import XesLog

csv.field_size_limit(MAX_LINE_BYTES)  # Python's own limit, 131,072 letters, is less than a tool of an agent may answer
MAX_UNPACKED = 4 * 2**30  # bytes of a gzipped table, which is unpacked in memory
MOST_CELLS = 10**8  # of a table that is read as a whole: about 2 GB
STEP = 2**22  # bytes that are unpacked at a time
SAMPLE = 10_000  # rows by which columns are understood
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
MOST_COLUMNS = 10_000
STRETCH = 2**17  # bytes of JSON Lines whose keys are found at once
WIDE = 500  # different keys of JSON Lines: with more, most events have few of them
DEEPEST = 32  # lists and objects in each other; polars makes a type of each level, and a table of it
TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
HEADER = 2**20  # bytes among which the first rows of a text are


@dataclass(frozen=True)
class Table:
    """`read` gives the columns with these numbers, called "0", "1" …, of which some are wanted as texts and not as a
    few words that come again and again; `lines` tells where each of so many rows stands."""

    file: str
    kind: str  # for people
    names: tuple[str, ...]
    sample: pl.DataFrame  # the first rows, columns called "0", "1" …
    read: Callable[[Sequence[int], Sequence[int]], pl.DataFrame]
    lines: Callable[[int], Int64[np.ndarray, " rows"]]
    explain: Callable[[], None] = lambda: None  # says what is wrong with the form of the file, if anything is


def content(path: Path) -> Path | bytes:
    """The file itself, or what is in it if it is gzipped: unpacked in steps, to a limit."""
    with opened(path) as file:
        stream = unpacked(file)
        if stream is file:
            return path
        found = io.BytesIO()
        for part in parts_of(stream):
            found.write(part)
            if found.tell() > MAX_UNPACKED:
                hint = "is it a log? split it if it is"
                raise FileError(f"more than {MAX_UNPACKED:,} bytes when unpacked", file=path, hint=hint)
        return found.getvalue()


def parts_of(stream: io.BufferedIOBase) -> Iterator[bytes]:
    return iter(lambda: stream.read(STEP), b"")


def check_size(path: Path | str, rows: int, columns: int) -> None:
    """Before the cells are made: a small file may stand for many."""
    if columns > MOST_COLUMNS:
        raise TraceError(f"{columns:,} columns, at most {MOST_COLUMNS:,}", file=path, hint="is it a log?")
    if rows * columns > MOST_CELLS:
        size = f"{rows:,} rows and {columns:,} columns"
        raise TraceError(
            f"{size}: more than {MOST_CELLS:,} cells",
            file=path,
            hint="split it, or leave columns out; CSV may be larger",
        )


def beginning(source: Path | bytes) -> bytes:
    if isinstance(source, bytes):
        return source[:HEADER]
    with source.open("rb") as stream:
        return stream.read(HEADER)


def is_empty(source: Path | bytes) -> bool:
    return not beginning(source)


# --- CSV ---


def read_csv_table(path: Path) -> Table:
    source = content(path)
    text = decode(beginning(source), path)
    separator = find_separator(text, path)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=False)
    try:
        header = next((row for row in reader if any(cell.strip() for cell in row)), [])
    except csv.Error as error:
        raise TraceError(f"not CSV: {error}", file=path, line=1) from None
    if not header:
        raise TraceError("the file is empty" if is_empty(source) else "no trace in the file", file=path)
    names = tuple(cell.strip() for cell in header)
    if len(names) > MOST_COLUMNS:
        raise TraceError(f"{len(names):,} columns, at most {MOST_COLUMNS:,}", file=path, line=1)
    skipped = reader.line_num

    def scan(columns: Sequence[int] | None, texts: Sequence[int] = (), rows: int | None = None) -> pl.DataFrame:
        wanted = sorted(range(len(names)) if columns is None else set(columns))
        few = set(() if rows is not None else wanted) - set(texts)
        try:
            found = pl.read_csv(
                source, has_header=False, skip_lines=skipped, separator=separator, columns=wanted, n_rows=rows,
                schema={f"column_{i + 1}": pl.Categorical if i in few else pl.String for i in range(len(names))},
                encoding="utf8",
            )  # fmt: skip
        except pl.exceptions.NoDataError:
            return pl.DataFrame({str(i): [] for i in wanted}, schema={str(i): pl.String for i in wanted})
        except pl.exceptions.PolarsError as error:
            explain()
            raise TraceError(f"not CSV: {first_line(error)}", file=path) from None
        return found.rename({f"column_{i + 1}": str(i) for i in wanted})

    def explain() -> None:
        """Go through all lines to find the first that is wrong."""
        rows = csv.reader(text_lines(source, path), delimiter=separator, strict=True)
        try:
            for row in rows:
                if row and rows.line_num > skipped and len(row) != len(names):
                    raise TraceError(
                        f"{len(row)} columns where the header has {len(names)}",
                        file=path, line=rows.line_num, hint=f"quote names with {SEPARATORS[separator]}",
                    )  # fmt: skip
        except csv.Error as error:
            raise TraceError(f"not CSV: {error}", file=path, line=rows.line_num) from None

    def lines(count: int) -> Int64[np.ndarray, " rows"]:
        if not has_quotes(source) or count_newlines(source) - skipped in (count, count - 1):
            return np.arange(skipped + 1, skipped + 1 + count, dtype=np.int64)
        rows = csv.reader(text_lines(source, path), delimiter=separator)
        starts, before = [], 0
        try:
            for _ in rows:  # cells that go over several lines: each row by itself
                starts.append(before + 1)
                before = rows.line_num
        except csv.Error as error:
            raise TraceError(f"not CSV: {error}", file=path, line=before + 1) from None
        found = np.array([line for line in starts if line > skipped][:count], dtype=np.int64)
        return np.append(found, np.full(count - len(found), before, dtype=np.int64))

    kind = f"CSV with {SEPARATORS[separator]}"
    return Table(str(path), kind, names, scan(None, rows=SAMPLE), scan, lines, explain)


def decode(raw: bytes, path: Path) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileError("UTF-16 text", file=path, line=1, hint="save it as UTF-8: iconv -f utf-16 -t utf-8")
    if b"\x00" in raw:
        raise FileError("no text: it has zero bytes", file=path, line=raw[: raw.index(b"\x00")].count(b"\n") + 1)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(raw) - error.start < 4 and len(raw) == HEADER:  # cut in the middle of a letter
            return raw[: error.start].decode("utf-8-sig")
        line = raw[: error.start].count(b"\n") + 1
        raise FileError(
            "not UTF-8 text", file=path, line=line, hint="iconv -f latin1 -t utf-8, if it is text"
        ) from None


def text_lines(source: Path | bytes, path: Path) -> Iterator[str]:
    stream: io.BufferedIOBase = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
    with stream:
        for number, raw in enumerate(stream, 1):
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise FileError("not UTF-8 text", file=path, line=number, hint="is it a text file?") from None


def find_separator(text: str, path: Path) -> str:
    """The one that occurs most often in the first line, outside of quotes."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    bare = "".join(part for i, part in enumerate(first.split('"')) if i % 2 == 0)
    counts = {mark: bare.count(mark) for mark in SEPARATORS}
    best = max(counts.values())
    if not best:
        return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    return next(mark for mark, count in counts.items() if count == best)


def has_quotes(source: Path | bytes) -> bool:
    """Only what is quoted can go over several lines."""
    if isinstance(source, bytes):
        return b'"' in source
    with source.open("rb") as stream:
        return any(b'"' in part for part in iter(lambda: stream.read(STEP), b""))


def count_newlines(source: Path | bytes) -> int:
    """The lines of a text."""
    if isinstance(source, bytes):
        return source.count(b"\n") + (not source.endswith(b"\n"))
    count, last = 0, b"\n"
    with source.open("rb") as stream:
        while part := stream.read(STEP):
            count += part.count(b"\n")
            last = part[-1:]
    return count + (last != b"\n")


def first_line(error: BaseException) -> str:
    return shorten(str(error).splitlines()[0] if str(error) else type(error).__name__, 100)


# --- tables that are read as a whole ---


def whole(path: Path | str, kind: str, frame: pl.DataFrame, lines: Int64[np.ndarray, " rows"]) -> Table:
    names = tuple(frame.columns)
    if not names or not len(frame):
        raise TraceError("no trace in the file", file=path)
    numbered = frame.rename({name: str(i) for i, name in enumerate(names)})

    def read(columns: Sequence[int], _: Sequence[int] = ()) -> pl.DataFrame:
        return numbered.select(str(i) for i in sorted(set(columns)))

    return Table(str(path), kind, names, numbered.head(SAMPLE), read, lambda _: lines)


def read_parquet_table(path: Path) -> Table:
    source = content(path)
    try:
        with rust_silenced():
            table = pl.scan_parquet(source)
            check_size(path, table.select(pl.len()).collect().item(), len(table.collect_schema()))
            frame = flat(table.collect())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(f"no Parquet file: {first_line(error)}", file=path, hint="copy or export it again") from None
    return whole(path, "Parquet", frame, np.arange(1, len(frame) + 1))


@contextmanager
def rust_silenced() -> Iterator[None]:
    """What polars meets in a damaged Parquet file can be a panic of its Rust code, which writes a stack trace on
    standard error before we are told."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def read_xes_table(path: Path) -> Table:
    log = XesLog(lambda rows, columns: check_size(path, rows, columns))
    try:
        with opened(path) as file:
            log.read(parts_of(unpacked(file)))
    except MalformedError as error:
        raise TraceError(str(error), file=path, line=log.parser.CurrentLineNumber, hint=error.hint) from None
    return whole(path, "XES", log.table(), np.array(log.lines, dtype=np.int64))


def read_json_table(path: Path) -> Table:
    """An event a line."""
    source = content(path)
    decode(beginning(source), path)
    raw = source if isinstance(source, bytes) else source.read_bytes()
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    try:
        if is_wide(raw, path):
            return read_sparse(raw, path)
        frame = pl.read_ndjson(raw, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        explain_json(source, path)
        raise TraceError(f"not JSON Lines: {first_line(error)}", file=path) from None
    if b"\n\n" not in raw and len(frame) == raw.count(b"\n") + (not raw.endswith(b"\n")):
        lines = np.arange(1, len(frame) + 1, dtype=np.int64)
    else:
        written = (number for number, text in enumerate(text_lines(raw, path), 1) if text.strip())
        lines = np.fromiter(written, dtype=np.int64)
    return whole(path, "JSON Lines", flat(frame), lines)


def is_wide(raw: bytes, path: Path) -> bool:
    """Whether the events have more different keys than polars, whose work is rows times keys, should be given; they are
    found stretch by stretch. Refuses what is nested too deeply for it, and more cells than fit."""
    rows, names, begin = raw.count(b"\n") + 1, set[str](), 0
    while begin < len(raw):
        end = raw.find(b"\n", begin + STRETCH) + 1 or len(raw)
        if part := raw[begin:end].strip():
            if depth(part) > DEEPEST:
                line = raw[:begin].count(b"\n") + 1
                raise TraceError(f"nested more than {DEEPEST} deep", file=path, line=line, hint="is it a log?")
            schema = pl.scan_ndjson(part, infer_schema_length=None).collect_schema()
            names.update(name for key, kind in schema.items() for name in keys_of(key, kind))
        if len(names) > WIDE:
            return True
        check_size(path, rows, len(names))
        begin = end
    return False


def depth(part: bytes) -> int:
    """How deeply lists and objects of lines of JSON are nested."""
    letters = np.frombuffer(part, dtype=np.uint8)
    signs = np.zeros(256, dtype=np.int64)
    signs[list(b"[{")], signs[list(b"]}")] = 1, -1
    height = np.cumsum(signs[letters])
    begins = np.append(0, np.flatnonzero(letters[:-1] == ord("\n")) + 1)
    highest = np.maximum.reduceat(height, begins) - np.append(0, height[begins[1:] - 1])
    if highest.max() <= DEEPEST:
        return int(highest.max())
    lines = part.split(b"\n")  # brackets of texts were counted too
    bare = b"\n".join(TEXT.sub(b"", lines[i]) for i in np.flatnonzero(highest > DEEPEST).tolist())
    return depth(bare) if len(bare) < len(part) else int(highest.max())


def keys_of(name: str, kind: Any) -> Iterator[str]:
    if isinstance(kind, pl.Struct):
        for inner in kind.fields:
            yield from keys_of(f"{name}.{inner.name}", inner.dtype)
    elif isinstance(kind, pl.List):
        yield from keys_of(name, kind.inner)
    else:
        yield name


def read_sparse(raw: bytes, path: Path) -> Table:
    """The same of events of many kinds, each with few of the keys: time and memory follow what is written."""
    columns, lines = dict[str, Column](), list[int]()
    for number, text in enumerate(text_lines(raw, path), 1):
        if not text.strip():
            continue
        event = parse_event(text, number, path)
        if depth(text.encode()) > DEEPEST:
            raise TraceError(f"nested more than {DEEPEST} deep", file=path, line=number, hint="is it a log?")
        for key, value in leaves("", event):
            column = columns.setdefault(key, Column())
            if value is not None:
                column.put(len(lines), value)
        lines.append(number)
        check_size(path, len(lines), len(columns))
    rows = np.arange(len(lines))
    frame = pl.DataFrame({key: column.spread(len(lines), rows) for key, column in columns.items()})
    return whole(path, "JSON Lines", frame, np.array(lines, dtype=np.int64))


def leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a field as columns of their own (`args.path`); lists as text."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(f"{name}.{key}" if name else key, inner)
    else:
        yield name, json.dumps(value) if isinstance(value, list) else value


def explain_json(source: Path | bytes, path: Path) -> None:
    for number, text in enumerate(text_lines(source, path), 1):
        if text.strip():
            parse_event(text, number, path)


def parse_event(text: str, number: int, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        message = error.msg if isinstance(error, json.JSONDecodeError) else "not readable"
        raise TraceError(f"not JSON: {message}", file=path, line=number, hint="one object a line") from None
    if not isinstance(found, dict):
        raise TraceError("an event must be a JSON object", file=path, line=number)
    return found


def refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def flat(frame: pl.DataFrame) -> pl.DataFrame:
    """The fields of a field as columns of their own (`args.path`); lists as text."""
    for _ in range(8):
        nested = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Struct)]
        if not nested:
            break
        for name in nested:
            inner = frame[name].struct.unnest()
            inner = inner.rename({field: f"{name}.{field}" for field in inner.columns})
            frame = frame.drop(name).hstack([column for column in inner if column.name not in frame.columns])
    raw = [name for name, kind in frame.schema.items() if kind == pl.Binary]
    frame = frame.with_columns(text_of(frame[name]) for name in raw)
    lists = [name for name, kind in frame.schema.items() if kind.is_nested()]
    return frame.with_columns(
        pl.col(name).map_elements(lambda value: json.dumps(list(value), default=str), return_dtype=pl.String)
        for name in lists
    )


def text_of(raw: pl.Series) -> pl.Series:
    """Bytes as the text that they are, or written out."""
    try:
        return raw.cast(pl.String)
    except pl.exceptions.PolarsError:
        return raw.bin.encode("hex")


READERS: dict[str, Callable[[Path], Table]] = {
    ".csv": read_csv_table,
    ".tsv": read_csv_table,
    ".parquet": read_parquet_table,
    ".pq": read_parquet_table,
    ".xes": read_xes_table,
    ".jsonl": read_json_table,
    ".ndjson": read_json_table,
}


def table_ending(path: Path) -> str | None:
    name = path.name.lower().removesuffix(".gz")
    return next((ending for ending in READERS if name.endswith(ending)), None)


def read_table(path: Path) -> Table:
    ending = table_ending(path)
    if ending is None:
        raise UserError(f"no table: {path}")
    try:
        return READERS[ending](path)
    except MalformedError as error:
        raise TraceError(str(error), file=path, hint=error.hint) from None
