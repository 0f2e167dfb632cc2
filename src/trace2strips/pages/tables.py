"""A table as data. Markdown, page and terminal show the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NONE = "–"


@dataclass(frozen=True)
class Column:
    """`group` stands above neighbouring columns: train over ours, paper and difference."""

    title: str
    group: str = ""
    number: bool = True

    @property
    def full_title(self) -> str:
        return f"{self.group}: {self.title}" if self.group else self.title


@dataclass(frozen=True)
class Cell:
    """`kind` is how the page shows it; it never says more than the text does."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """The first cell of a row names it."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Section:
    name: str
    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()


def table(name: str, caption: str, columns: Sequence[Column | str], rows: Sequence[Sequence[Cell | str]]) -> Table:
    """A plain string is a column of numbers, or an unmarked cell."""
    return Table(
        name,
        caption,
        tuple(Column(column) if isinstance(column, str) else column for column in columns),
        tuple(tuple(Cell(cell) if isinstance(cell, str) else cell for cell in row) for row in rows),
    )


def words(title: str) -> Column:
    return Column(title, number=False)


def accuracy(value: int | float | None, digits: int = 4) -> str:
    """A share of 1. Never rounded up to 1 nor down to 0: an error stays visible."""
    if value is None:
        return NONE
    if value in (0, 1):
        return f"{value:.0f}"
    while float(text := f"{value:.{digits}f}") in (0, 1):
        digits += 1
    return text


def number(value: int | float | None, digits: int = 0) -> str:
    return NONE if value is None else f"{value:,.{digits}f}"
