"""XES, the event logs of process mining, as a table: a row an event, attributes of its trace with `case:` before them.

The parser goes through the file once. It refuses declarations of entities and document types, so nothing outside the
file is opened and nothing in it can grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

import numpy as np
import polars as pl

from trace2strips.traces.sparse import Column
from trace2strips.traces.text_files import MalformedError

NAME = "case:concept:name"
VALUES = frozenset(("string", "date", "int", "float", "boolean", "id"))


class XesLog:
    """The columns of a log as they grow, and the line of each event. `check` refuses too many rows and columns. What is
    said of a trace is kept once, and not for each of its events: a small file may have much of both.
    """

    def __init__(self, check: Callable[[int, int], None]) -> None:
        self.check = check
        self.columns: dict[str, Column] = {}
        self.case_columns: dict[str, Column] = {}
        self.lines: list[int] = []
        self.traces: list[int] = []  # of each event
        self.path: list[str] = []
        self.event: dict[str, str] | None = None
        self.count = 0  # traces so far
        self.parser = ParserCreate()
        self.parser.StartElementHandler = self.begin
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = refuse
        self.parser.EntityDeclHandler = refuse
        self.parser.ExternalEntityRefHandler = refuse
        self.parser.buffer_text = True

    def read(self, parts: Iterable[bytes]) -> None:
        try:
            for part in parts:
                self.parser.Parse(part, False)
            self.parser.Parse(b"", True)
        except ExpatError as error:
            message = f"no XES file: {error}" if not self.count else f"broken XML: {error}"
            raise MalformedError(message, "copy or export it again") from None
        except (LookupError, ValueError) as error:  # of the encoding that it names: none, none of text, none for XML
            raise MalformedError(f"no XES file: {error}", "save it as UTF-8") from None

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        where = self.path[-1] if self.path else None
        self.path.append(tag)
        if tag == "trace":
            self.count += 1
        elif tag == "event" and where == "trace":
            self.event = {}
            self.lines.append(self.parser.CurrentLineNumber)
            self.traces.append(self.count - 1)
        elif tag in VALUES and "key" in attributes and where in ("event", "trace"):
            key, value = attributes["key"], attributes.get("value", "")
            if where == "event" and self.event is not None:
                self.event[key] = value
            elif where == "trace":
                self.case_columns.setdefault(f"case:{key}", Column()).put(self.count - 1, value)
                self.check(self.count, len(self.case_columns))

    def end(self, tag: str) -> None:
        if self.path.pop() != "event" or self.event is None:
            return
        for key, value in self.event.items():
            self.columns.setdefault(key, Column()).put(len(self.lines) - 1, value)
        self.event = None
        self.check(len(self.lines), len(self.columns) + len(self.case_columns) + 1)

    def table(self) -> pl.DataFrame:
        """All columns, of one length; where every trace has a name, its number is left out."""
        trace, event = np.array(self.traces, dtype=np.int64), np.arange(len(self.lines))
        whole = {key: column.spread(self.count, trace) for key, column in self.case_columns.items()}
        named = whole.get(NAME)
        if named is None or named.null_count() or (named == "").any():
            whole[NAME] = pl.Series(trace + 1).cast(pl.String)
        for key, column in self.columns.items():
            own = column.spread(len(self.lines), event)
            whole[key] = own.fill_null(whole[key]) if key in whole else own  # what an event says itself counts for it
        return pl.DataFrame(whole)


def refuse(*_: Any) -> Any:
    raise MalformedError("it declares XML entities or a document type", "an XES log has none; export it again")
