"""`trace2strips ground`: a domain as propositional PDDL."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import DomainArgument, DomainOption, ForceOption, ProblemsOption
from trace2strips.errors import FileError
from trace2strips.files import check_writable, writing_text


def ground(
    domain: DomainArgument = None,
    out: Annotated[Path | None, typer.Option(help="Write the propositional domain here.")] = None,
    out_problem: Annotated[Path | None, typer.Option(help="Write the propositional problem here.")] = None,
    hidden: DomainOption = None,
    problem: ProblemsOption = None,
    force: ForceOption = False,
) -> None:
    """The hidden model of a domain as propositional PDDL.

    Every planner accepts it.
    """
    from trace2strips.commands.sources import find_world
    from trace2strips.pddl import format_model, format_model_problem

    targets = [check_writable(path, force) for path in (out, out_problem) if path is not None]
    if len(set(targets)) < len(targets):
        raise FileError("--out and --out-problem name one file", file=out, hint="name two")
    source = find_world(hidden, problem, argument=domain).only
    text = format_model(source.model)
    problem_text = format_model_problem(source.first_problem()) if out_problem is not None else ""
    with ExitStack() as stack:  # both files are renamed into place after both are written
        for path, content in ((out, text), (out_problem, problem_text)):
            if path is not None:
                stack.enter_context(writing_text(path, force)).write(content)
    if out is None:
        print(text, end="")
