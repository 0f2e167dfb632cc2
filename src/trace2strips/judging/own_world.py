"""A world of the user's own, learned from traces that are sampled in it: how right is what was learned?

Each instance (a problem with its objects) is judged by itself: what was learned, over its objects, against the hidden
domain. Are they *equivalent*, or what is a shortest trace that tells them apart? And do plans for the given problems,
made with what was learned, work in the hidden world?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trace2strips.errors import ModelError, listing, printable
from trace2strips.judging.equivalence import DIFFERENT, EQUIVALENT, Comparison, compare
from trace2strips.judging.joint import Starts
from trace2strips.judging.plan_outcomes import Outcome, align, judge
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import with_final_values
from trace2strips.learners.learner import Learned, Learner
from trace2strips.model.strips import StripsModel, StripsProblem, membership
from trace2strips.model.world import WorldModel
from trace2strips.planning.planners import DEFAULT_PLANNER, Status
from trace2strips.planning.plans import Limits, Planning, PlanResult
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain, World
from trace2strips.worlds.pddl_files import given_problems
from trace2strips.worlds.sampling import SampleSettings, sample_world

TRAIN_LENGTH, TEST_LENGTH = 50, 200  # a trace has up to so many attempts
WALK = 50  # traces start up to so many random steps from the initial state of a problem
TRIES = 1_000  # of each action schema on average: enough to see what is rare
FEWEST, MOST = 100, 10_000  # traces
TEST_TRACES = 1_000
STARTS = 1_000  # from which the models are compared, besides the initial states of the problems
MAX_PAIRS = 1_000_000
GENERATED = 10  # problems of a benchmark domain, which has no files


def enough_traces(world: World) -> int:
    """So many that each action schema is tried a thousand times on average: a precondition shows only where all others
    of its action happen to hold, and with half a dozen of them that is one attempt in many."""
    schemas = len(world.instances[0].lifted.schemas)
    return min(MOST, max(FEWEST, -(-TRIES * schemas * 2 // TRAIN_LENGTH)))


def training_traces(world: World, traces: int, seed: int, all_attempts: bool, suffix: str = "goal") -> Dataset:
    """Half of the attempts refused, initial atoms told, and of the atoms that `suffix` names the final values. With
    `all_attempts` those at actions that never worked are among them; a learner without schemas cannot make anything of
    these."""
    tried = {name for one in world.instances for name in one.reachable_actions} if all_attempts else None
    return sample_world(world, SampleSettings(traces, TRAIN_LENGTH, "train", "atoms", suffix, seed), tried=tried)


def test_traces(world: World, train: Dataset, learner: Learner, seed: int, suffix: str) -> Dataset:
    """Longer ones, from starts held back, with all actions that something can be known of."""
    settings = SampleSettings(TEST_TRACES, TEST_LENGTH, "test", "atoms", suffix, seed)
    names = [name for one in world.instances for name in one.reachable_actions]
    return sample_world(world, settings, tried=learner.known_actions(train.vocabulary, names))


@dataclass(frozen=True)
class PlannedProblem:
    """A given problem: what its plan is worth in the hidden world. `possible`: whether the hidden world has a plan;
    None where nobody asked, as there is one that works, or found out."""

    name: str
    outcome: Outcome
    length: int | None
    possible: bool | None
    seconds: float
    message: str = ""

    @property
    def right(self) -> bool:
        """A plan that works, or none where there is none."""
        return self.outcome == Outcome.CORRECT or (self.outcome == Outcome.UNSOLVED and self.possible is False)

    def __str__(self) -> str:
        if self.outcome == Outcome.CORRECT:
            return f"{self.name}: {self.length} actions, works in the hidden world"
        if self.right:
            return f"{self.name}: no plan, and the hidden world has none either"
        meaning = {
            Outcome.INAPPLICABLE: "the plan has an action that the hidden world refuses",
            Outcome.BAD_GOAL: "the plan does not reach the goal in the hidden world",
            Outcome.UNSOLVED: f"no plan found{f' ({self.message})' if self.message else ''}",
        }
        return f"{self.name}: {meaning[self.outcome]}"


@dataclass(frozen=True)
class InstanceReport:
    """What was learned against one instance of the hidden world."""

    name: str
    actions: int
    comparison: Comparison
    plans: tuple[PlannedProblem, ...]

    def record(self) -> dict[str, Any]:
        plans = [{"problem": p.name, "outcome": p.outcome.value, "length": p.length, "right": p.right,
                  "seconds": p.seconds} for p in self.plans]  # fmt: skip
        return {"instance": self.name, "actions": self.actions, "verdict": self.comparison.verdict,
                "comparison": self.comparison.to_json(), "plans": plans}  # fmt: skip


@dataclass(frozen=True)
class WorldReport:
    """All instances, and actions that no training trace shows to work."""

    instances: tuple[InstanceReport, ...]
    never_worked: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Equivalent if all are, different if one is."""
        verdicts = [one.comparison.verdict for one in self.instances]
        return DIFFERENT if DIFFERENT in verdicts else next((v for v in verdicts if v != EQUIVALENT), EQUIVALENT)

    @property
    def summary(self) -> str:
        return f"{self.verdict}, proven" if self.verdict == EQUIVALENT else self.verdict

    @property
    def plans(self) -> tuple[PlannedProblem, ...]:
        return tuple(plan for one in self.instances for plan in one.plans)

    def record(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "plans": len(self.plans),
            "plans_right": sum(plan.right for plan in self.plans),
            "never_worked": list(self.never_worked),
            "instances": [one.record() for one in self.instances],
        }

    def lines(self) -> list[str]:
        """For people: the verdict, the first difference, the plans."""
        found = []
        if self.never_worked:
            found.append(f"never worked in training: {listing(self.never_worked)}; more traces may show it (--traces)")
        for one in self.instances:
            said = f"{one.name}, {one.actions:,} actions: {one.comparison.verdict}"
            if one.comparison.verdict == EQUIVALENT:
                found.append(f"{said}, proven ({' and '.join(one.comparison.how)}; {one.comparison.starts:,} starts)")
            else:
                found.append(f"{said} (A is what was learned, B the hidden domain)")
                found += [f"  {line}" for line in told_of(one.comparison)]
        right = sum(plan.right for plan in self.plans)
        found.append(f"plans: {right} of {len(self.plans)} right")
        found += [f"  {plan}" for plan in self.plans]
        return [printable(line) for line in found]


def told_of(comparison: Comparison) -> list[str]:
    """What the verdict rests on, without the list of atoms that correspond."""
    lines = comparison.explanation()
    end = next((i for i, line in enumerate(lines) if line.startswith("atoms proven equal")), len(lines))
    return lines[:end]


def judge_world(
    learned: Learned,
    world: World,
    planner: str = DEFAULT_PLANNER,
    limits: Limits | None = None,
    seed: int = 0,
    max_pairs: int = MAX_PAIRS,
    train: Dataset | None = None,
) -> WorldReport:
    """Compare and plan, instance after instance."""
    reports = []
    with Planning(planner, limits=limits or Limits(seconds=60)) as planning:
        for domain in world.instances:
            found = over_instance(learned, domain)
            comparison = compare_instance(learned, found, domain, seed, max_pairs)
            problems = given_problems(domain) or domain.problems(GENERATED)
            plans = tuple(plan_problem(problem, found, planning) for problem in problems)
            reports.append(InstanceReport(domain.name, len(domain.model.actions), comparison, plans))
    return WorldReport(tuple(reports), () if train is None else never_worked(world, train))


def over_instance(learned: Learned, domain: Domain) -> WorldModel:
    """What was learned, over the actions of one instance."""
    actions = domain.model.action_index
    found = learned.learner.world_over(learned, actions, domain.model.atoms)
    kept = tuple(action for action in found.model.actions if action.name in actions)
    return WorldModel(
        StripsModel(found.model.atoms, kept, found.model.name),
        found.vocabulary, found.states, found.always, found.meaning,
    )  # fmt: skip


def compare_instance(
    learned: Learned, world: WorldModel, domain: Domain, seed: int = 0, max_pairs: int = MAX_PAIRS,
    exhaust: bool = False,
) -> Comparison:  # fmt: skip
    """From the initial states of the problems and from others, drawn at random."""
    a = Source("learned", world.model, world, domain, learned)
    b = Source(domain.name, domain.model, domain=domain)
    rng = np.random.default_rng([seed, 5])
    given = membership(domain.model, [problem.init for problem in given_problems(domain)])
    rows = np.unique(np.concatenate([given, domain.draw_states(rng, STARTS)]), axis=0)
    atoms = domain.model.atoms
    starts = Starts(a.tell(rows, atoms), b.tell(rows, atoms), origin=f"initial states of {domain.name}")
    return compare(*with_final_values(a, b), starts, max_pairs, seed, exhaust=exhaust)


def plan_problem(problem: StripsProblem, world: WorldModel, planning: Planning) -> PlannedProblem:
    try:
        result = planning.solve(align(problem, world))
    except ModelError as error:
        result = PlanResult(Status.UNSOLVABLE, None, None, 0.0, str(error))
    outcome = judge(problem, result)
    possible = None
    if outcome != Outcome.CORRECT:
        hidden = planning.solve(problem)
        possible = {Status.SOLVED: True, Status.UNSOLVABLE: False}.get(hidden.status)
    length = None if result.plan is None else len(result.plan)
    return PlannedProblem(problem.name, outcome, length, possible, result.seconds, result.status.value)


def never_worked(world: World, train: Dataset) -> tuple[str, ...]:
    """Action schemas that can work in the hidden world and never did in these traces."""
    names = np.array(train.vocabulary.names, dtype=object)
    worked = set(names[np.unique(train.tokens[~train.inapplicable])])
    origin = {action: one.task.origin[action][0] for one in world.instances for action in one.model.action_index}
    seen = {schema for action, schema in origin.items() if action in worked}
    return tuple(sorted(set(origin.values()) - seen))
