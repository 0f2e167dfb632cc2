"""One HTML page that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from trace2strips.errors import printable
from trace2strips.pages.tables import Cell, Column, Table

STYLE = Path(__file__).with_name("style.css")
NOTHING_ELSE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"  # that a browser may load for it


def format_document(title: str, head: str, contents: Sequence[tuple[str, str]], body: str, footer: str) -> str:
    """`head`, `body` and `footer` are HTML; `contents` are ids and titles of sections, and the title is plain text."""
    links = "\n".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in contents)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{NOTHING_ELSE}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<a class="skip" href="#{contents[0][0]}">Skip to the {escape(contents[0][1].lower())}</a>
<header>
{head}
</header>
<nav aria-label="Contents">
<ol>
{links}
</ol>
</nav>
<main>
{body}
</main>
<footer>
{footer}
</footer>
</body>
</html>
"""


def format_section(name: str, title: str, *parts: str) -> str:
    """Its parts are HTML; empty ones are left out."""
    first = f'<section id="{name}" aria-labelledby="{name}-title">', f'<h2 id="{name}-title">{escape(title)}</h2>'
    return "\n".join(filter(None, (*first, *parts, "</section>")))


def format_key_figures(figures: Iterable[tuple[str, str]]) -> str:
    items = "\n".join(
        f"<div><dt>{escape(printable(t))}</dt><dd>{escape(printable(value))}</dd></div>" for t, value in figures
    )
    return f'<dl class="key">\n{items}\n</dl>'


def inline(text: str) -> str:
    """Text with `names` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(printable(text)))


def format_table(table: Table) -> str:
    """In a box of its own that scrolls: the page never does."""
    body = "\n".join(format_row(table.columns, row) for row in table.rows)
    return f"""<div class="scroll" role="region" aria-labelledby="{table.name}-caption" tabindex="0">
<table id="{table.name}">
<caption id="{table.name}-caption"><span>{inline(table.caption)}</span></caption>
<thead>
{format_header(table.columns)}
</thead>
<tbody>
{body}
</tbody>
</table>
</div>"""


def format_header(columns: Sequence[Column]) -> str:
    """One line, or two where a title stands above several columns."""
    deep = any(column.group for column in columns)
    first, second = [], []
    for group, together in groupby(columns, key=lambda column: column.group):
        members = list(together)
        if group:
            first.append(f'<th scope="colgroup" colspan="{len(members)}">{escape(group)}</th>')
            second += [header_cell(column) for column in members]
        else:
            first += [header_cell(column, ' rowspan="2"' if deep else "") for column in members]
    return "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in (first, second) if cells)


def header_cell(column: Column, span: str = "") -> str:
    title = escape(printable(column.title)).replace("+", "+<wbr>")  # a learner's name may be broken there
    return f'<th scope="col"{span}{looks(column)}>{title}</th>'


def format_row(columns: Sequence[Column], row: Sequence[Cell]) -> str:
    cells = [f'<th scope="row">{text_of(row[0])}</th>']
    cells += [
        f"<td{looks(column, cell.kind)}>{text_of(cell)}</td>" for column, cell in zip(columns[1:], row[1:], strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"


def text_of(cell: Cell) -> str:
    """Names are any text: none may be taken for HTML or hold control characters."""
    return escape(printable(cell.text))


def looks(column: Column, kind: str = "") -> str:
    names = " ".join(filter(None, ("number" if column.number else "", kind)))
    return f' class="{names}"' if names else ""
