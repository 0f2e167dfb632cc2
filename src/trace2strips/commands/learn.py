"""`trace2strips learn`: a run folder with a STRIPS world model, learned from traces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.commands.terminal import ArgOption, ForceOption, QuietOption, place_of, show_figures, training_bar
from trace2strips.errors import UserError, printable, with_file
from trace2strips.learners.registry import DEFAULT, LEARNERS

if TYPE_CHECKING:
    from trace2strips.learners.learner import Figures, Learned
    from trace2strips.learners.training import Report
    from trace2strips.traces import Dataset


def learn(
    traces: Annotated[Path, typer.Argument(metavar="TRACES", help="Trace file or dataset to learn from.")],
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
        typer.Option(help="Of windows: who starts alike: same, objects or own; default: all tried."),
    ] = None,
    arg: ArgOption = None,
    noise: Annotated[
        float | None, typer.Option(help="Of windows: the share of labels that are wrong, 0: none; default: found out.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn a STRIPS world model from traces.

    Writes the model card (card.md, card.html), model.pddl, model.json, metrics.json and weights; windows also
    the lifted domain.pddl, problems and summary.json.gz, all it keeps of the log. With --update RUN that is
    enough to go on: the result is that of learning from both logs at once. It is written to RUN, or to --out.
    """
    from trace2strips.learners.learner import Job
    from trace2strips.learners.learning import learn as learn_model
    from trace2strips.learners.learning import load
    from trace2strips.learners.registry import make_learner
    from trace2strips.learners.runs import RunLog, content_hash, open_run
    from trace2strips.traces import read_traces

    told = {"heads": heads, "steps": steps, "form": form, "preset": preset, "rate": rate, "separator": separator,
            "network_only": network_only or None, "arity": arity, "start": start, "noise": noise}  # fmt: skip
    given = {name: value for name, value in told.items() if value is not None}
    if update is not None:
        if given or learner not in (DEFAULT, "windows"):
            raise UserError("--update keeps the settings of the run", hint="leave out the options of the learner")
        before = load(update)
        dataset = read_traces(traces, arguments=arg or ())
        learned = with_file(traces, lambda: before.update(dataset))
        if test is not None:
            tests = read_traces(test, arguments=arg or ())
            learned = with_file(test, lambda: learned.tested_on(tests))
        open_run(out or update, learned.settings, force or out is None)
        finish(learned, dataset, traces, out or update, quiet)
        return
    if out is None:
        raise UserError("where shall the run go?", hint="--out FOLDER")
    chosen = make_learner(learner, given)
    Job(seed)  # a seed out of range is refused before anything is written
    dataset = read_traces(traces, arguments=arg or ())
    testing = None if test is None else read_traces(test, arguments=arg or ())
    chosen = chosen.told_by(dataset)
    with_file(traces, lambda: chosen.check(dataset))
    if testing is not None:
        with_file(str(test), lambda: chosen.check_names(dataset.vocabulary, testing.vocabulary))
    open_run(out, chosen.run_settings(seed, content_hash(dataset)), force)
    log = RunLog(out)
    try:
        with training_bar(quiet) as show:

            def watch(stage: str, report: Report) -> None:
                log.write(stage, report)
                show(stage, report)

            learned = with_file(
                traces, lambda: learn_model(dataset, chosen, seed=seed, test=testing, folder=out, watch=watch)
            )
    finally:
        log.close()
    finish(learned, dataset, traces, out, quiet)


def finish(learned: Learned, dataset: Dataset, traces: Path, out: Path, quiet: bool) -> None:
    """Write what was learned and tell of it."""
    learned.write(out)
    warn(learned.figures, dataset, traces)
    if not quiet:
        if learned.lifted is not None:
            print(f"names: {printable(learned.lifted.understood())}; lifted: {out / 'domain.pddl'}")
        if learned.figures.earlier_traces is not None:
            print(f"{learned.figures.earlier_traces:,} traces were known before; accuracy is that on the new ones")
        show_figures(out, learned.figures)
        if learned.support:
            levels = [one.level for one in learned.support]
            counts = ", ".join(f"{levels.count(level)} {level}" for level in ("certain", "likely", "free"))
            print(f"preconditions and effects of the lifted model: {counts}: {out / 'support.txt'}")


def warn(figures: Figures, dataset: Dataset, file: Path) -> None:
    """What a user should know of the traces, a line each on standard error."""
    for warning in figures.warnings:
        print(f"trace2strips: {warning}", file=sys.stderr)
    if (first := figures.first_contradiction) is not None:
        worked, refused = (place_of(dataset, file, which[0]) for which in (first.worked, first.refused))
        example = f"{printable(first.action)} worked {worked} and was refused {refused} after the same history"
        print(
            f"trace2strips: {figures.contradictions} contradictions in the labels, for example {example}",
            file=sys.stderr,
        )
