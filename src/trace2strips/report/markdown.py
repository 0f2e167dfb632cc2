"""Sections as Markdown: sentences and tables; the plots are on the page."""

from __future__ import annotations

from collections.abc import Sequence

from trace2strips.report.sections import Section
from trace2strips.report.tables import Table

SPECIAL = str.maketrans({"|": "\\|", "<": "&lt;", ">": "&gt;", "&": "&amp;", "\n": " ", "\r": " "})


def format_markdown(sections: Sequence[Section]) -> str:
    parts = ["# Results beside the paper's"]
    for section in sections:
        parts += [f"## {section.title}", *map(plain, section.sentences)]
        for table in section.tables:
            parts += [f"*{plain(table.caption)}*", format_table(table)]
    return "\n\n".join(parts) + "\n"


def format_table(table: Table) -> str:
    rule = ["--:" if column.number else "---" for column in table.columns]
    lines = [[column.full_title for column in table.columns], rule]
    lines += [[plain(cell.text) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plain(text: str) -> str:
    """Names are any text: none may end a cell or be taken for HTML."""
    return text.translate(SPECIAL)
