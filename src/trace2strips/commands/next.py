"""`trace2strips next`: what may be done after a trace, each with a certain answer or none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import JsonOption, TraceArgument, WindowsRunArgument, show_answers


def next(
    run: WindowsRunArgument,
    trace: TraceArgument = "",
    works: Annotated[bool, typer.Option("--works", help="Only what works for certain.")] = False,
    as_json: JsonOption = False,
) -> None:
    """What works after a trace, for certain or perhaps.

    Each action over the objects of the trace works or is refused in every model that fits the log, or
    it is open; then the small model's guess is told.
    """
    from trace2strips.learners.learning import load

    learned = load(Path(run))
    replies = [reply for reply in learned.next(trace) if not works or reply.answer == "works"]
    show_answers(learned, "actions", replies, as_json)
