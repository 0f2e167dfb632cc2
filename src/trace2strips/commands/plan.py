"""`trace2strips plan`: a plan with a learned, written or benchmark model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
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
from trace2strips.errors import UserError, printable, shorten, with_file
from trace2strips.files import check_writable, writing_text
from trace2strips.planning.planners import DEFAULT_PLANNER

if TYPE_CHECKING:
    from trace2strips.judging.sources import Source
    from trace2strips.model.goals import Goal
    from trace2strips.model.strips import State, StripsProblem
    from trace2strips.planning.plans import Limits
    from trace2strips.traces.trace import Trace

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
    after: Annotated[
        list[str] | None,
        typer.Option(metavar="TRACE", help="Goal by example: the state after a trace: actions, or FILE:LINE."),
    ] = None,
    enable: Annotated[
        list[str] | None, typer.Option(metavar="ACTION", help="Make this action possible; may be repeated.")
    ] = None,
    domain: DomainOption = None,
    problem: ProblemsOption = None,
    planner: PlannerOption = DEFAULT_PLANNER,
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

    All goals that are given hold at the end of the plan; names have spaces, commas or ';' between them.
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
    asked = pose_question(source, init, goal, after, enable, only, certain)
    source = asked.source
    for task in asked.tasks(certain, optimal):
        result = solve(task, planner, optimal, limits)
        if source.learned is not None:
            result = source.learned.explained(result, asked.first, certain)
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
            say_what_to_try(asked)
    else:
        for line in result.lines():
            print(line)
        count = f", {sum(result.certain)} of them certain" if result.steps else ""
        states = "" if result.states is None else f", {result.states:,} states"
        print(f"{len(result.plan)} actions{count}{states}, {result.seconds:.3f} s", file=sys.stderr)
        if any(result.certain):
            print(printable(f"certain if {'; '.join(assumptions)} (--json proves each step)"), file=sys.stderr)
            if only is not None and asked.first is not None and asked.first.init is None:
                start = "where traces do that tell nothing" if asked.first.state is None else repr(asked.first.state)
                print(f"and if the problem begins {printable(start)}", file=sys.stderr)
            if not asked.enable or asked.goal.true or asked.goal.false:
                print("that the goal holds then is what the small model says", file=sys.stderr)
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


@dataclass(frozen=True)
class Question:
    """What the options of `plan` ask for, of a source over the objects of the problem. `first`: a trace without actions
    that begins where the plan does, if that is known in the words of the log."""

    source: Source
    start: State
    goal: Goal
    enable: tuple[str, ...] = ()
    first: Trace | None = None

    def tasks(self, certain: bool, optimal: bool) -> Iterator[StripsProblem]:
        """What to solve, one after the other until a plan will do."""
        from trace2strips.learners.learner import with_enabled
        from trace2strips.model.goals import pose

        model = self.source.model
        if self.source.learned is not None:
            return self.source.learned.tasks(model, self.start, self.goal, self.first, certain, self.enable, optimal)
        return iter([pose(model, self.start, with_enabled(self.goal, model, self.enable))])


def pose_question(
    source: Source, init: list[str] | None, goal: list[str] | None, after: list[str] | None,
    enable: list[str] | None, problem: Path | None, certain: bool,
) -> Question:  # fmt: skip
    """From the options; all goals that are given must hold."""
    from trace2strips.judging.problems import read_source_problem
    from trace2strips.model.goals import Goal, goal_of, initial_state, split_names
    from trace2strips.traces.examples import goal_after, read_example

    learned = source.learned
    if certain and learned is None:
        raise UserError("nothing is known of the log of this model", hint="--certain wants a run of learner windows")
    if problem is not None:
        if any(given is not None for given in (init, goal, after, enable)):
            raise UserError("--problem says init and goal already", hint="leave out --init, --goal, --after, --enable")
        task = read_source_problem(source, problem)
        first = None
        if certain and learned is not None:
            first = with_file(problem, partial(learned.learner.first_of_problem, learned, task))
        return Question(replace(source, model=task.model), task.init, Goal(task.goal), first=first)
    if goal is None and after is None and enable is None:
        raise UserError("there is no goal", hint="--goal ATOM …, --after 'ACTION …', --enable ACTION or --problem FILE")
    source = source.about(goal or (), init, enable or ())
    start = initial_state(source.world or source.model, init)
    wanted, actions = goal_of(source.model, goal or []), source.model.action_index
    for text in after or ():
        wanted &= goal_after(source.world or source.model, start, read_example(text, actions))
    first = None
    if learned is not None and source.world is not None and (certain or learned.summary is not None):
        first = learned.learner.first_trace(learned, source.world, init)  # who does not know says so
    return Question(source, start, wanted, tuple(split_names(enable or (), actions)), first)


def say_what_to_try(asked: Question) -> None:
    """Open attempts at the start whose answers decide most."""
    assert asked.source.learned is not None
    assert asked.first is not None
    found = asked.source.learned.suggest(asked.first, SUGGESTIONS)
    if found:
        print("what could be tried there:")
    for one in found:
        print(f"  {printable(str(one))}")
