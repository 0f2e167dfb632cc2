"""`trace2strips sample`: random traces of a hidden domain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import (
    DomainArgument,
    DomainOption,
    ForceOption,
    ProblemsOption,
    QuietOption,
    progress_bar,
)
from trace2strips.errors import UserError


def sample(
    *,
    domain: DomainArgument = None,
    out: Annotated[Path, typer.Option(help="Dataset (.t2s) or trace file (.jsonl, .csv, .txt; .gz too).")],
    traces: Annotated[int, typer.Option(help="How many traces.")] = 100_000,
    max_length: Annotated[int, typer.Option(help="D: a trace has 0 to D domain actions.")] = 50,
    split: Annotated[str, typer.Option(help="train: half refused; test: at most the last one refused.")] = "train",
    encoding: Annotated[  # --init is its old name; plan and compare mean an initial state by it
        str, typer.Option("--encoding", "--init", help="How initial states are told: by atoms, or N by name: states:N.")
    ] = "atoms",
    suffix: Annotated[str, typer.Option(help="Final values told by test-p: all atoms, goal atoms or none.")] = "goal",
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    like: Annotated[Path | None, typer.Option(help="The .t2s training set whose vocabulary a test set takes.")] = None,
    hidden: DomainOption = None,
    problem: ProblemsOption = None,
    walk: Annotated[int, typer.Option(help="Of PDDL files: start up to so many random steps from a problem.")] = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Sample labelled random traces of a hidden domain."""
    from trace2strips.commands.sources import find_world, tell_remarks
    from trace2strips.files import check_writable
    from trace2strips.traces import Dataset, write_traces
    from trace2strips.traces.formats import format_of
    from trace2strips.worlds.sampling import SampleSettings, sample_world

    settings = SampleSettings(traces, max_length, split, encoding, suffix, seed)
    format_of(out)
    check_writable(out, force)
    if not 0 <= walk <= 100_000:
        raise UserError(f"a walk of {walk} steps", hint="0 to 100000")
    world = find_world(hidden, problem, walk, domain)
    tell_remarks(world, quiet)
    training = None if like is None else Dataset.load(like)
    with progress_bar("sampling", traces, quiet) as advance:
        dataset = sample_world(world, settings, training, advance)
    with progress_bar("writing", traces, quiet) as advance:
        write_traces(dataset, out, force, advance)
    if not quiet:
        print(f"{len(dataset):,} traces, {len(dataset.tokens):,} positions, {len(dataset.vocabulary)} tokens: {out}")
