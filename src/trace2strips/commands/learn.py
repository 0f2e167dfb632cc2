"""`trace2strips learn`: a run folder with a STRIPS world model, learned from traces."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
from trace2strips.commands.terminal import ArgOption, DomainOption, ForceOption, ProblemsOption, QuietOption
from trace2strips.errors import UserError, with_file
from trace2strips.learners.registry import DEFAULT, LEARNERS

if TYPE_CHECKING:
    from trace2strips.learners.learner import Figures


def learn(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TRACES…", help="Logs, trace files, datasets; folders, 'globs*'; none with --domain."),
    ] = None,
    domain: DomainOption = None,
    problem: ProblemsOption = None,
    count: Annotated[
        int | None, typer.Option("--traces", help="With --domain: how many traces to sample; default: by its size.")
    ] = None,
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
        str | None,
        typer.Option(help="Of lifted learners: what stands between a name and its arguments; '': nothing does."),
    ] = None,
    arity: Annotated[
        int | None, typer.Option(help="Of lifted learners: atoms are about at most so many objects.")
    ] = None,
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

    With --domain (and --problem, if it is a PDDL file) traces are sampled there. What was learned is compared
    with that world and plans its problems: own-world.json.
    """
    from trace2strips.commands.learning_run import finish, run_learner
    from trace2strips.commands.own_world import learn_own_world
    from trace2strips.commands.streamed_run import is_large, learn_streamed
    from trace2strips.learners.learner import Job, columns_of
    from trace2strips.learners.learning import load
    from trace2strips.learners.registry import make_learner
    from trace2strips.learners.runs import open_run
    from trace2strips.traces import read_traces

    told = {"heads": heads, "steps": steps, "form": form, "preset": preset, "rate": rate, "separator": separator,
            "network_only": network_only or None, "arity": arity, "noise": noise,
            "start": start_level(start, files[0] if files else None)}  # fmt: skip
    columns = told_columns(case, action, ok, time, arg, worked, refused, start)
    check_shares(hold_out, require, test)
    given = {name: value for name, value in told.items() if value is not None}
    if domain is not None or problem or count is not None:
        logs = {"TRACES": files, "--test": test, "--update": update, "--arg": arg, "--hold-out": hold_out,
                "--stream": stream, "--ray": ray}  # fmt: skip
        for name in (name for name, value in logs.items() if value):
            raise UserError(f"--domain samples its own traces, and {name} is given", hint="one of the two")
        if out is None:
            raise UserError("where shall the run go?", hint="--out FOLDER")
        found = learn_own_world(domain, problem, count, make_learner(learner, given), out, seed, force, quiet)
        check_required(found.figures, require)
        return
    if not files:
        raise UserError("there is nothing to learn from", hint="a trace file, or --domain DOMAIN --problem FILE")
    traces = files[0]
    if update is not None:
        if stream or ray or len(files) > 1:
            raise UserError("--update takes one log, on one machine", hint="one after the other, or learn from all")
        if given or learner not in (DEFAULT, "windows"):
            raise UserError("--update keeps the settings of the run", hint="leave out the options of the learner")
        with updating(update, update if out is None else out) as is_same:
            before = load(update)
            dataset = read_traces(traces, columns=columns, kept=before.columns)
            show_understood(dataset, quiet)
            learned = with_file(traces, lambda: before.update(dataset))
            if test is not None:
                tests = read_traces(test, columns=columns, kept=learned.columns)
                learned = with_file(test, lambda: learned.tested_on(tests))
            with open_run(out or update, learned.settings, force or out is None, held=is_same):
                finish(learned, dataset, traces, out or update, quiet)
        check_required(learned.figures, require)
        return
    if out is None:
        raise UserError("where shall the run go?", hint="--out FOLDER")
    chosen = make_learner(learner, given)
    Job(seed)  # a seed out of range is refused before anything is written
    if stream or ray or is_large(files):
        with learn_streamed(files, chosen, out, test, columns, hold_out, ray, seed, force, quiet) as learned:
            finish(learned, None, traces, out, quiet)
        check_required(learned.figures, require)
        return
    dataset = read_traces(files, columns=columns)
    show_understood(dataset, quiet)
    testing = None if test is None else read_traces(test, columns=columns, kept=columns_of(dataset))
    chosen = chosen.told_by(dataset)
    with_file(traces, lambda: chosen.check(dataset))
    if testing is not None:
        with_file(str(test), lambda: chosen.check_names(dataset.vocabulary, testing.vocabulary))
    with run_learner(chosen, dataset, testing, traces, out, seed, force, quiet, hold_out) as learned:
        finish(learned, dataset, traces, out, quiet)
    check_required(learned.figures, require)


@contextmanager
def updating(run: Path, out: Path) -> Iterator[bool]:
    """A run that is updated where it is (then true): nobody else gets into it from before it is read, as what another
    update added meanwhile would be lost; and it is as it was if the update is cut off."""
    from trace2strips.files import alone_in
    from trace2strips.learners.runs import put_back

    if not run.is_dir() or run.resolve() != out.resolve():
        yield False
        return
    with alone_in(run):
        put_back(run)
        try:
            yield True
        finally:
            put_back(run)


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
