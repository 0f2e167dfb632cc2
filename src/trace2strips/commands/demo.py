"""`trace2strips demo`: the main job, shown in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import plain_console
from trace2strips.files import check_writable


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Write the learned PDDL here, and the explorer's page beside it.")
    ] = None,
) -> None:
    """Learn a hidden blocksworld from 20 traces, plan in a larger one."""
    from trace2strips.commands.demonstration import run_demo

    if out is not None:
        check_writable(out, force=True)
    run_demo(plain_console(), out)
