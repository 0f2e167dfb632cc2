"""Goals by atoms and by example; complements mean what they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import models

from trace2strips.errors import ModelError
from trace2strips.model.goals import Goal, applicability, goal_of, pose, split_names, state_after
from trace2strips.model.strips import StripsAction, StripsModel, final_state, walk
from trace2strips.worlds import get_domain

DOOR = StripsModel(
    ("open", "!odd", "locked"),
    (
        StripsAction("unlock", frozenset({"locked"}), frozenset(), frozenset({"locked"})),
        StripsAction("push", frozenset(), frozenset({"open"}), frozenset({"!odd"})),
    ),
)


def test_goals_by_atoms() -> None:
    assert goal_of(DOOR, ["open", "!locked"]) == Goal(frozenset({"open"}), frozenset({"locked"}))
    assert goal_of(DOOR, ["!odd"]) == Goal(frozenset({"!odd"}))  # an atom of that name exists
    assert goal_of(DOOR, ["!!odd"]) == Goal(false=frozenset({"!odd"}))
    with pytest.raises(ModelError, match=r"unknown atom 'opne' \(hint: did you mean 'open'"):
        goal_of(DOOR, ["opne"])
    with pytest.raises(ModelError, match="unknown atom 'lock'"):
        goal_of(DOOR, ["!lock"])
    with pytest.raises(ModelError, match="contradicts itself: 'open' is to be true and false"):
        goal_of(DOOR, ["open", "!open"])


def test_goals_by_example() -> None:
    model = get_domain("blocksworld:3").model
    init = model.state(["ontable_b1", "ontable_b2", "ontable_b3", "clear_b1", "clear_b2", "clear_b3", "handempty"])
    trace = ["pick-up_b1", "stack_b1_b2"]
    goal = state_after(model, init, trace)
    assert goal.true == final_state(model, trace, init)
    assert goal.true | goal.false == frozenset(model.atoms)
    assert state_after(model, init, []).true == init
    assert applicability(model, "stack_b1_b2") == Goal(frozenset({"holding_b1", "clear_b2"}))
    with pytest.raises(
        ModelError, match="action 2 of the example, 'pick-up_b2', cannot be applied: 'handempty' is false"
    ):
        state_after(model, init, ["pick-up_b1", "pick-up_b2"])
    with pytest.raises(ModelError, match="unknown action 'fly'"):
        applicability(model, "fly")


def test_complements_get_names_of_their_own() -> None:
    model = StripsModel(("p", "!p"), (StripsAction("a", add=frozenset({"p"}), delete=frozenset({"!p"})),))
    problem = pose(model, frozenset(), Goal(false=frozenset({"p", "!p"})))
    assert set(problem.model.atoms) == {"p", "!p", "!!p", "!!!p"}
    assert problem.goal == problem.init
    assert len(problem.goal) == 2


@given(st.data())
def test_a_posed_problem_means_its_goal(data: st.DataObject) -> None:
    """A plan solves the posed problem exactly when it can be applied and its final state has what the goal wants."""
    model = data.draw(models())
    atoms = st.sets(st.sampled_from(model.atoms)) if model.atoms else st.just(set())
    init, true, false = (frozenset(data.draw(atoms)) for _ in range(3))
    goal = Goal(true, false - true)
    names = [action.name for action in model.actions]
    plan = data.draw(st.lists(st.sampled_from(names), max_size=6)) if names else []
    applicable = all(fits for _, fits in walk(model, plan, init))
    expected = applicable and goal.holds(final_state(model, plan, init))
    assert pose(model, init, goal).solved_by(plan) == expected


@pytest.mark.parametrize(
    ("text", "known", "found"),
    [
        ("a, b;c  d", (), ["a", "b", "c", "d"]),
        ("on(a, b) !on(b, c), clear(a)", (), ["on(a, b)", "!on(b, c)", "clear(a)"]),
        ('["on", "a", "b"] (on b c)', (), ['["on", "a", "b"]', "(on b c)"]),
        ("order paid; order packed", ("order paid", "order packed"), ["order paid", "order packed"]),
        ("order paid order", ("order", "order paid"), ["order paid", "order"]),
        ("a b a", ("a", "b", "a b"), ["a", "b", "a"]),
        ("a (b", (), ["a", "(", "b"]),
        ("say, what; now", ("say, what; now",), ["say, what; now"]),
        ("x say, what; now y", ("say, what; now",), ["x", "say, what; now", "y"]),
        ("", (), []),
    ],
)
def test_names_in_a_text(text: str, known: tuple[str, ...], found: list[str]) -> None:
    assert split_names(text, known) == found
    assert split_names([text, text], known) == found * 2
