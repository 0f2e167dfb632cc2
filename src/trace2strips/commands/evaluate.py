"""`trace2strips evaluate`: how good a learned model is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.terminal import (
    JsonOption,
    MemoryOption,
    PlannerOption,
    QuietOption,
    SecondsOption,
    StatesOption,
    plain_console,
    progress_bar,
    show_figures,
    table_of_pairs,
)
from trace2strips.errors import UserError, with_file


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
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
    """How well a learned model predicts traces, and plans.

    Each plan is tried out on the hidden domain.
    """
    from trace2strips.commands.sources import hidden_domain_or_none
    from trace2strips.judging.plan_outcomes import evaluate_planning, need_unseen
    from trace2strips.judging.world_metrics import measure_learned
    from trace2strips.learners.learning import load
    from trace2strips.planning.plans import Limits, get_planner
    from trace2strips.traces import read_traces
    from trace2strips.worlds import get_domain

    limits = Limits(max_states, max_seconds, max_memory)
    get_planner(planner)
    if problems < 0:
        raise UserError(f"{problems} problems", hint="--problems 100, or 0 for none")
    learned = load(run)
    encoding = learned.figures.encoding or "atoms"
    hidden = hidden_domain_or_none(learned.figures) if domain is None else get_domain(domain)
    if world and hidden is None:
        raise UserError("--world needs the hidden domain", hint="--domain blocksworld-8b")
    if test is not None:
        dataset = read_traces(test)
        learned = with_file(test, lambda: learned.tested_on(dataset))
    metrics = learned.figures.record()
    report = None
    if hidden is not None and problems:
        chosen = hidden.problems(problems, encoding)
        with progress_bar("planning", problems, quiet) as advance:
            report = evaluate_planning(learned.need_world(), hidden, encoding, chosen, planner, limits, advance)
        needing = need_unseen(learned.need_world(), hidden, chosen)
        metrics |= {**report.row(), "planner": planner, "problems_with_unseen_actions": len(needing)}
    if world and hidden is not None:
        metrics["world"] = measure_learned(learned, hidden, encoding).row()
    if as_json:
        print(json.dumps(metrics, indent=1))
        return
    show_figures(run, learned.figures)
    if report is not None and hidden is not None:
        title = f"{problems} problems of {hidden.name}, planned by {planner}"
        plain_console().print(table_of_pairs(title, report.summary(), numbers=True))
    elif problems and not quiet:
        print("no planning: the traces do not name their domain (hint: --domain blocksworld-8b)", file=sys.stderr)
    for name, value in metrics.get("world", {}).items():
        print(f"{name.replace('_', ' ')}: {'-' if value is None else value}")
