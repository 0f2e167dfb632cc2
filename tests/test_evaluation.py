"""Alignment of problems, outcomes as in the paper's extended tables, on learned and on broken models."""

from dataclasses import replace

import pytest

from trace2strips.errors import ModelError
from trace2strips.judging.plan_outcomes import (
    Outcome,
    align,
    evaluate_planning,
    judge,
    need_unseen,
    start_names,
    unseen_actions,
)
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.model.strips import StripsModel, StripsProblem
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.planning.planners import Status
from trace2strips.planning.plans import PlanResult
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOMAIN = get_domain("blocksworld:3")


@pytest.fixture(scope="module")
def learned() -> Learned:
    return learn(sample(DOMAIN, SampleSettings(4000, 25)))


@pytest.fixture(scope="module")
def learned_from_states() -> Learned:
    return learn(sample(DOMAIN, SampleSettings(4000, 25, init="states:5")))


def with_action(world: WorldModel, name: str, **parts: frozenset[str]) -> WorldModel:
    """The same model with one action changed."""
    model = world.model
    actions = tuple(replace(a, **parts) if a.name == name else a for a in model.actions)
    return replace(world, model=StripsModel(model.atoms, actions, model.name))


def test_learned_models_plan(learned: Learned) -> None:
    report = evaluate_planning(learned.world, DOMAIN, problems=DOMAIN.problems(30))
    row = report.row()
    assert (report.accuracy, row["plans_correct"], row["problems"]) == (1.0, 30, 30)
    lengths = [len(one.result.plan or ()) for one in report.judged]
    assert row["plan_mean_length"] == sum(lengths) / 30
    assert row["plan_max_length"] == max(lengths) > 2
    assert row["plan_seconds"] > 0
    assert row["unsolved_because"] == {}


def test_initial_states_by_name(learned_from_states: Learned) -> None:
    world = learned_from_states.world
    assert evaluate_planning(world, DOMAIN, "states:5", DOMAIN.problems(30, "states:5")).accuracy == 1.0
    names = start_names(DOMAIN, "states:5")
    assert sorted(names.values()) == ["s0", "s1", "s2", "s3", "s4"]
    problem = DOMAIN.problems(1, "states:5")[0]
    assert align(problem, world, names[problem.init]).init == world.states[names[problem.init]]
    with pytest.raises(ModelError, match="unknown initial state 's9'"):
        align(problem, world, "s9")


def test_alignment_takes_what_setup_actions_told(learned: Learned) -> None:
    problem = DOMAIN.problems(1)[0]
    aligned = align(problem, learned.world)
    assert aligned.init == problem.init & set(learned.model.atoms)
    assert aligned.goal == problem.goal
    assert not aligned.init & set(learned.world.invented)
    with pytest.raises(ModelError, match="'holding_b1' has no counterpart"):
        align(replace(problem, goal=frozenset({"holding_b1"})), learned.world)


def test_alignment_is_the_identity_over_the_hidden_atoms() -> None:
    """Models read out by state probing are over F itself."""
    model = DOMAIN.model
    words = Vocabulary(tuple(a.name for a in model.actions), model.atoms, (), model.atoms, True)
    problem = DOMAIN.problems(1)[0]
    assert align(problem, WorldModel(model, words)) == problem


def test_an_invented_atom_is_never_taken_for_a_hidden_one(learned: Learned) -> None:
    """A hidden atom may have the name that an invented one has by chance."""
    invented = learned.world.invented[0]
    hidden = StripsModel((*DOMAIN.model.atoms, invented), DOMAIN.model.actions)
    problem = StripsProblem(hidden, DOMAIN.problems(1)[0].init | {invented}, frozenset())
    assert invented not in align(problem, learned.world).init


def test_outcomes_on_the_hidden_model() -> None:
    everything = ("ontable_b1", "ontable_b2", "ontable_b3", "clear_b1", "clear_b2", "clear_b3", "handempty")
    problem = StripsProblem(DOMAIN.model, DOMAIN.model.state(everything), frozenset({"on_b1_b2"}))

    def outcome(*plan: str) -> Outcome:
        return judge(problem, PlanResult(Status.SOLVED, plan, 1, 0.0))

    assert outcome("pick-up_b1", "stack_b1_b2") == Outcome.CORRECT
    assert outcome("pick-up_b1", "stack_b1_b3") == Outcome.BAD_GOAL
    assert outcome("stack_b1_b2") == Outcome.INAPPLICABLE
    assert judge(problem, PlanResult(Status.OUT_OF_STATES, None, 1, 0.0)) == Outcome.UNSOLVED


def test_broken_models_are_found_out(learned: Learned) -> None:
    problems = DOMAIN.problems(30)
    free = with_action(learned.world, "stack_b1_b2", pre=frozenset())
    assert evaluate_planning(free, DOMAIN, problems=problems).count(Outcome.INAPPLICABLE) > 0
    none = replace(learned.world, model=StripsModel(learned.model.atoms, (), "learned"))
    report = evaluate_planning(none, DOMAIN, problems=problems)
    trivial = sum(problem.goal <= problem.init for problem in problems)
    assert report.row()["unsolved_because"] == {"unsolvable": 30 - trivial}
    assert report.row()["plan_mean_length"] in (None, 0)


def test_problems_that_need_an_unseen_action(learned: Learned) -> None:
    problems = [p for p in DOMAIN.problems(40) if not p.goal <= p.init]
    assert need_unseen(learned.world, DOMAIN, problems) == []
    model = learned.model
    fewer = tuple(a for a in model.actions if not a.name.startswith("stack_b1_"))
    world = replace(learned.world, model=StripsModel(model.atoms, fewer, model.name))
    assert unseen_actions(world, DOMAIN) == ("stack_b1_b2", "stack_b1_b3")
    expected = [
        p.name for p in problems if {"on_b1_b2", "on_b1_b3"} & p.goal and not {"on_b1_b2", "on_b1_b3"} & p.init & p.goal
    ]
    found = need_unseen(world, DOMAIN, problems)
    assert set(expected) <= set(found)
    assert 0 < len(found) < len(problems)
