"""What all commands share: option types, the console, the progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from trace2strips.errors import printable, shorten

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no remarks.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the output file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]


def plain_console() -> Console:
    """Names are any text: none may be taken for rich's markup, an emoji or a number."""
    return Console(markup=False, emoji=False, highlight=False)


@contextmanager
def progress_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar with the time left, on the terminal only; yields a function to be told how much is new."""
    console = Console(stderr=True)
    with Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, disable=quiet or not console.is_terminal, transient=True,
    ) as progress:  # fmt: skip
        task = progress.add_task(what, total=total)
        yield lambda new: progress.advance(task, new)


def listing(names: tuple[str, ...]) -> str:
    shown = ", ".join(shorten(printable(name)) for name in names[:5])
    return f"{len(names)}" + (f": {shown}{' …' if len(names) > 5 else ''}" if names else "")
