"""`trace2strips explain`: what an atom of a learned model seems to mean."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from trace2strips.commands.terminal import JsonOption, RunArgument, show_assumptions
from trace2strips.errors import printable


def explain(
    run: RunArgument,
    atom: Annotated[str | None, typer.Argument(metavar="[ATOM]", help="'after-pay', 'on(a, b)'; default: all.")] = None,
    as_json: JsonOption = False,
) -> None:
    """What an atom of a learned model seems to mean.

    What makes it true, what makes it false and what needs it. Runs of windows say how sure that is:
    certain (every model that fits the log has it), likely or free, and which lines of the log show it.
    """
    from trace2strips.learners.learning import load

    learned = load(run)
    names = [found.name for found in learned.rules.atoms] if atom is None else [atom]
    explained = [learned.explain(name) for name in names]
    if as_json:
        print(json.dumps([asdict(one) for one in explained], indent=1))
        return
    for one in explained:
        for line in str(one).splitlines():
            print(printable(line))
    if any(rule.level == "certain" for one in explained for rule in one.rules):
        show_assumptions(learned.summary.assumptions)
