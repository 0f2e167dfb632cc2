"""What `reproduce` shows of its runs: the list with time and disk, and while they go on, what is done and left."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trace2strips.experiments.estimates import RUN_BYTES, cost, dataset_bytes, estimate
from trace2strips.experiments.execution import Failure
from trace2strips.experiments.rows import Row
from trace2strips.experiments.runs import Run
from trace2strips.learners.training import Report


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
