"""`trace2strips check`: what is in a trace file, and what is wrong with it."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trace2strips.commands.log_options import (
    ActionOption,
    CaseOption,
    OkOption,
    RefusedOption,
    TimeOption,
    WorkedOption,
    show_understood,
    start_level,
    told_columns,
)
from trace2strips.commands.terminal import (
    ArgOption,
    DomainOption,
    JsonOption,
    ProblemsOption,
    QuietOption,
    place_of,
    plain_console,
    progress_bar,
    table_of_pairs,
)
from trace2strips.errors import TraceError, listing, printable, with_file

if TYPE_CHECKING:
    from trace2strips.model.strips import StripsModel
    from trace2strips.model.vocabulary import Vocabulary
    from trace2strips.traces import Dataset
    from trace2strips.traces.checking import Contradiction


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace file or dataset.")],
    domain: DomainOption = None,
    problem: ProblemsOption = None,
    strips: Annotated[bool, typer.Option("--strips", help="Does a STRIPS model fit? Exit code 3: none.")] = False,
    separator: Annotated[
        str | None, typer.Option(help="What stands between a name and its arguments; '': nothing does.")
    ] = None,
    start: Annotated[
        str | None, typer.Option(help="With --strips: who starts alike: same, objects or own. Or a column.")
    ] = None,
    case: CaseOption = None,
    action: ActionOption = None,
    arg: ArgOption = None,
    ok: OkOption = None,
    time: TimeOption = None,
    worked: WorkedOption = None,
    refused: RefusedOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Statistics of a trace file, or what is wrong with it and where.

    Contradictions (an action worked here and was refused there, after the same history) are counted.
    They are no error: exit code 0, learning still works. Names and labels that disagree with --domain are one.
    Traces that start in a named state are compared only in a .t2s, which says what holds in it.
    """
    from trace2strips.commands.sources import find_world
    from trace2strips.traces import describe, find_contradictions, read_traces, unknown_starts

    model = None if domain is None and not problem else find_world(domain, problem).model
    level = start_level(start, file)
    columns = told_columns(case, action, ok, time, arg, worked, refused, start)
    with progress_bar("reading", size_of(file), quiet) as advance:
        vocabulary = None if model is None else model_vocabulary(model)
        dataset = read_traces(file, vocabulary, any_state=True, progress=advance, columns=columns)
    separator = dataset.separator if separator is None else separator
    show_understood(dataset, as_json)
    if strips:
        raise typer.Exit(tell_whether_strips(dataset, file, separator, level, as_json))
    statistics = describe(dataset)
    contradictions = find_contradictions(dataset)
    if model is not None:
        check_against(dataset, model, file, str(domain))
    if as_json:
        found = [asdict(c) | lines_of(dataset, c) for c in contradictions]
        names = names_line(dataset, separator)
        understood = [] if dataset.origin is None else dataset.origin.understood
        print(
            json.dumps(
                asdict(statistics) | {"names": names, "contradictions": found, "understood": understood}, indent=1
            )
        )
        return
    share = statistics.refused / statistics.positions if statistics.positions else 0.0
    rows = (
        ("traces", f"{statistics.traces:,}"),
        ("names", printable(names_line(dataset, separator))),
        ("different actions", f"{statistics.actions:,}"),
        ("actions in all", f"{statistics.positions:,}"),
        ("refused", f"{statistics.refused:,} ({share:.1%})"),
        ("actions a trace", f"{statistics.shortest} to {statistics.longest}, {statistics.mean_length:.1f} on average"),
        ("with initial atoms", f"{statistics.with_init:,}"),
        ("with named initial state", f"{statistics.with_state:,}"),
        ("with final values", f"{statistics.with_final:,}"),
        ("never worked", listing(statistics.never_worked)),
        ("never refused", listing(statistics.never_refused)),
        ("contradictions", f"{len(contradictions):,}"),
    )
    console = plain_console()
    console.print(table_of_pairs(printable(str(file)), rows))
    for item in contradictions[:3]:
        good, bad = (place_of(dataset, file, *which) for which in (item.worked, item.refused))
        name = printable(item.action)
        console.print(f"contradiction: {name} worked {good}, refused {bad}, after the same history", soft_wrap=True)
    if model is not None:
        skipped = int(unknown_starts(dataset).sum())
        if skipped and not quiet:
            console.print(f"{skipped:,} traces not compared: the file does not say what holds in their named states")
        which = "every label" if not skipped else "every other label"
        console.print(f"{which} agrees with {domain}" if skipped < len(dataset) else "no label was compared")


HELPS = "what usually helps: name an object as an argument, split an action in two, mend a label, tell the start"


def tell_whether_strips(dataset: Dataset, file: Path, separator: str | None, start: str | None, as_json: bool) -> int:
    """Exit code 0 if some STRIPS model explains every label, 3 and the shortest proof if none does."""
    from trace2strips.learners.windows.learner import Windows
    from trace2strips.learners.windows.proofs import prove_inexplicable
    from trace2strips.learners.windows.starts import StartLevel
    from trace2strips.traces.names import understand

    learner = Windows(separator, start=start)
    with_file(file, lambda: learner.check(dataset))
    naming = understand(dataset.vocabulary.actions, separator)
    summary = learner.summarise(dataset, naming)
    only_own = False
    if start is None and summary.inexplicable:  # it is so whatever is assumed of starts: prove just that
        summary = learner.summarise_at(dataset, naming, StartLevel.OWN)
    elif start is None and summary.start == StartLevel.OWN and not dataset.vocabulary.has_init_false:
        only_own = True  # where no atom is told traces are meant to start alike
        summary = learner.summarise_at(dataset, naming, StartLevel.SAME)
    proof = prove_inexplicable(summary, naming, dataset)

    def split(place: int) -> tuple[int, int]:
        return place >> 32, place & (2**32 - 1)

    def at(place: int) -> str:
        trace, position = split(place)
        return f"{place_of(dataset, file, trace, position)}, attempt {position + 1}"

    if as_json:
        found: dict[str, Any] = {"explainable": proof is None, "arity": summary.projection.arity,
                                 "names": str(naming), "start": summary.start,
                                 "assumptions": summary.assumptions}  # fmt: skip
        if proof is not None and proof.refused is not None:
            found |= {"refusals": len(summary.inexplicable), "action": proof.action, "refused": split(proof.refused)}
            found["ruled_out"] = [asdict(out) | {"worked": split(out.worked)} for out in proof.ruled_out]
        if only_own:
            found["explainable_if_starts_differ"] = True
        print(json.dumps(found, indent=1))
        return 0 if proof is None else 3
    print(f"names: {printable(str(naming))}; if {'; '.join(summary.assumptions)}:")
    if proof is None or proof.refused is None:
        weaker = {
            StartLevel.OBJECTS: "explainable, but only if the told initial atoms do not say all of the start",
            StartLevel.OWN: "explainable, but only if traces that tell the same of their start do not start alike",
        }
        found_out = "explainable: some STRIPS model fits every label"
        print(weaker.get(summary.start, found_out) if start is None else found_out)
        return 0
    print("no STRIPS model explains this log. The shortest proof:")
    print(f"  {printable(proof.action)} was refused {at(proof.refused)}")
    for out in proof.ruled_out:
        between = f"no more than {', '.join(out.between)}" if out.between else "nothing"
        print(f"  not because of {printable(out.since)}: it worked {at(out.worked)}, with {between} since")
    if only_own:
        print("unless each trace starts in its own way: then some model does (--start own)")
    print(HELPS)
    return 3


def names_line(dataset: Dataset, separator: str | None) -> str:
    """How the names are read, or why they cannot be."""
    from trace2strips.traces.names import understand

    try:
        return str(understand(dataset.vocabulary.actions, separator))
    except TraceError as error:
        return f"not understood: {error.message}"


def lines_of(dataset: Dataset, item: Contradiction) -> dict[str, int]:
    if dataset.origin is not None:
        lines = [dataset.place(*which)[1] for which in (item.worked, item.refused)]
        return {"worked_line": lines[0] or 0, "refused_line": lines[1] or 0}
    if not dataset.lines:
        return {}
    return {"worked_line": dataset.lines[item.worked[0]], "refused_line": dataset.lines[item.refused[0]]}


def size_of(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_size
    return 0  # the reader will say what is wrong with it


def model_vocabulary(model: StripsModel) -> Vocabulary:
    from trace2strips.model.vocabulary import Vocabulary

    names = tuple(action.name for action in model.actions)
    return Vocabulary(names, init_atoms=model.atoms, test_atoms=model.atoms, has_init_false=True)


def check_against(dataset: Dataset, model: StripsModel, file: Path, domain: str) -> None:
    from trace2strips.traces import compare_with

    found = with_file(file, lambda: compare_with(dataset, model))
    if found is not None:
        said, right = ("worked", "refuses") if found.says_worked else ("was refused", "allows")
        raise TraceError(
            f"{found.count:,} labels disagree with {domain}: in trace {found.trace + 1}, {found.action!r} {said} "
            f"where the domain {right} it",
            file=dataset.place(found.trace, found.position)[0] or file,
            line=dataset.place(found.trace, found.position)[1],
            hint="is it the right domain, and are the initial states complete?",
        )  # fmt: skip
