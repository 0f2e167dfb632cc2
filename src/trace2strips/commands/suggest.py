"""`trace2strips suggest`: which attempts would decide most of what is open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import JsonOption, TraceArgument, WindowsRunArgument, show_answers
from trace2strips.errors import UserError


def suggest(
    run: WindowsRunArgument,
    trace: TraceArgument = "",
    count: Annotated[int, typer.Option(help="At most so many.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """What to try next: the attempts that decide most.

    They are open after the trace, or after some of the log, and so are others that their answers decide.
    Try one, add what happened to a log, and 'trace2strips learn LOG --update RUN'.
    """
    from trace2strips.learners.learning import load

    if count < 1:
        raise UserError(f"{count} suggestions", hint="--count 5")
    learned = load(Path(run))
    found = learned.suggest(trace or None, count)
    nothing = "nothing is open there" if trace else "nothing is open after the traces that are kept of the log"
    show_answers(learned, "suggestions", found, as_json, nothing)
