"""Sections as one HTML page that needs nothing else: no script, no font, no request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from trace2strips.report.rows import Results
from trace2strips.report.sections import Section, key_figures
from trace2strips.report.tables import Cell, Column, Table

STYLE = Path(__file__).with_name("style.css")


def format_page(results: Results, sections: Sequence[Section]) -> str:
    from trace2strips.report.plots import PLOTS  # matplotlib is slow to import

    plots = {name: "\n".join(plot.html() for plot in draw(results)) for name, draw in PLOTS.items()}
    body = "\n".join(format_section(section, plots.get(section.name, ""), results) for section in sections)
    links = "\n".join(f'<li><a href="#{s.name}">{escape(s.title)}</a></li>' for s in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>trace2strips: results beside the paper's</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<a class="skip" href="#summary">Skip to the summary</a>
<header>
<p class="project">trace2strips</p>
<h1>Results beside the paper’s</h1>
<p class="lead">World models learned from action traces: what was measured here, beside the tables of
<cite>From Next Token Prediction to (STRIPS) World Models</cite>.</p>
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
<p>Written by <code>trace2strips report</code> from <code>{escape(results.source)}</code>. The same rows give the same
page.</p>
</footer>
</body>
</html>
"""


def format_section(section: Section, plots: str, results: Results) -> str:
    sentences = "\n".join(f"<p>{inline(text)}</p>" for text in section.sentences)
    numbers = format_key_figures(results) if section.name == "summary" else ""
    tables = "\n".join(map(format_table, section.tables))
    parts = (f'<section id="{section.name}" aria-labelledby="{section.name}-title">',
             f'<h2 id="{section.name}-title">{escape(section.title)}</h2>', sentences, numbers,
             plots and f'<div class="plots">\n{plots}\n</div>', tables, "</section>")  # fmt: skip
    return "\n".join(filter(None, parts))


def format_key_figures(results: Results) -> str:
    items = "\n".join(f"<div><dt>{escape(t)}</dt><dd>{escape(value)}</dd></div>" for t, value in key_figures(results))
    return f'<dl class="key">\n{items}\n</dl>'


def inline(text: str) -> str:
    """Text with `names` in it."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


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
    title = escape(column.title).replace("+", "+<wbr>")  # a learner's name may be broken there
    return f'<th scope="col"{span}{looks(column)}>{title}</th>'


def format_row(columns: Sequence[Column], row: Sequence[Cell]) -> str:
    cells = [f'<th scope="row">{escape(row[0].text)}</th>']
    cells += [
        f"<td{looks(column, cell.kind)}>{escape(cell.text)}</td>"
        for column, cell in zip(columns[1:], row[1:], strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"


def looks(column: Column, kind: str = "") -> str:
    names = " ".join(filter(None, ("number" if column.number else "", kind)))
    return f' class="{names}"' if names else ""
