"""`trace2strips reproduce`: the runs behind the paper's tables and figures. What is there is not done again, unless
older code has made it and `--stale` asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.commands.terminal import QuietOption, plain_console
from trace2strips.errors import UserError, shorten, suggest
from trace2strips.files import check_writable
from trace2strips.learners.registry import learner_names, settings_of

if TYPE_CHECKING:
    from trace2strips.experiments.runs import Run

PRESETS = ("fast", "paper")
OUTSIDE = "outside"
RESULTS = Path("results/runs.jsonl")


def reproduce(
    experiments: Annotated[
        list[str],
        typer.Argument(
            metavar="EXPERIMENT",
            help="baselines, main, dataset-size, alignment, planning, heads, noise, untrained, paper-preset, "
            "or all of them: all. By itself: outside, AMLGym's benchmark beside learners that see states.",
        ),
    ],
    domain: Annotated[list[str] | None, typer.Option(help="Only these; a further one: blocksworld:3.")] = None,
    learner: Annotated[list[str] | None, typer.Option(help=f"Only these: {', '.join(learner_names())}.")] = None,
    encoding: Annotated[list[str] | None, typer.Option(help="Only these: atoms, states:50, states:100 …")] = None,
    seeds: Annotated[str | None, typer.Option(help="These seeds, for example 0,1,2; default: as listed.")] = None,
    preset: Annotated[str | None, typer.Option(help="fast or paper (strips has it, strips+completion not).")] = None,
    traces: Annotated[int | None, typer.Option(help="Training traces; default: as listed.")] = None,
    test_traces: Annotated[int | None, typer.Option(help="Test traces; default: as listed.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; default: the preset's.")] = None,
    results: Annotated[Path, typer.Option(help="The file of results; of outside: results/outside.jsonl.")] = RESULTS,
    runs: Annotated[Path, typer.Option(help="Folder with a folder for each run.")] = Path("build/runs"),
    datasets: Annotated[Path, typer.Option(help="Folder of sampled traces.")] = Path("build/datasets"),
    keep_datasets: Annotated[bool, typer.Option("--keep-datasets", help="Also when no run needs them.")] = False,
    stale: Annotated[bool, typer.Option("--stale", help="Do again what older code has made; nothing else.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs with time and disk; do nothing.")] = False,
    limit_minutes: Annotated[float | None, typer.Option(help="Begin no further run after so long.")] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this Ray cluster; auto: the one here.")
    ] = None,
    ray_cpus: Annotated[int, typer.Option(min=1, help="CPUs of a run on the cluster.")] = 2,
    quiet: QuietOption = False,
) -> None:
    """Do the runs behind the paper's results.

    What is missing is run, what was cut off goes on.
    Can be stopped at any time; the same command goes on. Exit code 1: a run has failed.
    """
    from trace2strips.commands.run_display import Display, show_plan
    from trace2strips.experiments.catalogue import EXPERIMENTS, arranged, planned
    from trace2strips.experiments.cluster import RayExecutor
    from trace2strips.experiments.datasets import DatasetCache
    from trace2strips.experiments.execution import execute, left_to_do
    from trace2strips.experiments.local import LocalExecutor
    from trace2strips.experiments.results import read_results
    from trace2strips.learners.decoder.learner import need_torch

    if OUTSIDE in experiments:
        reproduce_outside(
            experiments, domain or (), learner or (), numbers(seeds), traces, results, dry_run, limit_minutes
        )
        return
    check_names(experiments, domain or (), learner or (), encoding or ())
    names = list(EXPERIMENTS) if "all" in experiments else experiments
    asked = (domain or (), learner or (), encoding or (), numbers(seeds))
    chosen = [run for name in names for run in planned(name, *asked)]
    if not chosen:
        raise UserError(f"{' and '.join(names)} has no such run", hint=f"trace2strips reproduce {names[0]} --dry-run")
    wanted = arranged([change(run, preset, steps, traces, test_traces) for run in chosen])
    rows = read_results(results)
    left = left_to_do(wanted, rows, stale)
    if stale and not left:
        print("no row is older than the code")
        return
    wanted = left if stale else wanted
    if dry_run:
        show_plan(plain_console(), wanted, left, rows)
        return
    if any(run.is_decoder for run in left):
        need_torch()
    check_folders(results, runs, datasets)
    executor = LocalExecutor(runs, datasets) if ray is None else RayExecutor(ray, runs, ray_cpus)
    cache = None if keep_datasets or ray else DatasetCache(datasets)
    display = Display(plain_console(), len(wanted), left, rows, quiet)
    seconds = None if limit_minutes is None else 60 * limit_minutes
    try:
        with display.shown():
            for run, outcome in execute(left, results, executor, display.tell, cache, seconds):
                display.finish(run, outcome)
    except KeyboardInterrupt:
        display.sum_up()
        raise typer.Exit(130) from None
    display.sum_up()
    if display.failures:
        raise typer.Exit(1)


def reproduce_outside(
    experiments: Sequence[str], domains: Sequence[str], learners: Sequence[str], seeds: Sequence[int],
    traces: int | None, results: Path, dry_run: bool, limit_minutes: float | None,
) -> None:  # fmt: skip
    """Case by case; what is there is not done again."""
    from trace2strips.peers.cases import read_rows
    from trace2strips.peers.outside import LEARNERS, chosen_cases, execute, summary

    if list(experiments) != [OUTSIDE]:
        raise UserError("outside is reproduced by itself", hint="trace2strips reproduce outside")
    for name in learners:
        if name not in LEARNERS:
            raise UserError(f"unknown learner {shorten(name)!r}", hint=suggest(name, LEARNERS, "learners of outside"))
    results = results.with_name("outside.jsonl") if results == RESULTS else results
    cases = chosen_cases(domains, learners, seeds, traces)
    known = read_rows(results)
    left = [case for case in cases if case not in known]
    print(f"{len(cases):,} cases, {len(cases) - len(left):,} of them known: {results}")
    if dry_run:
        for case in left:
            print(case)
        return
    check_folders(results)
    try:
        for case, row in execute(left, results, None if limit_minutes is None else 60 * limit_minutes):
            print(f"{case}: {summary(row)}", flush=True)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def check_names(
    experiments: Sequence[str], domains: Sequence[str], learners: Sequence[str], encodings: Sequence[str]
) -> None:
    from trace2strips.experiments.catalogue import EXPERIMENTS
    from trace2strips.worlds import get_domain

    listed = dict.fromkeys(run.encoding for runs in EXPERIMENTS.values() for run in runs)
    for given, known, noun in (
        (experiments, (*EXPERIMENTS, "all"), "experiment"),
        (learners, learner_names(), "learner"),
        (encodings, tuple(listed), "encoding"),
    ):
        for name in given:
            if name not in known:
                raise UserError(f"unknown {noun} {shorten(name)!r}", hint=suggest(name, known, f"{noun}s"))
    for name in domains:
        get_domain(name)


def numbers(seeds: str | None) -> list[int]:
    try:
        return [] if seeds is None else [int(word) for word in seeds.split(",")]
    except ValueError:
        raise UserError(f"--seeds {shorten(seeds or '')!r}", hint="numbers with commas between: 0,1,2") from None


def change(run: Run, preset: str | None, steps: int | None, traces: int | None, test_traces: int | None) -> Run:
    """A run as listed, but for what the user says. The paper has no completion: its values are a preset of `strips`."""
    from trace2strips.experiments.catalogue import paper_settings
    from trace2strips.learners.learner import refuse_unknown

    settings = dict(run.settings)
    if preset is not None:
        refuse_unknown(preset, PRESETS, "preset")
        if preset == "paper" and run.learner in ("strips", "strips+completion"):
            settings |= paper_settings(run.domain, run.encoding)
            run = replace(run, learner="strips")
        elif "preset" in settings_of(run.learner):
            settings["preset"] = preset
    if steps is not None:
        settings["steps"] = steps
    traces = run.traces if traces is None else traces
    test_traces = run.test_traces if test_traces is None else test_traces
    return replace(run, settings=settings, traces=traces, test_traces=test_traces)


def check_folders(results: Path, *folders: Path) -> None:
    """Refuse before the work is done, not after it."""
    for folder in (results.parent, *folders):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(error.strerror or str(error), file=folder, hint="name another folder") from None
    check_writable(results, force=True)
