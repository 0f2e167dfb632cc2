"""`trace2strips compare`: do two models accept the same traces?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.sources import open_source, split_names
from trace2strips.commands.terminal import JsonOption, listing
from trace2strips.errors import UserError, printable, with_file
from trace2strips.judging.equivalence import EXHAUSTED, INVARIANTS, MAX_PAIRS, Comparison
from trace2strips.judging.equivalence import compare as compare_models
from trace2strips.judging.invariants import Counterpart
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import find_starts, problem_starts, told_starts, trace_starts, with_final_values
from trace2strips.traces import read_traces
from trace2strips.worlds import get_domain


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Run folder, domain name or propositional PDDL file.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The same; its actions must have the same names.")],
    init: Annotated[list[str] | None, typer.Option(help="Start here: true atoms, or a learned initial state.")] = None,
    problem: Annotated[Path | None, typer.Option(help="Start in the initial state of this PDDL problem.")] = None,
    traces: Annotated[Path | None, typer.Option(help="Start where these traces start.")] = None,
    domain: Annotated[str | None, typer.Option(help="Start in this domain's generated initial states.")] = None,
    max_pairs: Annotated[int, typer.Option(help="Look at no more pairs of states (about 60 bytes each).")] = MAX_PAIRS,
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
        show_comparison(a, b, result)
    raise typer.Exit(result.exit_code)


def read_init(a: Source, b: Source, values: list[str] | None) -> tuple[list[str] | None, str | None]:
    """The atoms of --init, and the name of an initial state among them; None where there are none."""
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


def show_comparison(a: Source, b: Source, result: Comparison) -> None:
    def say(text: str) -> None:
        print(printable(text))

    say(f"{result.verdict}: A = {a.name}, B = {b.name}")
    say(f"starts: {result.starts:,}, {result.origin}")
    for side, other, only in (("A", "B", result.only_a), ("B", "A", result.only_b)):
        if only:
            say(f"{side} alone has {listing(only)}; {other} counts as refusing them always")
    if EXHAUSTED in result.how:
        say(f"shown by the product state space, exhausted: {result.pairs:,} pairs of states")
    if INVARIANTS in result.how:
        say("shown by invariants: each precondition of one model follows from those of the other, wherever both can be")
    if result.further:
        say(f"a second draw brought {result.further:,} other starts; the proof covers them too")
    if result.added:
        say(f"a second draw brought {result.added:,} starts that were not covered; all of it is among those above now")
    if result.trace is not None:
        refuser, accepter = ("A", "B") if result.refused_by == "A" else ("B", "A")
        say(f"{'a shortest' if result.shortest else 'a'} trace that tells them apart, {len(result.trace)} actions:")
        say(f"  start: {result.start}")
        for atoms, side in ((result.start_a, "A"), (result.start_b, "B")):
            say(f"    {side}: {' '.join(atoms) or 'nothing is true'}")
        for name in result.trace[:-1]:
            say(f"  {name}")
        reason = "it has no such action" if result.missing is None else f"{', '.join(result.missing)} is false"
        say(f"  {result.trace[-1]}   refused by {refuser} ({reason}), accepted by {accepter}")
    elif not result.how:
        say(f"{result.pairs:,} pairs of states were looked at; --max-pairs allows more")
    show_mapping(result)


def show_mapping(result: Comparison) -> None:
    """Atoms that equal their namesakes are counted, the others listed."""
    if not result.mapping and not result.mapping_back:
        return
    same = sum(item.relation == "equal" and item.other == item.atom for item in result.mapping)
    print(f"atoms proven equal to their namesakes: {same:,}")
    shown: set[tuple[str, str | None]] = set()
    for side, other, items in (("A", "B", result.mapping), ("B", "A", result.mapping_back)):
        for item in items:
            pair = (item.atom, item.other) if side == "A" else (str(item.other), item.atom)
            if item.other != item.atom and pair not in shown:
                print(f"  {printable(describe_counterpart(side, other, item))}")
                shown.add(pair)


def describe_counterpart(side: str, other: str, item: Counterpart) -> str:
    if item.relation in ("equal", "opposite"):
        return f"{item.atom} ({side}) {'=' if item.relation == 'equal' else '= not'} {item.other} ({other})"
    return f"{item.atom} ({side}) " + ("has no counterpart" if item.relation == "none" else f"is {item.relation}")
