"""What commands share: options, the console, tables, progress bars.

`--help` and `--version` answer at once: what takes long to import (numba, rich, a learner) is imported by the function
that needs it, here and in every command.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trace2strips.errors import printable
from trace2strips.planning.planners import PLANNERS
from trace2strips.screen import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from trace2strips.learners.learner import Figures, Learned
    from trace2strips.learners.training import Report
    from trace2strips.traces import Dataset

ArgOption = Annotated[
    list[str] | None, typer.Option("--arg", help="Column of a log that holds an argument; repeat it, in order.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no remarks.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]

DOMAINS = "a name (blocksworld-5b), a size (ferry:10x8) or a PDDL file"
DomainArgument = Annotated[str | None, typer.Argument(metavar="DOMAIN", help=f"The domain, as --domain: {DOMAINS}.")]
DomainOption = Annotated[str | None, typer.Option("--domain", metavar="DOMAIN", help=f"The hidden domain: {DOMAINS}.")]
ProblemsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--problem", metavar="FILE", help="PDDL problem of --domain, with objects of its own; may be repeated."
    ),
]
PlannerOption = Annotated[str, typer.Option(help=f"{', '.join(PLANNERS)}.")]
StatesOption = Annotated[int, typer.Option(help="Give up after so many generated states.")]
SecondsOption = Annotated[float, typer.Option(help="Give up after so many seconds.")]
MemoryOption = Annotated[int, typer.Option(help="Give up at so many megabytes.")]

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")]
WindowsRunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Folder of a run of learner windows.")]
TraceArgument = Annotated[
    str, typer.Argument(metavar="TRACE", help="A file with one trace, FILE:LINE, or 'pick-up(a); stack(a, b)!'.")
]


def plain_console() -> Console:
    """Names are any text: none may be taken for rich's markup, an emoji or a number. On a terminal rich writes colours,
    so what it is given there must be printable."""
    from rich.console import Console

    bare = getattr(sys.stdout, "bare", sys.stdout)
    return Console(markup=False, emoji=False, highlight=False, file=bare if bare.isatty() else sys.stdout)


def table_of_pairs(title: str, rows: Iterable[tuple[str, str]], numbers: bool = False) -> Table:
    """A name and its value a line: fits into any terminal. Numbers stand at the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(visible(title)), show_header=False)
    table.add_column()
    table.add_column(justify="right" if numbers else "left")
    for name, value in rows:
        table.add_row(Text(visible(name)), Text(visible(value)))
    return table


@contextmanager
def progress_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar with the time left, on the terminal only; yields a function to be told how much is new."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from trace2strips.compilation import compiling_watched

    console = Console(stderr=True)
    shown = console.is_terminal and not quiet
    with (
        Progress(
            TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            console=console, disable=not shown, transient=True,
        ) as progress,
        compiling_watched(say=shown),
    ):  # fmt: skip
        task = progress.add_task(what, total=total)
        yield lambda new: progress.advance(task, new)


@contextmanager
def training_bar(quiet: bool) -> Iterator[Callable[[str, Report], None]]:
    """Steps, accuracy and time left, on the terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from trace2strips.compilation import compiling_watched

    console = Console(stderr=True)
    shown = console.is_terminal and not quiet
    with (
        Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeRemainingColumn(),
            console=console, disable=not shown, transient=True,
        ) as progress,
        compiling_watched(say=shown),
    ):  # fmt: skip
        task = progress.add_task("training", total=None, note="")

        def show(stage: str, report: Report) -> None:
            note = f"step {report.step:,}, loss {report.loss:.2g}, accuracy {max(report.best, 0):.4f}"
            if report.loss != report.loss:  # nothing is trained: shards of a log, or nothing to count
                note = f"shard {report.step:,} of {report.steps:,}" if report.steps else ""
            progress.update(task, description=stage, total=report.steps, completed=report.step, note=note)

        yield show


def place_of(dataset: Dataset, file: Path, trace: int, attempt: int = 0) -> str:
    """Where a trace stands, for a message, or the attempt itself where each has a line of its own."""
    if dataset.origin is not None:
        there, line = dataset.place(trace, attempt)
        return f"at {printable(str(there))}:{line}"
    return f"at {printable(str(file))}:{dataset.lines[trace]}" if dataset.lines else f"in trace {trace + 1}"


def show_answers(learned: Learned, what: str, found: Sequence[Any], as_json: bool, nothing: str = "") -> None:
    """The answers of `next`, `why` or `suggest`, and what they assume; as JSON under the name `what`."""
    assumptions = learned.summary.assumptions
    if as_json:
        print(json.dumps({"assumptions": assumptions, what: [asdict(one) for one in found]}, indent=1))
        return
    for one in found:
        for line in str(one).splitlines():
            print(printable(line))
    if not found and nothing:
        print(nothing)
    show_assumptions(assumptions)


def show_assumptions(assumptions: Iterable[str]) -> None:
    print(f"certain if {'; '.join(assumptions)}")


def show_figures(run: Path, figures: Figures) -> None:
    """How well training and test traces are predicted, and what was learned."""
    traces, tests = figures.traces, figures.test_traces
    model = " of the extracted model"
    for split, accuracy, errors, count in (
        ("train accuracy", figures.train_accuracy, figures.train_errors, traces),
        (f"train accuracy{model}", figures.model_train_accuracy, figures.model_train_errors, traces),
        ("test accuracy", figures.test_accuracy, figures.test_errors, tests),
        (f"test accuracy{model}", figures.model_test_accuracy, figures.model_test_errors, tests),
    ):
        if accuracy is not None:
            print(f"{split} {accuracy:.5f} ({errors} of {count:,} wrong)")
    if figures.certain_share is not None and figures.open_share is not None:
        against = f", {figures.inexplicable:,} that no model explains" if figures.inexplicable else ""
        whose = "test positions" if tests else "positions of one half of the traces by the other"
        print(f"certain: {figures.certain_share:.1%} of {whose}, open: {figures.open_share:.1%}{against}")
    if figures.assumptions:
        show_assumptions(figures.assumptions)
    if figures.atoms is None:
        print(f"a network alone, no model, {figures.train_seconds:.1f} s: {run}")
        return
    print(
        f"{figures.atoms} atoms ({figures.invented_atoms} invented), {figures.preconditions} preconditions, "
        f"{figures.effects} effects, {figures.train_seconds:.1f} s: {run / 'model.pddl'}"
    )
