"""State probing: one pass is every prefix run again; counts; the rules of extraction."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trace2strips.errors import TraceError
from trace2strips.learners.decoder.network import Decoder
from trace2strips.learners.decoder.probing import (
    Counts,
    count,
    extract_by_probing,
    probe,
    probe_slowly,
    with_actions,
    world_of,
)
from trace2strips.learners.decoder.settings import VARIANTS, DecoderSettings
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def make(variant: str, dataset: Dataset, seed: int) -> Decoder:
    torch.manual_seed(seed)
    settings = DecoderSettings(variant, d_model=16, layers=2, heads=2, embedding_std=1.0)
    return Decoder(len(dataset.vocabulary), settings)


@pytest.mark.parametrize("init", ["atoms", "states:3"])
@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=4)
@given(st.integers(0, 1000))
def test_one_pass_is_every_prefix_run_again(variant: str, init: str, seed: int) -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(5, 6, init=init, suffix="all", seed=seed))
    decoder = make(variant, dataset, seed)
    order = np.array([3, 0, 4])
    found = probe(decoder, dataset, order)
    for n, trace in enumerate(order):
        here = slice(int(found.offsets[n]), int(found.offsets[n + 1]))
        assert np.array_equal(found.true[here], probe_slowly(decoder, dataset, int(trace)))
        worked = [a for a, ok in zip(dataset[int(trace)].actions, dataset[int(trace)].ok, strict=True) if ok]
        assert found.actions[here][0] == -1
        assert [dataset.vocabulary.names[a] for a in found.actions[here][1:]] == worked


def test_traces_without_actions_or_anything_at_all() -> None:
    vocabulary = Vocabulary(("a",), init_atoms=("p",), test_atoms=("p", "q"), has_init_false=True)
    dataset = Dataset.of([Trace((), ()), Trace(("a",), (False,)), Trace((), (), init=frozenset({"p"}))], vocabulary)
    decoder = make("sb", dataset, 0)
    found = probe(decoder, dataset, np.arange(3))
    assert found.offsets.tolist() == [0, 1, 2, 3]
    assert np.array_equal(found.true[0], found.true[1])  # nothing has happened in either
    assert np.array_equal(found.true, np.concatenate([probe_slowly(decoder, dataset, t) for t in range(3)]))


def test_counts_are_those_of_a_loop_over_transitions() -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(40, 8, init="states:3", suffix="all", seed=2))
    decoder = make("sb", dataset, 1)
    counts = count(decoder, dataset)
    vocabulary = dataset.vocabulary
    atoms = len(vocabulary.test_atoms)
    transitions = np.zeros(len(vocabulary.actions), dtype=int)
    held, came, went = (np.zeros((len(vocabulary.actions), atoms), dtype=int) for _ in range(3))
    starts, at_start = np.zeros(3, dtype=int), np.zeros((3, atoms), dtype=int)
    for t, trace in enumerate(dataset):
        states = probe_slowly(decoder, dataset, t)
        starts[vocabulary.init_states.index(str(trace.state))] += 1
        at_start[vocabulary.init_states.index(str(trace.state))] += states[0]
        worked = [a for a, ok in zip(trace.actions, trace.ok, strict=True) if ok]
        for i, name in enumerate(worked):
            a = vocabulary.actions.index(name)
            transitions[a] += 1
            held[a] += states[i]
            came[a] += ~states[i] & states[i + 1]
            went[a] += states[i] & ~states[i + 1]
    for name, expected in (
        ("transitions", transitions), ("held", held), ("came", came), ("went", went), ("starts", starts),
        ("held_at_start", at_start),
    ):  # fmt: skip
        assert np.array_equal(getattr(counts, name), expected), name
    assert held.sum() > 0
    assert (came + went).sum() > 0


def counts_of(transitions: list[int], held: list[list[int]], came: list[list[int]], went: list[list[int]]) -> Counts:
    arrays = (np.array(x, dtype=np.int64) for x in (transitions, held, came, went))
    return Counts(*arrays, np.array([3], dtype=np.int64), np.array([[2, 1, 0, 3]], dtype=np.int64))


def test_the_rules_of_the_paper() -> None:
    vocabulary = Vocabulary(("a", "never"), init_states=("s",), test_atoms=("p", "q", "r", "t"))
    counts = counts_of(
        [100, 0],
        [[95, 94, 0, 100], [0] * 4],
        [[0, 5, 51, 0], [0] * 4],
        [[60, 40, 0, 50], [0] * 4],
    )
    world = world_of(counts, vocabulary)
    action, never = world.model.actions
    assert action.pre == {"p", "t"}  # 95 of 100 are enough, 94 are not
    assert action.add == {"r"}
    assert action.delete == {"p"}  # q stayed more often than it went; t did as often
    assert never.pre == {"p", "q", "r", "t"}
    assert not never.add | never.delete
    assert world.states == {"s": {"p", "t"}}
    assert world.model.atoms == vocabulary.test_atoms
    assert world.invented == ()
    assert counts.held_share[0].tolist() == pytest.approx([0.95, 0.94, 0.0, 1.0])
    assert counts.effect_share[0].tolist() == pytest.approx([0.6, 0.55, 0.51, 0.5])
    assert counts.summary() == {"least_sure_precondition": 0.94, "least_sure_effect": 0.5}


def test_without_final_values_there_is_nothing_to_ask() -> None:
    dataset = Dataset.of([Trace(("a",), (True,))])
    with pytest.raises(TraceError, match="no final values"):
        extract_by_probing(make("sb", dataset, 0), dataset)


def test_some_traces_are_enough() -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(20, 6, suffix="all", seed=2))
    decoder = make("sb", dataset, 1)
    some = extract_by_probing(decoder, dataset, np.arange(5))
    every = extract_by_probing(decoder, dataset)
    assert some.counts.transitions.sum() < every.counts.transitions.sum()
    assert every.counts.transitions.sum() == sum(sum(trace.ok) for trace in dataset)


def test_as_many_traces_as_have_so_many_actions() -> None:
    lengths = (3, 0, 2, 4)
    dataset = Dataset.of([Trace(("a",) * n, (True,) * n, init=frozenset({"p"}), final={"p": True}) for n in lengths])
    for actions in range(12):
        traces = with_actions(dataset, actions)
        assert traces.tolist() == list(range(len(traces)))
        if len(traces) < len(dataset):
            assert sum(lengths[: len(traces)]) >= actions
        if len(traces):
            assert sum(lengths[: len(traces) - 1]) < actions
