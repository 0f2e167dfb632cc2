"""Result files → tables, plots and one page. Reads files only: nothing is run here.

    rows       measured rows joined with the lists of runs and with the paper: mean, best seed, difference, bar
    tables     how figures are written
    outside    what the paper does not measure: traces needed, world-model metrics
    sections   what the report says: sentences, tables and plots, section by section
    plots      SVG, by matplotlib
    markdown   sections as Markdown
    page       sections as one self-contained HTML page
    benchmarks tables of what benchmarks/ measured
    doc_tables docs/results.md and the tables in other pages of docs/

Beside that, `illustration` shows what a model, its program and its attention heads compute on one trace.
"""

from trace2strips.pages.markdown import format_table
from trace2strips.report.markdown import format_markdown
from trace2strips.report.page import format_page
from trace2strips.report.rows import Results, load_results
from trace2strips.report.sections import make_sections, summary_table

__all__ = [
    "Results",
    "format_markdown",
    "format_page",
    "format_table",
    "load_results",
    "make_sections",
    "summary_table",
]
