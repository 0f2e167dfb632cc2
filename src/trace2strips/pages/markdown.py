"""Tables and text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable

from trace2strips.errors import printable
from trace2strips.pages.tables import Table

SPECIAL = str.maketrans({"|": "\\|", "<": "&lt;", ">": "&gt;", "&": "&amp;"})
OUR_LINK = re.compile(r"(\[[\w.-]+\]\([\w-]+\.md(?:#[\w-]+)?\))")  # to a page beside this one
BRACKET = re.compile(r"([\\\[\]]|:(?=//))")
MARKS = re.compile(r"([\\`*_\[\]|~$@^]|:(?=//)|(?<=www)\.)", re.IGNORECASE)  # inside a line
BEGINS = re.compile(r"\A(\d*)([#+=.)-])")  # at its beginning: headings, rules, lists


def format_table(table: Table, write: Callable[[str], str] | None = None) -> str:
    """`write` says how cells are written; without it, as `plain` does."""
    write = write or plain
    rule = ["--:" if column.number else "---" for column in table.columns]
    lines = [[column.full_title for column in table.columns], rule]
    lines += [[write(cell.text) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def plain(text: str) -> str:
    """Text of ours with a stranger's words in it: `names` and *stress* stay; nothing ends a cell or is taken for a
    link, an image or HTML."""
    parts = OUR_LINK.split(printable(text.replace("\n", " ").replace("\r", " ")))
    bare = "".join(part if i % 2 else BRACKET.sub(r"\\\1", part) for i, part in enumerate(parts))
    return bare.translate(SPECIAL)


def literal(text: str) -> str:
    """Text of a stranger: whatever it holds is shown, and nothing of it is a mark, a link, an image or HTML."""
    shown = MARKS.sub(r"\\\1", printable(text).strip())
    shown = BEGINS.sub(r"\1\\\2", shown)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code_block(text: str) -> str:
    """Lines as they are; the fence is longer than any in them."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    lines = "\n".join(printable(line) for line in text.split("\n"))
    return f"{fence}\n{lines}\n{fence}"
