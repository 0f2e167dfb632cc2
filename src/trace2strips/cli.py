"""The commands, thin: each reads its options, calls the library and prints. Errors are one line, exit code 2."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from trace2strips import __version__
from trace2strips.demo import run_demo
from trace2strips.domains import BENCHMARKS, Domain, domain_from_files, get_domain
from trace2strips.equivalence import (
    EXHAUSTED,
    INVARIANTS,
    MAX_PAIRS,
    Comparison,
    Counterpart,
    Side,
    find_starts,
    problem_starts,
    read_side,
    told_starts,
    with_final_values,
)
from trace2strips.equivalence import compare as compare_models
from trace2strips.errors import FileError, PddlError, TraceError, UserError, printable, shorten
from trace2strips.files import check_writable, writing_text
from trace2strips.learning import LearnSettings, RunLog, check_testable, lay_out, load_run, measure, open_run, save_run
from trace2strips.learning import learn as learn_model
from trace2strips.pddl import format_model, format_model_problem, with_file
from trace2strips.strips import StripsModel
from trace2strips.traces import (
    Dataset,
    SampleSettings,
    Vocabulary,
    compare_with,
    describe,
    find_contradictions,
    unknown_starts,
    write_traces,
)
from trace2strips.traces import read_traces as read_trace_file
from trace2strips.traces import sample as sample_traces
from trace2strips.traces.checking import Contradiction
from trace2strips.traces.formats import format_of
from trace2strips.training import Report

app = typer.Typer(
    help="Learn STRIPS world models from sequences of actions that worked or did not.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar, no remarks.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the output file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]
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


def listing(names: tuple[str, ...]) -> str:
    shown = ", ".join(shorten(printable(name)) for name in names[:5])
    return f"{len(names)}" + (f": {shown}{' …' if len(names) > 5 else ''}" if names else "")


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
    network: Annotated[str, typer.Option(help="strips: the STRIPS Transformer.")] = "strips",
    form: Annotated[str, typer.Option(help="factored (ours) or attention (the paper's equations).")] = "factored",
    heads: Annotated[int | None, typer.Option(help="At most so many atoms; default: as many as needed.")] = None,
    preset: Annotated[str, typer.Option(help="fast (ours) or paper (the paper's values).")] = "fast",
    seed: Annotated[int, typer.Option(help="Same seed, same model.")] = 0,
    steps: Annotated[int | None, typer.Option(help="Training steps other than the preset's.")] = None,
    force: ForceOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn a STRIPS world model from traces; writes model.pddl, model.json, metrics.json and weights."""
    settings = LearnSettings(network, form, heads, preset, seed, steps)
    dataset = read_trace_file(traces)
    testing = None if test is None else read_trace_file(test)
    with_file(traces, lambda: lay_out(dataset, settings))
    if testing is not None:
        with_file(str(test), lambda: check_testable(dataset, testing))
    open_run(out, dataset, settings, force)
    log = RunLog(out)
    try:
        with training_bar(quiet) as show:

            def watch(stage: str, report: Report) -> None:
                log.write(stage, report)
                show(stage, report)

            learned = with_file(traces, lambda: learn_model(dataset, settings, testing, out, watch))
    finally:
        log.close()
    save_run(learned, out)
    for warning in learned.metrics["warnings"]:
        print(f"trace2strips: {warning}", file=sys.stderr)
    if learned.metrics["contradictions"]:
        first = learned.metrics["first_contradiction"]
        worked, failed = (place_of(dataset, traces, first[which][0]) for which in ("worked", "refused"))
        count, name = learned.metrics["contradictions"], printable(first["action"])
        example = f"for example {name} worked {worked} and was refused {failed} after the same history"
        print(f"trace2strips: {count} contradictions in the labels, {example}", file=sys.stderr)
    if not quiet:
        show_metrics(out, learned.metrics)


def show_metrics(out: Path, metrics: dict[str, Any]) -> None:
    for split, traces in (("train", "traces"), ("test", "test_traces")):
        if f"{split}_accuracy" in metrics:
            wrong = f"{metrics[f'{split}_errors']} of {metrics[traces]:,} wrong"
            print(f"{split} accuracy {metrics[f'{split}_accuracy']:.5f} ({wrong})")
    print(
        f"{metrics['atoms']} atoms ({metrics['invented_atoms']} invented), {metrics['preconditions']} preconditions, "
        f"{metrics['effects']} effects, {metrics['train_seconds']:.1f} s: {out / 'model.pddl'}"
    )


@app.command()
def evaluate(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    test: Annotated[Path | None, typer.Option(help="Trace file or dataset; default: what was measured.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Trace accuracy of a learned model."""
    learned = load_run(run)
    metrics = dict(learned.metrics)
    if test is not None:
        dataset = read_trace_file(test)
        metrics |= with_file(test, lambda: measure(learned, dataset))
    if as_json:
        print(json.dumps(metrics, indent=1))
    else:
        show_metrics(run, metrics)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Run folder, domain name or propositional PDDL file.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The same; its actions must have the same names.")],
    init: Annotated[str | None, typer.Option(help="Start here: the atoms that are true, with commas between.")] = None,
    problem: Annotated[Path | None, typer.Option(help="Start in the initial state of this PDDL problem.")] = None,
    domain: Annotated[str | None, typer.Option(help="Start in this domain's generated initial states.")] = None,
    max_pairs: Annotated[int, typer.Option(help="Look at no more pairs of states (about 60 bytes each).")] = MAX_PAIRS,
    starts: Annotated[int, typer.Option(help="How many initial states to draw from a domain's generator.")] = 100_000,
    exhaust: Annotated[bool, typer.Option("--exhaust", help="Search on, also where invariants have shown it.")] = False,
    seed: Annotated[int, typer.Option(help="Of the starts drawn and of random walks.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Do two models accept the same traces? Exit code 0: equivalent, 1: different, 3: not distinguished.

    Starts: as given, else the generated initial states of a domain, else the named ones, else every atom is true.
    """
    if sum(option is not None for option in (init, problem, domain)) > 1:
        raise UserError("several starts are given", hint="one of --init, --problem and --domain")
    a, b = read_side(first), read_side(second)
    if init is not None:
        given, further = told_starts(a, b, init.replace(",", " ").split(), "the initial atoms given"), None
    elif problem is not None:
        given, further = problem_starts(a, b, problem), None
    else:
        given, further = find_starts(a, b, None if domain is None else get_domain(domain), starts, seed)
    result = compare_models(*with_final_values(a, b), given, max_pairs, seed, further, exhaust)
    if as_json:
        print(json.dumps({"a": a.label, "b": b.label} | result.to_json(), indent=1))
    else:
        show_comparison(a, b, result)
    raise typer.Exit(result.exit_code)


def show_comparison(a: Side, b: Side, result: Comparison) -> None:
    def say(text: str) -> None:
        print(printable(text))

    say(f"{result.verdict}: A = {a.label}, B = {b.label}")
    say(f"starts: {result.starts:,}, {result.origin}")
    for side, other, only in (("A", "B", result.only_a), ("B", "A", result.only_b)):
        if only:
            say(f"{side} alone has {listing(only)}; {other} counts as refusing them always")
    if EXHAUSTED in result.how:
        say(f"shown by the product state space, exhausted: {result.pairs:,} pairs of states")
    if INVARIANTS in result.how:
        say("shown by invariants: each precondition of one model follows from those of the other, wherever both can be")
    if result.further:
        say(f"a second draw brought {result.further:,} other starts; the proof covers them too")
    if result.added:
        say(f"a second draw brought {result.added:,} starts that were not covered; all of it is among those above now")
    if result.trace is not None:
        refuser, accepter = ("A", "B") if result.refused_by == "A" else ("B", "A")
        say(f"{'a shortest' if result.shortest else 'a'} trace that tells them apart, {len(result.trace)} actions:")
        say(f"  start: {result.start}")
        for atoms, side in ((result.start_a, "A"), (result.start_b, "B")):
            say(f"    {side}: {' '.join(atoms) or 'nothing is true'}")
        for name in result.trace[:-1]:
            say(f"  {name}")
        reason = "it has no such action" if result.missing is None else f"{', '.join(result.missing)} is false"
        say(f"  {result.trace[-1]}   refused by {refuser} ({reason}), accepted by {accepter}")
    elif not result.how:
        say(f"{result.pairs:,} pairs of states were looked at; --max-pairs allows more")
    show_mapping(result)


def show_mapping(result: Comparison) -> None:
    """Atoms that equal their namesakes are counted, the others listed."""
    if not result.mapping and not result.mapping_back:
        return
    same = sum(item.relation == "equal" and item.other == item.atom for item in result.mapping)
    print(f"atoms proven equal to their namesakes: {same:,}")
    shown: set[tuple[str, str | None]] = set()
    for side, other, items in (("A", "B", result.mapping), ("B", "A", result.mapping_back)):
        for item in items:
            pair = (item.atom, item.other) if side == "A" else (str(item.other), item.atom)
            if item.other != item.atom and pair not in shown:
                print(f"  {printable(describe_counterpart(side, other, item))}")
                shown.add(pair)


def describe_counterpart(side: str, other: str, item: Counterpart) -> str:
    if item.relation in ("equal", "opposite"):
        return f"{item.atom} ({side}) {'=' if item.relation == 'equal' else '= not'} {item.other} ({other})"
    return f"{item.atom} ({side}) " + ("has no counterpart" if item.relation == "none" else f"is {item.relation}")


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


@app.command()
def demo(
    out: Annotated[Path | None, typer.Option(help="Write the learned PDDL here.")] = None,
) -> None:
    """Learn a hidden blocksworld from sampled traces; learned and hidden action side by side."""
    if out is not None:
        check_writable(out, force=True)
    run_demo(plain_console(), out)


def plain_console() -> Console:
    """Names are any text: none may be taken for rich's markup, an emoji or a number."""
    return Console(markup=False, emoji=False, highlight=False)


def print_version(wanted: bool) -> None:
    if wanted:
        print(f"trace2strips {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Options of all commands."""


@contextmanager
def progress_bar(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar with the time left, on the terminal only; yields a function to be told how much is new."""
    console = Console(stderr=True)
    with Progress(
        TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, disable=quiet or not console.is_terminal, transient=True,
    ) as progress:  # fmt: skip
        task = progress.add_task(what, total=total)
        yield lambda new: progress.advance(task, new)


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
