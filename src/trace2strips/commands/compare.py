"""`trace2strips compare`: do two models accept the same traces?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.commands.terminal import DomainOption, JsonOption, ProblemsOption
from trace2strips.errors import UserError, printable

if TYPE_CHECKING:
    from trace2strips.judging.equivalence import Comparison


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Run folder, domain name or propositional PDDL file.")],
    second: Annotated[
        str | None, typer.Argument(metavar="B", help="The same, with the same names of actions; default: --domain.")
    ] = None,
    init: Annotated[
        list[str] | None, typer.Option(metavar="ATOMS", help="Start here: true atoms, or a learned initial state.")
    ] = None,
    domain: DomainOption = None,
    problem: ProblemsOption = None,
    traces: Annotated[Path | None, typer.Option(help="Start where these traces start.")] = None,
    max_pairs: Annotated[int, typer.Option(help="Look at no more pairs of states (about 60 bytes each).")] = 4_000_000,
    starts: Annotated[int, typer.Option(help="How many initial states to draw from a domain's generator.")] = 100_000,
    exhaust: Annotated[bool, typer.Option("--exhaust", help="Search on, also where invariants have shown it.")] = False,
    seed: Annotated[int, typer.Option(help="Of the starts drawn and of random walks.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Do two models accept the same traces?

    Exit code 0: equivalent, 1: different, 3: not distinguished.

    Starts: as given, else the generated initial states of a domain, else the named ones of the runs.
    Two models of which none was learned start with every atom true. A --problem says where to start; those of
    a PDDL --domain have objects of their own, and a learned model is compared over the objects of each.
    """
    from trace2strips.commands.sources import find_world, open_source
    from trace2strips.judging.equivalence import compare as compare_models
    from trace2strips.judging.own_world import WALK, compare_instance, over_instance
    from trace2strips.judging.sources import Source, over_same_actions
    from trace2strips.judging.starts import choose_starts, with_final_values

    if second is None and domain is None:
        raise UserError("there is nothing to compare with", hint="a second model, or --domain with --problem")
    files = domain is not None and domain.endswith(".pddl")
    world = None if domain is None else find_world(domain, problem if files else None, WALK if second is None else 0)
    starting = None if files else problem
    if starting is not None and len(starting) > 1:
        raise UserError("several starts are given", hint="one --problem, or those of a --domain in PDDL")
    a = open_source(first)
    if second is None and files and world is not None and a.learned is not None:
        if init is not None or traces is not None:
            raise UserError("several starts are given", hint="--problem, or one of --init and --traces")
        told = {
            one.name: compare_instance(a.learned, over_instance(a.learned, one), one, seed, max_pairs, exhaust)
            for one in world.instances
        }
        raise typer.Exit(show({(first, name): result for name, result in told.items()}, as_json))
    hidden = None if world is None else world.only
    b = Source(hidden.name, hidden.model, domain=hidden) if hidden is not None and second is None else None
    a, b = over_same_actions(a, open_source(str(second)) if b is None else b)
    given, further = choose_starts(a, b, init, starting[0] if starting else None, traces, hidden, starts, seed)
    result = compare_models(*with_final_values(a, b), given, max_pairs, seed, further, exhaust)
    raise typer.Exit(show({(a.name, b.name): result}, as_json))


def show(results: dict[tuple[str, str], Comparison], as_json: bool) -> int:
    """Print all; the exit code says whether one is different, or else not distinguished."""
    if as_json:
        told = [{"a": a, "b": b} | result.to_json() for (a, b), result in results.items()]
        print(json.dumps(told[0] if len(told) == 1 else told, indent=1))
    else:
        for (a, b), result in results.items():
            print(printable(f"{result.verdict}: A = {a}, B = {b}"))
            for line in result.explanation():
                print(line)
    codes = {result.exit_code for result in results.values()}
    return 1 if 1 in codes else max(codes)
