"""Reading, grounding and writing PDDL: values, round trips, and one clear line for each thing that can be wrong."""

import contextlib
import itertools
from pathlib import Path

import pymimir.advanced.formalism as formalism
import pymimir.advanced.search as search
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import ANY_NAME, models

from trace2strips.errors import PddlError
from trace2strips.model.lifted import LiftedDomain, Literal, Schema
from trace2strips.model.strips import StripsAction, StripsModel, StripsProblem
from trace2strips.pddl import (
    decode_name,
    encode_name,
    format_domain,
    format_model,
    format_model_problem,
    format_problem,
    ground,
    parse_domain,
    parse_model,
    parse_model_problem,
    parse_problem,
    read_domain,
)
from trace2strips.pddl.grounding import instantiate, instantiate_slowly
from trace2strips.pddl.names import PLAIN_NAME, RESERVED, unambiguous_names
from trace2strips.worlds import BENCHMARKS, get_domain

DOMAIN = """
; a small domain with everything that is supported
(define (domain Robot)
  (:requirements :strips :typing :equality :negative-preconditions)
  (:types box robot - thing thing room)
  (:constants hall - room)
  (:predicates (in ?t - thing ?r - room) (door ?a ?b - room) (locked ?r - room) (free))
  (:action move
    :parameters (?x - robot ?a ?b - room)
    :precondition (and (in ?x ?a) (door ?a ?b) (not (locked ?b)) (not (= ?a ?b)))
    :effect (and (in ?x ?b) (not (in ?x ?a))))
  (:action go-home
    :parameters (?x - robot ?a - room)
    :precondition (and (in ?x ?a) (and (free) (not (= ?a hall))))
    :effect (and (in ?x hall) (not (in ?x ?a)) (not (free)))))
"""
PROBLEM = """
(define (problem p1) (:domain robot)
  (:objects r1 - robot b1 - box kitchen cellar - room)
  (:init (in r1 kitchen) (in b1 cellar) (free) (door kitchen hall) (door hall kitchen) (door kitchen cellar)
         (door hall hall) (locked cellar))
  (:goal (and (in r1 hall) (door kitchen hall))))
"""


def test_ground_model_by_hand() -> None:
    """Types, constants, =, negative statics, reachability: the cellar is locked, so nobody ever goes there."""
    domain = parse_domain(DOMAIN)
    task = ground(domain, parse_problem(PROBLEM, domain))
    assert task.model.atoms == ("free", "in_b1_cellar", "in_r1_hall", "in_r1_kitchen")
    assert task.model.actions == (
        StripsAction(
            "go-home_r1_kitchen",
            frozenset({"in_r1_kitchen", "free"}),
            frozenset({"in_r1_hall"}),
            frozenset({"in_r1_kitchen", "free"}),
        ),
        StripsAction(
            "move_r1_hall_kitchen", frozenset({"in_r1_hall"}), frozenset({"in_r1_kitchen"}), frozenset({"in_r1_hall"})
        ),
        StripsAction(
            "move_r1_kitchen_hall",
            frozenset({"in_r1_kitchen"}),
            frozenset({"in_r1_hall"}),
            frozenset({"in_r1_kitchen"}),
        ),
    )
    assert task.problem.init == {"in_r1_kitchen", "in_b1_cellar", "free"}
    assert task.problem.goal == {"in_r1_hall"}
    assert task.origin["move_r1_hall_kitchen"] == ("move", "r1", "hall", "kitchen")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_grounding_finds_the_actions_that_mimir_finds(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """An independent grounder; that the lists are right too is shown by simulation in test_sampling.py."""
    domain = get_domain(name)
    parser = formalism.Parser(format_domain(domain.lifted), "", formalism.ParserOptions())
    problem = parser.parse_problem(format_problem(domain.example), "", formalism.ParserOptions())
    theirs = {
        "_".join([action.get_action().get_name(), *(o.get_name() for o in action.get_objects())])
        for action in search.LiftedGrounder(problem).create_ground_actions()
    }
    capfd.readouterr()  # mimir prints every atom
    assert theirs == domain.model.action_index.keys()


@pytest.mark.parametrize("name", [*BENCHMARKS, "blocksworld:3", "ferry:2x3", "maze:3x5"])
def test_lifted_round_trip(name: str) -> None:
    domain = get_domain(name)
    assert parse_domain(format_domain(domain.lifted)) == domain.lifted
    problem = domain.lifted_problem(domain.problems(1)[0])
    assert parse_problem(format_problem(problem), domain.lifted) == problem
    again = ground(domain.lifted, domain.example, domain.family.varying)
    assert again == domain.task


@pytest.mark.parametrize(
    "text", [DOMAIN, "(define (domain d) (:predicates (p ?x)) (:action a :parameters (?x) :effect (p ?x)))"]
)
def test_lifted_round_trip_of_other_domains(text: str) -> None:
    domain = parse_domain(text)
    assert parse_domain(format_domain(domain)) == domain


@pytest.mark.parametrize("name", BENCHMARKS)
def test_propositional_round_trip(name: str) -> None:
    problem = get_domain(name).problems(1)[0]
    assert parse_model(format_model(problem.model)) == problem.model
    assert parse_model_problem(format_model_problem(problem), problem.model) == problem


@settings(max_examples=300)
@given(models(names=ANY_NAME), st.data())
def test_propositional_round_trip_of_any_model(model: StripsModel, data: st.DataObject) -> None:
    subset = st.frozensets(st.sampled_from(model.atoms)) if model.atoms else st.just(frozenset())
    assert parse_model(format_model(model)) == model
    problem = StripsProblem(model, data.draw(subset), data.draw(subset), data.draw(ANY_NAME))
    assert parse_model_problem(format_model_problem(problem), model) == problem


@settings(max_examples=1000)
@given(ANY_NAME)
def test_names_map_reversibly_to_plain_ones(name: str) -> None:
    encoded = encode_name(name)
    assert PLAIN_NAME.match(encoded)
    assert encoded not in RESERVED
    assert decode_name(encoded) == name


def test_readable_names_stay() -> None:
    assert encode_name("pick-up_b1") == "pick-up_b1"
    assert encode_name("Pick Up") == "x---cpick-s-cup"
    assert decode_name("x--broken-h") == "x--broken-h"


def test_different_words_never_share_a_name() -> None:
    groups = [("a_b", "c"), ("a", "b_c"), ("a", "b", "c")]
    names = unambiguous_names(groups)
    assert len(set(names.values())) == 3
    assert unambiguous_names([("on", "a", "b")]) == {("on", "a", "b"): "on_a_b"}
    assert len(set(unambiguous_names([("on", "a_", "b"), ("on", "a", "_b")]).values())) == 2


@given(st.lists(st.lists(st.text("a_-", min_size=1, max_size=3), min_size=1, max_size=3).map(tuple), unique=True))
def test_any_words_get_names_of_their_own(groups: list[tuple[str, ...]]) -> None:
    names = unambiguous_names(groups)
    assert list(names) == groups
    assert len(set(names.values())) == len(groups)


def test_mimir_takes_what_is_written(capfd: pytest.CaptureFixture[str]) -> None:
    model = StripsModel(
        ("Loves Paris", "and", "q"),
        (StripsAction("Go!", add=frozenset({"and"})), StripsAction("idle", frozenset({"and"}))),
    )
    parser = formalism.Parser(format_model(model), "", formalism.ParserOptions())
    problem = StripsProblem(model, frozenset({"Loves Paris"}), frozenset({"and"}))
    parsed = parser.parse_problem(format_model_problem(problem), "", formalism.ParserOptions())
    context = search.SearchContext.create(
        parsed, search.SearchContextOptions(search.LiftedOptions(search.LiftedKPKCOptions()))
    )
    heuristic = search.FFHeuristic.create(search.LiftedGrounder(parsed))
    result = search.find_solution_gbfs_eager(context, heuristic, search.GBFSEagerOptions())
    capfd.readouterr()
    plan = [decode_name(action.get_action().get_name()) for action in result.plan.get_actions()]
    assert plan == ["Go!"]
    assert problem.solved_by(plan)


BROKEN_DOMAINS = {
    "": "not a PDDL file: it is empty",
    "hello world": "1:1: not a PDDL file: it starts with 'hello'",
    "(hello)": "1:1: not a PDDL file",
    "(define (domain d) (:predicates (p))": "1:1: '(' is never closed (hint: unbalanced parenthesis)",
    "(define (domain d)))": "1:20: text after the end of the definition",
    ")": "1:1: ')' without '(' (hint: unbalanced parenthesis)",
    "(define (problem d))": "1:9: this file defines a problem, not a domain",
    "(define (domain d) (:types a - b b - a))": "is its own supertype",
    "(define (domain d) (:types a) (:predicates (p ?x - c)))": "1:52: unknown type 'c'",
    "(define (domain d) (:predicates (p))\n(:action a :precondition (q)))": "2:26: unknown predicate 'q'",
    "(define (domain d) (:predicates (p ?x))\n (:action a :parameters (?x) :effect (p ?x ?x)))": "2:38: 'p' takes 1 arguments, not 2",
    "(define (domain d) (:predicates (p ?x)) (:action a :effect (p ?y)))": "unknown variable '?y'",
    "(define (domain d) (:types a b) (:predicates (p ?x - a)) (:action c :parameters (?y - b) :effect (p ?y)))": "'?y' is a b, but 'p' wants a a here",
    "(define (domain d) (:requirements :strps))": "unknown requirement :strps (hint: did you mean ':strips'?)",
    "(define (domain d) (:derived (p)))": "unsupported feature: derived predicates",
    "(define (domain d) (:durative-action a))": "unsupported feature: durative actions",
    "(define (domain d) (:predicates (p)) (:action a :effect (when (p) (p))))": "unsupported feature: conditional effects (when)",
    "(define (domain d) (:predicates (p)) (:action a :precondition (or (p) (p))))": "unsupported feature: disjunctions (or)",
    "(define (domain d) (:predicates (p)) (:action a :precondition (forall (?x) (p))))": "unsupported feature: quantifiers (forall)",
    "(define (domain d) (:types a) (:predicates (p ?x - (either a b))))": "1:62: unknown type 'b'",
    "(define (domain d) (:types a) (:predicates (p ?x - (either))))": "expected an atom such as (on ?x ?y)",
    "(define (domain d) (:types a - (either b c) c - a) (:predicates (p)))": "type 'a' is its own supertype",
    "(define (domain d) (:predicates (p)) (:action a :precondition (imply (p) (p))))": "1:63: unsupported feature: implications (imply)",
    "(define (domain d) (:predicates (p)) (:action a :precondition (exists (?x) (p))))": "unsupported feature: quantifiers (exists)",
    "(define (domain d) (:predicates (p)) (:action a :effect (forall (?x) (p))))": "unsupported feature: quantifiers (forall)",
    "(define (domain d) (:functions (f)) (:predicates (p)) (:action a :precondition (>= (f) 3)))": "1:80: unsupported feature: numeric conditions (>=)",
    "(define (domain d) (:functions (f)) (:predicates (p)) (:action a :precondition (= (f) 3)))": "unsupported feature: numeric conditions (=)",
    "(define (domain d) (:functions (f)) (:predicates (p)) (:action a :precondition (increase (f) 3)))": "unsupported feature: numeric effects (increase)",
    "(define (domain d) (:predicates (p)) (:action a :effect (oneof (p) (p))))": "unsupported feature: non-deterministic effects (oneof)",
    "(define (domain d) (:predicates (p)) (:action a) (:action a))": "action 'a' is declared twice",
    "(define (domain d) (:predicates (p) (p)))": "predicate 'p' is declared twice",
    "(define (domain d) (:action a :parameters ?x))": "expected a list, found '?x'",
    "(define (domain d) (:action a :effect))": ":effect of action 'a' is empty",
    "(define (domain d) (:colour red))": "unknown section :colour",
    "(define (domain d) p)": "expected a section",
    "(define)": "expected (define (domain NAME) …)",
    "(define (domain d) (:types a) (:predicates (p))\n(:types b))": "2:1: a second section :types (hint: the first stands on line 1",
    "(define (domain d) (:requirements :strips) (:requirements :typing))": "a second section :requirements",
    "(define (domain d) (:constants a) (:constants b))": "a second section :constants",
    "(define (domain d) (:predicates (p)) (:predicates (q)))": "a second section :predicates",
    "(define (domain d) (:types b - a) (:constants x - a) (:predicates (p ?x - b)) (:action c :effect (p x)))": "'x' is a a, but 'p' wants a b here",
    "(define (domain d) (:predicates (= ?x ?y)))": "'=' is no PDDL name",
    "(define (domain d) (:predicates (?p)))": "'?p' is no PDDL name",
    "(define (domain d) (:constants :a))": "':a' is no PDDL name",
    "(define (domain d) (:types a#b))": "'a#b' is no PDDL name",
    "(define (domain d) (:action (a)))": "expected a name, found a list",
    "(define (domain d) (:predicates (p) (q)) (:action a :precondition (not (and (p) (q)))))": "unsupported feature: a negated conjunction (not (and …))",
    "(define (domain d) (:predicates (p)) (:action a :precondition (not (not (p)))))": "unsupported feature: a double negation",
}


@pytest.mark.parametrize("text", BROKEN_DOMAINS)
def test_broken_domains_say_what_and_where(text: str) -> None:
    with pytest.raises(PddlError) as caught:
        parse_domain(text, "d.pddl")
    message = str(caught.value)
    assert message.startswith("d.pddl:")
    assert BROKEN_DOMAINS[text] in message
    assert "\n" not in message


BROKEN_PROBLEMS = {
    "(define (problem p) (:objects a - robot a - box))": "object 'a' is declared twice",
    "(define (problem p) (:objects hall - robot))": "object 'hall' is declared twice",
    "(define (problem p) (:objects a - rabbit))": "unknown type 'rabbit'",
    "(define (problem p) (:init (in a hall)))": "unknown object 'a'",
    "(define (problem p) (:goal (free) (free)))": "(:goal …) needs exactly one condition",
    "(define (problem p) (:init (= hall hall)))": "unsupported feature: '=' in the init",
    "(define (problem p) (:goal (= hall hall)))": "unsupported feature: '=' in the goal",
    "(define (problem p) (:objects a - thing) (:init (in a hall) (at-robot a)))": "unknown predicate 'at-robot'",
    "(define (problem p) (:domain robot) (:domain robot))": "a second section :domain",
    "(define (problem p) (:domain))": "(:domain NAME) needs a name",
    "(define (problem p) (:objects a - room) (:objects b - room))": "a second section :objects",
    "(define (problem p) (:init (free)) (:init))": "a second section :init",
    "(define (problem p) (:goal (free)) (:goal (and)))": "a second section :goal",
}


@pytest.mark.parametrize("text", BROKEN_PROBLEMS)
def test_broken_problems_say_what_and_where(text: str) -> None:
    with pytest.raises(PddlError) as caught:
        parse_problem(text, parse_domain(DOMAIN), "p.pddl")
    assert BROKEN_PROBLEMS[text] in str(caught.value)
    assert str(caught.value).startswith("p.pddl:1:")


def test_what_is_added_and_deleted_at_once_is_added() -> None:
    """As PDDL says; in single instances and in a whole schema."""
    domain = parse_domain(
        DOMAIN.replace(" (not (= ?a ?b))", "").replace("(in ?x hall) (not", "(in ?x hall) (free) (not")
    )
    task = ground(domain, parse_problem(PROBLEM, domain))
    stays = task.model.action("move_r1_hall_hall")
    assert (stays.pre, stays.add, stays.delete) == ({"in_r1_hall"}, {"in_r1_hall"}, set())
    home = task.model.action("go-home_r1_kitchen")
    assert (home.add, home.delete) == ({"in_r1_hall", "free"}, {"in_r1_kitchen"})


NEGATIVE = """(define (domain doors) (:requirements :strips :negative-preconditions)
  (:predicates (open ?d) (seen ?d) (not-seen ?d))
  (:action open :parameters (?d) :precondition (not (open ?d)) :effect (open ?d))
  (:action close :parameters (?d) :precondition (open ?d) :effect (not (open ?d)))
  (:action look :parameters (?d) :precondition (and (open ?d) (not (seen ?d))) :effect (seen ?d)))"""
NEGATIVE_PROBLEM = """(define (problem p) (:domain doors) (:objects hall attic) (:init (open hall) (not (open attic)))
  (:goal (and (not (open hall)) (seen attic))))"""


def test_a_negative_precondition_asks_for_an_opposite_atom() -> None:
    """It is true where the other is false, from the start on; a name that is taken is not taken again."""
    domain = parse_domain(NEGATIVE)
    task = ground(domain, parse_problem(NEGATIVE_PROBLEM, domain))
    assert task.problem.init == {"open_hall", "not-open_attic", "not-seen-again_attic", "not-seen-again_hall"}
    assert task.problem.goal == {"not-open_hall", "seen_attic"}
    opened, closed = task.model.action("open_attic"), task.model.action("close_attic")
    assert (opened.pre, opened.add, opened.delete) == ({"not-open_attic"}, {"open_attic"}, {"not-open_attic"})
    assert (closed.pre, closed.add, closed.delete) == ({"open_attic"}, {"not-open_attic"}, {"open_attic"})
    assert task.model.action("look_hall").delete == {"not-seen-again_hall"}
    assert task.problem.solved_by(["open_attic", "look_attic", "close_hall"])
    assert not task.problem.solved_by(["open_attic", "look_attic"])


def test_negative_preconditions_over_what_varies() -> None:
    """`locked` is static in one problem; where problems differ in it, its opposite is an atom."""
    domain = parse_domain(DOMAIN, "d.pddl")
    task = ground(domain, parse_problem(PROBLEM, domain), varying=["locked"])
    assert "not-locked_hall" in task.model.action("move_r1_kitchen_hall").pre
    assert {"locked_cellar", "not-locked_hall"} <= task.problem.init


def test_costs_are_noted_and_ignored() -> None:
    text = """(define (domain d) (:requirements :action-costs) (:predicates (p ?x))
      (:functions (total-cost) - number (weight ?x) - number)
      (:action a :parameters (?x) :effect (and (p ?x) (increase (total-cost) (weight ?x)))))"""
    domain = parse_domain(text, "d.pddl")
    assert domain.schemas[0].add == (Literal("p", ("?x",)),)
    assert domain.remarks == ("d.pddl:2: costs and other numbers are ignored: no condition asks for them",)
    problem = parse_problem(
        """(define (problem q) (:domain other) (:objects b) (:init (= (total-cost) 0) (= (weight b) 2.5))
      (:goal (p b)) (:metric minimize (total-cost)))""",
        domain,
        "q.pddl",
    )
    assert (problem.init, problem.goal, len(problem.remarks)) == ((), (Literal("p", ("b",)),), 1)


def test_union_types() -> None:
    text = """(define (domain d) (:requirements :typing) (:types truck plane - vehicle box)
      (:predicates (at ?x - (either truck box)) (up ?p - plane))
      (:action go :parameters (?x - (either truck plane)) :effect (at ?x))
      (:action rise :parameters (?x - (either plane box)) :precondition (up ?x) :effect (not (up ?x))))"""
    domain = parse_domain(text)
    assert parse_domain(format_domain(domain)) == domain
    problem = parse_problem("(define (problem p) (:objects t - truck p - plane b - box) (:init (up p)))", domain)
    names = {action.name for action in ground(domain, problem).model.actions}
    assert names == {"go_t", "go_p", "rise_p"}
    with pytest.raises(PddlError, match="'b' is a box, but 'up' wants a plane here"):
        parse_problem("(define (problem p) (:objects b - box) (:init (up b)))", domain)


def test_what_is_too_large_is_counted_before_the_work() -> None:
    """Nothing of the 3,000³ instances is made; statics are taken into account."""
    text = """(define (domain d) (:predicates (at ?c) (next ?c ?d))
      (:action go :parameters (?c ?d) :precondition (and (at ?c) (next ?c ?d)) :effect (at ?d))
      (:action swap :parameters (?c ?d ?e) :precondition (at ?c) :effect (at ?e)))"""
    domain = parse_domain(text, "d.pddl")
    cells = " ".join(f"c{i}" for i in range(3000))
    chain = " ".join(f"(next c{i} c{i + 1})" for i in range(2999))
    problem = parse_problem(f"(define (problem p) (:objects {cells}) (:init (at c0) {chain}) (:goal (at c9)))", domain)
    with pytest.raises(PddlError) as caught:
        ground(domain, problem)
    assert str(caught.value).startswith(
        "d.pddl:3: too large to ground: up to action 'swap' there are at least 27,000,002,999 instances"
    )


def test_sections_come_in_any_order() -> None:
    """Types after the predicates that use them, init before the objects."""
    domain = parse_domain(DOMAIN)
    lines = format_domain(domain).splitlines()
    assert parse_domain("\n".join([lines[0], *lines[4:-1], lines[-1][:-1], *lines[1:4], ")"])) == domain
    problem = parse_problem(PROBLEM, domain)
    lines = format_problem(problem).splitlines()
    assert parse_problem("\n".join([*lines[:2], lines[3], lines[2], lines[4]]), domain) == problem


def test_variables_of_a_supertype_are_narrowed_but_objects_are_not() -> None:
    text = DOMAIN.replace("?x - robot ?a - room", "?x - thing ?a - room").replace("(in ?t - thing", "(in ?t - robot")
    domain = parse_domain(text)
    with pytest.raises(PddlError, match="'b1' is a box, but 'in' wants a robot here"):
        parse_problem(PROBLEM, domain)
    with pytest.raises(PddlError, match="'r1' is a thing, but 'in' wants a robot here"):
        parse_problem(PROBLEM.replace("r1 - robot", "r1 - thing"), domain)


def test_deep_nesting_is_no_problem() -> None:
    deep = "(and " * 5000 + "(p)" + ")" * 5000
    domain = parse_domain(f"(define (domain d) (:predicates (p)) (:action a :precondition {deep} :effect {deep}))")
    assert domain.schemas[0].pre == domain.schemas[0].add == (Literal("p"),)


def test_a_goal_that_nothing_reaches_is_an_atom_that_stays_false() -> None:
    domain = parse_domain(DOMAIN)
    wanted = PROBLEM.replace("(and (in r1 hall)", "(and (in r1 cellar) (not (locked cellar))")
    task = ground(domain, parse_problem(wanted, domain))
    assert task.out_of_reach == ("in_r1_cellar", "not-locked_cellar")
    assert task.problem.goal == {"in_r1_cellar", "not-locked_cellar"}
    assert not any({"in_r1_cellar", "not-locked_cellar"} & action.add for action in task.model.actions)


def test_a_lifted_domain_is_no_propositional_model() -> None:
    with pytest.raises(PddlError, match="lifted domain"):
        parse_model(DOMAIN)


@given(st.text(st.sampled_from("()define domain:action;?x-\n "), max_size=60))
def test_no_text_gets_past_the_error_family(text: str) -> None:
    for source in (text, f"(define (domain d) {text})"):
        with contextlib.suppress(PddlError):
            parse_domain(source)


def test_files_are_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "d.pddl"
    path.write_text("(define (domain d)\n  (:types a - b) (:predicates (p ?x - z)))")
    with pytest.raises(PddlError, match=r"d\.pddl:2:39: unknown type 'z'"):
        read_domain(path)


def test_reachability_ignores_deletes_only() -> None:
    """An action whose precondition nothing ever adds is pruned; one that needs what another deletes is not."""
    text = """(define (domain d) (:predicates (p) (q) (never))
      (:action a :parameters () :precondition (p) :effect (and (q) (not (p))))
      (:action b :parameters () :precondition (and (p) (q)) :effect (p))
      (:action c :parameters () :precondition (never) :effect (never)))"""
    domain = parse_domain(text)
    task = ground(domain, parse_problem("(define (problem x) (:domain d) (:init (p)) (:goal (q)))", domain))
    assert [action.name for action in task.model.actions] == ["a", "b"]
    assert task.model.atoms == ("p", "q")


@st.composite
def schemas_and_statics(draw: st.DrawFn) -> tuple[Schema, set[Literal]]:
    """A schema over static binary predicates, `=` and constants, and facts for it."""
    parameters = draw(st.lists(st.tuples(st.sampled_from(["?x", "?y", "?z"]), st.sampled_from(["s", "t", "object"])),
                               max_size=3, unique_by=lambda p: p[0]))  # fmt: skip
    terms = st.sampled_from([*(name for name, _ in parameters), "a", "b"])
    literals = st.lists(st.builds(lambda p, x, y: Literal(p, (x, y)), st.sampled_from("pq="), terms, terms), max_size=3)
    places = st.tuples(st.sampled_from("pq"), st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")))
    facts = draw(st.sets(places.map(lambda place: Literal(*place)), max_size=16))
    return Schema("go", tuple(parameters), tuple(draw(literals)), tuple(draw(literals)), (), ()), facts


@settings(max_examples=500)
@given(schemas_and_statics())
def test_joined_instances_are_those_of_the_slow_reference(case: tuple[Schema, set[Literal]]) -> None:
    schema, statics = case
    domain = LiftedDomain("d", (("s", "object"), ("t", "s")), (), (), (schema,))
    objects = {"a": "t", "b": "s", "c": "object", "d": "t"}
    fast, slow = (list(f(schema, domain, objects, statics, ())) for f in (instantiate, instantiate_slowly))
    assert len(fast) == len(slow)
    assert {tuple(b.items()) for b in fast} == {tuple(b.items()) for b in slow}


def test_grounding_follows_the_static_facts() -> None:
    """A chain of 3,000 cells: the product of the parameters would be 9 million bindings."""
    text = """(define (domain d) (:predicates (at ?c) (next ?c ?d))
      (:action go :parameters (?c ?d) :precondition (and (at ?c) (next ?c ?d)) :effect (and (at ?d) (not (at ?c)))))"""
    domain = parse_domain(text)
    objects = {f"c{i}": "object" for i in range(3000)}
    statics = {Literal("next", (f"c{i}", f"c{i + 1}")) for i in range(2999)}
    assert len(list(instantiate(domain.schemas[0], domain, objects, statics, {"at"}))) == 2999


def test_instances_are_all_typed_combinations() -> None:
    """Against the product over all objects, on every benchmark family's own statics."""
    domain = get_domain("logistics-3c")
    airports = [o for o, t in domain.example.objects if t == "airport"]
    flights = {a.name for a in domain.model.actions if a.name.startswith("fly")}
    assert flights == {f"fly_plane_{x}_{y}" for x, y in itertools.permutations(airports, 2)}
    assert Literal("in-city", ("a1", "city1")) in domain.task.statics
