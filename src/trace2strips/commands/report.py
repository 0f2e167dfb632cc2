"""`trace2strips report`: measured rows beside the paper's, as a page and as tables."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import ForceOption, plain_console
from trace2strips.errors import FileError, printable
from trace2strips.files import check_writable, writing_text


def report(
    results: Annotated[Path, typer.Option(help="Rows of runs; paper.json and notes.json stand beside.")] = Path(
        "results/runs.jsonl"
    ),
    out: Annotated[Path, typer.Option(help="Folder for index.html and tables.md.")] = Path("build/report"),
    force: ForceOption = False,
) -> None:
    """Tables, plots and a page: our figures beside the paper's.

    Also says what is missing.
    """
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    from trace2strips.report import format_markdown, format_page, load_results, make_sections, summary_table

    found = load_results(results)
    page, tables = out / "index.html", out / "tables.md"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(error.strerror or str(error), file=out, hint="name a folder with --out") from None
    for path in (page, tables):
        check_writable(path, force)
    sections = make_sections(found)
    texts = {page: format_page(found, sections, find_explorer(out)), tables: format_markdown(sections)}
    with ExitStack() as stack:  # both files are renamed into place after both are written
        for path, text in texts.items():
            stack.enter_context(writing_text(path, force)).write(text)
    summary = summary_table(found)
    shown = Table(box=SIMPLE, padding=0, title="Results beside the paper's", caption=summary.caption)
    for column in summary.columns:
        shown.add_column(column.full_title, justify="right" if column.number else "left", no_wrap=not column.number)
    for row in summary.rows:
        shown.add_row(*(Text(printable(cell.text)) for cell in row))
    plain_console().print(shown)
    print(f"{page}, {tables}")


def find_explorer(out: Path) -> str | None:
    """The page of `make demo`, or one that was put beside the report."""
    for address in ("explore.html", "../demo.html"):
        if (out / address).exists():
            return address
    return None
