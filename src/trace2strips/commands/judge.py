"""`trace2strips judge`: what a learned model says of every attempt of a new log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.log_options import (
    ActionOption,
    CaseOption,
    OkOption,
    RefusedOption,
    TimeOption,
    WorkedOption,
    told_columns,
)
from trace2strips.commands.terminal import ArgOption, ForceOption, JsonOption, RunArgument, show_assumptions
from trace2strips.errors import UserError, with_file
from trace2strips.files import check_writable, writing_text


def judge(
    run: RunArgument,
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Trace file or dataset to judge.")],
    show: Annotated[int, typer.Option(help="Show so many attempts that are not as expected; 0: counts alone.")] = 20,
    csv: Annotated[Path | None, typer.Option(help="Write all that are not as expected here, as a table.")] = None,
    case: CaseOption = None,
    action: ActionOption = None,
    ok: OkOption = None,
    time: TimeOption = None,
    arg: ArgOption = None,
    worked: WorkedOption = None,
    refused: RefusedOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """What is surprising or impossible in a new log.

    Impossible: it contradicts every model that fits the log that was learned from (runs of windows know).
    Surprising: the model would have said otherwise. Unknown: an action that nothing was learned of. Exit
    code 0: nothing is impossible; 3: something is.
    """
    from trace2strips.learners.learning import load
    from trace2strips.traces import read_traces

    if show < 0:
        raise UserError(f"{show} attempts to show", hint="0 or more")
    if csv is not None:
        check_writable(csv, force)
    learned = load(run)
    dataset = read_traces(log, columns=told_columns(case, action, ok, time, arg, worked, refused), kept=learned.columns)
    found = with_file(log, lambda: learned.judge(dataset))
    if csv is not None:
        with writing_text(csv, force=force) as stream:
            stream.write(found.to_csv())
    if as_json:
        print(json.dumps(found.record(show), indent=1))
    else:
        for line in found.lines(show):
            print(line)
        if found.assumptions:
            show_assumptions(found.assumptions)
    raise typer.Exit(0 if found.is_possible else 3)
