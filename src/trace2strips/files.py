"""Reading and writing files so that nothing is half-written and every failure is one clear line.

Imports `errors` only.
"""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from trace2strips.errors import FileError

MAX_LINE_BYTES = 64 * 2**20  # longer lines are not traces but a wrong file; reading one must not fill the memory
MOST_TEXT = 64 * 2**20  # bytes of a text that is read at once, unpacked
GZIP = b"\x1f\x8b"  # the first bytes of what is packed, whatever its name
UNPACKED = 16 * 2**20  # bytes that any packed file may hold; a larger one RATIO times its size:
RATIO = 100  # logs and summaries are packed to a tenth or a fiftieth, a trap to a thousandth
MOST_EMPTY = 10**6  # lines one after the other with nothing in them


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
        if path.exists() and not path.is_file():  # a pipe would be waited for, a device may have no end
            raise FileError("is not a regular file", file=path, hint="save what it holds in a file")
        if path.is_file() and not path.stat().st_mode & 0o444:
            raise PermissionError(path)
        path.open("rb").close()


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader]:
    """A file to be read, as it is; what is wrong with it, now or later, is a FileError."""
    check_readable(path)
    with reading(path), path.open("rb") as file:
        yield file


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """A whole small text file, gzip or not, of at most so many bytes."""
    with opened(path) as file:
        raw = unpacked(file).read(most + 1)
        if len(raw) > most:
            raise FileError(f"more than {most:,} bytes of text", file=path, hint="is it the right file?")
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
    with opened(path) as file:
        stream = unpacked(file)
        number = told = empty = 0
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
            text = text.rstrip("\r\n")
            empty = 0 if text else empty + 1
            if empty > MOST_EMPTY:
                raise FileError(f"more than {MOST_EMPTY:,} empty lines", file=path, line=number, hint="is it a log?")
            yield number, text
            if progress and number % 256 == 0:
                progress(file.tell() - told)
                told = file.tell()


def unpacked(file: io.BufferedReader) -> io.BufferedIOBase:
    """The bytes of a file, unpacked if they are gzip. Every packed file that we read comes through here: a small one
    must not fill memory or time.
    """
    return io.BufferedReader(Unpacked(file)) if file.peek(2)[:2] == GZIP else file


class Unpacked(io.RawIOBase):
    """What is in a gzip file, in steps, and never much more than its size explains."""

    def __init__(self, file: io.BufferedReader) -> None:
        self.stream = gzip.GzipFile(fileobj=file, mode="rb")
        self.file, self.size = file, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self.stream.read(len(buffer))
        self.size += len(part)
        if self.size > max(UNPACKED, RATIO * self.file.tell()):  # of what is read so far: a trap is noticed early
            hint = "is it a log? unpack it with gunzip if it is"
            raise FileError(f"unpacks to more than {RATIO} times its size", file=self.file.name, hint=hint)
        buffer[: len(part)] = part
        return len(part)


def check_writable(path: Path, force: bool, follow: bool = True) -> Path:
    """Refuse before the work is done, not after it. Returns what will be written: a link's target, not the link.
    Without `follow` it is the link that will be replaced."""
    try:
        target = Path(os.path.realpath(path)) if follow else path
        is_link = target.is_symlink()  # after realpath: one that leads to itself
        if target.is_dir() and not is_link:
            raise FileError("is a directory, not a file", file=path, hint="name a file in it")
        there = os.path.lexists(target) and (follow or not is_link)
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
def writing(path: Path, force: bool = False, follow: bool = True) -> Iterator[io.BufferedWriter]:
    """Write beside, then rename: `path` is either the whole new file or what it was before. `follow` is for paths that
    the user names; under a name of ours in a folder that a stranger may have made, a link could lead anywhere.
    """
    target = check_writable(path, force, follow)
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
def writing_text(path: Path, force: bool = False, follow: bool = True) -> Iterator[io.TextIOBase]:
    """As `writing`, for text; compressed where the name ends in .gz (without a time stamp: same data, same bytes)."""
    with writing(path, force, follow) as raw:
        packed = gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) if path.suffix.lower() == ".gz" else None
        # a name whose bytes are no UTF-8 is written out: \udcff; hours of work must not be lost for it
        text = io.TextIOWrapper(packed or raw, encoding="utf-8", newline="\n", errors="backslashreplace")
        try:
            yield text
            text.flush()
            text.detach()
            if packed:
                packed.close()
        except BaseException:  # nothing is left that would write into the closed file when it is thrown away
            with suppress(OSError, ValueError):
                text.close()
            raise


def make_folder_in(folder: Path, name: str) -> Path:
    """A folder of ours in a folder that a stranger may have made: in the place of a link, which could lead anywhere."""
    path = folder / name
    try:
        if path.is_symlink():
            path.unlink()
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise FileError(error.strerror or str(error), file=path) from None
    return path


def private_folder() -> Path:
    """A folder of this user's in the temporary directory, the same for every process. Others can write beside it, so
    whatever stands there already must be a folder of ours that nobody else may enter."""
    folder = Path(tempfile.gettempdir()) / f"trace2strips-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except OSError as error:
        raise FileError(error.strerror or str(error), file=folder, hint="TMPDIR=FOLDER") from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise FileError("is not a folder of yours alone", file=folder, hint=f"remove it, or chmod 700 {folder}")
    return folder


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; whoever comes second is told so. A kill leaves no lock behind."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise FileError(error.strerror or str(error), file=folder) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(
                "another process works in it", file=folder, hint="wait for it, or name another folder"
            ) from None
        yield
    finally:
        os.close(handle)


@contextmanager
def locked(stream: IO[bytes]) -> Iterator[None]:
    """Hold the lock of an open file; others wait. The system lets go of it when the process ends, however it ends."""
    fcntl.flock(stream, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(stream, fcntl.LOCK_UN)
