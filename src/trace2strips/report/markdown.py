"""Sections as Markdown: sentences and tables; the plots are on the page."""

from __future__ import annotations

from collections.abc import Sequence

from trace2strips.pages.markdown import format_table, plain
from trace2strips.pages.tables import Section


def format_markdown(sections: Sequence[Section]) -> str:
    parts = ["# Results beside the paper's"]
    for section in sections:
        parts += [f"## {section.title}", *map(plain, section.sentences)]
        for table in section.tables:
            parts += [f"*{plain(table.caption)}*", format_table(table)]
    return "\n\n".join(parts) + "\n"
