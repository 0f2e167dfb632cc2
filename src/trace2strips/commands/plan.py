"""`trace2strips plan`: a plan with a learned, written or benchmark model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace2strips.commands.terminal import (
    DomainOption,
    ForceOption,
    JsonOption,
    MemoryOption,
    PlannerOption,
    ProblemsOption,
    SecondsOption,
    StatesOption,
)
from trace2strips.errors import UserError, printable, shorten
from trace2strips.files import check_writable, writing_text

if TYPE_CHECKING:
    from trace2strips.judging.sources import Source
    from trace2strips.model.strips import StripsProblem
    from trace2strips.planning.plans import Limits

SUGGESTIONS = 3


def plan(
    model: Annotated[
        str | None, typer.Argument(metavar="MODEL", help="Run folder, domain name or PDDL file; default: --domain.")
    ] = None,
    init: Annotated[
        list[str] | None, typer.Option(metavar="ATOMS", help="Start here: true atoms, or a learned initial state.")
    ] = None,
    goal: Annotated[
        list[str] | None, typer.Option(metavar="ATOMS", help="Atoms to make true; !atom to make it false.")
    ] = None,
    after: Annotated[str | None, typer.Option(help="Goal by example: the state after these actions.")] = None,
    enable: Annotated[str | None, typer.Option(help="Goal by example: make this action applicable.")] = None,
    domain: DomainOption = None,
    problem: ProblemsOption = None,
    planner: PlannerOption = "mimir",
    optimal: Annotated[bool, typer.Option("--optimal", help="A shortest plan.")] = False,
    certain: Annotated[
        bool, typer.Option("--certain", help="Only steps that work in every model that fits the log.")
    ] = False,
    max_states: StatesOption = 10**6,
    max_seconds: SecondsOption = 300,
    max_memory: MemoryOption = 4096,
    out: Annotated[Path | None, typer.Option(help="Write the plan here, one (action) a line.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Plan with a learned, written or benchmark model.

    Of a run of learner windows it says which steps are certain: they work in every model that fits the
    log. With --domain and --problem in PDDL it plans these problems, and says whether the plans work in that
    domain. Exit code 0: here is a plan; 1: there is none, or the limits were reached.
    """
    from trace2strips.commands.sources import find_world, open_source
    from trace2strips.planning.plans import Limits, Status, get_planner, solve

    limits = Limits(max_states, max_seconds, max_memory)
    get_planner(planner)
    if out is not None:
        check_writable(out, force)
    if domain is not None and (problem or domain.endswith(".pddl")):
        if certain or any(option is not None for option in (init, goal, after, enable)):
            raise UserError("the problems say init and goal already",
                            hint="leave out --init, --goal, --after, --enable and --certain")  # fmt: skip
        raise typer.Exit(plan_given(model, domain, problem, planner, optimal, limits, out, force, as_json))
    if model is None and domain is None:
        raise UserError("which model shall plan?", hint="a run folder, a domain name, or --domain with --problem")
    if problem is not None and len(problem) > 1:
        raise UserError("several problems are given", hint="one --problem, or those of a --domain in PDDL")
    only = problem[0] if problem else None
    source = open_source(model or str(domain), only)
    if model is not None and domain is not None:
        source = replace(source, domain=find_world(domain, None).only)
    source, tasks = pose_tasks(source, init, goal, after, enable, only, certain, optimal)
    for task in tasks:
        result = solve(task, planner, optimal, limits)
        if source.learned is not None and source.world is not None and only is None:
            result = source.learned.explained(result, source.world, init, certain)
        if result.will_do:
            break
    assumptions = source.learned.figures.assumptions if source.learned is not None else ()
    if as_json:
        known = {"certain": result.certain, "assumptions": assumptions} if result.steps else {}
        told = {**asdict(result), "status": result.status.value, "planner": planner, **known}
        left_out = () if result.steps else ("steps", "certain_only")
        print(json.dumps({name: value for name, value in told.items() if name not in left_out}, indent=1))
    elif result.plan is None:
        print(result)
        if certain and result.status is Status.UNSOLVABLE:
            say_what_to_try(source, init)
    else:
        for line in result.lines():
            print(line)
        count = f", {sum(result.certain)} of them certain" if result.steps else ""
        states = "" if result.states is None else f", {result.states:,} states"
        print(f"{len(result.plan)} actions{count}{states}, {result.seconds:.3f} s", file=sys.stderr)
        if any(result.certain):
            print(f"certain if {'; '.join(assumptions)} (--json proves each step)", file=sys.stderr)
    write_plan(result.plan, out, force)
    raise typer.Exit(0 if result.plan is not None else 1)


def write_plan(plan: tuple[str, ...] | None, out: Path | None, force: bool) -> None:
    from trace2strips.pddl import encode_name

    if out is not None and plan is not None:
        with writing_text(out, force=force) as stream:
            stream.writelines(f"({encode_name(name)})\n" for name in plan)


def plan_given(
    model: str | None, domain: str, problems: list[Path] | None, planner: str, optimal: bool, limits: Limits,
    out: Path | None, force: bool, as_json: bool,
) -> int:  # fmt: skip
    """Plan the problems of a PDDL domain, with a learned model or with the domain itself."""
    from trace2strips.commands.sources import find_world, open_source, tell_remarks
    from trace2strips.judging.own_world import over_instance
    from trace2strips.judging.plan_outcomes import align, judge
    from trace2strips.planning.plans import solve
    from trace2strips.worlds.pddl_files import given_problems

    world = find_world(domain, problems)
    tell_remarks(world, as_json)
    learned = None if model is None else open_source(model).learned
    if model is not None and learned is None:
        raise UserError(f"{shorten(model)!r} was not learned", hint="a run folder, or --domain and --problem alone")
    tasks = [
        (task, task if learned is None else align(task, over_instance(learned, one)))
        for one in world.instances
        for task in given_problems(one)
    ]
    if out is not None and len(tasks) > 1:
        raise UserError(f"{len(tasks)} plans and one file", hint="one --problem with --out")
    told = []
    for task, posed in tasks:
        result = solve(posed, planner, optimal, limits)
        told.append({"problem": task.name, **asdict(result), "status": result.status.value, "planner": planner,
                     "outcome": judge(task, result).value})  # fmt: skip
        for name in ("steps", "certain_only"):
            told[-1].pop(name)
        if not as_json:
            if len(tasks) > 1:
                print(f"; {printable(task.name)}")
            for line in [str(result)] if result.plan is None else result.lines():
                print(line)
            if result.plan is not None:
                print(f"{len(result.plan)} actions, {result.seconds:.3f} s, in {world.name}: {judge(task, result)}",
                      file=sys.stderr)  # fmt: skip
        write_plan(result.plan, out, force)
    if as_json:
        print(json.dumps(told[0] if len(told) == 1 else told, indent=1))
    return 0 if all(one["plan"] is not None for one in told) else 1


def pose_tasks(
    source: Source, init: list[str] | None, goal: list[str] | None, after: str | None, enable: str | None,
    problem: Path | None, certain: bool, optimal: bool,
) -> tuple[Source, Iterable[StripsProblem]]:  # fmt: skip
    """The source over the objects of the problem that the options of `plan` describe, and what to solve, one after the
    other until a plan will do; all goals that are given must hold."""
    from trace2strips.judging.problems import read_source_problem
    from trace2strips.model.goals import applicability, goal_of, initial_state, pose, split_names, state_after

    asked = goal is not None or after is not None or enable is not None
    if problem is not None:
        if asked or init is not None:
            raise UserError("--problem says init and goal already", hint="leave out --init, --goal, --after, --enable")
        if certain:
            raise UserError("--certain needs a start in the words of the log", hint="--init and --goal, no --problem")
        return source, [read_source_problem(source, problem)]
    if not asked:
        raise UserError("there is no goal", hint="--goal ATOM …, --after 'ACTION …', --enable ACTION or --problem FILE")
    source = source.about(goal or (), init)
    start = initial_state(source.world or source.model, init)
    wanted = goal_of(source.model, goal or [])
    if after is not None:
        wanted &= state_after(source.model, start, split_names(after, source.model.action_index))
    if source.learned is not None and source.world is not None:
        return source, source.learned.tasks(source.world, init, start, wanted, certain, enable, optimal)
    if certain:
        raise UserError("nothing is known of the log of this model", hint="--certain wants a run of learner windows")
    if enable is not None:
        wanted &= applicability(source.model, enable)
    return source, [pose(source.model, start, wanted)]


def say_what_to_try(source: Source, init: list[str] | None) -> None:
    """Open attempts at the start whose answers decide most."""
    assert source.learned is not None
    assert source.world is not None
    found = source.learned.suggest(source.learned.learner.first_trace(source.learned, source.world, init), SUGGESTIONS)
    if found:
        print("what could be tried there:")
    for one in found:
        print(f"  {printable(str(one))}")
