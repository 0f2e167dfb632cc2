"""Equivalence: fast and slow search agree, proofs are never wrong, counterexamples are, and `compare` says so."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from strategies import models

from trace2strips.errors import ModelError, TraceError, UserError
from trace2strips.judging.equivalence import Comparison, compare, negative_from, with_difference
from trace2strips.judging.invariants import Counterpart, find_invariants, find_invariants_slowly
from trace2strips.judging.joint import JointModel, Starts, everything_true
from trace2strips.judging.product_search import (
    Difference,
    ProductSearch,
    search_slowly,
    shorten_trace,
    walk_for_difference,
)
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import find_starts, told_starts, trace_starts, with_final_values
from trace2strips.learners.learning import learn
from trace2strips.model.strips import State, StripsAction, StripsModel, StripsProblem, label
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.pddl import format_model, format_model_problem, format_problem
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

PairOfStates = tuple[State, State]


def starts_of(a: StripsModel, b: StripsModel, pairs: list[PairOfStates]) -> Starts:
    return Starts.of(a, b, {f"s{i}": pair for i, pair in enumerate(pairs)})


# --- random pairs of models: B is A with atoms renamed and a slight change or none -----------------------------------


def mutate(a: StripsModel, change: str, chance: random.Random) -> tuple[StripsModel, Callable[[State], State]]:
    """B, and how a state of A is told to it."""
    actions, atoms = list(a.actions), list(a.atoms)
    number = chance.randrange(len(actions)) if actions else 0

    def edit(part: str, atom: str, present: bool) -> None:
        old = getattr(actions[number], part)
        actions[number] = replace(actions[number], **{part: old | {atom} if present else old - {atom}})

    twin: str | None = None
    if actions and atoms:
        atom = chance.choice(atoms)
        if change.startswith("drop ") and change != "drop action":
            part = change.removeprefix("drop ")
            if getattr(actions[number], part):
                edit(part, chance.choice(sorted(getattr(actions[number], part))), False)
        elif change == "drop action":
            del actions[number]
        elif change == "more pre":
            edit("pre", atom, True)
        elif change == "more add" and atom not in actions[number].delete:
            edit("add", atom, True)
        elif change == "duplicate":
            twin = atom
    named = {atom: f"q{i}" for i, atom in enumerate(atoms)}

    def rename(state: State) -> State:
        return frozenset(named[p] for p in state) | ({"twin"} if twin in state else frozenset())

    renamed = []
    for action in actions:
        pre = rename(action.pre)
        if twin in action.pre and chance.random() < 0.5:  # one of the two is enough
            pre -= {chance.choice(["twin", named[twin]])}
        renamed.append(StripsAction(action.name, pre, rename(action.add), rename(action.delete)))
    order = [*named.values(), *(["twin"] if twin else [])]
    chance.shuffle(order)
    chance.shuffle(renamed)
    return StripsModel(tuple(order), tuple(renamed)), rename


CHANGES = ("none", "drop pre", "drop add", "drop delete", "drop action", "more pre", "more add", "duplicate")


@st.composite
def pairs_of_models(draw: st.DrawFn) -> tuple[StripsModel, StripsModel, list[PairOfStates]]:
    a = draw(models(max_atoms=5))
    chance = random.Random(draw(st.integers(0, 2**32)))
    b, rename = mutate(a, draw(st.sampled_from(CHANGES)), chance)
    subset = st.frozensets(st.sampled_from(a.atoms)) if a.atoms else st.just(frozenset())
    states = draw(st.lists(subset, min_size=1, max_size=4))
    if draw(st.booleans()):  # an unrelated partner
        other = st.frozensets(st.sampled_from(b.atoms)) if b.atoms else st.just(frozenset())
        return a, b, [(state, draw(other)) for state in states]
    return a, b, [(state, rename(state)) for state in states]


def random_pair(chance: random.Random) -> tuple[StripsModel, StripsModel, list[PairOfStates]]:
    """Like planning domains, small: actions need, delete and add a few atoms each."""
    atoms = [f"p{i}" for i in range(chance.randint(2, 6))]

    def some(most: int) -> frozenset[str]:
        return frozenset(chance.sample(atoms, chance.randint(0, min(most, len(atoms)))))

    actions = []
    for i in range(chance.randint(1, 7)):
        pre = some(3)
        delete = frozenset(p for p in pre if chance.random() < 0.7) | some(1)
        actions.append(StripsAction(f"a{i}", pre, some(2) - delete, delete))
    a = StripsModel(tuple(atoms), tuple(actions))
    b, rename = mutate(a, chance.choice(CHANGES), chance)
    states = [some(6) for _ in range(chance.randint(1, 3))]
    return a, b, [(state, rename(state)) for state in states]


# --- search ----------------------------------------------------------------------------------------------------------


@hypothesis_settings(max_examples=400)
@given(pairs_of_models(), st.integers(1, 40))
def test_compiled_search_is_the_slow_one(case: tuple[StripsModel, StripsModel, list[PairOfStates]], limit: int) -> None:
    a, b, pairs = case
    starts = starts_of(a, b, pairs)
    slow = search_slowly(a, b, pairs, limit)
    assert ProductSearch(JointModel(a, b), starts).run(limit) == slow
    resumed = ProductSearch(JointModel(a, b), starts)
    first = resumed.run(max(1, limit // 3), last=False)
    if first.difference is None and not first.exhausted:
        assert resumed.run(limit) == slow
        assert resumed.run(limit) == slow  # nothing left out is forgotten
    if resumed.run(limit).difference is None:
        assert resumed.run(3 * limit) == search_slowly(a, b, pairs, 3 * limit)
    if slow.difference:
        init = pairs[slow.difference.start]
        *before, last = zip(
            *(refusals(m, s, slow.difference.trace) for m, s in zip((a, b), init, strict=True)), strict=True
        )
        assert before == [(False, False)] * len(before)
        assert last in ((True, False), (False, True))


def refusals(model: StripsModel, init: State, trace: tuple[str, ...]) -> list[bool]:
    """`label`, with unknown actions refused."""
    known = [name for name in trace if name in model.action_index]
    labels = iter(label(model, known, init))
    return [next(labels) if name in model.action_index else True for name in trace]


def counter(bits: int, alarm: bool) -> StripsModel:
    """Counts up from 0, one action applicable at a time; `alarm` needs all bits, or is not there."""
    one, zero = [f"one{i}" for i in range(bits)], [f"zero{i}" for i in range(bits)]
    actions = [
        StripsAction(f"inc{i}", frozenset({zero[i], *one[:i]}), frozenset({one[i], *zero[:i]}), frozenset({zero[i], *one[:i]}))
        for i in range(bits)
    ]  # fmt: skip
    return StripsModel((*one, *zero), (*actions, *([StripsAction("alarm", frozenset(one))] if alarm else [])))


def zeros(bits: int) -> State:
    return frozenset(f"zero{i}" for i in range(bits))


def test_deep_difference_is_found_by_search_and_not_by_less() -> None:
    a, b = counter(12, True), counter(12, False)
    starts = starts_of(a, b, [(zeros(12), zeros(12))])
    found = compare(a, b, starts)
    assert (found.verdict, found.exit_code, found.shortest, found.refused_by, found.missing) == (
        "different",
        1,
        True,
        "B",
        None,
    )
    assert found.trace is not None
    assert len(found.trace) == 2**12
    assert found.trace[:4] == ("inc0", "inc1", "inc0", "inc2")
    assert found.only_a == ("alarm",)
    few = compare(a, b, starts, max_pairs=100)
    assert (few.verdict, few.exit_code, few.pairs, few.how, few.trace) == ("not distinguished", 3, 100, (), None)


def test_states_that_share_words_with_others() -> None:
    """More than 64 atoms in each model, and growing arrays: 2^12 pairs from a store of 1024."""
    pad = tuple(f"pad{i}" for i in range(70))
    model = counter(12, True)
    wide = StripsModel((*pad, *model.atoms), model.actions)
    starts = starts_of(wide, wide, [(zeros(12) | {"pad69"}, zeros(12)), (zeros(12), zeros(12)), (zeros(12), zeros(12))])
    search = ProductSearch(JointModel(wide, wide), starts)
    assert search.pairs == 2
    found = search.run(10_000)
    assert (found.difference, found.exhausted, found.pairs) == (None, True, 2 * 2**12)
    others = starts_of(wide, wide, [(frozenset(), frozenset()), (zeros(12), zeros(12))])
    assert search.contains(others).tolist() == [False, True]


def test_random_walks_go_deeper_than_a_full_search() -> None:
    """A chain of 12 steps among 20 switches: the search drowns in 2^20 states, a walk comes through."""
    switches = [
        action
        for i in range(20)
        for action in (StripsAction(f"on{i}", frozenset({f"off{i}"}), frozenset({f"lit{i}"}), frozenset({f"off{i}"})),
                       StripsAction(f"off{i}", frozenset({f"lit{i}"}), frozenset({f"off{i}"}), frozenset({f"lit{i}"})))
    ]  # fmt: skip
    chain = [
        StripsAction(f"step{i}", frozenset({f"at{i}"}), frozenset({f"at{i + 1}"}), frozenset({f"at{i}"}))
        for i in range(12)
    ]
    atoms = (*(f"at{i}" for i in range(13)), *(f"{word}{i}" for i in range(20) for word in ("off", "lit")))
    a = StripsModel(atoms, (*switches, *chain, StripsAction("end", frozenset({"at12"}))))
    b = StripsModel((*atoms, "never"), (*switches, *chain, StripsAction("end", frozenset({"at12", "never"}))))
    init = frozenset({"at0", *(f"off{i}" for i in range(20))})
    found = compare(a, b, starts_of(a, b, [(init, init)]), max_pairs=2_000)
    assert (found.verdict, found.shortest, found.refused_by, found.missing) == ("different", False, "B", ("never",))
    assert found.trace == (*(f"step{i}" for i in range(12)), "end")
    again = walk_for_difference(JointModel(a, b), starts_of(a, b, [(init, init)]), seed=0)
    assert again is not None
    assert again.trace == found.trace
    assert walk_for_difference(JointModel(a, a), starts_of(a, a, [(init, init)]), 0, walks=10, length=50) is None
    long = ["on3", "step0", "on4", "off3", *(f"step{i}" for i in range(1, 12)), "end"]
    assert shorten_trace(JointModel(a, b), (init, init), long) == list(found.trace)


# --- invariants ------------------------------------------------------------------------------------------------------


@hypothesis_settings(max_examples=150)
@given(pairs_of_models())
def test_compiled_invariants_are_the_slow_ones(case: tuple[StripsModel, StripsModel, list[PairOfStates]]) -> None:
    a, b, pairs = case
    joint, starts = JointModel(a, b), starts_of(a, b, pairs)
    fast, slow = find_invariants(joint, starts), find_invariants_slowly(joint, starts)
    assert np.array_equal(fast.together, slow.together)
    assert np.array_equal(fast.together, fast.together.T)


def test_proofs_are_never_wrong() -> None:
    """4,000 random pairs: what is proven, the exhausted product confirms; invariants hold in every reached pair."""
    chance = random.Random(0)
    counts = {"proven": 0, "equivalent": 0, "different": 0}
    for _ in range(4_000):
        a, b, pairs = random_pair(chance)
        joint, starts = JointModel(a, b), starts_of(a, b, pairs)
        search = ProductSearch(joint, starts)
        found = search.run(2**12)
        invariants = find_invariants(joint, starts)
        assert found.exhausted or found.difference
        counts["proven"] += invariants.prove
        counts["equivalent" if found.exhausted else "different"] += 1
        assert not (invariants.prove and found.difference), (a, b, pairs, found)
        reached = search.known_pairs()
        literals = np.concatenate([reached.joint, ~reached.joint], axis=1)
        for state in literals:
            assert invariants.together[np.ix_(state, state)].all()
        assert invariants.covers(reached).all()
        check_mapping(invariants.mapping(), a, b, reached.a, reached.b)
        check_mapping(invariants.mapping(of_b=True), b, a, reached.b, reached.a)
    assert counts["different"] > 600
    assert counts["equivalent"] > 1_600
    assert counts["proven"] > 0.95 * counts["equivalent"]  # else it would prove little


def check_mapping(
    mapping: tuple[Counterpart, ...], ours: StripsModel, theirs: StripsModel, states: np.ndarray, others: np.ndarray
) -> None:
    for item in mapping:
        values = states[:, ours.atom_index[item.atom]]
        other = None if item.other is None else others[:, theirs.atom_index[item.other]]
        match item.relation:
            case "equal":
                assert (values == other).all()
            case "opposite":
                assert (values != other).all()
            case "always true":
                assert values.all()
            case "always false":
                assert not values.any()


def test_a_covered_start_needs_no_new_proof() -> None:
    chance = random.Random(1)
    covered = refused = 0
    for _ in range(1_000):
        a, b, pairs = random_pair(chance)
        joint, invariants = JointModel(a, b), find_invariants(JointModel(a, b), starts_of(a, b, pairs))
        other = [(frozenset(chance.sample(a.atoms, chance.randint(0, len(a.atoms)))),
                  frozenset(chance.sample(b.atoms, chance.randint(0, len(b.atoms)))))]  # fmt: skip
        if not invariants.covers(starts_of(a, b, other)).all():
            refused += 1
        elif invariants.prove:
            covered += 1
            assert ProductSearch(joint, starts_of(a, b, other)).run(2**12).exhausted
    assert covered > 15
    assert refused > 500


def test_mapping_names_what_atoms_are() -> None:
    a = StripsModel(
        ("on", "hand", "fixed"),
        (StripsAction("press", frozenset({"hand"}), frozenset({"on"}), frozenset({"hand"})),
         StripsAction("release", frozenset({"on"}), frozenset({"hand"}), frozenset({"on"}))),
    )  # fmt: skip
    b = StripsModel(
        ("p1", "hand", "free"),
        (StripsAction("press", frozenset({"hand"}), frozenset({"p1"}), frozenset({"hand"})),
         StripsAction("release", frozenset({"p1"}), frozenset({"hand", "free"}), frozenset({"p1"}))),
    )  # fmt: skip
    starts = starts_of(a, b, [(frozenset({"hand"}), frozenset({"hand"}))])
    result = compare(a, b, starts)
    assert (result.verdict, result.how, result.pairs, result.starts) == (
        "equivalent",
        ("exhausted", "invariants"),
        4,
        1,
    )
    assert result.mapping == (
        Counterpart("on", "equal", "p1"), Counterpart("hand", "equal", "hand"), Counterpart("fixed", "always false"),
    )  # fmt: skip
    assert result.mapping_back == (
        Counterpart("p1", "equal", "on"), Counterpart("hand", "equal", "hand"), Counterpart("free", "none"),
    )  # fmt: skip


def test_what_pairs_cannot_show_the_search_does() -> None:
    """One of three places: "at x or y" and "at y or z" together mean y, which needs three literals at once."""
    places = "xyz"
    moves = [(p, q) for p in places for q in places if p != q]
    either = {"xy": "xy", "yz": "yz"}
    a = StripsModel(
        tuple(places),
        (*(StripsAction(f"go-{p}{q}", frozenset(p), frozenset(q), frozenset(p)) for p, q in moves), StripsAction("dig", frozenset("y"))),
    )  # fmt: skip
    b = StripsModel(
        (*places, *either),
        (*(StripsAction(f"go-{p}{q}", frozenset(p), frozenset({q, *(e for e in either if q in e)}),
                        frozenset({p, *(e for e in either if q not in e)})) for p, q in moves),
         StripsAction("dig", frozenset(either))),
    )  # fmt: skip
    starts = starts_of(a, b, [(frozenset("x"), frozenset({"x", "xy"}))])
    assert find_invariants(JointModel(a, b), starts).unproven == (("dig", "A", "y"),)
    result = compare(a, b, starts)
    assert (result.verdict, result.how, result.pairs) == ("equivalent", ("exhausted",), 3)


# --- compare ---------------------------------------------------------------------------------------------------------


def test_same_traces_from_everything_true() -> None:
    """Without starts f_A = f_B is asked: b's extra precondition can never be deleted."""
    a = StripsModel(("p",), (StripsAction("go", delete=frozenset({"p"})), StripsAction("ask", frozenset({"p"}))))
    b = StripsModel(("p", "q"), (*a.actions[:1], StripsAction("ask", frozenset({"p", "q"}))))
    result = compare(a, b)
    assert (result.verdict, result.pairs, result.origin) == ("equivalent", 2, "every atom true, as f_M has it")
    false = compare(a, b, starts_of(a, b, [(frozenset({"p"}), frozenset({"p"}))]))
    assert (false.verdict, false.trace, false.refused_by, false.missing) == ("different", ("ask",), "B", ("q",))
    assert (false.start, false.start_a, false.start_b) == ("s0", ("p",), ("p",))
    assert json.loads(json.dumps(false.to_json()))["trace"] == ["ask"]


def test_models_without_atoms_or_actions() -> None:
    empty = StripsModel((), ())
    assert compare(empty, empty).verdict == "equivalent"
    one = StripsModel((), (StripsAction("go"),))
    assert compare(one, one).how == ("exhausted", "invariants")
    result = compare(one, empty)
    assert (result.trace, result.refused_by, result.missing) == (("go",), "B", None)


def test_limits_and_starts_are_checked() -> None:
    model = counter(2, False)
    for limit in (0, -1, 10**10):
        with pytest.raises(UserError, match="cannot look at"):
            compare(model, model, max_pairs=limit)
    with pytest.raises(UserError, match="no start"):
        compare(model, model, starts_of(model, model, []))


def test_further_starts_are_covered_or_added() -> None:
    model = counter(3, True)
    one, zero = (frozenset({f"{word}{i}" for i in range(3)}) for word in ("one", "zero"))
    starts, end = starts_of(model, model, [(zero, zero)]), starts_of(model, model, [(one, one)])
    covered = compare(model, model, starts, further=end)
    assert (covered.verdict, covered.starts, covered.further, covered.added) == ("equivalent", 1, 1, 0)
    assert compare(model, model, starts, further=starts).further == 0
    uncovered = compare(model, model, end, further=starts)
    assert (uncovered.verdict, uncovered.starts, uncovered.further, uncovered.added) == ("equivalent", 2, 0, 1)
    different = compare(model, model, end, further=starts_of(model, model, [(zero, one)]))
    assert (different.verdict, different.added, different.start_b) == ("different", 1, ("one0", "one1", "one2"))


def test_exhausting_what_is_proven() -> None:
    model = counter(18, True)
    starts = starts_of(model, model, [(zeros(18), zeros(18))])
    quick = compare(model, model, starts)
    assert (quick.verdict, quick.how) == ("equivalent", ("invariants",))
    assert quick.pairs < 2**18
    full = compare(model, model, starts, exhaust=True)
    assert (full.how, full.pairs) == (("exhausted", "invariants"), 2**18)


def test_a_wrong_counterexample_is_never_returned() -> None:
    a, b = counter(2, True), counter(2, False)
    starts, empty = starts_of(a, b, [(zeros(2), zeros(2))]), Comparison("not distinguished", (), 1, 1, "x")
    for trace in (("inc0",), ("alarm",), ("inc1", "alarm")):
        with pytest.raises(RuntimeError, match="no counterexample"):
            with_difference(empty, JointModel(a, b), starts, Difference(0, trace), True)
    right = ("inc0", "inc1", "inc0", "alarm")
    assert with_difference(empty, JointModel(a, b), starts, Difference(0, right), True).refused_by == "B"


def test_f_m_of_a_state_is_the_walk_from_it() -> None:
    model = counter(2, True)
    assert negative_from(model, zeros(2), ["inc0", "inc1", "inc0", "alarm"]) is False
    assert negative_from(model, zeros(2), ["inc0", "alarm"]) is True
    assert negative_from(model, zeros(2), ["inc0", "no-such"]) is True
    named = StripsModel((), (StripsAction("init"),))
    assert negative_from(named, frozenset(), ["init"]) is False


@pytest.mark.parametrize(
    ("part", "atom", "trace_end", "refuser"),
    [("pre", "handempty", "pick-up_b1", "A"), ("delete", "clear_b1", "stack_b2_b1", "A"), ("add", "clear_b1", "unstack_b2_b1", "B")],
)  # fmt: skip
def test_a_changed_blocksworld_is_told_apart(part: str, atom: str, trace_end: str, refuser: str) -> None:
    domain = get_domain("blocksworld:3")
    name = {"pre": "pick-up_b1", "delete": "stack_b2_b1", "add": "unstack_b2_b1"}[part]
    changed = tuple(
        replace(action, **{part: getattr(action, part) - {atom}}) if action.name == name else action
        for action in domain.model.actions
    )
    assert changed != domain.model.actions
    other = StripsModel(domain.model.atoms, changed)
    starts, further = find_starts(Source("A", domain.model, domain=domain), Source("B", other))
    result = compare(domain.model, other, starts, further=further)
    assert (result.verdict, result.shortest, result.starts) == ("different", True, 13)
    assert result.trace is not None
    if part == "pre":
        assert (result.trace[-1], result.refused_by, result.missing) == (trace_end, refuser, ("handempty",))
        assert len(result.trace) == 2
    slow = search_slowly(domain.model, other, [(frozenset(result.start_a), frozenset(result.start_b))], 10**6)
    assert slow.difference is not None
    assert len(slow.difference.trace) == len(result.trace)


@pytest.mark.parametrize(
    ("blocks", "init", "starts", "pairs", "how"),
    [
        (4, "atoms", 73, 125, ("exhausted", "invariants")),
        # of three blocks the one held, one on the table: so another is clear. That takes three literals at once.
        (3, "atoms", 13, 22, ("exhausted",)),
        (3, "states:5", 5, 24, ("exhausted",)),
    ],
)
def test_a_learned_model_is_its_hidden_one(
    blocks: int, init: str, starts: int, pairs: int, how: tuple[str, ...]
) -> None:
    domain = get_domain(f"blocksworld:{blocks}")
    world = learn(sample(domain, SampleSettings(3_000, 20, init=init)), "strips+completion").world
    a, b = Source("A", domain.model, domain=domain), Source("B", world.model, world)
    first, second = with_final_values(a, b)
    assert len(second.actions) == len(b.model.actions) + len(world.vocabulary.test_atoms)
    given_starts, further = find_starts(a, b, count=10_000)
    result = compare(first, second, given_starts, further=further)
    assert (result.verdict, result.how, result.pairs, result.starts) == ("equivalent", how, pairs, starts)
    holding = {item.atom: item.other for item in result.mapping if item.atom.startswith("holding")}
    assert len(holding) == blocks
    assert set(holding.values()) <= set(world.invented)
    if init == "atoms":  # the starts are what the setup actions make
        setup = world.over_tokens()
        for row_a, row_b in zip(given_starts.a, given_starts.b, strict=True):
            told = [f"init-{p}" for p, true in zip(a.model.atoms, row_a, strict=True) if true]
            state = frozenset(setup.atoms)
            for name in ("init-false", *told):
                state = setup.action(name).progress(state)
            assert state == {p for p, true in zip(b.model.atoms, row_b, strict=True) if true}


def test_everything_true_is_the_start_of_sides_that_know_none() -> None:
    model = counter(2, False)
    starts, further = find_starts(Source("A", model), Source("B", model))
    assert further is None
    assert starts.origin == everything_true(model, model).origin
    assert starts.joint.all()


def test_named_states_of_other_sizes_are_other_states() -> None:
    """s0 of 5 states is not s0 of 7: they must not be taken for one start."""
    domain, model = get_domain("blocksworld:3"), counter(1, False)

    def side(names: tuple[str, ...]) -> Source:
        return Source(
            "x", model, WorldModel(model, Vocabulary((), init_states=names), dict.fromkeys(names, frozenset()))
        )

    five, seven = (tuple(f"s{i}" for i in range(n)) for n in (5, 7))
    assert find_starts(side(five), side(five))[0].names == five
    for other, source in ((seven, None), (("start",), domain)):
        with pytest.raises(UserError, match="same named initial states"):
            find_starts(side(five if source is None else other), side(other), source)


def test_comparing_knows_neither_learners_nor_worlds() -> None:
    script = "import sys, json, trace2strips.judging.equivalence; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    ours = {name.split(".")[1] for name in json.loads(done.stdout) if name.startswith("trace2strips.")}
    assert ours == {"bits", "compilation", "errors", "files", "judging", "model"}


# --- where a learned model starts ------------------------------------------------------------------------------------

BLOCKS = get_domain("blocksworld:3")


def without_origin(settings: SampleSettings) -> Dataset:
    """Traces that do not say from which domain they come, as in a log of the user's own."""
    return replace(sample(BLOCKS, settings), settings={})


def learned_source(dataset: Dataset, name: str = "run") -> Source:
    learned = learn(dataset, "strips+completion")
    return Source(name, learned.model, learned.world, learned=learned)


def wrong_blocks() -> StripsModel:
    """pick-up_b1 does not need an empty hand."""
    actions = tuple(
        replace(action, pre=action.pre - {"handempty"}) if action.name == "pick-up_b1" else action
        for action in BLOCKS.model.actions
    )
    assert actions != BLOCKS.model.actions
    return StripsModel(BLOCKS.model.atoms, actions, BLOCKS.model.name)


def test_a_learned_model_starts_where_its_traces_start() -> None:
    """From "every atom true" an equivalent model was called different: no trace ever started there."""
    dataset = without_origin(SampleSettings(3_000, 20, init="states:5"))
    run, truth, wrong = learned_source(dataset), Source("truth", BLOCKS.model), Source("wrong", wrong_blocks())
    assert run.world is not None
    assert compare(BLOCKS.model, run.model, everything_true(BLOCKS.model, run.model)).verdict == "different"
    with pytest.raises(UserError, match=r"where truth and run start is not said \(hint: --init s0 with --problem FILE"):
        find_starts(truth, run)
    for state, told in dataset.states.items():
        starts = told_starts(truth, run, told, "given", state)
        assert starts.a.tolist() == [[atom in told for atom in BLOCKS.model.atoms]]
        assert starts.b.tolist() == [[atom in run.world.states[state] for atom in run.model.atoms]]
        assert compare(*with_final_values(truth, run), starts).verdict == "equivalent"
        other = compare(*with_final_values(wrong, run), told_starts(wrong, run, told, "given", state))
        assert (other.verdict, other.refused_by, other.shortest, other.start) == ("different", "B", True, state)
        assert other.trace is not None
        assert other.trace[-1] == "pick-up_b1"
    with pytest.raises(ModelError, match="unknown atom 'on_b1_b9'"):
        told_starts(truth, run, {"on_b1_b9"}, "given", "s0")
    with pytest.raises(ModelError, match="unknown initial state 's9'"):
        told_starts(truth, run, (), "given", "s9")
    with pytest.raises(UserError, match="run knows 5 initial states by name, and none is chosen"):
        told_starts(truth, run, dataset.states["s0"], "given")
    from_traces = trace_starts(truth, run, dataset)
    assert from_traces.names == tuple(dataset.states)
    assert (from_traces.only("s4").joint == starts.joint).all()
    assert compare(*with_final_values(truth, run), from_traces).verdict == "equivalent"


def test_a_log_that_tells_no_start() -> None:
    """`start` is learned in the atoms of the run; only the other model has to be told."""
    door = ["o", "oo", "c", "oc", "occ", "oco", "ocoo"]
    labels = ["+", "+-", "-", "++", "++-", "+++", "+++-"]
    traces = [
        Trace(tuple({"o": "open", "c": "close"}[x] for x in actions), tuple(x == "+" for x in ok))
        for actions, ok in zip(door, labels, strict=True)
    ]
    run = learned_source(Dataset.of(traces))
    truth = Source("truth", StripsModel(("shut", "wide"), (
        StripsAction("open", frozenset({"shut"}), frozenset({"wide"}), frozenset({"shut"})),
        StripsAction("close", frozenset({"wide"}), frozenset({"shut"}), frozenset({"wide"})),
    )))  # fmt: skip
    assert compare(run.model, truth.model, told_starts(run, truth, {"shut"}, "given")).verdict == "equivalent"
    other = compare(run.model, truth.model, told_starts(run, truth, {"wide"}, "given"))
    assert (other.verdict, len(other.trace or ()), other.start_b) == ("different", 1, ("wide",))
    with pytest.raises(UserError, match="what is true in truth where the traces of run begin"):
        find_starts(run, truth)
    with pytest.raises(TraceError, match="nothing says what is true in truth in the initial state 'start'"):
        trace_starts(run, truth, Dataset.of(traces))


def test_starts_that_traces_tell_by_atoms() -> None:
    dataset = without_origin(SampleSettings(3_000, 20))
    run, truth = learned_source(dataset), Source("truth", BLOCKS.model)
    with pytest.raises(UserError, match=r"where run and truth start is not said \(hint: --traces FILE"):
        find_starts(run, truth)
    starts = trace_starts(run, truth, dataset)
    inits = {trace.init for trace in dataset}
    assert len(starts) == len(inits) > 5
    assert {frozenset(truth.model.atoms[i] for i in np.flatnonzero(row)) for row in starts.b} == inits
    setup = run.world.over_tokens()  # type: ignore[union-attr]
    for row_a, row_b in zip(starts.a, starts.b, strict=True):
        state = frozenset(setup.atoms)
        for name in ("init-false", *(f"init-{p}" for p, true in zip(truth.model.atoms, row_b, strict=True) if true)):
            state = setup.action(name).progress(state)
        assert state == {p for p, true in zip(run.model.atoms, row_a, strict=True) if true}
    assert compare(*with_final_values(run, truth), starts).verdict == "equivalent"


def test_traces_with_both_kinds_of_starts() -> None:
    model = counter(1, False)
    words = Vocabulary(("inc0",), ("zero0",), ("s",), (), True)
    run = Source("run", model, WorldModel(model, words, {"s": frozenset({"one0"})}))
    traces = Dataset.of([Trace((), (), init=frozenset()), Trace((), (), state="s"), Trace((), (), init=zeros(1))] * 2)
    starts = trace_starts(run, Source("truth", model), replace(traces, states={"s": frozenset({"one0"})}))
    pairs = sorted(zip(starts.a.tolist(), starts.b.tolist(), strict=True))
    assert pairs == [([False, False], [False, False]), ([False, True], [False, True]), ([True, False], [True, False])]


def test_traces_of_other_states_are_refused() -> None:
    """s0 of 5 states and s0 of 7 are two states that share a name."""
    run, truth = learned_source(sample(BLOCKS, SampleSettings(300, 5, init="states:5"))), Source("truth", BLOCKS.model)
    assert trace_starts(run, truth, sample(BLOCKS, SampleSettings(50, 5, init="states:5"))).names[0] == "s0"
    for traces in (
        sample(BLOCKS, SampleSettings(50, 5, init="states:7")),
        sample(get_domain("ferry:2x2"), SampleSettings(50, 5, init="states:5")),
        sample(BLOCKS, SampleSettings(50, 5)),
    ):
        with pytest.raises(TraceError, match="take the traces that it was learned from"):
            trace_starts(run, truth, traces)
    with pytest.raises(TraceError, match="the traces tell initial atoms, and run knows its initial states by name"):
        trace_starts(run, truth, without_origin(SampleSettings(50, 5)))
    with pytest.raises(ModelError, match="unknown initial state 'elsewhere'"):
        trace_starts(run, truth, Dataset.of([Trace((), (), state="elsewhere")]))


# --- the command -----------------------------------------------------------------------------------------------------


Commands = Callable[..., list[tuple[int, str, str]]]


@pytest.fixture
def commands(run: Run) -> Commands:
    """`trace2strips compare` several times over: exit code, output and errors of each."""

    def call(*calls: tuple[object, ...]) -> list[tuple[int, str, str]]:
        done = [run("compare", *words) for words in calls]
        return [(one.returncode, one.stdout, one.stderr) for one in done]

    return call


def write_models(tmp_path: Path) -> None:
    (tmp_path / "a.pddl").write_text(format_model(counter(3, True)))
    (tmp_path / "b.pddl").write_text(format_model(counter(3, False)))
    problem = StripsProblem(counter(3, True), frozenset({"one0", "one1", "one2"}), frozenset())
    (tmp_path / "p.pddl").write_text(format_model_problem(problem))
    (tmp_path / "c.pddl").write_text(format_model(counter(12, True)))
    (tmp_path / "d.pddl").write_text(format_model(counter(12, False)))


def test_command_exit_codes_and_words(tmp_path: Path, commands: Commands) -> None:
    write_models(tmp_path)
    zero = ("--init", "zero0,zero1,zero2")
    answers = commands(
        ("a.pddl", "a.pddl", *zero), ("a.pddl", "b.pddl", *zero), ("a.pddl", "b.pddl", *zero, "--max-pairs", 2),
        ("b.pddl", "a.pddl", "--problem", "p.pddl", "--json"), ("a.pddl", "b.pddl", "--json"),
        ("c.pddl", "d.pddl", "--init", ",".join(zeros(12)), "--max-pairs", 50),
    )  # fmt: skip
    assert [errors for _, _, errors in answers] == [""] * 6
    assert [code for code, _, _ in answers] == [0, 1, 1, 1, 1, 3]
    same, other, few, problem, plain, deep = (out for _, out, _ in answers)
    assert same.splitlines()[:3] == [
        "equivalent: A = a.pddl, B = a.pddl",
        "starts: 1, the initial atoms given",
        "shown by the product state space, exhausted: 8 pairs of states",
    ]
    assert other.splitlines()[:5] == [
        "different: A = a.pddl, B = b.pddl",
        "starts: 1, the initial atoms given",
        "A alone has 1: alarm; B counts as refusing them always",
        "a shortest trace that tells them apart, 8 actions:",
        "  start: the initial atoms given",
    ]
    assert other.splitlines()[-1] == "  alarm   refused by B (it has no such action), accepted by A"
    assert "a trace that tells them apart, 8 actions" in few  # a random walk came through
    record = json.loads(problem)
    assert (record["trace"], record["refused_by"], record["a"], record["starts"]) == (["alarm"], "A", "b.pddl", 1)
    assert json.loads(plain)["origin"] == "every atom true, as f_M has it"
    assert deep.startswith("not distinguished: ")
    assert "50 pairs of states were looked at; --max-pairs allows more" in deep


def test_command_on_domains_and_runs(tmp_path: Path, commands: Commands) -> None:
    for name, init in (("r", "atoms"), ("s", "states:5")):
        dataset = sample(get_domain("blocksworld:3"), SampleSettings(3_000, 20, init=init))
        learn(dataset, "strips+completion").save(tmp_path / name)
    named, generated = "named initial states", "generated initial states of blocksworld:3"
    expected = {
        ("s", "blocksworld:3"): (5, named),
        ("s", "s"): (5, named),
        ("r", "r"): (13, generated),  # the run says what its traces came from
        ("r/model.pddl", "r/model.pddl", "--domain", "blocksworld:3"): (13, generated),
        ("r/model.pddl", "r"): (13, generated),
        ("r/model.pddl", "r/model.pddl"): (1, "every atom true, as f_M has it"),
        ("r/model.pddl", "blocksworld:3"): (13, generated),
        ("r", "blocksworld:3", "--problem", "lifted.pddl"): (1, "the initial state of lifted.pddl"),
    }
    (problem,) = BLOCKS.problems(1)
    (tmp_path / "lifted.pddl").write_text(format_problem(BLOCKS.lifted_problem(problem)))
    (_, shown, _), *others = commands(
        ("blocksworld:3", "r", "--starts", 500), *((*words, "--json") for words in expected)
    )
    assert "starts: 13, generated initial states of blocksworld:3" in shown
    assert "  holding_b1 (A) = p" in shown
    answers = [json.loads(out) for _, out, _ in others]
    assert [(x["starts"], x["origin"]) for x in answers] == list(expected.values())
    assert {x["verdict"] for x in answers} == {"equivalent"}


def test_command_on_a_run_and_a_file(tmp_path: Path, commands: Commands) -> None:
    """Nothing but the run, the true model and where both start; several named states, or atoms."""
    for name, init in (("atoms", "atoms"), ("named", "states:5")):
        dataset = without_origin(SampleSettings(3_000, 20, init=init))
        dataset.save(tmp_path / f"{name}.t2s")
        learn(dataset, "strips+completion").save(tmp_path / name)
        told = dataset[0].init or dataset.states["s0"]
    (tmp_path / "truth.pddl").write_text(format_model(BLOCKS.model))
    (tmp_path / "wrong.pddl").write_text(format_model(wrong_blocks()))
    problem = StripsProblem(BLOCKS.model, told, frozenset())
    (tmp_path / "p.pddl").write_text(format_model_problem(problem))
    (tmp_path / "lifted.pddl").write_text(format_problem(BLOCKS.lifted_problem(problem)))
    equivalent = {
        ("atoms", "truth.pddl", "--traces", "atoms.t2s"): 10,  # of 13: the others are for tests
        ("truth.pddl", "atoms", "--problem", "p.pddl"): 1,
        ("atoms", "atoms", "--problem", "p.pddl"): 1,  # whatever domain it names: its words are known
        ("atoms", "atoms", "--init", " ".join(sorted(told - {"handempty"}))): 1,
        ("named", "truth.pddl", "--traces", "named.t2s"): 5,
        ("named", "truth.pddl", "--traces", "named.t2s", "--init", "s3"): 1,
        ("named", "truth.pddl", "--problem", "p.pddl", "--init", "s0"): 1,
        ("truth.pddl", "named", "--init", ",".join(["s0", *told])): 1,
        ("truth.pddl", "named", *(word for atom in (*told, "s0") for word in ("--init", atom))): 1,
        ("named", "named", "--init", "s2"): 1,
        ("named", "blocksworld:3", "--init", "s2"): 1,
        ("named", "named"): 5,
        ("named", "truth.pddl", "--domain", "blocksworld:3"): 5,
    }
    different = [("atoms", "wrong.pddl", "--traces", "atoms.t2s"), ("named", "wrong.pddl", "--traces", "named.t2s")]
    errors = {
        ("atoms", "truth.pddl"): "where atoms and truth.pddl start is not said (hint: --traces FILE",
        ("atoms", "atoms"): "where atoms and atoms start is not said",
        ("truth.pddl", "named"): "where truth.pddl and named start is not said (hint: --init s0 with --problem FILE",
        ("named", "truth.pddl", "--init", "s0"): "where named and truth.pddl start is not said",
        ("named", "truth.pddl", "--problem", "p.pddl"): "named knows 5 initial states by name, and none is chosen",
        ("named", "named", "--init", "s0 s1"): "two initial states are named, 's0' and 's1'",
        ("named", "named", "--init", "s9"): "unknown atom 's9'",
        ("atoms", "truth.pddl", "--problem", "lifted.pddl"): "lifted.pddl: the problem has objects",
        ("atoms", "truth.pddl", "--traces", "no.t2s"): "no.t2s: no such file",
        ("atoms", "truth.pddl", "--traces", "atoms.t2s", "--domain", "blocksworld:3"): "several starts are given",
        ("named", "truth.pddl", "--traces", "atoms.t2s"): "atoms.t2s: the traces tell initial atoms",
    }
    calls = [*((*call, "--json") for call in (*equivalent, *different)), *errors]
    answers = commands(*calls)
    found = [(code, json.loads(out) if out else {}, text) for code, out, text in answers]
    n, m = len(equivalent), len(equivalent) + len(different)
    assert [(code, text, x.get("verdict"), x.get("starts")) for code, x, text in found[:n]] == [
        (0, "", "equivalent", starts) for starts in equivalent.values()
    ]
    assert [(code, x["refused_by"], x["trace"][-1]) for code, x, _ in found[n:m]] == [(1, "A", "pick-up_b1")] * 2
    for (code, x, text), message in zip(found[m:], errors.values(), strict=True):
        assert (code, x, message in text, text.count("\n")) == (2, {}, True, 1), (message, text)


ERRORS = {
    ("none", "a.pddl"): "'none' is no run folder, no .pddl file and no domain",
    ("none.pddl", "a.pddl"): "none.pddl: no such file",
    (".", "a.pddl"): "no run of trace2strips",
    ("x.txt", "a.pddl"): "x.txt: is no model",
    ("x.pddl", "a.pddl"): "x.pddl:1:1: not a PDDL file",
    ("blocksworld:0", "a.pddl"): "blocksworld:0 is too small",
    ("a.pddl", "b.pddl", "--init", "zero9"): "unknown atom 'zero9' (hint: did you mean 'zero",
    ("a.pddl", "b.pddl", "--problem", "q.pddl"): "q.pddl: no such file",
    ("a.pddl", "b.pddl", "--problem", "p.pddl", "--init", ""): "several starts are given",
    ("a.pddl", "b.pddl", "--max-pairs", 0): "cannot look at 0 pairs",
    ("a.pddl", "b.pddl", "--starts", 0): "cannot draw 0 starts",
    ("a.pddl", "b.pddl", "--seed", -1): "the seed -1 is out of range",
    ("a.pddl", "b.pddl", "--seed", -1, "--init", ""): "the seed -1 is out of range",
    ("a.pddl", "b.pddl", "--domain", "no"): "unknown domain 'no'",
}


def test_command_errors(tmp_path: Path, commands: Commands) -> None:
    write_models(tmp_path)
    (tmp_path / "x.txt").write_text("hello")
    (tmp_path / "x.pddl").write_text("hello")
    for (code, shown, errors), message in zip(commands(*ERRORS), ERRORS.values(), strict=True):
        assert (code, shown) == (2, "")
        assert message in errors
        assert errors.startswith("trace2strips: ")
        assert errors.count("\n") == 1


def test_result_is_plain_data() -> None:
    result = Comparison("equivalent", ("exhausted",), 1, 1, "x", mapping=(Counterpart("p", "equal", "q"),))
    assert result.to_json()["mapping"] == ({"atom": "p", "relation": "equal", "other": "q"},)
    assert result.exit_code == 0
