"""XES, the event logs of process mining, as a table: a row an event, attributes of its trace with `case:` before them.

The parser goes through the file once. It refuses declarations of entities and document types, so nothing outside the
file is opened and nothing in it can grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

from trace2strips.traces.text_files import MalformedError

VALUES = frozenset(("string", "date", "int", "float", "boolean", "id"))


class XesLog:
    """The columns of a log as they grow, and the line of each event. `check` refuses too many rows and columns."""

    def __init__(self, check: Callable[[int, int], None]) -> None:
        self.check = check
        self.columns: dict[str, list[str | None]] = {}
        self.lines: list[int] = []
        self.path: list[str] = []
        self.case: dict[str, str] = {}
        self.event: dict[str, str] | None = None
        self.traces = 0
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
            message = f"no XES file: {error}" if not self.traces else f"broken XML: {error}"
            raise MalformedError(message, "copy or export it again") from None

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        where = self.path[-1] if self.path else None
        self.path.append(tag)
        if tag == "trace":
            self.traces += 1
            self.case = {}
        elif tag == "event" and where == "trace":
            self.event = {}
            self.lines.append(self.parser.CurrentLineNumber)
        elif tag in VALUES and "key" in attributes and where in ("event", "trace"):
            key, value = attributes["key"], attributes.get("value", "")
            if where == "event" and self.event is not None:
                self.event[key] = value
            elif where == "trace":
                self.case[f"case:{key}"] = value

    def end(self, tag: str) -> None:
        if self.path.pop() != "event" or self.event is None:
            return
        row = {"case:number": str(self.traces), **self.case, **self.event}
        count = len(self.lines) - 1
        for key, value in row.items():
            if (column := self.columns.get(key)) is None:
                column = self.columns[key] = []
            if len(column) < count:
                column += [None] * (count - len(column))
            column.append(value)
        self.event = None
        self.check(len(self.lines), len(self.columns))

    def table(self) -> dict[str, list[str | None]]:
        """All columns, of one length; where every trace has a name, its number is left out."""
        count = len(self.lines)
        whole = {key: column + [None] * (count - len(column)) for key, column in self.columns.items()}
        named = whole.get("case:concept:name")
        if named is not None and all(named):
            del whole["case:number"]
        elif "case:number" in whole:
            whole["case:concept:name"] = whole.pop("case:number")
        return whole


def refuse(*_: Any) -> Any:
    raise MalformedError("it declares XML entities or a document type", "an XES log has none; export it again")
