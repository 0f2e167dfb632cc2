"""The commands, thin: each reads its options, calls the library and prints. Errors are one line, exit code 2."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from trace2strips import __version__
from trace2strips.commands.brasp import brasp
from trace2strips.commands.compare import compare
from trace2strips.commands.demo import outcome_table, run_demo
from trace2strips.commands.plan import MemoryOption, PlannerOption, SecondsOption, StatesOption, plan
from trace2strips.commands.report import report
from trace2strips.commands.reproduce import reproduce
from trace2strips.commands.sources import open_source
from trace2strips.commands.terminal import ForceOption, JsonOption, QuietOption, listing, plain_console, progress_bar
from trace2strips.errors import FileError, PddlError, TraceError, UserError, printable, with_file
from trace2strips.files import check_writable, writing_text
from trace2strips.judging.plan_outcomes import evaluate_planning, need_unseen
from trace2strips.judging.world_metrics import measure_learned
from trace2strips.learners.learner import Figures, check_names
from trace2strips.learners.learning import learn as learn_model
from trace2strips.learners.learning import load
from trace2strips.learners.registry import DEFAULT, LEARNERS, make_learner
from trace2strips.learners.runs import RunLog, content_hash, open_run
from trace2strips.learners.training import Report
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.pddl import format_model, format_model_problem
from trace2strips.planning.plans import Limits, get_planner
from trace2strips.traces import Dataset, compare_with, describe, find_contradictions, unknown_starts, write_traces
from trace2strips.traces import read_traces as read_trace_file
from trace2strips.traces.checking import Contradiction
from trace2strips.traces.formats import format_of
from trace2strips.worlds import BENCHMARKS, Domain, domain_from_files, get_domain
from trace2strips.worlds.sampling import SampleSettings
from trace2strips.worlds.sampling import sample as sample_traces

app = typer.Typer(
    help="Learn STRIPS world models from sequences of actions that worked or did not.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DomainArgument = Annotated[str, typer.Argument(help="A name (blocksworld-5b), a size (ferry:10x8) or a PDDL file.")]
ProblemOption = Annotated[
    list[Path] | None, typer.Option("--problem", help="PDDL problem, with a PDDL domain file; may be repeated.")
]


def find_domain(name: str, problems: list[Path] | None) -> Domain:
    if name.endswith(".pddl") or problems:
        return domain_from_files(name, problems or [])
    return get_domain(name)


@app.command()
def domains(names: Annotated[list[str] | None, typer.Argument(help="Which; all ten by default.")] = None,
            as_json: JsonOption = False) -> None:  # fmt: skip
    """The benchmark domains: atoms, actions, and states that can be reached."""
    rows = []
    for name in names or BENCHMARKS:
        domain = get_domain(name)
        rows.append({
            "domain": name, "atoms": len(domain.model.atoms), "actions": len(domain.model.actions),
            "ever_applicable": len(domain.reachable_actions), "states": domain.family.count_states(),
            "init_atoms": len(domain.initial_atoms), "goal_atoms": len(domain.goal_atoms),
        })  # fmt: skip
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    table = Table("domain", title="Benchmark domains")
    for title in ("atoms", "actions", "ever applicable", "reachable states", "init-p", "test-p (goal)"):
        table.add_column(title, justify="right")
    for row in rows:
        keys = ("atoms", "actions", "ever_applicable", "states", "init_atoms", "goal_atoms")
        table.add_row(str(row["domain"]), *("?" if row[k] is None else f"{row[k]:,}" for k in keys))
    plain_console().print(table)


@app.command()
def sample(
    domain: DomainArgument,
    out: Annotated[Path, typer.Option(help="Dataset (.t2s) or trace file (.jsonl, .csv, .txt; .gz too).")],
    traces: Annotated[int, typer.Option(help="How many traces.")] = 100_000,
    max_length: Annotated[int, typer.Option(help="D: a trace has 0 to D domain actions.")] = 50,
    split: Annotated[str, typer.Option(help="train: half refused; test: at most the last one refused.")] = "train",
    init: Annotated[str, typer.Option(help="How initial states are told: atoms, or states:N.")] = "atoms",
    suffix: Annotated[str, typer.Option(help="Final values told by test-p: all atoms, goal atoms or none.")] = "goal",
    seed: Annotated[int, typer.Option(help="Same seed, same bytes.")] = 0,
    like: Annotated[Path | None, typer.Option(help="The .t2s training set whose vocabulary a test set takes.")] = None,
    problem: ProblemOption = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Sample labelled random traces of a hidden domain."""
    settings = SampleSettings(traces, max_length, split, init, suffix, seed)
    format_of(out)
    check_writable(out, force)
    source = find_domain(domain, problem)
    training = None if like is None else Dataset.load(like)
    with progress_bar("sampling", traces, quiet) as advance:
        dataset = sample_traces(source, settings, training, advance)
    with progress_bar("writing", traces, quiet) as advance:
        write_traces(dataset, out, force, advance)
    if not quiet:
        print(f"{len(dataset):,} traces, {len(dataset.tokens):,} positions, {len(dataset.vocabulary)} tokens: {out}")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A trace file or dataset.")],
    domain: Annotated[str | None, typer.Option(help="Check names and labels against this domain as well.")] = None,
    problem: ProblemOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Statistics of a trace file, or what is wrong with it and where.

    Contradictions (an action worked here and was refused there, after the same history) are counted.
    They are no error: exit code 0, learning still works. Labels that disagree with --domain are one.
    Traces that start in a named state are compared only in a .t2s, which says what holds in it.
    """
    if problem and domain is None:
        raise PddlError("--problem needs --domain", hint="--domain DOMAIN.pddl --problem PROBLEM.pddl")
    model = None if domain is None else find_domain(domain, problem).model
    with progress_bar("reading", size_of(file), quiet) as advance:
        vocabulary = None if model is None else model_vocabulary(model)
        dataset = read_trace_file(file, vocabulary, any_state=True, progress=advance)
    statistics = describe(dataset)
    contradictions = find_contradictions(dataset)
    if model is not None:
        check_against(dataset, model, file, str(domain))
    if as_json:
        found = [asdict(c) | lines_of(dataset, c) for c in contradictions]
        print(json.dumps(asdict(statistics) | {"contradictions": found}, indent=1))
        return
    share = statistics.refused / statistics.positions if statistics.positions else 0.0
    table = Table(title=Text(printable(str(file))), show_header=False)
    for key, value in (
        ("traces", f"{statistics.traces:,}"),
        ("different actions", f"{statistics.actions:,}"),
        ("actions in all", f"{statistics.positions:,}"),
        ("refused", f"{statistics.refused:,} ({share:.1%})"),
        ("actions a trace", f"{statistics.shortest} to {statistics.longest}, {statistics.mean_length:.1f} on average"),
        ("with initial atoms", f"{statistics.with_init:,}"),
        ("with named initial state", f"{statistics.with_state:,}"),
        ("with final values", f"{statistics.with_final:,}"),
        ("never worked", listing(statistics.never_worked)),
        ("never refused", listing(statistics.never_refused)),
        ("contradictions", f"{len(contradictions):,}"),
    ):
        table.add_row(key, Text(value))
    console = plain_console()
    console.print(table)
    for item in contradictions[:3]:
        worked, refused = (place_of(dataset, file, trace) for trace, _ in (item.worked, item.refused))
        name = printable(item.action)
        console.print(
            f"contradiction: {name} worked {worked}, refused {refused}, after the same history", soft_wrap=True
        )
    if model is not None:
        skipped = int(unknown_starts(dataset).sum())
        if skipped and not quiet:
            console.print(f"{skipped:,} traces not compared: the file does not say what holds in their named states")
        which = "every label" if not skipped else "every other label"
        console.print(f"{which} agrees with {domain}" if skipped < len(dataset) else "no label was compared")


def place_of(dataset: Dataset, file: Path, trace: int) -> str:
    return f"at {printable(str(file))}:{dataset.lines[trace]}" if dataset.lines else f"in trace {trace + 1}"


def lines_of(dataset: Dataset, item: Contradiction) -> dict[str, int]:
    if not dataset.lines:
        return {}
    return {"worked_line": dataset.lines[item.worked[0]], "refused_line": dataset.lines[item.refused[0]]}


def size_of(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_size
    return 0  # the reader will say what is wrong with it


def model_vocabulary(model: StripsModel) -> Vocabulary:
    names = tuple(action.name for action in model.actions)
    return Vocabulary(names, init_atoms=model.atoms, test_atoms=model.atoms, has_init_false=True)


def check_against(dataset: Dataset, model: StripsModel, file: Path, domain: str) -> None:
    found = with_file(file, lambda: compare_with(dataset, model))
    if found is not None:
        said, right = ("worked", "refuses") if found.says_worked else ("was refused", "allows")
        raise TraceError(
            f"{found.count:,} labels disagree with {domain}: in trace {found.trace + 1}, {found.action!r} {said} "
            f"where the domain {right} it",
            file=file, line=dataset.lines[found.trace] if dataset.lines else None,
            hint="is it the right domain, and are the initial states complete?",
        )  # fmt: skip


@app.command()
def ground(
    domain: DomainArgument,
    out: Annotated[Path | None, typer.Option(help="Write the propositional domain here.")] = None,
    out_problem: Annotated[Path | None, typer.Option(help="Write the propositional problem here.")] = None,
    problem: ProblemOption = None,
    force: ForceOption = False,
) -> None:
    """The hidden propositional model of a domain as PDDL that every planner accepts."""
    targets = [check_writable(path, force) for path in (out, out_problem) if path is not None]
    if len(set(targets)) < len(targets):
        raise FileError("--out and --out-problem name one file", file=out, hint="name two")
    source = find_domain(domain, problem)
    text = format_model(source.model)
    problem_text = format_model_problem(source.first_problem()) if out_problem is not None else ""
    with ExitStack() as stack:  # both files are renamed into place after both are written
        for path, content in ((out, text), (out_problem, problem_text)):
            if path is not None:
                stack.enter_context(writing_text(path, force)).write(content)
    if out is None:
        print(text, end="")


@app.command()
def learn(
    traces: Annotated[Path, typer.Argument(help="Trace file or dataset to learn from.")],
    out: Annotated[Path, typer.Option(help="Folder for the run; an unfinished one there goes on.")],
    test: Annotated[Path | None, typer.Option(help="Trace file or dataset to test on.")] = None,
    learner: Annotated[str, typer.Option(help=f"{', '.join(LEARNERS)}.")] = DEFAULT,
    form: Annotated[str | None, typer.Option(help="Of strips: factored (ours) or attention (the paper's).")] = None,
    heads: Annotated[int | None, typer.Option(help="At most so many atoms; default: as many as needed.")] = None,
    preset: Annotated[str | None, typer.Option(help="fast (ours) or paper (the paper's values).")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    steps: Annotated[int | None, typer.Option(help="Training steps other than the preset's.")] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn a STRIPS world model from traces; writes model.pddl, model.json, metrics.json and weights."""
    told = {"form": form, "heads": heads, "preset": preset, "steps": steps}
    chosen = make_learner(learner, {name: value for name, value in told.items() if value is not None})
    dataset = read_trace_file(traces).with_start()
    testing = None if test is None else read_trace_file(test).with_start()
    with_file(traces, lambda: chosen.check(dataset))
    if testing is not None:
        with_file(str(test), lambda: check_names(dataset.vocabulary, testing.vocabulary))
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
    learned.write(out)
    for warning in learned.figures.warnings:
        print(f"trace2strips: {warning}", file=sys.stderr)
    if (first := learned.figures.first_contradiction) is not None:
        worked, failed = (place_of(dataset, traces, which[0]) for which in (first.worked, first.refused))
        example = (
            f"for example {printable(first.action)} worked {worked} and was refused {failed} after the same history"
        )
        print(
            f"trace2strips: {learned.figures.contradictions} contradictions in the labels, {example}", file=sys.stderr
        )
    if not quiet:
        show_figures(out, learned.figures)


def show_figures(out: Path, figures: Figures) -> None:
    for split, whose, accuracy, errors, traces in (
        ("train", "", figures.train_accuracy, figures.train_errors, figures.traces),
        ("train", " of the extracted model", figures.model_train_accuracy, figures.model_train_errors, figures.traces),
        ("test", "", figures.test_accuracy, figures.test_errors, figures.test_traces),
        (
            "test",
            " of the extracted model",
            figures.model_test_accuracy,
            figures.model_test_errors,
            figures.test_traces,
        ),
    ):
        if accuracy is not None:
            print(f"{split} accuracy{whose} {accuracy:.5f} ({errors} of {traces:,} wrong)")
    if figures.atoms is None:
        print(f"a network alone, no model: the traces told no final values; {figures.train_seconds:.1f} s: {out}")
        return
    print(
        f"{figures.atoms} atoms ({figures.invented_atoms} invented), {figures.preconditions} preconditions, "
        f"{figures.effects} effects, {figures.train_seconds:.1f} s: {out / 'model.pddl'}"
    )


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    test: Annotated[Path | None, typer.Option(help="Trace file or dataset; default: what was measured.")] = None,
    domain: Annotated[str | None, typer.Option(help="The hidden domain; default: the one of the traces.")] = None,
    problems: Annotated[int, typer.Option(help="How many of its planning problems to solve; 0: none.")] = 100,
    planner: PlannerOption = "mimir",
    max_states: StatesOption = 10**6,
    max_seconds: SecondsOption = 300,
    max_memory: MemoryOption = 4096,
    world: Annotated[bool, typer.Option("--world", help="World-model metrics of Vafa et al. as well.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Trace accuracy of a learned model, and how well it plans: each plan is tried out on the hidden domain."""
    limits = Limits(max_states, max_seconds, max_memory)
    get_planner(planner)
    if problems < 0:
        raise UserError(f"{problems} problems", hint="--problems 100, or 0 for none")
    learned = load(run)
    source = open_source(str(run))
    hidden = source.domain if domain is None else get_domain(domain)
    if test is not None:
        dataset = read_trace_file(test)
        learned = with_file(test, lambda: learned.tested_on(dataset))
    metrics = learned.figures.record()
    report = None
    if hidden is not None and problems:
        chosen = hidden.problems(problems, source.encoding)
        with progress_bar("planning", problems, quiet) as advance:
            report = evaluate_planning(learned.need_world(), hidden, source.encoding, chosen, planner, limits, advance)
        needing = need_unseen(learned.need_world(), hidden, chosen)
        metrics |= {**report.row(), "planner": planner, "problems_with_unseen_actions": len(needing)}
    if world:
        if hidden is None:
            raise UserError("--world needs the hidden domain", hint="--domain blocksworld-8b")
        metrics["world"] = measure_learned(learned, hidden, source.encoding).row()
    if as_json:
        print(json.dumps(metrics, indent=1))
        return
    show_figures(run, learned.figures)
    if report is not None and hidden is not None:
        plain_console().print(outcome_table(report, f"{problems} problems of {hidden.name}, planned by {planner}"))
    elif problems and not quiet:
        print("no planning: the traces do not name their domain (hint: --domain blocksworld-8b)", file=sys.stderr)
    for name, value in metrics.get("world", {}).items():
        print(f"{name.replace('_', ' ')}: {'-' if value is None else value}")


@contextmanager
def training_bar(quiet: bool) -> Iterator[Callable[[str, Report], None]]:
    """Steps, accuracy and time left, on the terminal only."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeRemainingColumn(),
        console=console, disable=quiet or not console.is_terminal, transient=True,
    ) as progress:  # fmt: skip
        task = progress.add_task("training", total=None, note="")

        def show(stage: str, report: Report) -> None:
            note = f"step {report.step:,}, loss {report.loss:.2g}, accuracy {max(report.best, 0):.4f}"
            progress.update(task, description=stage, total=report.steps, completed=report.step, note=note)

        yield show


for command in (plan, compare, brasp, reproduce, report):
    app.command()(command)


@app.command()
def demo(
    out: Annotated[Path | None, typer.Option(help="Write the learned PDDL here.")] = None,
) -> None:
    """Learn a hidden blocksworld from sampled traces; learned and hidden action side by side."""
    if out is not None:
        check_writable(out, force=True)
    run_demo(plain_console(), out)


def print_version(wanted: bool) -> bool:
    if wanted:
        print(f"trace2strips {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Options of all commands."""


def discard_output() -> None:
    """Python writes what is left in its buffer when it ends; it must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Entry point: whatever the user can get wrong becomes one line and exit code 2."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        print(f"trace2strips: {error}", file=sys.stderr)
        code = 2
    except typer.TyperException as error:  # unknown option, missing argument, wrong type
        if message := error.format_message():  # without any argument there is only the help, printed already
            print(f"trace2strips: {UserError(message, hint='trace2strips COMMAND --help')}", file=sys.stderr)
        code = 2
    except (typer.Abort, KeyboardInterrupt):
        print("trace2strips: stopped", file=sys.stderr)
        code = 130
    except BrokenPipeError:  # `trace2strips … | head`
        discard_output()
        code = 0
    except OSError as error:  # what no file of the user's explains: the output cannot be written
        print(f"trace2strips: {UserError(error.strerror or str(error), file=error.filename)}", file=sys.stderr)
        discard_output()
        code = 2
    except MemoryError:
        print("trace2strips: not enough memory (hint: fewer or shorter traces)", file=sys.stderr)
        code = 2
    sys.exit(code if isinstance(code, int) else 0)
