"""Windows: the compiled collection and answers against their definition; names; what is learned from few traces."""

from itertools import product

import numpy as np
import pytest

import trace2strips as t2s
from trace2strips.errors import TraceError
from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.projection import Projection
from trace2strips.learners.windows.proofs import RuledOut, prove_inexplicable
from trace2strips.learners.windows.reference import Attempt, History, VersionSpace, start_key
from trace2strips.learners.windows.summary import Summary, summarise
from trace2strips.learners.windows.support import needed
from trace2strips.traces import Dataset
from trace2strips.traces.names import PLAIN, Naming, schema_of, understand
from trace2strips.traces.trace import Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def summary_of(dataset: Dataset, naming: Naming, arity: int = 2) -> Summary:
    return summarise(collect_windows(dataset, encode(dataset, naming, arity)), dataset.vocabulary)


def attempts(dataset: Dataset, naming: Naming, projection: Projection) -> list[Attempt]:
    found = []
    for trace in dataset:
        history, told = History(projection), [naming.words(atom) for atom in trace.init or ()]
        steps = [(False, name, ok) for name, ok in zip(trace.actions, trace.ok, strict=True)]
        steps += [(True, name, value) for name, value in trace.final.items()]
        for is_test, name, ok in steps:
            word, *arguments = naming.words(name)
            schema, objects = schema_of(word, tuple(arguments))
            group = projection.tests if is_test else projection.schemas
            number = group.index(schema) + len(projection.schemas) * is_test
            situation = history.situation(number, objects, lambda about, t=trace, w=told: start_key(t, w, about))
            found.append(Attempt(number, situation, ok))
            if ok and not is_test:
                history.apply(number, objects)
    return found


@pytest.mark.parametrize(
    ("world", "init", "suffix"),
    [
        ("blocksworld:3", "atoms", "all"),
        ("ferry:2x2", "atoms", "none"),
        ("maze:5x5", "atoms", "goal"),
        ("blocksworld:3", "states:3", "none"),
        ("logistics:2x1", "states:2", "goal"),
    ],
)
def test_compiled_windows_are_those_of_the_definition(world: str, init: str, suffix: str) -> None:
    domain = get_domain(world)
    train = sample(domain, SampleSettings(12, 15, init=init, suffix=suffix, seed=3))
    test = sample(domain, SampleSettings(12, 20, init=init, suffix=suffix, seed=4), like=train)
    naming = understand(train.vocabulary.actions)
    summary = summary_of(train, naming)
    space = VersionSpace.of(attempts(train, naming, summary.projection))
    assert not space.inexplicable()
    assert not summary.inexplicable
    found = answer_all(summary, test, naming)
    asked = found[found != Answer.NOT_ASKED]
    expected = [space.answer(a.schema, a.situation) for a in attempts(test, naming, summary.projection)]
    assert [Answer(x).name.lower() for x in asked.tolist()] == expected
    assert {"works", "refused", "open"} <= set(expected) or world in ("ferry:2x2", "maze:5x5", "logistics:2x1")


def test_a_log_that_no_model_explains() -> None:
    """The same history, and two answers."""
    traces = [Trace(("a", "b"), (True, False)), Trace(("a", "b"), (True, True))]
    dataset = t2s.Dataset.of(traces)
    summary = summary_of(dataset, PLAIN)
    assert len(summary.inexplicable) == 1
    proof = prove_inexplicable(summary, PLAIN, dataset)
    assert proof is not None
    assert (proof.action, proof.refused) == ("b", 1)  # the second attempt of the first trace
    second = 1 << 32 | 1
    assert proof.ruled_out == (RuledOut("a", (), second), RuledOut("the start", ("a",), second))
    assert prove_inexplicable(summary_of(t2s.Dataset.of(traces[:1]), PLAIN), PLAIN, dataset) is None
    learned = t2s.learn(traces, "windows")
    assert learned.figures.warnings == ("1 refusals that no STRIPS model can explain",)


@pytest.mark.parametrize(
    ("world", "larger"), [("blocksworld-5b", "blocksworld:9"), ("npuzzle-5t", "npuzzle:3x4"), ("maze-5x5", "maze:9x9")]
)
def test_twenty_traces_give_a_domain_for_other_sizes(world: str, larger: str) -> None:
    train = sample(get_domain(world), SampleSettings(20, 50, suffix="none"))
    learned = t2s.learn(train, "windows")
    assert learned.figures.train_errors == 0
    for name in (world, larger):
        test = sample(get_domain(name), SampleSettings(200, 100, "test", suffix="none", seed=1))
        assert learned.accuracy(test) == 1.0
        answers = answer_all(summary_of(train, understand(train.vocabulary.actions)), test, Naming("separator", "_"))
        assert not ((answers == Answer.WORKS) & test.inapplicable).any()
        assert not ((answers == Answer.REFUSED) & ~test.inapplicable).any()


def test_the_textbook_blocksworld() -> None:
    learned = t2s.learn(sample(get_domain("blocksworld-5b"), SampleSettings(20, 50, suffix="none")), "windows")
    assert isinstance(learned.lifted, LiftedWorld)
    assert (
        learned.lifted.pddl()
        == """(define (domain learned)
  (:requirements :strips)
  (:predicates
    (clear ?x0)
    (handempty)
    (ontable ?x0)
    (on ?x0 ?x1)
    (can-put-down ?x0))
  (:action pick-up
    :parameters (?x)
    :precondition (and (clear ?x) (handempty) (ontable ?x))
    :effect (and (can-put-down ?x) (not (clear ?x)) (not (handempty)) (not (ontable ?x))))
  (:action put-down
    :parameters (?x)
    :precondition (and (can-put-down ?x))
    :effect (and (clear ?x) (handempty) (ontable ?x) (not (can-put-down ?x))))
  (:action stack
    :parameters (?x ?y)
    :precondition (and (clear ?y) (can-put-down ?x))
    :effect (and (clear ?x) (handempty) (on ?x ?y) (not (clear ?y)) (not (can-put-down ?x))))
  (:action unstack
    :parameters (?x ?y)
    :precondition (and (clear ?x) (handempty) (on ?x ?y))
    :effect (and (clear ?y) (can-put-down ?x) (not (clear ?x)) (not (handempty)) (not (on ?x ?y)))))
"""
    )


def test_more_objects_are_tried_where_two_do_not_explain() -> None:
    """`use` works once for each three objects: a condition on all of them."""
    objects = [f"o{i}" for i in range(4)]
    triples = [x for x in product(objects, repeat=3) if len(set(x)) == 3]
    rng = np.random.default_rng(0)
    traces = []
    for _ in range(30):
        done: set[tuple[str, ...]] = set()
        steps = []
        for i in rng.integers(len(triples), size=25):
            steps.append((f"use({', '.join(triples[i])})", triples[i] not in done))
            done.add(triples[i])
        traces.append(steps)
    learned = t2s.learn(traces, "windows")
    assert isinstance(learned.lifted, LiftedWorld)
    assert [len(predicate.types) for predicate in learned.lifted.predicates] == [3]
    assert learned.figures.train_errors == 0
    fixed = t2s.learn(traces, Windows(arity=2))
    assert "no STRIPS model" in fixed.figures.warnings[0]


@pytest.mark.parametrize(
    ("names", "form"),
    [
        (["stack(b1, b2)", "pick-up(b1)", "wait"], "call"),
        (["(stack b1 b2)", "(wait)"], "lisp"),
        (['["stack", "b1", "b2"]', '["wait"]'], "json"),
        (["stack b1 b2", "stack b2 b1", "wait"], "words"),
        (["power_on", "power_off", "badge_in", "badge_out"], "plain"),
        (["open", "close"], "plain"),
        ([f"{a}_{o}" for a in ("open", "close") for o in ("door", "window", "gate")], "separator"),
    ],
)
def test_names_are_understood_as_a_whole(names: list[str], form: str) -> None:
    naming = understand(names)
    assert naming.form == form
    for name in names:
        assert naming.words(naming.join(naming.words(name))) == naming.words(name)


def test_two_numbers_of_arguments() -> None:
    with pytest.raises(TraceError, match="'move' has two numbers of arguments: 'move\\(a\\)' and 'move\\(a, b\\)'"):
        understand(["move(a)", "move(a, b)"])
    assert understand(["move_a", "move_a_b"]) == PLAIN
    with pytest.raises(TraceError, match="two numbers of arguments"):
        understand(["move_a", "move_a_b"], "_")
    assert understand(["move_a", "move_a_b"], "") == PLAIN


def test_a_precondition_goes_only_with_evidence() -> None:
    alone, both = 0b01, 0b11
    assert needed(2, [alone, both], [5, 40], 50, 0.001) == {0}  # false forty times, never alone: no chance
    assert needed(2, [alone, both], [50, 3], 50, 0.001) == {0, 1}  # three times may be chance
    assert needed(2, [0b01, 0b10], [5, 1], 50, 0.001) == {0, 1}  # once the only explanation
