"""`trace2strips evaluate`: how good a learned model is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from trace2strips.commands.log_options import (
    ActionOption,
    CaseOption,
    OkOption,
    RefusedOption,
    TimeOption,
    WorkedOption,
    told_columns,
)
from trace2strips.commands.terminal import (
    ArgOption,
    DomainOption,
    JsonOption,
    MemoryOption,
    PlannerOption,
    ProblemsOption,
    QuietOption,
    SecondsOption,
    StatesOption,
    plain_console,
    progress_bar,
    show_figures,
    table_of_pairs,
)
from trace2strips.errors import DomainError, UserError, with_file
from trace2strips.planning.planners import DEFAULT_PLANNER


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a finished run.")],
    test: Annotated[Path | None, typer.Option(help="Trace file or dataset; default: what was measured.")] = None,
    case: CaseOption = None,
    action: ActionOption = None,
    arg: ArgOption = None,
    ok: OkOption = None,
    time: TimeOption = None,
    worked: WorkedOption = None,
    refused: RefusedOption = None,
    domain: DomainOption = None,
    problem: ProblemsOption = None,
    problems: Annotated[
        int, typer.Option(help="How many planning problems to solve, of PDDL files each at most once; 0: none.")
    ] = 100,
    planner: PlannerOption = DEFAULT_PLANNER,
    max_states: StatesOption = 10**6,
    max_seconds: SecondsOption = 300,
    max_memory: MemoryOption = 4096,
    world: Annotated[bool, typer.Option("--world", help="World-model metrics of Vafa et al. as well.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """How well a learned model predicts traces, and plans.

    Each plan is tried out on the hidden domain: --domain, or the one that the traces name.
    """
    from trace2strips.commands.sources import find_world
    from trace2strips.judging.hidden import find_hidden_domain
    from trace2strips.judging.own_world import over_instance
    from trace2strips.judging.plan_outcomes import Judged, PlanningReport, evaluate_planning, need_unseen
    from trace2strips.judging.world_metrics import measure_learned
    from trace2strips.learners.learning import load
    from trace2strips.planning.plans import Limits, get_planner
    from trace2strips.traces import read_traces
    from trace2strips.worlds import World
    from trace2strips.worlds.pddl_files import given_problems

    limits = Limits(max_states, max_seconds, max_memory)
    get_planner(planner)
    if problems < 0:
        raise UserError(f"{problems} problems", hint="--problems 100, or 0 for none")
    given = None if domain is None and not problem else find_world(domain, problem)
    learned = load(run)
    if world:
        with_file(run, learned.need_world)
    encoding = learned.figures.encoding or "atoms"
    hidden, unknown = None, None
    try:
        hidden = given or World(str(learned.figures.domain), (find_hidden_domain(learned.figures),))
    except DomainError as error:
        if world:
            raise
        unknown = error
    if test is not None:
        columns = told_columns(case, action, ok, time, arg, worked, refused)
        dataset = read_traces(test, columns=columns, kept=learned.columns)
        learned = with_file(test, lambda: learned.tested_on(dataset))
    metrics = learned.figures.record()
    report = None
    if hidden is not None and learned.world is not None and problems:
        judged: list[Judged] = []
        needing: list[str] = []
        with progress_bar("planning", problems, quiet) as advance:
            for one in hidden.instances:
                own = given_problems(one) if encoding == "atoms" else []
                chosen = own[: problems - len(judged)] if own else one.problems(problems, encoding)
                found = over_instance(learned, one) if own else learned.world
                judged += evaluate_planning(found, one, encoding, chosen, planner, limits, advance).judged
                needing += need_unseen(found, one, chosen)
        report = PlanningReport(tuple(judged))
        metrics |= {**report.row(), "planner": planner, "problems_with_unseen_actions": len(needing)}
    if world and hidden is not None:
        metrics["world"] = measure_learned(learned, hidden.only, encoding).row()
    if as_json:
        print(json.dumps(metrics, indent=1))
        return
    show_figures(run, learned.figures)
    if report is not None and hidden is not None:
        title = f"{len(report.judged)} problems of {hidden.name}, planned by {planner}"
        plain_console().print(table_of_pairs(title, report.summary(), numbers=True))
    elif problems and not quiet:
        why = unknown if learned.world is not None else "a network alone is no model to plan with"
        print(f"no planning: {why}", file=sys.stderr)
    for name, value in metrics.get("world", {}).items():
        print(f"{name.replace('_', ' ')}: {'-' if value is None else value}")
