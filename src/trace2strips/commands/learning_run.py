"""One run of a learner from the command line: its folder, its log, its bar, and what is told at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trace2strips.commands.terminal import place_of, show_figures, training_bar
from trace2strips.errors import printable, with_file

if TYPE_CHECKING:
    from trace2strips.learners.learner import Figures, Learned, Learner
    from trace2strips.learners.training import Report
    from trace2strips.traces import Dataset

LONG = 60  # seconds of learning that are announced


@contextmanager
def run_learner(
    chosen: Learner, dataset: Dataset, testing: Dataset | None, file: Path, out: Path, seed: int, force: bool,
    quiet: bool, hold_out: float | int | None = 0,
) -> Iterator[Learned]:  # fmt: skip
    """Learn from traces that were checked, in a run folder, which nobody else gets until this is left. `file`: where
    the traces come from, for messages.
    `hold_out`: the share of traces to be held back if there are none to test on; None: chosen."""
    from trace2strips.learners.holding_out import with_held_out
    from trace2strips.learners.learning import learn as learn_model
    from trace2strips.learners.runs import RunLog, content_hash, open_run

    with open_run(out, chosen.run_settings(seed, content_hash(dataset)), force):
        say_how_long(chosen, dataset, quiet)
        log = RunLog(out)
        try:
            with training_bar(quiet) as show:

                def watch(stage: str, report: Report) -> None:
                    log.write(stage, report)
                    show(stage, report)

                learned = with_file(
                    file, lambda: learn_model(dataset, chosen, seed=seed, test=testing, folder=out, watch=watch)
                )
                if testing is None and hold_out != 0:
                    learned = with_held_out(learned, dataset, hold_out)
        finally:
            log.close()
        yield learned


def say_how_long(learner: Learner, dataset: Dataset, quiet: bool) -> None:
    """Before the work, where that is more than a minute."""
    seconds = learner.expected_seconds(dataset)
    if quiet or seconds is None or seconds < LONG:
        return
    how_long = f"{seconds / 60:.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:.0f} hours"
    size = f"{len(dataset.vocabulary.actions):,} actions and {len(dataset):,} traces"
    print(
        f"trace2strips: {learner.name} takes about {how_long} for {size} (hint: --learner windows takes seconds)",
        file=sys.stderr,
    )


def finish(learned: Learned, dataset: Dataset | None, traces: Path, out: Path, quiet: bool) -> None:
    """Write what was learned and tell of it."""
    from trace2strips.learners.telling import tell

    learned.write(out)
    warn(learned.figures, dataset, traces)
    if not quiet:
        if learned.lifted is not None:
            print(f"names: {printable(learned.lifted.understood())}; lifted: {out / 'domain.pddl'}")
        if learned.figures.earlier_traces is not None:
            print(f"{learned.figures.earlier_traces:,} traces were known before; accuracy is that on the new ones")
        for line in tell(learned):
            print(line)
        show_figures(out, learned.figures)
        if learned.support:
            levels = [one.level for one in learned.support]
            counts = ", ".join(f"{levels.count(level)} {level}" for level in ("certain", "likely", "free"))
            print(f"preconditions and effects of the lifted model: {counts}: {out / 'support.txt'}")


def warn(figures: Figures, dataset: Dataset | None, file: Path) -> None:
    """What a user should know of the traces, a line each on standard error."""
    for warning in figures.warnings:
        print(f"trace2strips: {printable(warning)}", file=sys.stderr)
    if (first := figures.first_contradiction) is not None:
        worked, refused = (
            f"in trace {which[0] + 1}" if dataset is None else place_of(dataset, file, *which)
            for which in (first.worked, first.refused)
        )
        example = f"{printable(first.action)} worked {worked} and was refused {refused} after the same history"
        print(
            f"trace2strips: {figures.contradictions} contradictions in the labels, for example {example}",
            file=sys.stderr,
        )
