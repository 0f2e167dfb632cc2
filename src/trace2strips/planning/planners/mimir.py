"""Mimir, through pymimir: the paper's planner.

Lifted mode, although nothing is lifted: Mimir's grounded mode gives another plan from run to run.
"""

from __future__ import annotations

from collections.abc import Sequence

import pymimir.advanced.formalism as formalism
import pymimir.advanced.search as search

from trace2strips.planning.planners import Action, Answer, Atoms, Status

LARGEST = 2**32 - 1  # Mimir's limits are 32-bit numbers; its own default is this one

STATUS = {
    "SOLVED": Status.SOLVED,
    "UNSOLVABLE": Status.UNSOLVABLE,  # the heuristic calls I a dead end
    "EXHAUSTED": Status.UNSOLVABLE,  # nothing is pruned but dead ends of a safe heuristic, so this is a proof too
    "OUT_OF_STATES": Status.OUT_OF_STATES,
    "OUT_OF_TIME": Status.OUT_OF_TIME,
}


class Search:
    def __init__(self, atoms: int, actions: Sequence[Action], optimal: bool) -> None:
        self.parser = formalism.Parser(format_domain(atoms, actions), "", formalism.ParserOptions())
        self.optimal = optimal

    def solve(self, init: Atoms, goal: Atoms, states: int | None, seconds: float | None) -> Answer:
        problem = self.parser.parse_problem(format_problem(init, goal), "", formalism.ParserOptions())
        # a fresh context for each search: the limit counts all states that a context has ever seen
        context = search.SearchContext.create(
            problem, search.SearchContextOptions(search.LiftedOptions(search.LiftedKPKCOptions()))
        )
        grounder = search.LiftedGrounder(problem)
        options = search.AStarEagerOptions() if self.optimal else search.GBFSEagerOptions()
        options.max_num_states = LARGEST if states is None else min(states, LARGEST)
        options.max_time_in_ms = LARGEST if seconds is None else min(int(seconds * 1000), LARGEST)
        if self.optimal:  # hmax, as h2 sees further but took ten times as long on 8 blocks
            options.event_handler = handler = search.DefaultAStarEagerEventHandler(problem, True)
            result = search.find_solution_astar_eager(context, search.MaxHeuristic.create(grounder), options)
        else:
            options.event_handler = handler = search.DefaultGBFSEagerEventHandler(problem, True)
            result = search.find_solution_gbfs_eager(context, search.FFHeuristic.create(grounder), options)
        status = STATUS.get(result.status.name, Status.CRASHED)
        plan = None
        if status is Status.SOLVED:
            plan = tuple(int(step.get_action().get_name().removeprefix("a")) for step in result.plan.get_actions())
        message = f"Mimir says {result.status.name}" if status is Status.CRASHED else ""
        return Answer(status, plan, handler.get_statistics().get_num_generated(), message)


def format_domain(atoms: int, actions: Sequence[Action]) -> str:
    """The model as PDDL. Every list is written out: a missing `:precondition` ends the whole process."""
    lines = ["(define (domain d)", "(:requirements :strips)", f"(:predicates {conjuncts(range(atoms))})"]
    for number, (pre, add, delete) in enumerate(actions):
        deleted = " ".join(f"(not (p{atom}))" for atom in delete)
        lines.append(
            f"(:action a{number} :parameters () :precondition (and {conjuncts(pre)})"
            f" :effect (and {conjuncts(add)} {deleted}))"
        )
    return "\n".join(lines) + ")\n"


def format_problem(init: Atoms, goal: Atoms) -> str:
    return f"(define (problem q) (:domain d) (:init {conjuncts(init)}) (:goal (and {conjuncts(goal)})))\n"


def conjuncts(atoms: Atoms) -> str:
    return " ".join(f"(p{atom})" for atom in atoms)
