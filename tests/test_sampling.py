"""Sampled traces: labels, distribution, determinism, and agreement with an independent simulator."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import numba
import numpy as np
import pymimir.advanced.formalism as formalism
import pymimir.advanced.search as search
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import models

from trace2strips.bits import pack, random_stream, unpack
from trace2strips.errors import DomainError
from trace2strips.model.strips import (
    StripsModel,
    StripsProblem,
    final_state,
    label,
    membership,
    state_of,
    walk,
)
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.pddl import format_domain, format_problem
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import BENCHMARKS, Domain, domain_from_files, get_domain
from trace2strips.worlds.sampling import SampleSettings, chunk_size, sample
from trace2strips.worlds.walks import NOT_BALANCED, Balance, walk_many, walk_slowly


@settings(max_examples=60)
@given(
    st.sampled_from(BENCHMARKS),
    st.sampled_from(["train", "test"]),
    st.sampled_from(["atoms", "states:1", "states:50"]),
    st.sampled_from(["all", "goal", "none"]),
    st.integers(0, 60),
    st.integers(0, 10**6),
)
def test_labels_agree_with_the_classifier(
    name: str, split: str, init: str, suffix: str, max_length: int, seed: int
) -> None:
    """Every label of every trace is that of the slow reference on the hidden model with its setup actions."""
    domain = get_domain(name)
    dataset = sample(domain, SampleSettings(8, max_length, split, init, suffix, seed))
    model = dataset.vocabulary.extend(domain.model, dataset.states)
    assert len(dataset) == 8
    for index in range(len(dataset)):
        names = dataset.names(index)
        start, end = dataset.offsets[index], dataset.offsets[index + 1]
        assert dataset.inapplicable[start:end].tolist() == label(model, names)
        trace = dataset[index]
        assert len(trace.actions) <= max_length
        first = trace.init if trace.state is None else dataset.states[trace.state]
        after = final_state(domain.model, trace.actions, first)
        wanted = {"all": domain.model.atoms, "goal": domain.goal_atoms, "none": ()}[suffix]
        assert dict(trace.final) == {atom: atom in after for atom in wanted}
        if split == "test":
            assert all(trace.ok[:-1])
        else:
            refusals = [
                (s, a)
                for (s, ok), a in zip(walk(domain.model, trace.actions, first), trace.actions, strict=True)
                if not ok
            ]
            assert len(refusals) == len(set(refusals))  # never the same refusal twice in one state


@settings(max_examples=100)
@given(
    st.sampled_from(BENCHMARKS).map(lambda name: get_domain(name).model) | models(),
    st.booleans(),
    st.booleans(),
    st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 40), st.booleans()), min_size=1, max_size=3),
    st.randoms(use_true_random=False),
)
def test_the_compiled_walk_is_the_slow_one(
    model: StripsModel, training: bool, balanced: bool, rows: list[tuple[int, int, bool]], random: Random
) -> None:
    """The same random stream, the same actions, labels and last state."""
    starts = [frozenset(atom for atom in model.atoms if random.random() < 0.6) for _ in rows]
    streams, lengths, refusals = (
        np.array(column, dtype=kind)
        for column, kind in zip(zip(*rows, strict=True), (np.uint64, np.int64, bool), strict=True)
    )
    balance = NOT_BALANCED
    if balanced:  # a few schemas and predicates, as names do not matter here
        words = {action.name: (f"schema{i % 2}",) for i, action in enumerate(model.actions)}
        words |= {atom: (f"predicate{i % 3}",) for i, atom in enumerate(model.atoms)}
        balance = Balance.of(model, words)
    expected = [
        walk_slowly(model, start, training, refusal, length, random_stream(seed), balance)
        for start, (seed, length, refusal) in zip(starts, rows, strict=True)
    ]
    tokens, labels, final = walk_many(
        model, pack(membership(model, starts)), training, streams, refusals, lengths, np.uint16, balance
    )
    for t, (numbers, refused, last) in enumerate(expected):
        assert tokens[t, : lengths[t]].tolist() == numbers
        assert labels[t, : lengths[t]].tolist() == refused
        assert state_of(model, unpack(final, len(model.atoms))[t]) == last


class Mimir:
    """The independent simulator: applicable actions and successor states from the lifted PDDL."""

    def __init__(self, domain: Domain, problem: StripsProblem) -> None:
        parser = formalism.Parser(format_domain(domain.lifted), "", formalism.ParserOptions())
        text = format_problem(domain.lifted_problem(problem))
        self.problem = parser.parse_problem(text, "", formalism.ParserOptions())
        options = search.SearchContextOptions(search.LiftedOptions(search.LiftedKPKCOptions()))
        context = search.SearchContext.create(self.problem, options)
        self.generator = context.get_applicable_action_generator()
        self.states = context.get_state_repository()
        self.state, _ = self.states.get_or_create_initial_state()

    def applicable(self) -> dict[str, formalism.GroundAction]:
        return {
            "_".join([a.get_action().get_name(), *(o.get_name() for o in a.get_objects())]): a
            for a in self.generator.generate_applicable_actions(self.state)
        }

    def apply(self, action: formalism.GroundAction) -> None:
        self.state, _ = self.states.get_or_create_successor_state(self.state, action, 0)

    def atoms(self) -> set[str]:
        numbers = list(self.state.get_fluent_atoms())
        found = self.problem.get_repositories().get_fluent_ground_atoms_from_indices(numbers)
        return {"_".join([a.get_predicate().get_name(), *(o.get_name() for o in a.get_objects())]) for a in found}


@pytest.mark.parametrize("name", BENCHMARKS)
@settings(max_examples=4)
@given(seed=st.integers(0, 2**63 - 1), split=st.sampled_from(["train", "test"]), max_length=st.integers(0, 40))
def test_traces_agree_with_mimir(name: str, seed: int, split: str, max_length: int) -> None:
    """After every action: the same applicable actions and the same true atoms as PDDL semantics say."""
    domain = get_domain(name)
    dataset = sample(domain, SampleSettings(4, max_length, split, "atoms", "all", seed))
    for trace in dataset:
        assert trace.init is not None
        static = {atom for atom in trace.init if atom.startswith("free_")}  # to mimir the maze's walls are static
        mimir = Mimir(domain, StripsProblem(domain.model, trace.init, frozenset()))
        for action, ok in zip(trace.actions, trace.ok, strict=True):
            applicable = mimir.applicable()
            assert (action in applicable) == ok
            state = frozenset(mimir.atoms() | static)
            assert applicable.keys() == {a.name for a in domain.model.actions if a.applicable(state)}
            if ok:
                mimir.apply(applicable[action])
        assert mimir.atoms() | static == {atom for atom, value in trace.final.items() if value}


@pytest.mark.parametrize("name", BENCHMARKS)
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**63 - 1),
    split=st.sampled_from(["train", "test"]),
    init=st.sampled_from(["atoms", "states:50"]),
    suffix=st.sampled_from(["all", "goal", "none"]),
    max_length=st.integers(0, 30),
)
def test_same_seed_same_bytes(
    tmp_path: Path, name: str, seed: int, split: str, init: str, suffix: str, max_length: int
) -> None:
    """On one thread and on all of them, with a new domain each time: nothing is left over from an earlier sample."""
    files = []
    most = numba.get_num_threads()
    for i, threads in enumerate((1, most, 1)):
        numba.set_num_threads(threads)
        domain = Domain(name, get_domain(name).family)
        sample(domain, SampleSettings(300, max_length, split, init, suffix, seed)).save(
            tmp_path / f"{i}.t2s", force=True
        )
        files.append((tmp_path / f"{i}.t2s").read_bytes())
    numba.set_num_threads(most)
    assert files[0] == files[1] == files[2]


def test_same_seed_same_bytes_in_another_process(tmp_path: Path) -> None:
    name = "maze-5x5"
    code = (
        "import sys, numba; numba.set_num_threads(int(sys.argv[1]));"
        "from trace2strips.worlds import get_domain; from trace2strips.worlds.sampling import *;"
        f"sample(get_domain({name!r}), SampleSettings(5000, 20, seed=7)).save(sys.argv[2])"
    )
    files = [tmp_path / f"{i}.t2s" for i in range(2)]
    for path, threads in zip(files, "12", strict=True):
        with_two = os.environ | {"NUMBA_NUM_THREADS": "2"}
        subprocess.run([sys.executable, "-c", code, threads, path], check=True, env=with_two)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_longer_sample_starts_with_the_shorter_one() -> None:
    domain = get_domain("ferry-5c")
    short, long = (sample(domain, SampleSettings(n, 20, "test")) for n in (4096, 9000))
    end = short.offsets[-1]
    assert (long.tokens[:end] == short.tokens).all()
    assert (sample(domain, SampleSettings(4096, 20, "test", seed=1)).tokens[:50] != short.tokens[:50]).any()


def test_long_traces_come_in_smaller_chunks() -> None:
    """What the paper uses keeps its bytes; the longest traces fit into memory."""
    assert [chunk_size(n) for n in (0, 50, 400, 1024, 2048, 100_000)] == [4096, 4096, 4096, 4096, 2048, 41]
    domain = get_domain("blocksworld-5b")
    short, long = (sample(domain, SampleSettings(n, 50_000, suffix="none")) for n in (chunk_size(50_000), 100))
    assert (long.tokens[: len(short.tokens)] == short.tokens).all()


def test_training_distribution() -> None:
    """Half of the actions are refused, lengths are uniform in 0..D, applicable actions are drawn evenly."""
    domain = get_domain("blocksworld-5b")
    dataset = sample(domain, SampleSettings(20_000, 10, suffix="none"))
    is_action = dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION
    assert abs(dataset.inapplicable[is_action].mean() - 0.5) < 0.01
    lengths = Counter(len(trace.actions) for trace in dataset)
    assert set(lengths) == set(range(11))
    assert max(abs(count / 20_000 - 1 / 11) for count in lengths.values()) < 0.01
    first: dict[tuple[frozenset[str], int], Counter[str]] = {}
    for trace in dataset:
        if trace.actions and trace.ok[0]:
            assert trace.init is not None
            options = sum(a.applicable(trace.init) for a in domain.model.actions)
            first.setdefault((trace.init, options), Counter())[trace.actions[0]] += 1
    deviations = [
        (max(counts.values()) - counts.total() / options) / (counts.total() / options) ** 0.5
        for (_, options), counts in first.items()
        if counts.total() >= 10 * options > 10
    ]
    assert len(deviations) > 10
    assert np.mean(deviations) < 2  # in standard deviations of a fair draw


def test_test_distribution() -> None:
    """Half of the traces are fully applicable; in the others only the last action is refused."""
    dataset = sample(get_domain("ferry-5c"), SampleSettings(20_000, 20, "test"))
    with_actions = [trace for trace in dataset if trace.actions]
    assert all(all(trace.ok[:-1]) for trace in with_actions)
    assert abs(np.mean([not trace.ok[-1] for trace in with_actions]) - 0.5) < 0.015


def test_initial_states_of_init_state_come_from_the_state_set() -> None:
    domain = get_domain("npuzzle-5t")
    dataset = sample(domain, SampleSettings(2000, 5, "train", "states:50"))
    rows = domain.state_set(50)
    assert dataset.states == {f"s{i}": state_of(domain.model, row) for i, row in enumerate(rows)}
    assert {trace.state for trace in dataset} == set(dataset.states)


def test_partial_grounding() -> None:
    """Actions that never worked in training are gone from it, from its vocabulary and from its test set."""
    domain = get_domain("blocksworld-8b")
    training = sample(domain, SampleSettings(15, 20, seed=3))
    kept = set(training.vocabulary.actions)
    worked = {a for trace in training for a, ok in zip(trace.actions, trace.ok, strict=True) if ok}
    assert kept == worked
    assert len(kept) < len(domain.model.actions)
    model = training.vocabulary.extend(domain.model)
    for index in range(len(training)):
        start, end = training.offsets[index], training.offsets[index + 1]
        assert training.inapplicable[start:end].tolist() == label(model, training.names(index))
    test = sample(domain, SampleSettings(200, 40, "test"), like=training)
    assert test.vocabulary == training.vocabulary
    assert {a for trace in test for a in trace.actions} <= kept
    full = sample(domain, SampleSettings(200, 40, "test"))
    assert len(full.vocabulary.actions) == 128


def test_a_test_set_needs_a_training_set_of_its_own_kind() -> None:
    training = sample(get_domain("ferry-5c"), SampleSettings(100, 5))
    with pytest.raises(DomainError, match="the training set has domain 'ferry-5c', not 'ferry-8c'"):
        sample(get_domain("ferry-8c"), SampleSettings(10, 5, "test"), like=training)
    with pytest.raises(DomainError, match="has suffix 'goal', not 'all'"):
        sample(get_domain("ferry-5c"), SampleSettings(10, 5, "test", suffix="all"), like=training)


LAMP = """(define (domain lamp) (:predicates (on ?l) (off ?l) (lit))
  (:action press :parameters (?l) :precondition (off ?l) :effect (and (on ?l) (not (off ?l))))
  (:action release :parameters (?l) :precondition (on ?l) :effect (and (off ?l) (not (on ?l)))))"""
LAMP_PROBLEM = "(define (problem p) (:domain lamp) (:objects l1 l2) (:init (off l1) (on l2)) (:goal (on l1)))"


def lamps(folder: Path, *problems: str, domain: str = LAMP) -> Domain:
    (folder / "d.pddl").write_text(domain)
    paths = [folder / f"p{i}.pddl" for i in range(len(problems))]
    for path, text in zip(paths, problems, strict=True):
        path.write_text(text)
    return domain_from_files(folder / "d.pddl", paths)


def test_a_test_set_needs_a_training_set_of_its_own_model(tmp_path: Path) -> None:
    """The same file names and options are not enough: the model, the atoms and the states must be the same."""
    training = sample(lamps(tmp_path, LAMP_PROBLEM), SampleSettings(100, 5))
    test = SampleSettings(10, 5, "test")
    assert len(sample(lamps(tmp_path, LAMP_PROBLEM), test, like=training)) == 10
    turned = lamps(tmp_path, LAMP_PROBLEM, domain=LAMP.replace("(not (off ?l))", ""))
    with pytest.raises(DomainError, match=r"the training set has model '[0-9a-f]{16}', not "):
        sample(turned, test, like=training)
    other = lamps(tmp_path, LAMP_PROBLEM.replace("(off l1)", "(on l1)").replace("(:goal (on l1))", "(:goal (off l1))"))
    with pytest.raises(DomainError, match=r"has model|cannot tell that 'on_l1' holds at the start"):
        sample(other, test, like=training)
    one = SampleSettings(10, 5, init="states:1")
    training = sample(lamps(tmp_path, LAMP_PROBLEM), one)
    with pytest.raises(DomainError, match="the training set's initial states are others"):
        sample(other, SampleSettings(10, 5, "test", "states:1"), like=training)


def test_problems_that_share_an_initial_state_keep_their_goals(tmp_path: Path) -> None:
    domain = lamps(tmp_path, LAMP_PROBLEM, LAMP_PROBLEM.replace("(:goal (on l1))", "(:goal (off l2))"))
    assert {problem.goal for problem in domain.problems(50)} == {frozenset({"on_l1"}), frozenset({"off_l2"})}
    assert domain.first_problem().goal == {"on_l1"}
    assert domain.goal_atoms == ("off_l2", "on_l1")  # the goals' own atoms, not all of their predicates


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traces": 0}, "cannot sample 0 traces"),
        ({"max_length": -1}, "maximum length -1 is out of range"),
        ({"split": "dev"}, "unknown split 'dev'"),
        ({"init": "state"}, "unknown encoding of initial states 'state'"),
        ({"init": "states:0"}, "unknown encoding"),
        ({"suffix": "some"}, "unknown suffix 'some'"),
        ({"seed": -1}, "seed -1 is out of range"),
    ],
)
def test_impossible_settings(change: dict[str, object], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        SampleSettings(**change)  # type: ignore[arg-type]


DEAD_END = """(define (domain well) (:predicates (up) (wet))
  (:action jump :parameters () :precondition (up) :effect (and (wet) (not (up)))))"""


def test_dead_ends_end_a_trace(tmp_path: Path) -> None:
    (tmp_path / "d.pddl").write_text(DEAD_END)
    (tmp_path / "p.pddl").write_text("(define (problem p) (:domain well) (:init (up)) (:goal (wet)))")
    domain = domain_from_files(tmp_path / "d.pddl", [tmp_path / "p.pddl"])
    for split in ("train", "test"):
        traces = list(sample(domain, SampleSettings(200, 10, split, suffix="all")))
        assert {trace.actions for trace in traces} == {(), ("jump",), ("jump", "jump")}
        assert all(trace.ok in ((), (True,), (True, False)) for trace in traces)


def test_dataset_files_load_without_a_copy(tmp_path: Path) -> None:
    dataset = sample(get_domain("maze-5x5"), SampleSettings(300, 20, init="states:50"))
    path = tmp_path / "d.t2s"
    dataset.save(path)
    loaded = Dataset.load(path)
    assert loaded.vocabulary == dataset.vocabulary
    assert loaded.states == dataset.states
    assert loaded.settings == dataset.settings
    for name in ("tokens", "inapplicable", "offsets"):
        array = getattr(loaded, name)
        assert (array == getattr(dataset, name)).all()
        assert not array.flags.owndata
        assert not array.flags.writeable


def test_empty_dataset_arrays_load(tmp_path: Path) -> None:
    Dataset.of([Trace((), ())]).save(tmp_path / "d.t2s")
    assert list(Dataset.load(tmp_path / "d.t2s")) == [Trace((), ())]


def test_vocabulary_order_and_extension() -> None:
    vocabulary = Vocabulary(("a",), ("p", "q"), ("s0",), ("q",), has_init_false=True)
    assert vocabulary.names == ("init-false", "init-p", "init-q", "init-s0", "a", "test-q")
    assert vocabulary.kinds.tolist() == [0, 1, 1, 2, 3, 4]
    domain = get_domain("blocksworld:2")
    extended = Vocabulary(("pick-up_b1",), ("clear_b1",), ("s0",), ("clear_b1",), True).extend(
        domain.model, {"s0": frozenset({"clear_b1"})}
    )
    every = frozenset(domain.model.atoms)
    lists = {a.name: (a.pre, a.add, a.delete) for a in extended.actions}
    one, none = frozenset({"clear_b1"}), frozenset()
    assert lists["init-false"] == (none, none, every)
    assert lists["init-clear_b1"] == (none, one, none)
    assert lists["init-s0"] == (none, one, every - one)
    assert lists["test-clear_b1"] == (one, none, none)
