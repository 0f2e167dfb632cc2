"""What the text formats share: traces come one after the other, and what is wrong with one is told with its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from trace2strips.errors import TraceError, shorten
from trace2strips.files import Stretch, read_lines
from trace2strips.traces.trace import Trace

MAX_ACTIONS = 100_000  # in one trace; more means that the line breaks between traces are missing

Progress = Callable[[int], None] | None
Numbered = Iterator[tuple[int, Trace]]  # (line, trace): an error found later still knows its line


@dataclass
class Stated:
    """What is said of the names of a file: by its reader, which columns of a CSV log are arguments; by the file itself,
    what stands between a name and its arguments ('': there are none; None: nothing is said)."""

    arguments: tuple[str, ...] = ()
    separator: str | None = None

    def say(self, separator: str) -> None:
        if self.separator not in (None, separator):
            raise MalformedError(f"a second separator {shorten(separator)!r}, first {self.separator!r}", "keep one")
        self.separator = separator


class MalformedError(Exception):
    """What is wrong with one line; the reader adds file and number."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def read_by_line(
    path: Path, parse: Callable[[str], Trace], comment: str | None, progress: Progress,
    hear: Callable[[str], None] | None = None, stretch: Stretch | None = None,
) -> Numbered:  # fmt: skip
    """`hear` is told each comment."""
    for number, text in read_lines(path, progress, stretch):
        try:
            if comment and text.lstrip().startswith(comment):
                if hear is not None:
                    hear(text)
            elif text.strip():
                yield number, parse(text)
        except MalformedError as error:
            raise TraceError(str(error), file=path, line=number, hint=error.hint) from None


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


def set_final(final: dict[str, bool], atom: str, value: bool) -> None:
    if final.setdefault(atom, value) != value:
        raise MalformedError(f"the final atom {shorten(atom)!r} is true and false", "keep one")


def decode_percent(word: str) -> str:
    try:
        return unquote(word, errors="strict")
    except UnicodeDecodeError:
        raise MalformedError(
            f"{shorten(word)!r}: the bytes after '%' are not UTF-8", "write %25 for '%' in a name"
        ) from None


def encode_percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode())
