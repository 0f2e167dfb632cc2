"""The report as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from trace2strips.pages.html import format_document, format_key_figures, format_section, format_table, inline
from trace2strips.pages.tables import Section
from trace2strips.report.rows import Results
from trace2strips.report.sections import key_figures

HEAD = """<p class="project">trace2strips</p>
<h1>Results beside the paper’s</h1>
<p class="lead">World models learned from action traces: what was measured here, beside the tables of
<cite>From Next Token Prediction to (STRIPS) World Models</cite>.</p>"""
FOOTER = """<p>Written by <code>trace2strips report</code> from <code>{}</code>. The same rows give the same
page.</p>"""


EXPLORER = """
<p><a href="{}">Try a learned world in the explorer</a></p>"""


def format_page(results: Results, sections: Sequence[Section], explorer: str | None = None) -> str:
    """`explorer` is the address of a world explorer's page, where there is one."""
    from trace2strips.report.needed_plot import draw_needed  # matplotlib is slow to import
    from trace2strips.report.plots import PLOTS

    drawing = {**PLOTS, "outside": draw_needed}
    plots = {name: "\n".join(plot.html() for plot in draw(results)) for name, draw in drawing.items()}
    body = "\n".join(section_html(section, plots.get(section.name, ""), results) for section in sections)
    contents = [(section.name, section.title) for section in sections]
    title = "trace2strips: results beside the paper's"
    head = HEAD if explorer is None else HEAD + EXPLORER.format(escape(explorer))
    return format_document(title, head, contents, body, FOOTER.format(escape(results.source)))


def section_html(section: Section, plots: str, results: Results) -> str:
    sentences = "\n".join(f"<p>{inline(text)}</p>" for text in section.sentences)
    numbers = format_key_figures(key_figures(results)) if section.name == "summary" else ""
    drawn = plots and f'<div class="plots">\n{plots}\n</div>'
    return format_section(section.name, section.title, sentences, numbers, drawn, *map(format_table, section.tables))
