"""`trace2strips learn`: a run folder with a STRIPS world model, learned from traces."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
from trace2strips.commands.terminal import ArgOption, ForceOption, QuietOption, place_of, show_figures, training_bar
from trace2strips.errors import UserError, printable, with_file
from trace2strips.learners.registry import DEFAULT, LEARNERS

if TYPE_CHECKING:
    from trace2strips.learners.learner import Figures, Learned, Learner
    from trace2strips.learners.training import Report
    from trace2strips.traces import Dataset
    from trace2strips.traces.columns import Columns

LARGE = 2**30  # bytes of files that are learned shard by shard
LONG = 60  # seconds of learning that are announced


def learn(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="TRACES…", help="Logs, trace files, datasets; folders, 'globs*'."),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for the run; an unfinished one there goes on.")] = None,
    update: Annotated[
        Path | None, typer.Option(metavar="RUN", help="A finished run of windows: learn from its log and this one.")
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Trace file or dataset to test on.")] = None,
    learner: Annotated[str, typer.Option(help=f"{', '.join(LEARNERS)}.")] = DEFAULT,
    heads: Annotated[
        int | None, typer.Option(help="At most so many atoms, or a decoder's heads; default: as many as needed.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps of networks.")] = None,
    form: Annotated[
        str | None, typer.Option(help="Of strips and strips+completion: factored (ours) or attention (the paper's).")
    ] = None,
    preset: Annotated[
        str | None, typer.Option(help="Of strips and the decoders: fast (ours) or paper (the paper's values).")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Of strips: the learning rate.")] = None,
    network_only: Annotated[
        bool, typer.Option("--network-only", help="Of decoders: no model is read out; needs no final values.")
    ] = False,
    separator: Annotated[
        str | None, typer.Option(help="Of windows: what stands between a name and its arguments; '': nothing does.")
    ] = None,
    arity: Annotated[int | None, typer.Option(help="Of windows: atoms are about at most so many objects.")] = None,
    start: Annotated[
        str | None,
        typer.Option(help="Of windows: who starts alike: same, objects or own; default: all tried. Or a column."),
    ] = None,
    case: CaseOption = None,
    action: ActionOption = None,
    arg: ArgOption = None,
    ok: OkOption = None,
    time: TimeOption = None,
    worked: WorkedOption = None,
    refused: RefusedOption = None,
    hold_out: Annotated[
        float | None, typer.Option(help="Share of traces held back to test a second model on; 0: none. Windows: 0.2.")
    ] = None,
    require: Annotated[
        float | None, typer.Option(help="Exit code 3 if fewer traces are predicted rightly: 0.99.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Of windows: the share of labels that are wrong, 0: none; default: found out.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Of windows: shard by shard, in bounded memory; large logs always are.")
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Of windows: shards on this Ray cluster; auto: the one here; local: a new one."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn a STRIPS world model from traces.

    Writes the model card (card.md, card.html), model.pddl, model.json, metrics.json and weights; windows also
    the lifted domain.pddl, problems and summary.json.gz, all it keeps of the log. With --update RUN that is
    enough to go on: the result is that of learning from both logs at once. It is written to RUN, or to --out.

    Columns of a log of events (CSV, JSON Lines, XES, Parquet) are known by their usual names; what was understood is
    printed first. Without --test a part of the traces is held back to measure how well others are predicted.
    """
    from trace2strips.learners.holding_out import with_held_out
    from trace2strips.learners.learner import Job
    from trace2strips.learners.learning import learn as learn_model
    from trace2strips.learners.learning import load
    from trace2strips.learners.registry import make_learner
    from trace2strips.learners.runs import RunLog, content_hash, open_run
    from trace2strips.traces import read_traces

    told = {"heads": heads, "steps": steps, "form": form, "preset": preset, "rate": rate, "separator": separator,
            "network_only": network_only or None, "arity": arity, "start": start_level(start, files[0]),
            "noise": noise}  # fmt: skip
    columns = told_columns(case, action, ok, time, arg, worked, refused, start)
    check_shares(hold_out, require, test)
    given = {name: value for name, value in told.items() if value is not None}
    if update is not None:
        if stream or ray or len(files) > 1:
            raise UserError("--update takes one log, on one machine", hint="one after the other, or learn from all")
        traces = files[0]
        if given or learner not in (DEFAULT, "windows"):
            raise UserError("--update keeps the settings of the run", hint="leave out the options of the learner")
        before = load(update)
        dataset = read_traces(traces, columns=columns)
        show_understood(dataset, quiet)
        learned = with_file(traces, lambda: before.update(dataset))
        if test is not None:
            tests = read_traces(test, columns=columns)
            learned = with_file(test, lambda: learned.tested_on(tests))
        open_run(out or update, learned.settings, force or out is None)
        finish(learned, dataset, traces, out or update, quiet)
        check_required(learned.figures, require)
        return
    if out is None:
        raise UserError("where shall the run go?", hint="--out FOLDER")
    chosen = make_learner(learner, given)
    Job(seed)  # a seed out of range is refused before anything is written
    if stream or ray or is_large(files):
        learned = learn_streamed(files, chosen, out, test, columns, hold_out, ray, seed, force, quiet)
        finish(learned, None, files[0], out, quiet)
        check_required(learned.figures, require)
        return
    traces = files[0]
    dataset = read_traces(files, columns=columns)
    show_understood(dataset, quiet)
    testing = None if test is None else read_traces(test, columns=columns)
    chosen = chosen.told_by(dataset)
    with_file(traces, lambda: chosen.check(dataset))
    if testing is not None:
        with_file(str(test), lambda: chosen.check_names(dataset.vocabulary, testing.vocabulary))
    open_run(out, chosen.run_settings(seed, content_hash(dataset)), force)
    say_how_long(chosen, dataset, quiet)
    log = RunLog(out)
    try:
        with training_bar(quiet) as show:

            def watch(stage: str, report: Report) -> None:
                log.write(stage, report)
                show(stage, report)

            learned = with_file(
                traces, lambda: learn_model(dataset, chosen, seed=seed, test=testing, folder=out, watch=watch)
            )
            if testing is None and hold_out != 0:
                learned = with_held_out(learned, dataset, hold_out)
    finally:
        log.close()
    finish(learned, dataset, traces, out, quiet)
    check_required(learned.figures, require)


def check_shares(hold_out: float | None, require: float | None, test: Path | None) -> None:
    from trace2strips.traces.splitting import check_share

    if hold_out is not None:
        check_share(hold_out)
        if test is not None:
            raise UserError("--test and --hold-out are two ways to test", hint="give one of them")
    if require is not None and not 0 < require <= 1:
        raise UserError(f"an accuracy of {require} is required", hint="--require 0.99 is 99 of 100 traces")


def check_required(figures: Figures, require: float | None) -> None:
    """Exit code 3 where fewer traces are predicted rightly than is required."""
    if require is None:
        return
    found = figures.held_out_accuracy if figures.test_accuracy is None else figures.test_accuracy
    if found is None:
        raise UserError("nothing was tested, so --require cannot be answered", hint="--test FILE or --hold-out 0.2")
    if found < require:
        print(f"trace2strips: accuracy {found:.5f}, required {require}", file=sys.stderr)
        raise typer.Exit(3)


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


def is_large(files: Sequence[Path]) -> bool:
    """More bytes than are read at once; what is packed counts tenfold."""
    from trace2strips.traces.formats import find_all

    packed = (".gz", ".parquet", ".pq")
    found = (path for path in find_all(files) if path.is_file())
    return sum(path.stat().st_size * (10 if path.suffix.lower() in packed else 1) for path in found) > LARGE


def learn_streamed(
    paths: Sequence[Path], learner: Learner, out: Path, test: Path | None, columns: Columns, hold_out: float | None,
    ray: str | None, seed: int, force: bool, quiet: bool,
) -> Learned:  # fmt: skip
    """Shard by shard, here or on a cluster."""
    from functools import partial

    from trace2strips.learners.holding_out import with_held_out
    from trace2strips.learners.learner import Job
    from trace2strips.learners.runs import RunLog, open_run
    from trace2strips.learners.windows.learner import Windows
    from trace2strips.learners.windows.spreading import OnRay
    from trace2strips.learners.windows.streaming import Here, Runner, beginning, first_traces, hash_files, learn_shards
    from trace2strips.ray_cluster import connected
    from trace2strips.traces import read_traces
    from trace2strips.traces.formats import find_all, is_event_log
    from trace2strips.traces.shards import find_shards

    if not isinstance(learner, Windows):
        raise UserError(
            f"learner {learner.name!r} needs the whole log in memory", hint="--learner windows learns shard by shard"
        )
    files = find_all(paths)
    if len(files) > 1 and all(map(is_event_log, files)):
        from trace2strips.traces.events import settled
        from trace2strips.traces.tables import read_table

        columns = settled(read_table(files[0]), columns)
    read = partial(read_traces, columns=columns)
    shards = find_shards(files)
    first = first_traces(shards, read)
    show_understood(first, quiet)
    chosen = learner.told_by(first)
    testing = None if test is None else read(test)
    data = hash_files(files)
    with ExitStack() as stack:
        run: Runner = Here() if ray is None else OnRay(stack.enter_context(connected(ray, may_start=True)))
        open_run(out, chosen.run_settings(seed, data), force)
        log = RunLog(out)
        stack.callback(log.close)
        show = stack.enter_context(training_bar(quiet))

        def watch(stage: str, report: Report) -> None:
            log.write(stage, report)
            show(stage, report)

        learned = learn_shards(chosen, shards, Job(seed, out, watch), data, read, run)
    if testing is not None:
        return with_file(str(test), lambda: learned.tested_on(testing))
    return learned if hold_out == 0 else with_held_out(learned, beginning(shards, learned.vocabulary, read), hold_out)


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
        print(f"trace2strips: {warning}", file=sys.stderr)
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
