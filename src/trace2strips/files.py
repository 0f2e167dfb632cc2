"""Reading and writing files so that nothing is half-written and every failure is one clear line.

Imports `errors` only.
"""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from trace2strips.errors import FileError

MAX_LINE_BYTES = 64 * 2**20  # longer lines are not traces but a wrong file; reading one must not fill the memory


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the operating system says about `path` into a FileError with a hint."""
    try:
        yield
    except FileNotFoundError:
        raise FileError("no such file", file=path, hint="check the path") from None
    except IsADirectoryError:
        raise FileError("is a directory, not a file", file=path, hint="name a file in it") from None
    except PermissionError:
        raise FileError("no permission to read it", file=path, hint=f"chmod u+r {path}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileError(f"broken gzip file: {error}", file=path, hint="copy or compress it again") from None
    except UnicodeDecodeError as error:
        raise FileError(f"not UTF-8 text (byte {error.start})", file=path, hint="is it a text file?") from None
    except OSError as error:
        raise FileError(error.strerror or str(error), file=path) from None


def check_readable(path: Path) -> None:
    """Permission as the user means it: root can read a file of mode 000, a user would be refused."""
    with reading(path):
        if path.is_dir():
            raise IsADirectoryError(path)
        if path.is_file() and not path.stat().st_mode & 0o444:
            raise PermissionError(path)
        path.open("rb").close()


def read_text(path: Path, most: int = -1) -> str:
    """A whole small text file, gzip or not; of at most so many bytes, if that is said."""
    check_readable(path)
    with reading(path), path.open("rb") as file:
        raw = unpacked(file).read(most + 1 if most >= 0 else -1)
        if 0 <= most < len(raw):
            raise FileError(f"more than {most:,} bytes when unpacked", file=path, hint="is it the right file?")
        return raw.decode("utf-8-sig")


@dataclass(frozen=True)
class Stretch:
    """Whole lines of a text file: from the byte `begin` to the byte `end`, with so many lines before them."""

    begin: int
    end: int
    lines_before: int


def read_lines(
    path: Path, progress: Callable[[int], None] | None = None, stretch: Stretch | None = None
) -> Iterator[tuple[int, str]]:
    """Number and text of each line, gzip or not, one at a time: a log may be larger than the memory.
    `progress` is told how many bytes of the file are new. With a `stretch` of a file that is not packed, its lines.
    """
    check_readable(path)
    with reading(path), path.open("rb") as file:
        stream = unpacked(file)
        number = told = 0
        if stretch is not None:
            file.seek(stretch.begin)
            number = stretch.lines_before
        while (stretch is None or file.tell() < stretch.end) and (raw := stream.readline(MAX_LINE_BYTES + 1)):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                limit = MAX_LINE_BYTES // 2**20
                raise FileError(f"line is longer than {limit} MiB", file=path, line=number, hint="one trace a line")
            try:
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise FileError("not UTF-8 text", file=path, line=number, hint="is it a text file?") from None
            yield number, text.rstrip("\r\n")
            if progress and number % 256 == 0:
                progress(file.tell() - told)
                told = file.tell()


def unpacked(file: io.BufferedReader) -> io.BufferedIOBase:
    """The bytes of a file; gzip is recognised by its first two bytes, whatever the name says."""
    packed = file.peek(2)[:2] == b"\x1f\x8b"
    return gzip.GzipFile(fileobj=file, mode="rb") if packed else file


def check_writable(path: Path, force: bool) -> Path:
    """Refuse before the work is done, not after it. Returns what will be written: a link's target, not the link."""
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise FileError("is a directory, not a file", file=path, hint="name a file in it")
        there = os.path.lexists(target)
        if there and not target.is_file():  # a pipe, a device, a link to itself: replacing it would destroy it
            raise FileError("is not a regular file", file=path, hint="name another file")
        if there and not force:
            raise FileError("exists already", file=path, hint="--force overwrites it")
        folder = target.parent
        if not folder.is_dir():
            raise FileError("its folder does not exist", file=path, hint=f"mkdir -p {folder}")
        if not os.access(folder, os.W_OK):
            raise FileError("no permission to write there", file=path, hint=f"chmod u+w {folder}")
        return target
    except OSError as error:
        raise FileError(error.strerror or str(error), file=path) from None


@contextmanager
def writing(path: Path, force: bool = False) -> Iterator[io.BufferedWriter]:
    """Write beside, then rename: `path` is either the whole new file or what it was before."""
    target = check_writable(path, force)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise FileError(error.strerror or str(error), file=path) from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)  # mkstemp made it private
        part.replace(target)
    except OSError as error:
        raise FileError(error.strerror or str(error), file=path, hint="is the disk full?") from None
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def writing_text(path: Path, force: bool = False) -> Iterator[io.TextIOBase]:
    """As `writing`, for text; compressed where the name ends in .gz (without a time stamp: same data, same bytes)."""
    with writing(path, force) as raw:
        packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if path.suffix.lower() == ".gz" else None
        text = io.TextIOWrapper(packed or raw, encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()
        if packed:
            packed.close()


@contextmanager
def locked(stream: IO[bytes]) -> Iterator[None]:
    """Hold the lock of an open file; others wait. The system lets go of it when the process ends, however it ends."""
    fcntl.flock(stream, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(stream, fcntl.LOCK_UN)
