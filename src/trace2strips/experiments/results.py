"""The file of results: a row a line, one for each finished run.

Several processes may change it at once. A row at the end that was cut off while it was written counts for nothing and
goes when the next one comes. Whatever else is no row is refused, and the file stays as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from trace2strips.errors import FileError
from trace2strips.experiments.rows import RUN_FIELDS, Row, format_row, read_row
from trace2strips.experiments.runs import Run
from trace2strips.files import check_readable, locked, reading, writing
from trace2strips.schemas import Schema

BEGINNING, NEXT = (f'{sign}"{name}": "'.encode() for sign, name in zip(("{", ", "), RUN_FIELDS[:2], strict=True))
ANY = Schema(Any)
TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')


def read_results(path: Path) -> dict[Run, Row]:
    """Each finished run with its row; nothing where there is no file yet."""
    if not path.exists():
        return {}
    check_readable(path)
    with reading(path):
        return parse(path, path.read_bytes())


def put_result(path: Path, row: Row) -> bool:
    """Add a row, or put it in the place of one that other code has made. One of the same code stays: then False."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with opened(path) as stream:
            found = stream.read()
            whole = found[: complete(found)]
            rows = parse(path, whole)
            if (old := rows.get(row.run)) is not None:
                if old.code == row.code:
                    return False
                with writing(path, force=True) as new:
                    new.writelines(format_row(r).encode() + b"\n" for r in (rows | {row.run: row}).values())
                return True
            stream.truncate(len(whole))
            line = format_row(row).encode() + b"\n"
            stream.write(b"\n" + line if whole and not whole.endswith(b"\n") else line)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise FileError(error.strerror or str(error), file=path, hint="is the disk full?") from None
    return True


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, locked. While we waited for the lock another process may have put a new file in its place."""
    while True:
        with path.open("a+b") as stream, locked(stream):
            if path.exists() and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
                stream.seek(0)
                yield stream
                return


def complete(found: bytes) -> int:
    """How many bytes to keep: all but a row at the end that was cut off."""
    last = found.rfind(b"\n") + 1
    return last if is_cut_off(found[last:], alone=last == 0) else len(found)


def is_cut_off(line: bytes, alone: bool) -> bool:
    """Is this the beginning of a row as we write it, and not all of it? Of someone else's line that can hardly be said;
    a few bytes that no row of ours stands above could be anyone's.
    """
    with suppress(ValueError):
        ANY.parse(line)
        return False
    if len(line) < len(BEGINNING):
        return bool(line) and not alone and BEGINNING.startswith(line)
    domain = TEXT.match(line, len(BEGINNING) - 1)
    if domain is None:  # cut off within the first value
        return line.startswith(BEGINNING)
    rest = line[domain.end() :]
    return line.startswith(BEGINNING) and (rest.startswith(NEXT) or NEXT.startswith(rest))


def parse(path: Path, found: bytes) -> dict[Run, Row]:
    rows: dict[Run, Row] = {}
    lines: dict[Run, int] = {}
    for number, line in enumerate(found[: complete(found)].splitlines(), 1):
        if not line.strip():
            continue
        row = read_row(line, path, number)
        if row.run in rows:
            first = lines[row.run]
            raise FileError(f"the run of line {first} again", file=path, line=number, hint="keep one of the two")
        rows[row.run], lines[row.run] = row, number
    return rows
