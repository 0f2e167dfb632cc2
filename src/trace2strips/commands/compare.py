"""`trace2strips compare`: do two models accept the same traces?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.commands.terminal import JsonOption
from trace2strips.errors import UserError, printable, with_file

if TYPE_CHECKING:
    from trace2strips.judging.sources import Source


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Run folder, domain name or propositional PDDL file.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The same; its actions must have the same names.")],
    init: Annotated[
        list[str] | None, typer.Option(metavar="ATOMS", help="Start here: true atoms, or a learned initial state.")
    ] = None,
    problem: Annotated[Path | None, typer.Option(help="Start in the initial state of this PDDL problem.")] = None,
    traces: Annotated[Path | None, typer.Option(help="Start where these traces start.")] = None,
    domain: Annotated[str | None, typer.Option(help="Start in this domain's generated initial states.")] = None,
    max_pairs: Annotated[int, typer.Option(help="Look at no more pairs of states (about 60 bytes each).")] = 4_000_000,
    starts: Annotated[int, typer.Option(help="How many initial states to draw from a domain's generator.")] = 100_000,
    exhaust: Annotated[bool, typer.Option("--exhaust", help="Search on, also where invariants have shown it.")] = False,
    seed: Annotated[int, typer.Option(help="Of the starts drawn and of random walks.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Do two models accept the same traces?

    Exit code 0: equivalent, 1: different, 3: not distinguished.

    Starts: as given, else the generated initial states of a domain, else the named ones of the runs.
    Two models of which none was learned start with every atom true.
    """
    from trace2strips.commands.sources import open_source
    from trace2strips.judging.equivalence import compare as compare_models
    from trace2strips.judging.starts import find_starts, problem_starts, told_starts, trace_starts, with_final_values
    from trace2strips.traces import read_traces
    from trace2strips.worlds import get_domain

    a, b = open_source(first), open_source(second)
    atoms, state = read_init(a, b, init)
    if sum(option is not None for option in (atoms, problem, traces, domain)) > 1:
        raise UserError("several starts are given", hint="one of --init, --problem, --traces and --domain")
    further = None
    if problem is not None:
        given = problem_starts(a, b, problem, state)
    elif traces is not None:
        dataset = read_traces(traces)
        given = with_file(traces, lambda: trace_starts(a, b, dataset))
        given = given if state is None else given.only(state)
    elif atoms is not None or (a.named_states and b.named_states and state is not None):
        origin = "the initial state given" if atoms is None else "the initial atoms given"
        given = told_starts(a, b, atoms or (), origin, state)
    else:
        given, further = find_starts(a, b, None if domain is None else get_domain(domain), starts, seed)
        given = given if state is None else given.only(state)
    result = compare_models(*with_final_values(a, b), given, max_pairs, seed, further, exhaust)
    if as_json:
        print(json.dumps({"a": a.name, "b": b.name} | result.to_json(), indent=1))
    else:
        print(printable(f"{result.verdict}: A = {a.name}, B = {b.name}"))
        for line in result.explanation():
            print(line)
    raise typer.Exit(result.exit_code)


def read_init(a: Source, b: Source, values: list[str] | None) -> tuple[list[str] | None, str | None]:
    """The atoms of --init, and the name of an initial state among them; None where there are none."""
    from trace2strips.commands.sources import split_names

    if values is None:
        return None, None
    states = dict.fromkeys((*a.named_states, *b.named_states))
    known = {atom for side in (a, b) if not side.named_states for atom in side.model.atoms}
    words = split_names(values, known | states.keys())
    names = [word for word in dict.fromkeys(words) if word in states and word not in known]
    if len(names) > 1:
        raise UserError(f"two initial states are named, {names[0]!r} and {names[1]!r}", hint="one at a time")
    atoms = [word for word in words if word not in names]
    return (atoms if atoms or not names else None), (names[0] if names else None)
