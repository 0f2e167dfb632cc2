"""How good a learned model is for planning: align each problem with it, plan, and judge the plan on the hidden model.

    P = ⟨F, A, I, G⟩ over the hidden model   →   P' = ⟨F', A', I', G'⟩ over the learned one

I' holds the atom of `init-p` for each p ∈ I (init-atoms), or what the learned `init-s` makes true (init-state); G' the
atom of `test-p` for each p ∈ G. Aligned atoms carry their true names, so for models over F itself this is the identity.
May import up to `planning`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from trace2strips.errors import ModelError
from trace2strips.model.strips import State, StripsModel, StripsProblem, state_of, walk
from trace2strips.model.world import WorldModel
from trace2strips.planning.planners import DEFAULT_PLANNER, Status
from trace2strips.planning.plans import Limits, Planning, PlanResult
from trace2strips.worlds import Domain


class Outcome(StrEnum):
    """What became of a problem, as in the paper's extended tables."""

    CORRECT = "correct"
    INAPPLICABLE = "inapplicable"  # the plan has an action that the hidden model refuses
    BAD_GOAL = "bad goal"  # the plan can be applied, but the goal does not hold at its end
    UNSOLVED = "unsolved"  # no plan: search space or limits exhausted, or the goal cannot be said


@dataclass(frozen=True)
class Judged:
    """One problem: what the planner said on P', and what the plan is worth on P."""

    problem: str
    outcome: Outcome
    result: PlanResult


@dataclass(frozen=True)
class PlanningReport:
    """A row of the paper's extended tables. Lengths, times and states are those of the correctly solved problems."""

    judged: tuple[Judged, ...]

    def count(self, outcome: Outcome) -> int:
        return sum(one.outcome == outcome for one in self.judged)

    @property
    def accuracy(self) -> float:
        """The share of problems with a plan that works on the hidden model."""
        return self.count(Outcome.CORRECT) / len(self.judged) if self.judged else 1.0

    def row(self) -> dict[str, Any]:
        solved = [one.result for one in self.judged if one.outcome == Outcome.CORRECT]
        lengths = [len(result.plan or ()) for result in solved]
        states = [result.states for result in solved if result.states is not None]
        failed = Counter(one.result.status.value for one in self.judged if one.outcome == Outcome.UNSOLVED)
        return {
            "problems": len(self.judged),
            "plan_accuracy": self.accuracy,
            **{f"plans_{outcome.value.replace(' ', '_')}": self.count(outcome) for outcome in Outcome},
            "plan_mean_length": mean(lengths),
            "plan_max_length": max(lengths, default=None),
            "plan_seconds": mean([result.seconds for result in solved]),
            "plan_states": mean(states),
            "unsolved_because": dict(sorted(failed.items())),
        }

    def summary(self) -> list[tuple[str, str]]:
        """The columns of the paper's extended tables, for people: name and value."""
        row = self.row()
        found = [(outcome.value, f"{self.count(outcome)}") for outcome in Outcome]
        for heading, name, form in (
            ("mean length", "plan_mean_length", "{:.1f}"),
            ("longest plan", "plan_max_length", "{}"),
            ("mean time", "plan_seconds", "{:.4f} s"),
            ("mean generated states", "plan_states", "{:,.0f}"),
        ):
            found.append((heading, "-" if row[name] is None else form.format(row[name])))
        return found


def mean(values: Sequence[int | float]) -> float | None:
    return sum(values) / len(values) if values else None


def align(problem: StripsProblem, world: WorldModel, start: str | None = None) -> StripsProblem:
    """P': the problem as the learned model can say it. `start` names the `init-s` of its initial state.

    What no setup action told of is unknown to the model: such atoms of I are left out, such atoms of G are an error.
    An atom that starts others (`at` of a package, where the model has a predicate `at-2` for it) stands for those of
    them that actions are about: a model without types has `at` of a package too, and nothing ever changes it.
    """
    named = frozenset(world.model.atoms) - frozenset(world.invented)
    used = frozenset[str]().union(*(a.pre | a.add | a.delete for a in world.model.actions))
    stands_for = {atom: state & used or state for atom, state in world.meaning.items() if state}
    for atom in sorted(problem.goal - named - stands_for.keys()):
        raise ModelError(
            f"the goal atom {atom!r} has no counterpart in the learned model",
            hint="only atoms whose final values were told in the training traces can be goals",
        )
    init = world.told(problem.init & (named | world.meaning.keys())) if start is None else world.start(start)
    goal = frozenset[str]().union(*(stands_for.get(atom, {atom}) for atom in problem.goal))
    return StripsProblem(world.model, init, goal, problem.name)


def start_names(domain: Domain, encoding: str) -> Mapping[State, str]:
    """The name of each initial state in the init-state encoding; empty for init-atoms."""
    if encoding == "atoms":
        return {}
    states = domain.state_set(int(encoding.removeprefix("states:")))
    return {state_of(domain.model, row): f"s{i}" for i, row in enumerate(states)}


def judge(problem: StripsProblem, result: PlanResult) -> Outcome:
    """Run the plan on the hidden model."""
    if result.status != Status.SOLVED or result.plan is None:
        return Outcome.UNSOLVED
    if not all(applicable for _, applicable in walk(problem.model, result.plan, problem.init)):
        return Outcome.INAPPLICABLE
    return Outcome.CORRECT if problem.solved_by(result.plan) else Outcome.BAD_GOAL


def evaluate_planning(
    world: WorldModel,
    domain: Domain,
    encoding: str = "atoms",
    problems: Sequence[StripsProblem] | None = None,
    planner: str = DEFAULT_PLANNER,
    limits: Limits | None = None,
    progress: Callable[[int], None] | None = None,
) -> PlanningReport:
    """Solve the domain's planning problems (100 by default) with the learned model."""
    problems = domain.problems(100, encoding) if problems is None else problems
    names = start_names(domain, encoding)
    judged = []
    with Planning(planner, limits=limits or Limits()) as planning:
        for problem in problems:
            try:
                result = planning.solve(align(problem, world, names.get(problem.init)))
            except ModelError as error:
                result = PlanResult(Status.UNSOLVABLE, None, None, 0.0, str(error))
            judged.append(Judged(problem.name, judge(problem, result), result))
            if progress:
                progress(1)
    return PlanningReport(tuple(judged))


def unseen_actions(world: WorldModel, domain: Domain) -> tuple[str, ...]:
    """Actions that can apply in the hidden model but never did in the training traces, so that nothing was learned."""
    known = world.model.action_index
    return tuple(name for name in domain.reachable_actions if name not in known)


def need_unseen(
    world: WorldModel, domain: Domain, problems: Sequence[StripsProblem], limits: Limits | None = None
) -> list[str]:
    """The problems that even the hidden model cannot solve without an action that training never saw."""
    known = world.model.action_index
    if not unseen_actions(world, domain):
        return []
    seen = StripsModel(domain.model.atoms, tuple(a for a in domain.model.actions if a.name in known), domain.model.name)
    with Planning(limits=limits or Limits()) as planning:
        results = [planning.solve(replace(problem, model=seen)) for problem in problems]
    return [p.name for p, result in zip(problems, results, strict=True) if result.status == Status.UNSOLVABLE]
