"""Errors that a user can cause: one family, one line each, with file, line and a hint.

The command line prints `str(error)` and exits with code 2; nothing else may reach the user as a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")


class UserError(Exception):
    """`file:line:column: message (hint: …)`; every part but the message is optional."""

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = None if file is None else str(file)
        self.line = line
        self.column = column
        self.hint = hint

    def __str__(self) -> str:
        """One line of bounded length that no terminal takes for a command, whatever words of the user it repeats."""
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = squeeze(printable(self.message), 300)
        text = f"{squeeze(printable(place), 600)}: {text}" if place else text
        return f"{text} (hint: {squeeze(printable(self.hint), 300)})" if self.hint else text


class ModelError(UserError):
    """A STRIPS model or problem that contradicts itself."""


class PddlError(UserError):
    """A PDDL file that cannot be read."""


class DomainError(UserError):
    """An unknown benchmark domain or an impossible size."""


class TraceError(UserError):
    """A trace file or dataset that cannot be read."""


class PlannerError(UserError):
    """A planner that is unknown or not there, or limits under which nothing can be searched."""


class BraspError(UserError):
    """A B-RASP program that cannot be read, or a string that it cannot run on."""


class FileError(UserError):
    """A path that cannot be read or written."""


def with_file(path: str | Path, read: Callable[[], Result]) -> Result:
    """What is wrong with a file's content is reported with the file, also by those who never saw the file."""
    try:
        return read()
    except UserError as error:
        error.file = error.file or str(path)
        raise


def suggest(word: str, known: Iterable[str], noun: str) -> str:
    """A hint for a misspelt name: the nearest known one, or how to see them all."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6) if len(word) <= 200 else []
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(map(shorten, names[:6])) + (", …" if len(names) > 6 else "")
    return f"known {noun}: {shown}" if names else f"there are no {noun}"


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that stands there a second time; None where all differ."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def shorten(text: str, width: int = 60) -> str:
    """Long user input cut to what fits on an error line."""
    return text if len(text) <= width else text[: width - 1] + "…"


def listing(names: Sequence[str]) -> str:
    """How many names there are, and the first few."""
    shown = ", ".join(shorten(printable(name)) for name in names[:5])
    return f"{len(names)}" + (f": {shown}{' …' if len(names) > 5 else ''}" if names else "")


def squeeze(text: str, width: int) -> str:
    """Cut in the middle: of a sentence about a long word, both ends matter."""
    return text if len(text) <= width else text[: width // 2] + "…" + text[-(width // 2 - 1) :]


def printable(text: str) -> str:
    """Line breaks, control characters and lone surrogates as Python writes them: \\n, \\x1b, \\ud800."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
