"""`trace2strips brasp`: the B-RASP program of a model, run on a trace."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.commands.terminal import ForceOption, JsonOption, plain_console
from trace2strips.errors import BraspError, TraceError, with_file
from trace2strips.files import check_writable, writing_text

if TYPE_CHECKING:
    from trace2strips.brasp import Program
    from trace2strips.learners.learner import Learned
    from trace2strips.model.strips import StripsModel


def brasp(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Run folder, domain name, propositional PDDL file or simple (the paper's example); "
            "or a program: a .brasp file, alternating, sorted, contains-aba, first-is-last, answered, locked or "
            "brackets.",
        ),
    ],
    actions: Annotated[list[str] | None, typer.Argument(help="A trace's actions, or a string's symbols.")] = None,
    trace: Annotated[Path | None, typer.Option(help="Take the trace from a trace file.")] = None,
    number: Annotated[int, typer.Option(min=1, help="Which trace of the file.")] = 1,
    program: Annotated[bool, typer.Option("--program", help="Print the B-RASP program and stop.")] = False,
    heads: Annotated[bool, typer.Option("--heads", help="Also the attention heads at θ_M.")] = False,
    running: Annotated[bool, typer.Option("--running", help="Z up to each position, as the paper draws it.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also symbols and atoms that do not occur.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the tables, heads included, to this HTML file.")] = None,
    as_json: JsonOption = False,
    force: ForceOption = False,
) -> None:
    """The B-RASP program of a model, run on a trace.

    Shows every vector, and where an action is inapplicable.
    Without a trace the program is printed; for 'simple' both traces of the paper's figure are shown.
    """
    from trace2strips.brasp import Program, format_program, strips_program
    from trace2strips.learners.transformer.illustration import illustrate_model, illustrate_program
    from trace2strips.report.illustration import format_html, print_illustration

    if html is not None:
        check_writable(html, force)
    if actions and trace is not None:
        raise BraspError("a trace in the arguments and one in a file", hint="one of the two")
    source, traces = find_source(model, actions, trace, number)
    if isinstance(source, Program) and (heads or running):
        raise BraspError("--heads and --running are about STRIPS models", hint=f"{model} is a program")
    text = format_program(source if isinstance(source, Program) else strips_program(source, running))
    if program or (not traces and not as_json and html is None):
        print(text, end="")
        return
    name = Path(model).stem if isinstance(source, Program) else source.name
    shown = [
        illustrate_program(source, words, name)
        if isinstance(source, Program)
        else illustrate_model(source, words, running)
        for words in traces
    ]
    if html is not None:
        with writing_text(html, force) as stream:
            stream.write(format_html(shown, text, everything))
    if as_json:
        print(json.dumps({"program": text, "traces": [item.record() for item in shown]}, indent=1))
        return
    console = plain_console()
    for item in shown:
        print_illustration(console, item, everything, heads)


def find_source(
    name: str, actions: list[str] | None, file: Path | None, number: int
) -> tuple[StripsModel | Program, list[list[str]]]:
    """What runs, and on what: a program, or a model with the setup actions that the trace of a file has."""
    from trace2strips.brasp import SIMPLE, SIMPLE_TRACES, Program
    from trace2strips.traces import Dataset, read_traces
    from trace2strips.traces.dataset import vocabulary_of

    source, learned = find_model(name)
    if file is None:
        both = [list(words) for words in SIMPLE_TRACES] if source is SIMPLE else []
        return source, [actions] if actions else both
    dataset = read_traces(file)
    if number > len(dataset):
        raise TraceError(f"there is no trace {number}", file=file, hint=f"it has {len(dataset):,}")
    if isinstance(source, Program):
        return source, [dataset.told_names(number - 1)]

    def with_setup() -> tuple[StripsModel, list[list[str]]]:
        chosen = dataset[number - 1]
        lines = dataset.lines[number - 1 : number]
        names = tuple(source.action_index) if learned is None else learned.vocabulary.actions
        words = replace(vocabulary_of([chosen]), actions=names)
        one = Dataset.of([chosen], words, lines)
        if learned is not None:
            return learned.over_tokens(one), [one.names(0)]
        if chosen.state is not None and chosen.state not in dataset.states:
            raise TraceError(f"it does not say what holds in state {chosen.state!r}", hint="only a .t2s file does")
        return words.extend(source, dataset.states), [one.told_names(0)]

    return with_file(file, with_setup)


def find_model(name: str) -> tuple[StripsModel | Program, Learned | None]:
    """A program, or a model; a learned one comes with its setup actions."""
    from trace2strips.brasp import EXAMPLES, SIMPLE, parse_program, read_program
    from trace2strips.commands.sources import open_source

    if name == SIMPLE.name:
        return SIMPLE, None
    if name in EXAMPLES:
        return parse_program(EXAMPLES[name].text), None
    if name.endswith(".brasp"):
        return read_program(name), None
    source = open_source(name)
    return source.model if source.world is None else source.world.over_tokens(), source.learned
