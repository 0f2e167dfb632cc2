"""`trace2strips why`: the proof of an answer, with the lines of the log that say so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import JsonOption, TraceArgument, WindowsRunArgument, show_answers


def why(
    run: WindowsRunArgument,
    trace: TraceArgument,
    action: Annotated[
        str | None, typer.Argument(metavar="[ACTION]", help="After the trace; default: each attempt of the trace.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Why an action works or not, with the lines that prove it."""
    from trace2strips.learners.learning import load

    learned = load(Path(run))
    found = learned.why(trace, action)
    show_answers(learned, "attempts", found, as_json)
