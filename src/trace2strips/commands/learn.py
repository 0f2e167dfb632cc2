"""`trace2strips learn`: a run folder with a STRIPS world model, learned from traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import ArgOption, DomainOption, ForceOption, ProblemsOption, QuietOption
from trace2strips.errors import UserError, with_file
from trace2strips.learners.registry import DEFAULT, LEARNERS


def learn(
    traces: Annotated[
        Path | None, typer.Argument(metavar="TRACES", help="Trace file or dataset to learn from, unless --domain.")
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

    Writes model.pddl, model.json, metrics.json and weights; windows also the lifted domain.pddl, problems and
    summary.json.gz, all it keeps of the log. With --update RUN that is enough to go on: the result is that
    of learning from both logs at once. It is written to RUN, or to --out.

    With --domain (and --problem, if it is a PDDL file) traces are sampled there. What was learned is compared
    with that world and plans its problems: own-world.json.
    """
    from trace2strips.commands.learning_run import finish, run_learner
    from trace2strips.commands.own_world import learn_own_world
    from trace2strips.learners.learner import Job
    from trace2strips.learners.learning import load
    from trace2strips.learners.registry import make_learner
    from trace2strips.learners.runs import open_run
    from trace2strips.traces import read_traces

    told = {"heads": heads, "steps": steps, "form": form, "preset": preset, "rate": rate, "separator": separator,
            "network_only": network_only or None, "arity": arity, "start": start, "noise": noise}  # fmt: skip
    given = {name: value for name, value in told.items() if value is not None}
    if domain is not None or problem or count is not None:
        logs = {"TRACES": traces, "--test": test, "--update": update, "--arg": arg}
        for name in (name for name, value in logs.items() if value):
            raise UserError(f"--domain samples its own traces, and {name} is given", hint="one of the two")
        if out is None:
            raise UserError("where shall the run go?", hint="--out FOLDER")
        learn_own_world(domain, problem, count, make_learner(learner, given), out, seed, force, quiet)
        return
    if traces is None:
        raise UserError("there is nothing to learn from", hint="a trace file, or --domain DOMAIN --problem FILE")
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
    learned = run_learner(chosen, dataset, testing, traces, out, seed, force, quiet)
    finish(learned, dataset, traces, out, quiet)
