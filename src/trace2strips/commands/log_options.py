"""The options that say what the columns of a log are, and how a log is read with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.errors import UserError

if TYPE_CHECKING:
    from trace2strips.traces import Dataset
    from trace2strips.traces.columns import Columns

CaseOption = Annotated[
    str | None, typer.Option("--case", help="Column that tells the traces apart; file: each file is one.")
]
ActionOption = Annotated[str | None, typer.Option("--action", help="Column that is the action.")]
OkOption = Annotated[str | None, typer.Option("--ok", help="Column that says whether it worked; none: everything did.")]
TimeOption = Annotated[str | None, typer.Option("--time", help="Column to order rows by; none: as they stand.")]
WorkedOption = Annotated[list[str] | None, typer.Option("--worked", help="Word of an outcome that worked; repeat it.")]
RefusedOption = Annotated[list[str] | None, typer.Option("--refused", help="Word of an outcome that did not.")]


def told_columns(
    case: str | None,
    action: str | None,
    ok: str | None,
    time: str | None,
    arg: list[str] | None,
    worked: list[str] | None,
    refused: list[str] | None,
    start: str | None = None,
) -> Columns:
    """`start` is a column, or a level of starts, which says nothing of columns."""
    from trace2strips.learners.windows.starts import StartLevel
    from trace2strips.traces.columns import Columns
    from trace2strips.traces.outcomes import Words

    column = None if start is None or start in tuple(StartLevel) else start
    return Columns(case, action, ok, time, tuple(arg or ()), column, Words(tuple(worked or ()), tuple(refused or ())))


def start_level(start: str | None, log: Path | None) -> str | None:
    """The level of starts; None where a column is named instead, or nothing."""
    from trace2strips.learners.windows.starts import StartLevel
    from trace2strips.traces.formats import find_files, is_event_log

    if start is None or start in tuple(StartLevel):
        return start
    if log is not None and all(is_event_log(file) for file in find_files(log)):
        return None
    hint = f"{', '.join(StartLevel)}, or a column of a log of events"
    raise UserError(f"unknown level of starts {start!r}", hint=hint)


def show_understood(dataset: Dataset, quiet: bool) -> None:
    """What was understood of a log of events, before anything is done with it."""
    if dataset.origin is not None and not quiet:
        for line in dataset.origin.understood:
            print(line)
