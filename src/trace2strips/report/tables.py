"""How figures of the report are written, as cells of its tables."""

from __future__ import annotations

from trace2strips.pages.tables import NONE, Cell, Column, accuracy
from trace2strips.report.rows import ROUNDING

SIGNS = {"met": "✓", "met so far": "✓", "missed": "✗", "missed so far": "✗", "missing": "○"}
Cells = list[Cell | str]  # a row while it is made
Columns = list[Column | str]


def slug(name: str) -> str:
    """A learner's name as a part of an id or of a colour's name: no plus sign."""
    return name.replace("+", "-")


def with_best(value: float | None, best: float | None, digits: int = 4) -> str:
    return f"{accuracy(value, digits)} ({accuracy(best, digits)})" if value is not None else NONE


def difference(value: float | None) -> str:
    if value is None:
        return NONE
    if abs(value) < ROUNDING:
        return "0"
    digits = 4
    while not float(text := f"{abs(value):.{digits}f}"):
        digits += 1
    return f"{'+' if value > 0 else '−'}{text}"


def told(value: float | None, form: str = "{:g}") -> str:
    """A figure of the paper, with the digits that it gives."""
    return NONE if value is None else form.format(value)


def milliseconds(value: int | float | None) -> str:
    return NONE if value is None else f"{1000 * value:,.1f} ms"


def duration(seconds: int | float | None) -> str:
    if seconds is None:
        return NONE
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def verdict(kind: str, text: str | None = None) -> Cell:
    """Its sign and its word, or another text instead of the word."""
    return Cell(f"{SIGNS[kind]} {text or kind}" if kind else NONE, kind.removesuffix(" so far"))


def missing() -> Cell:
    return Cell(f"{SIGNS['missing']} missing", "missing")
