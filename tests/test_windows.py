"""Windows: the compiled collection and answers against their definition; names; what is learned from few traces."""

import csv
import json
import re
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

import trace2strips as t2s
from trace2strips.errors import TraceError
from trace2strips.learners.windows import learner
from trace2strips.learners.windows.answers import Answer, answer_all
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.predicates import Predicate, Search, weigh_signs
from trace2strips.learners.windows.projection import Projection
from trace2strips.learners.windows.proofs import RuledOut, prove, prove_inexplicable
from trace2strips.learners.windows.reference import Attempt, History, VersionSpace
from trace2strips.learners.windows.simulation import simulate, wrong_traces
from trace2strips.learners.windows.starts import StartLevel, start_key
from trace2strips.learners.windows.summary import Refusal, Summary, are_implied, as_words, implies, summarise
from trace2strips.learners.windows.support import needed
from trace2strips.model.vocabulary import Kind
from trace2strips.pddl import parse_domain
from trace2strips.traces import Dataset, read_traces, write_traces
from trace2strips.traces.accuracy import wrong_traces as wrong_by_model
from trace2strips.traces.names import PLAIN, Naming, schema_of, understand
from trace2strips.traces.reading import as_dataset
from trace2strips.traces.trace import Trace
from trace2strips.worlds import domain_from_files, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

SAME = StartLevel.SAME


def summary_of(dataset: Dataset, naming: Naming, arity: int = 2, start: StartLevel = SAME) -> Summary:
    return summarise(collect_windows(dataset, encode(dataset, naming, arity), start), dataset.vocabulary, start)


def attempts(
    dataset: Dataset, naming: Naming, projection: Projection, start: StartLevel = SAME, first: int | None = 0
) -> list[Attempt]:
    """By definition. `first` is the number of the first trace in the log; None: these are none of it."""
    found = []
    for index, trace in enumerate(dataset):
        number_of_trace = None if first is None else first + index
        history, told = History(projection), [naming.words(atom) for atom in trace.init or ()]
        steps = [(False, name, ok) for name, ok in zip(trace.actions, trace.ok, strict=True)]
        steps += [(True, name, value) for name, value in trace.final.items()]
        for is_test, name, ok in steps:
            word, *arguments = naming.words(name)
            schema, objects = schema_of(word, tuple(arguments))
            group = projection.tests if is_test else projection.schemas
            number = group.index(schema) + len(projection.schemas) * is_test
            key = partial(start_key, trace, told, level=start, number=number_of_trace)
            situation = history.situation(number, objects, key)
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
@pytest.mark.parametrize("start", StartLevel)
def test_compiled_windows_are_those_of_the_definition(world: str, init: str, suffix: str, start: StartLevel) -> None:
    domain = get_domain(world)
    train = sample(domain, SampleSettings(12, 15, init=init, suffix=suffix, seed=3))
    test = sample(domain, SampleSettings(12, 20, init=init, suffix=suffix, seed=4), like=train)
    naming = understand(train.vocabulary.actions)
    summary = summary_of(train, naming, start=start)
    space = VersionSpace.of(attempts(train, naming, summary.projection, start))
    assert not space.inexplicable()
    assert not summary.inexplicable
    reduced = {reason: list(kept) for reason, kept in summary.smallest.items()}
    of_use = {  # what happened since a start of its own is of no use to other traces
        reason: sorted(kept)
        for reason, kept in space.smallest.items()
        if isinstance(reason[1], int) or reason[1][0] != "own"
    }
    assert reduced == of_use
    asked_for = attempts(test, naming, summary.projection, start, first=None)
    expected = [space.answer(a.schema, a.situation) for a in asked_for]
    found = answer_all(summary, test, naming)
    asked = found[found != Answer.NOT_ASKED]
    assert [Answer(x).name.lower() for x in asked.tolist()] == expected
    assert {"works", "refused", "open"} <= set(expected) or not (start == SAME and world == "blocksworld:3")
    strongest = answer_all(summary_of(train, naming), test, naming)
    strong = [Answer(x).name.lower() for x in strongest[strongest != Answer.NOT_ASKED].tolist()]
    assert all(weak in ("open", same) for weak, same in zip(expected, strong, strict=True))


def roads_log(seed: int = 0, traces: int = 60) -> list[Trace]:
    """A car drives on roads that nobody tells of; only where it is at first is told."""
    rng = np.random.default_rng(seed)
    roads = {("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "a")}
    found = []
    for _ in range(traces):
        first = at = str(rng.choice(list("abcd")))
        actions, ok = [], []
        for _ in range(10):
            source, target = (str(x) for x in rng.choice(list("abcd"), size=2, replace=False))
            source = at if rng.random() < 0.6 and at != target else source
            actions.append(f"drive({source}, {target})")
            ok.append(at == source and (source, target) in roads)
            at = target if ok[-1] else at
        found.append(Trace(tuple(actions), tuple(ok), frozenset({f"at({first})"})))
    return found


def test_the_strongest_level_of_starts_that_explains_is_taken() -> None:
    """Untold roads: told atoms alone explain nothing, the very same objects do; then answers hold for them."""
    log = t2s.Dataset.of(roads_log())
    naming = understand(log.vocabulary.actions)
    assert summary_of(log, naming).inexplicable
    summary = Windows().summarise(log, naming)
    assert (summary.start, summary.projection.arity) == (StartLevel.OBJECTS, 2)
    assert summary.assumptions[0].startswith("told atoms say all of a start for the very same objects")
    test = t2s.Dataset.of(roads_log(1))
    answers = answer_all(summary, test, naming)
    assert not ((answers == Answer.WORKS) & test.inapplicable).any()
    assert not ((answers == Answer.REFUSED) & ~test.inapplicable).any()
    assert ((answers == Answer.WORKS) | (answers == Answer.REFUSED)).sum() > 0.9 * 600
    learned = t2s.learn(log, "windows")
    assert (learned.figures.start, learned.figures.arity) == ("objects", 2)
    assert (learned.figures.train_accuracy, learned.figures.warnings) == (1.0, ())
    assert learned.accuracy(test) == 1.0
    hidden = [Trace(("a", "b"), (True, False)), Trace(("a", "b"), (True, True))]  # nothing is told
    assert Windows().summarise(t2s.Dataset.of(hidden), PLAIN).start == StartLevel.OWN
    assert Windows(start="same").summarise(t2s.Dataset.of(hidden), PLAIN).inexplicable
    with pytest.raises(t2s.UserError, match="unknown level of starts 'all'"):
        Windows(start="all")


@pytest.mark.parametrize("init", ["atoms", "states:3"])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_the_number_of_threads_changes_nothing(init: str, noise: float) -> None:
    """Nor do arrays that have to grow. With wrong labels each refusal that nothing explains counts."""
    found = sample(get_domain("blocksworld-5b"), SampleSettings(300, 30, init=init, suffix="goal", seed=3))
    flipped = found.inapplicable ^ (np.random.default_rng(0).random(len(found.tokens)) < noise)
    flipped &= found.vocabulary.kinds[found.tokens] >= Kind.ACTION
    dataset = replace(found, inapplicable=flipped)
    naming = Naming("separator", "_")
    encoding = encode(dataset, naming, 2)
    one, two, many = (
        repr(summarise(collect_windows(dataset, encoding, threads=threads), dataset.vocabulary))
        for threads in (1, 2, 7)
    )
    assert one == two == many
    space = VersionSpace.of(attempts(dataset, naming, encoding.projection))
    count = len(summary_of(dataset, naming).inexplicable)
    assert count == len(space.inexplicable())
    assert (count > 20) == bool(noise)


def test_implied_refusals_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    refusals = [
        Refusal(int(rng.integers(2)), {(0, int(d)): int(rng.integers(8)) << 62 for d in rng.permutation(4)[:size]}, n)
        for n, size in enumerate(rng.integers(4, size=200).tolist())
    ]
    expected = [
        any(implies(one, other) for one in refusals[:n] if one.schema == other.schema)
        for n, other in enumerate(refusals)
    ]
    assert are_implied(refusals) == expected
    assert 20 < sum(expected) < 180


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
    assert "1 refusals that no STRIPS model can explain" in learned.figures.warnings[0]


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


def test_answers_with_proof_are_those_of_whole_datasets() -> None:
    """And what they point to is there: a success of the action, or a refusal of it."""
    domain = get_domain("blocksworld:3")
    train = sample(domain, SampleSettings(12, 15, suffix="none", seed=3))
    test = sample(domain, SampleSettings(12, 20, suffix="none", seed=4), like=train)
    naming = understand(train.vocabulary.actions)
    summary = summary_of(train, naming)
    found = answer_all(summary, test, naming)
    expected = iter(found[found != Answer.NOT_ASKED].tolist())
    for trace in test:
        for i, action in enumerate(trace.actions):
            proof = prove(summary, naming, Trace(trace.actions[:i], trace.ok[:i], trace.init), action)
            assert proof.answer == next(expected)
            places = [(out.worked, True) for out in proof.ruled_out]
            places += [] if proof.refused is None else [(proof.refused, False)]
            for place, worked in places:
                there = train[place >> 32]
                position = place & (2**32 - 1)
                assert there.ok[position] == worked
                assert naming.words(there.actions[position])[0] == naming.words(action)[0]


@pytest.mark.parametrize(("world", "init"), [("logistics:2x1", "states:1"), ("ferry:3x3", "atoms")])
def test_the_small_model_contradicts_no_certificate(world: str, init: str) -> None:
    """It explains the whole log, so where all models that do agree, it agrees with them; wrong it is elsewhere."""
    domain = get_domain(world)
    test = sample(domain, SampleSettings(40, 50, init=init, suffix="none", seed=9))
    for traces in (5, 50):
        train = sample(domain, SampleSettings(traces, 50, init=init, suffix="none", seed=1))
        learned = t2s.learn(train, Windows(separator="_"))
        assert learned.figures.train_errors == 0
        assert isinstance(learned.lifted, LiftedWorld)
        naming = learned.lifted.naming
        answers = answer_all(summary_of(train, naming), test, naming)
        model, state, wrong = learned.lifted.over_tokens(test.vocabulary), frozenset[str](), 0
        for place, token in enumerate(test.tokens.tolist()):
            action = model.actions[token]  # along what really worked
            refused = not action.applicable(state)
            assert answers[place] != (Answer.WORKS if refused else Answer.REFUSED)
            wrong += refused != test.inapplicable[place]
            if not test.inapplicable[place]:
                state = action.progress(state)
        assert (answers == Answer.REFUSED).any()
        assert traces > 5 or wrong > 0  # five traces leave much to a guess


def test_what_an_unknown_action_touched_is_open() -> None:
    """Training never saw `take` at work. After it nothing is certain of what it touched; of other things it is."""
    train = t2s.Dataset.of([Trace(("use(a)", "use(a)", "use(b)"), (True, True, True))] * 3)
    naming = understand(train.vocabulary.actions)
    summary = summary_of(train, naming)
    before, after = Trace(("use(a)",), (True,)), Trace(("use(a)", "take(a)"), (True, True))
    assert prove(summary, naming, before, "use(a)").answer == Answer.WORKS
    assert prove(summary, naming, after, "use(a)").answer == Answer.OPEN
    assert prove(summary, naming, before, "take(a)").answer == Answer.OPEN
    test = t2s.Dataset.of([Trace(("use(a)", "use(a)", "take(a)", "use(a)"), (True, True, True, False))])
    answers = answer_all(summary, test, naming)
    assert answers[answers != Answer.NOT_ASKED].tolist() == [Answer.WORKS, Answer.WORKS, Answer.OPEN, Answer.OPEN]


def test_no_certificate_is_wrong_where_schemas_are_missing() -> None:
    """Five traces of logistics: some actions never worked there, so the training traces do not even name them."""
    test = sample(get_domain("logistics-3c"), SampleSettings(200, 100, "test", suffix="none", seed=9))
    for seed in (3, 4):  # where leaving them out of histories made 51 certificates wrong
        train = sample(get_domain("logistics-3c"), SampleSettings(5, 50, suffix="none", seed=seed))
        naming = Naming("separator", "_")
        answers = answer_all(summary_of(train, naming), test, naming)
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
    (can-put-down ?x0)
    (different ?x0 ?x1))
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
    :precondition (and (clear ?y) (can-put-down ?x) (different ?x ?y))
    :effect (and (clear ?x) (handempty) (on ?x ?y) (not (clear ?y)) (not (can-put-down ?x))))
  (:action unstack
    :parameters (?x ?y)
    :precondition (and (clear ?x) (handempty) (on ?x ?y) (different ?x ?y))
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
    fixed = t2s.learn(traces, Windows(arity=2, noise=0))
    assert "no STRIPS model" in fixed.figures.warnings[0]


@pytest.mark.parametrize(
    ("names", "form"),
    [
        (["stack(b1, b2)", "pick-up(b1)", "wait"], "call"),
        (["(stack b1 b2)", "(wait)"], "lisp"),
        (['["stack", "b1", "b2"]', '["wait"]'], "json"),
        (["send invoice", "send reminder", "pay invoice", "close"], "plain"),
        (["open door", "shut door", "lock door", "open bin", "shut bin", "lock bin"], "words"),
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


def route_log(seed: int = 0) -> list[Trace]:
    """Trucks and parcels are at places: one told predicate, two types."""
    rng = np.random.default_rng(seed)
    traces = []
    for _ in range(40):
        at = {thing: str(rng.choice(["l1", "l2", "l3"])) for thing in ("t1", "t2", "p1", "p2")}
        init = frozenset(f"at({thing}, {place})" for thing, place in at.items())
        actions, ok = [], []
        for _ in range(15):
            thing = str(rng.choice(sorted(at)))
            source, target = (str(x) for x in rng.choice(["l1", "l2", "l3"], size=2, replace=False))
            actions.append(f"{'drive' if thing[0] == 't' else 'carry'}({thing}, {source}, {target})")
            ok.append(at[thing] == source)
            if ok[-1]:
                at[thing] = target
        traces.append(Trace(tuple(actions), tuple(ok), init))
    return traces


def test_one_told_predicate_of_two_types() -> None:
    learned = t2s.learn(route_log(), "windows")
    assert learned.figures.train_errors == 0
    assert learned.accuracy(route_log(1)) == 1.0
    assert isinstance(learned.lifted, LiftedWorld)
    assert [(p.name, p.told) for p in learned.lifted.predicates] == [("at", "at"), ("at-2", "at")]


DOOR = [[("open", True), ("open", False), ("close", True), ("close", False), ("open", True)]] * 5


@pytest.mark.parametrize("place", [0, 5])
def test_one_wrong_label_does_not_hide_the_others(place: int) -> None:
    """Wherever it stands; and nothing is certain then."""
    log = [*DOOR[:place], [("open", False)], *DOOR[place:]]
    learned = t2s.learn(log, "windows")
    assert learned.figures.train_errors == 1
    assert re.match("1 (labels are probably wrong|refusals that no STRIPS model can)", learned.figures.warnings[0])
    dataset = t2s.Dataset.of([Trace(tuple(a for a, _ in steps), tuple(ok for _, ok in steps)) for steps in log])
    answers = answer_all(summary_of(dataset, PLAIN), dataset, PLAIN)
    assert set(answers.tolist()) <= {Answer.OPEN, Answer.NOT_ASKED}
    proof = prove(summary_of(dataset, PLAIN), PLAIN, Trace(("open",), (True,)), "open")
    assert proof.answer == Answer.OPEN


def test_one_object_twice_is_an_action_of_its_own() -> None:
    log = [[("link(a, b)", True), ("link(a, a)", False), ("link(b, a)", True), ("link-0-0", True)]] * 3
    learned = t2s.learn(log, "windows")
    assert isinstance(learned.lifted, LiftedWorld)
    domain = parse_domain(learned.lifted.pddl())
    assert sorted(schema.name for schema in domain.schemas) == ["link", "link-0-0", "link-0-0-again"]
    (link,) = [schema for schema in domain.schemas if schema.name == "link"]
    assert [str(literal) for literal in link.pre] == ["(different ?x ?y)"]


def test_a_final_atom_of_a_type_that_no_action_has() -> None:
    trace = Trace(("pick(a)",), (True,), frozenset({"dark(room1)"}), final={"dark(room1)": True, "dark(room2)": False})
    learned = t2s.learn([trace], "windows")
    assert isinstance(learned.lifted, LiftedWorld)
    assert parse_domain(learned.lifted.pddl()).schemas[0].name == "pick"


def test_names_of_no_form_are_plain_words() -> None:
    naming = understand(['["pick", "a"]', '["wait"]'])
    assert naming.form == "json"
    assert naming.words("clear_a") == ("clear_a",)
    assert understand(["[" * 100_000]) == PLAIN
    assert Naming("lisp").words("( )") == ("( )",)
    assert Naming("words").words(" ") == (" ",)


STACK = [(("pick-up", "a"), True), (("stack", "a", "b"), True), (("stack", "a", "b"), False)]


def test_actions_as_lists(tmp_path: Path) -> None:
    """In Python, in JSON Lines and in columns of a CSV log they are the same log, whatever their words are."""
    odd = [(("pick up", "a_(1), [é]"), True), (("put (down)", "a_(1), [é]", "x\x1b"), False)]
    for steps in (STACK, odd):
        lines = tmp_path / "log.jsonl"
        record = {"actions": [list(action) for action, _ in steps], "ok": [ok for _, ok in steps]}
        lines.write_text(json.dumps(record) + "\n")
        table = tmp_path / "log.csv"
        with table.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["case", "Block", "action", "under", "ok"])
            for (name, *arguments), ok in steps:
                writer.writerow(
                    [1, arguments[0], name, arguments[1].replace("\x1b", "%1B") if arguments[1:] else "", ok]
                )
        datasets = [as_dataset([steps]), read_traces(lines), read_traces(table, arguments=("block", "under"))]
        naming = understand(datasets[0].vocabulary.actions)
        assert naming.form == "json"
        for dataset in datasets:
            (trace,) = dataset
            assert [naming.words(action) for action in trace.actions] == [action for action, _ in steps]
            assert [naming.join(naming.words(action)) for action in trace.actions] == list(trace.actions)
            learned = t2s.learn(dataset, "windows")
            assert isinstance(learned.lifted, LiftedWorld)
            assert {(a.name, len(a.pattern)) for a in learned.lifted.actions} == {(a[0], len(a) - 1) for a, _ in steps}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("case,action,ok,a,b\n1,move,1,x,\n1,move,1,,y\n", "'move' has arguments in 'b' here, before in 'a'"),
        ("case,action,ok,a\n1,move,1,x\n", "no column 'b' for arguments"),
        ("case,action,ok,a,b,b\n1,move,1,x,y,z\n", "no column 'b' for arguments"),
    ],
)
def test_columns_that_cannot_be_arguments(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(TraceError, match=re.escape(message)):
        read_traces(path, arguments=("a", "b"))
    for name in ("log.jsonl", "log.t2s"):
        write_traces(Dataset.of([Trace(("a",), (True,))]), tmp_path / name)
        with pytest.raises(TraceError, match="only a log of events"):
            read_traces(tmp_path / name, arguments=("a",))


@pytest.mark.parametrize("ending", ["t2s", "jsonl", "csv", "txt"])
def test_sampled_files_say_how_their_names_are_read(tmp_path: Path, ending: str) -> None:
    """Of small logistics alone nobody could tell; an option that is given wins."""
    path = tmp_path / f"log.{ending}"
    train = sample(get_domain("logistics:2x1"), SampleSettings(20, 20, suffix="none"))
    write_traces(train, path)
    assert read_traces(path).separator == "_"
    assert list(read_traces(path)) == list(train)
    learned = t2s.learn(path, "windows")
    assert isinstance(learned.lifted, LiftedWorld)
    assert learned.lifted.understood() == "name_argument_…, by '_'"
    assert isinstance(learned.learner, Windows)
    assert learned.learner.separator == "_"
    larger = sample(get_domain("logistics:3x2"), SampleSettings(5, 20, "test", suffix="none"))
    learned.check_names(larger)
    plain = t2s.learn(path, Windows(separator=""))
    assert isinstance(plain.lifted, LiftedWorld)
    assert plain.lifted.naming == PLAIN


def test_a_separator_that_objects_contain_is_not_said(tmp_path: Path) -> None:
    domain, problem = tmp_path / "d.pddl", tmp_path / "p.pddl"
    domain.write_text("(define (domain d) (:predicates (on ?x)) (:action flip :parameters (?x) :effect (on ?x)))")
    for objects, said in (("a b", "_"), ("a_1 b_1", "__"), ("a_ b", None)):
        problem.write_text(
            f"(define (problem p) (:domain d) (:objects {objects}) (:init) (:goal (on {objects.split()[0]})))"
        )
        train = sample(domain_from_files(str(domain), [problem]), SampleSettings(5, 5))
        assert train.separator == said


def test_a_second_separator_is_refused(tmp_path: Path) -> None:
    for name, text in (
        ("a.txt", "# separator: _\nopen\n# separator: :\n"),
        ("a.jsonl", '{"actions": [], "ok": [], "separator": "_"}\n{"actions": [], "ok": [], "separator": ":"}\n'),
        ("a.csv", "case,action,ok,separator\n1,a,1,_\n1,a,1,:\n"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(TraceError, match="a second separator ':', first '_'"):
            read_traces(tmp_path / name)


def test_empty_words_are_no_arguments() -> None:
    for names, separator in ((["f(a,,b)", "f(a,b,c)"], None), (["f__a"], "_"), (["_f"], "_")):
        with pytest.raises(TraceError, match="an empty argument or name"):
            understand(names, separator)
    assert understand(["pick up(a)", "put(a)"]).words("pick up(a)") == ("pick up", "a")
    close = understand(["on(a,b)", "wait"])
    assert close.join(close.words("on(a,b)")) == "on(a,b)"


@pytest.mark.parametrize(("init", "suffix"), [("atoms", "all"), ("states:3", "goal")])
def test_what_a_lifted_world_says_is_what_its_ground_model_says(init: str, suffix: str) -> None:
    """Learned from few traces, so that it is often wrong."""
    domain = get_domain("blocksworld:4")
    wrong = []
    for traces in (2, 5, 9):
        train = sample(domain, SampleSettings(traces, 20, init=init, suffix=suffix))
        test = sample(domain, SampleSettings(300, 30, init=init, suffix=suffix, seed=1))
        lifted = t2s.learn(train, "windows").lifted
        assert isinstance(lifted, LiftedWorld)
        found = wrong_traces(lifted, test)
        assert np.array_equal(found, wrong_by_model(lifted.over_tokens(test.vocabulary), test))
        false, refused = simulate(lifted, test)
        assert np.array_equal(false > 0, refused)
        wrong.append(int(found.sum()))
    assert any(0 < count < 300 for count in wrong), wrong


def test_signs_are_weighed_as_each_alone_would_be_judged() -> None:
    train = sample(get_domain("blocksworld:3"), SampleSettings(12, 15, suffix="none", seed=3))
    search = Search(summary_of(train, Naming("separator", "_")))
    rng = np.random.default_rng(0)
    gains = set()
    for frame in search.frames.values():
        for _ in range(40):
            drawn = rng.integers(8, size=frame.bits).tolist()
            adds, deletes = (sum(1 << bit for bit, x in enumerate(drawn) if x == sign) for sign in (0, 1))
            predicate = Predicate(frame.types, adds, deletes, ("false", "true")[int(rng.integers(2))])
            left, must = rng.random(search.refusals) < 0.5, int(rng.integers(len(frame.askings)))
            gain = np.empty((frame.bits, 2), dtype=np.int64)
            scratch = [np.empty((len(frame.askings), frame.words), dtype=np.uint64) for _ in range(2)]
            masks = (as_words([mask], frame.words)[0] for mask in (adds, deletes))
            false_start = frame.false_starts(predicate)
            weigh_signs(*masks, false_start, frame.bits, *frame.arrays, left, must, *scratch, gain)
            for bit, sign in product(range(frame.bits), range(2)):
                more = {"adds": adds | 1 << bit} if sign == 0 else {"deletes": deletes | 1 << bit}
                admissible, explained = frame.judge(replace(predicate, **more), search.refusals)
                expected = int((explained & left).sum()) if admissible[must] else -1
                assert gain[bit, sign] == (-1 if (adds | deletes) >> bit & 1 else expected)
                gains.add(expected)
    assert len(gains) > 5


def six_places(schemas: int) -> list[list[tuple[str, bool]]]:
    rng = np.random.default_rng(0)
    return [
        [(f"f{rng.integers(schemas)}({', '.join(rng.permutation(list('abcdefgh'))[:6])})", True) for _ in range(20)]
        for _ in range(10)
    ]


def test_logs_that_say_little() -> None:
    """Each has the right answer or a clear word."""
    for nothing in ([], [[]], [[], []]):
        with pytest.raises(TraceError, match="there is no action in the traces"):
            t2s.learn(nothing, "windows")
    for log, warning, answers in (
        ([[("f(a)", False), ("g(a, b)", False)]] * 3, "no action ever worked", {Answer.REFUSED}),
        ([[("f(a)", True), ("f(b)", True)]] * 3, "no action was ever refused", {Answer.WORKS}),
        ([[("f(a)", True)]], "no action was ever refused", {Answer.WORKS}),
        ([[("f(a)", False)]], "no action ever worked", {Answer.REFUSED}),
    ):
        learned = t2s.learn(log, "windows")
        assert warning in learned.figures.warnings[0]
        assert learned.figures.train_errors == 0
        dataset = as_dataset(log)
        naming = understand(dataset.vocabulary.actions)
        found = answer_all(summary_of(dataset, naming), dataset, naming)
        assert set(found.tolist()) - {Answer.NOT_ASKED} == answers


def test_one_trace_and_six_arguments() -> None:
    assert t2s.learn([[("open", True), ("open", False), ("close", True)]], "windows").figures.train_errors == 0
    learned = t2s.learn(six_places(1), "windows")
    assert isinstance(learned.lifted, LiftedWorld)
    assert len(learned.lifted.actions[0].pattern) == 6


def test_odd_characters_in_names() -> None:
    odd = ["\x1b[31m", "\u202eabc", "\x00", "e\u0301", "😀", "a" * 5000, "-- drop", "(((", "%20"]
    for log in ([[(name, i % 2 == 0) for i, name in enumerate(odd)]] * 2,
                [[(("f", one, other), one < other) for one, other in pairwise(odd)]] * 2):  # fmt: skip
        learned = t2s.learn(log, "windows")
        assert learned.figures.train_errors == 0
        assert isinstance(learned.lifted, LiftedWorld)
        assert len(parse_domain(learned.lifted.pddl()).schemas) == len(learned.lifted.actions)


def test_too_many_ways_to_act_are_counted_first() -> None:
    with pytest.raises(TraceError, match=r"21,600 ways to act on up to 4 objects, at most 8,192"):
        Windows(arity=4).check(as_dataset([[(f"f{i}(a, b, c, d, e, f)", True)] for i in range(60)]))
    names = [[(f"act{i}", True)] for i in range(100_000)]
    with pytest.raises(TraceError, match="100,000 different actions without arguments, at most 8,192"):
        t2s.learn(names, "windows")


def test_more_objects_are_not_tried_where_there_are_too_many_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two objects do not explain it, and three would be too many: it says so instead of an error."""
    rng = np.random.default_rng(0)
    log = [[(f"f{i}(a, b, c, d, e)", True)] for i in range(5)]
    log += [[("f0(a, b, c, d, e)", bool(rng.integers(2)))] for _ in range(5)]
    arities = []
    for most in (learner.MOST_TOKENS, 200):  # a log that goes beyond the true bound takes minutes
        monkeypatch.setattr(learner, "MOST_TOKENS", most)
        dataset = as_dataset(log)
        found = Windows().collect(dataset, understand(dataset.vocabulary.actions), StartLevel.SAME)
        arities.append(found.encoding.projection.arity)
        assert "no STRIPS model can explain" in t2s.learn(log, "windows").figures.warnings[0]
    assert arities == [learner.MOST, 2]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace2strips.learners.windows.collection.MOST_BYTES", 1 << 12)
    rng = np.random.default_rng(0)
    log = [[(f"act{i}", True) for i in rng.permutation(200)] for _ in range(5)]
    with pytest.raises(TraceError, match="200 kinds of actions leave after each other takes too much memory"):
        t2s.learn(log, "windows")


@pytest.mark.slow
def test_very_many_objects_and_very_long_traces() -> None:
    """Thirty thousand objects, then a trace of 300,000 actions."""
    steps = (("open", True), ("open", False), ("close", True))
    log = [[(f"{name}(o{i})", ok) for name, ok in steps] for i in range(30_000)]
    learned = t2s.learn(log, "windows")
    assert learned.figures.train_errors == 0
    rng = np.random.default_rng(0)
    objects, opening = rng.integers(50, size=300_000).tolist(), rng.integers(2, size=300_000).tolist()
    is_open = [False] * 50
    trace = []
    for thing, wants in zip(objects, opening, strict=True):
        works = is_open[thing] != bool(wants)
        trace.append((f"{'open' if wants else 'close'}(o{thing})", works))
        is_open[thing] ^= works
    learned = t2s.learn([trace], "windows")
    assert learned.figures.train_errors == 0


def test_two_predicates_become_one_where_that_explains_as_much() -> None:
    """With two blocks, lifting and stacking upon were two kinds of `clear` once: the test of `clear` asked both."""
    learned = t2s.learn(t2s.sample("blocksworld:2", t2s.SampleSettings(traces=300, max_length=10)))
    assert isinstance(learned.lifted, LiftedWorld)
    assert sorted(p.name for p in learned.lifted.predicates) == ["can-put-down", "clear", "handempty", "on", "ontable"]
    assert t2s.compare(learned, "blocksworld:2").verdict == "equivalent"
