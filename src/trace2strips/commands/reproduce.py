"""`trace2strips reproduce`: the runs behind the paper's tables and figures. What is there is not done again, unless
older code has made it and `--stale` asks for it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trace2strips.commands.terminal import QuietOption, plain_console
from trace2strips.errors import UserError, shorten, suggest
from trace2strips.experiments.catalogue import ENCODINGS, EXPERIMENTS, arranged, paper_settings, planned
from trace2strips.experiments.cluster import CPUS, RayExecutor
from trace2strips.experiments.datasets import DatasetCache
from trace2strips.experiments.estimates import RUN_BYTES, cost, dataset_bytes, estimate
from trace2strips.experiments.execution import Failure, execute, left_to_do
from trace2strips.experiments.local import LocalExecutor
from trace2strips.experiments.results import read_results
from trace2strips.experiments.rows import Row
from trace2strips.experiments.runs import Run
from trace2strips.files import check_writable
from trace2strips.learners.decoder.learner import need_torch
from trace2strips.learners.learner import refuse_unknown
from trace2strips.learners.registry import learner_names, settings_of
from trace2strips.learners.training import Report
from trace2strips.worlds import get_domain

PRESETS = ("fast", "paper")


def reproduce(
    experiments: Annotated[
        list[str], typer.Argument(metavar="EXPERIMENT...", help=f"{', '.join(EXPERIMENTS)}, or all of them: all.")
    ],
    domain: Annotated[list[str] | None, typer.Option(help="Only these; a further one: blocksworld:3.")] = None,
    learner: Annotated[list[str] | None, typer.Option(help=f"Only these: {', '.join(learner_names())}.")] = None,
    encoding: Annotated[list[str] | None, typer.Option(help=f"Only these: {', '.join(ENCODINGS)} …")] = None,
    seeds: Annotated[str | None, typer.Option(help="These seeds, for example 0,1,2; default: as listed.")] = None,
    preset: Annotated[str | None, typer.Option(help="fast or paper (strips has it, strips+completion not).")] = None,
    traces: Annotated[int | None, typer.Option(help="Training traces; default: as listed.")] = None,
    test_traces: Annotated[int | None, typer.Option(help="Test traces; default: as listed.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; default: the preset's.")] = None,
    results: Annotated[Path, typer.Option(help="The file of results.")] = Path("results/runs.jsonl"),
    runs: Annotated[Path, typer.Option(help="Folder with a folder for each run.")] = Path("build/runs"),
    datasets: Annotated[Path, typer.Option(help="Folder of sampled traces.")] = Path("build/datasets"),
    keep_datasets: Annotated[bool, typer.Option("--keep-datasets", help="Also when no run needs them.")] = False,
    stale: Annotated[bool, typer.Option("--stale", help="Do again what older code has made; nothing else.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the runs with time and disk; do nothing.")] = False,
    limit_minutes: Annotated[float | None, typer.Option(help="Begin no further run after so long.")] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this Ray cluster; auto: the one here.")
    ] = None,
    ray_cpus: Annotated[int, typer.Option(min=1, help="CPUs of a run on the cluster.")] = CPUS,
    quiet: QuietOption = False,
) -> None:
    """Do the runs behind the paper's results.

    What is missing is run, what was cut off goes on.
    Can be stopped at any time; the same command goes on. Exit code 1: a run has failed.
    """
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


def check_names(
    experiments: Sequence[str], domains: Sequence[str], learners: Sequence[str], encodings: Sequence[str]
) -> None:
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


def show_plan(console: Console, wanted: Sequence[Run], left: Sequence[Run], rows: dict[Run, Row]) -> None:
    table = Table("domain", "encoding", "suffix", "learner", "settings", box=None)
    for title in ("traces", "seed", "time"):
        table.add_column(title, justify="right")
    needed = {run: estimate(run, rows).seconds for run in left}
    spent = {run: cost(rows[run]).seconds for run in wanted if run not in needed}
    for run in wanted:
        settings = ", ".join(f"{name} {value}" for name, value in run.settings.items())
        words = (run.domain, run.encoding, run.suffix, run.learner, settings, f"{run.traces:,}", f"{run.seed}")
        table.add_row(*words, "done" if run in spent else duration(needed[run]))
    console.print(table)
    console.print(f"{len(spent)} done in about {duration(sum(spent.values(), 0.0))}")
    console.print(f"{len(needed)} left: about {duration(sum(needed.values(), 0.0))}")
    sizes = dataset_bytes(list(needed)), RUN_BYTES * len(needed)
    datasets, folders = (f"{size / 1e6:,.0f} MB" for size in sizes)
    console.print(f"disk: about {datasets} of datasets at a time, {folders} of runs")


def duration(seconds: float) -> str:
    """5 s, 12 min, 3 h 20 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Display:
    """Done, running, left and the time to go: a live table on a terminal, else a line for each finished run."""

    def __init__(self, console: Console, total: int, left: Sequence[Run], rows: dict[Run, Row], quiet: bool) -> None:
        self.console = console
        self.quiet = quiet
        self.total = total
        self.rows = rows
        self.left = list(left)
        self.seconds: dict[Run, float] = {}
        self.estimate()
        self.running: dict[Run, tuple[str, Report]] = {}
        self.begun: dict[Run, float] = {}
        self.failures: list[tuple[Run, Failure]] = []

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self.console.is_terminal or self.quiet or not self.left:
            yield
            return
        with Live(console=self.console, get_renderable=self.render, refresh_per_second=2, transient=True):
            yield

    def tell(self, run: Run, stage: str, report: Report) -> None:
        self.running[run] = stage, report
        self.begun.setdefault(run, time.monotonic())

    def finish(self, run: Run, outcome: Row | Failure) -> None:
        self.running.pop(run, None)
        self.left.remove(run)
        if isinstance(outcome, Failure):
            self.failures.append((run, outcome))
        else:
            self.rows[run] = outcome
            self.estimate()
        if not self.quiet:
            self.console.print(f"{self.counts()}: {run.name}: {in_short(outcome)}", soft_wrap=True)

    def estimate(self) -> None:
        self.seconds = {run: estimate(run, self.rows).seconds for run in self.left}

    def counts(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        done = self.total - len(self.left) - len(self.failures)
        return f"{done} done{failed}, {len(self.left)} left, {duration(self.time_to_go())} to go"

    def time_to_go(self) -> float:
        """A run that takes longer than was thought counts as nearly done; as many go on at once as do now."""
        now = time.monotonic()
        needed = (self.seconds[run] - now + self.begun.get(run, now) for run in self.left)
        return sum(max(0.0, seconds) for seconds in needed) / max(1, len(self.running))

    def render(self) -> RenderableType:
        table = Table("running", "stage", box=None)
        for title in ("step", "accuracy", "since"):
            table.add_column(title, justify="right")
        for run, (stage, report) in list(self.running.items()):
            step = f"{report.step:,} of {report.steps:,}" if report.steps else ""
            accuracy = f"{report.best:.4f}" if report.best >= 0 else ""
            since = duration(time.monotonic() - self.begun[run])
            table.add_row(run.name, stage, step, accuracy, since)
        return Group(Text(f"{self.counts()}, {len(self.running)} running"), table)

    def sum_up(self) -> None:
        for run, failure in self.failures:
            where = f" ({failure.log})" if failure.log else ""
            self.console.print(f"failed: {run.name}: {failure.message}{where}", soft_wrap=True)
        if not self.quiet:
            done = self.total - len(self.left) - len(self.failures)
            goes_on = "; the same command goes on" if self.left else ""
            self.console.print(f"{done} of {self.total} runs are done{goes_on}")


def in_short(outcome: Row | Failure) -> str:
    if isinstance(outcome, Failure):
        return f"failed: {outcome.message}"
    plans = "" if outcome.plan_accuracy is None else f", plans {outcome.plan_accuracy:.2f}"
    figures = f"train {outcome.train_accuracy:.5f}, test {outcome.test_accuracy:.5f}{plans}"
    return f"{figures}, {duration(sum((outcome.seconds or {}).values()))}"
