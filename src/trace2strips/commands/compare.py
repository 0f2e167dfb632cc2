"""`trace2strips compare`: do two models accept the same traces?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import JsonOption
from trace2strips.errors import printable


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
    from trace2strips.judging.sources import over_same_actions
    from trace2strips.judging.starts import choose_starts, with_final_values
    from trace2strips.worlds import get_domain

    a, b = over_same_actions(open_source(first), open_source(second))
    hidden = None if domain is None else get_domain(domain)
    given, further = choose_starts(a, b, init, problem, traces, hidden, starts, seed)
    result = compare_models(*with_final_values(a, b), given, max_pairs, seed, further, exhaust)
    if as_json:
        print(json.dumps({"a": a.name, "b": b.name} | result.to_json(), indent=1))
    else:
        print(printable(f"{result.verdict}: A = {a.name}, B = {b.name}"))
        for line in result.explanation():
            print(line)
    raise typer.Exit(result.exit_code)
