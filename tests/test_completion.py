"""Completion: the counts are exact, preconditions are closed, atoms are invented and shared, models become minimal."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.effects import Fit
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Heads, world_model
from trace2strips.learners.completion.histories import Demands, Histories, demand
from trace2strips.learners.completion.preconditions import cover, false_in, find_false_heads
from trace2strips.learners.completion.settings import CompletionSettings
from trace2strips.learners.layout import Rows
from trace2strips.learners.transformer.extraction import extract, guess_of, heads_of
from trace2strips.learners.transformer.parameters import SHARED, Layout, Theta, model_of, theta_of
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel, count_parts
from trace2strips.traces import Dataset, Trace
from trace2strips.traces.accuracy import wrong_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def random_theta(layout: Layout, seed: int) -> Theta:
    rng = np.random.default_rng(seed)
    return Theta(*(rng.random((layout.rows, layout.heads)).astype(np.float32) for _ in range(3)))


def slow_errors(
    histories: Histories, demands: Demands, start: int, effect: np.ndarray, success_weight: int = 10
) -> int:
    """What `count_changes` counts, one demand after the other, walking forwards."""
    total = 0
    for occurrence, must_be_false in zip(demands.occurrence, demands.must_be_false, strict=True):
        trace = histories.trace[occurrence]
        false = bool(histories.initially_false[trace, start])
        begin = histories.row_start[trace]
        for row in histories.rows[begin : begin + histories.depth[occurrence]]:
            if effect[row] != NONE:
                false = bool(effect[row] == DELETE)
        if false != must_be_false:
            total += 1 if must_be_false else success_weight
    return total


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["atoms", "states:2"]))
def test_counted_changes_are_what_a_change_brings(seed: int, init: str) -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(12, 6, init=init, seed=seed % 1000))
    layout = Layout(dataset.vocabulary, np.array([0]))
    histories = Histories.of(dataset, layout)
    rng = np.random.default_rng(seed)
    effect = rng.integers(3, size=layout.rows).astype(np.uint8)
    effect[layout.actions :] = rng.integers(1, 3, size=layout.rows - layout.actions)
    worked = histories.occurrences(0)[~histories.refused[histories.occurrences(0)]]
    failed = histories.occurrences(1)[histories.refused[histories.occurrences(1)]]
    demands = demand(worked, failed)
    start = int(rng.integers(len(layout.aligned) + 1))
    fit = Fit(histories, demands, start, effect)
    assert fit.errors == slow_errors(histories, demands, start, effect)
    for row in range(layout.rows):
        for new in range(3):
            if new == effect[row] or (row >= layout.actions and new == NONE):
                continue
            changed = effect.copy()
            changed[row] = new
            assert fit.errors + fit.change[row, new] == slow_errors(histories, demands, start, changed)


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_states_are_those_of_the_model(seed: int) -> None:
    """Bit sets of false heads against a walk with the STRIPS model of the same parameters."""
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(8, 8, seed=seed % 1000))
    layout = Layout(dataset.vocabulary, np.array([0, SHARED]))
    theta = random_theta(layout, seed)
    histories = Histories.of(dataset, layout)
    heads = Heads(guess_of(theta, layout).effects, np.minimum(np.arange(layout.heads), len(layout.aligned)))
    states = find_false_heads(histories, heads)
    model = model_of(theta, layout)
    for trace in range(len(dataset)):
        state = frozenset(model.atoms)
        number = int(histories.row_start[trace]) + trace
        names = dataset.names(trace)
        where = slice(int(dataset.offsets[trace]), int(dataset.offsets[trace + 1]))
        for name, refused in zip(names, dataset.inapplicable[where], strict=True):
            action = model.action(name)
            if name in dataset.vocabulary.actions:
                false = {model.atoms[h] for h in range(layout.heads) if false_in(states, np.array([number]), h)[0]}
                assert false == set(model.atoms) - state
                number += not refused
            if not refused:
                state = action.progress(state)


def test_preconditions_are_closed_form() -> None:
    """With the hidden effects given, the cover finds lists that explain every refusal and forbid no success."""
    domain = get_domain("blocksworld:3")
    dataset = sample(domain, SampleSettings(3000, 15, suffix="all"))
    layout = Layout(dataset.vocabulary, np.empty(0, dtype=np.int64))
    hidden = StripsModel(layout.aligned, tuple(domain.model.action(a) for a in dataset.vocabulary.actions))
    histories = Histories.of(dataset, layout)
    heads = Heads(guess_of(theta_of(hidden, layout), layout).effects, np.arange(layout.heads))
    states = find_false_heads(histories, heads)
    for number, action in enumerate(hidden.actions):
        found = cover(histories, states, number, np.arange(layout.heads))
        assert len(found.unexplained) == 0
        assert len(found.pre) <= len(action.pre)
        mine = histories.occurrences(number)
        says = np.logical_or.reduce([false_in(states, histories.states(mine), head) for head in found.pre])
        assert (says == histories.refused[mine]).all()


@pytest.mark.parametrize("init", ["atoms", "states:20"])
@pytest.mark.parametrize("name", ["blocksworld:3", "ferry:2x3", "npuzzle:2x2", "maze:3x3", "logistics:2x1"])
def test_random_parameters_are_completed_to_an_exact_model(name: str, init: str) -> None:
    """From noise, without any training: small domains are recovered, and no larger than they are. With named initial
    states a few (state, action) pairs never occur in training, so what they do is anybody's guess.
    """
    domain = get_domain(name)
    states = min(20, len(np.unique(domain.draw_states(np.random.default_rng(0), 2000), axis=0)))
    init = init if init == "atoms" else f"states:{states}"
    dataset = sample(domain, SampleSettings(5000, 20, init=init))
    test = sample(domain, SampleSettings(5000, 60, "test", init), like=dataset)
    layout = Layout(dataset.vocabulary, np.arange(len(dataset.vocabulary.actions)))
    completion = Completion(dataset, layout)
    world = world_model(completion.run(guess_of(random_theta(layout, 1), layout)), layout)
    assert wrong_traces(world.over_tokens(), dataset).sum() == 0
    assert wrong_traces(world.over_tokens(), test).mean() <= (0 if init == "atoms" else 0.002)
    if init == "atoms":
        hidden = count_parts(
            StripsModel(domain.model.atoms, tuple(domain.model.action(a) for a in dataset.vocabulary.actions))
        )
        assert all(count <= hidden[part] for part, count in world.counts().items())


def test_pruning_a_binarised_network_adds_no_error_and_drops_what_is_spurious() -> None:
    """The hidden parameters with needless effects and preconditions sprinkled on spare heads come back clean."""
    domain = get_domain("blocksworld:3")
    dataset = sample(domain, SampleSettings(2000, 15, suffix="all"))
    aligned = Layout(dataset.vocabulary, np.empty(0, dtype=np.int64))
    hidden = StripsModel(aligned.aligned, tuple(domain.model.action(a) for a in dataset.vocabulary.actions))
    layout = Layout(dataset.vocabulary, np.full(4, SHARED))
    theta = theta_of(hidden, aligned)
    rng = np.random.default_rng(0)
    extra = Theta(*(rng.integers(2, size=(aligned.rows, 4)).astype(np.float32) for _ in range(3)))
    extra.query[:] = 0
    noisy = Theta(*(np.concatenate([getattr(theta, n), getattr(extra, n)], axis=1) for n in ("query", "key", "value")))
    completion = Completion(dataset, layout)
    world = extract(heads_of(noisy, layout), layout, completion, dataset)
    assert wrong_traces(world.over_tokens(), dataset).sum() == 0
    counts, true = world.counts(), count_parts(hidden)
    assert all(counts[part] <= true[part] for part in counts)
    assert world.invented == ()


def test_nothing_in_a_completed_model_is_to_spare() -> None:
    """Drop any one precondition or effect, and some training trace goes wrong."""
    domain = get_domain("logistics:2x1")
    dataset = sample(domain, SampleSettings(3000, 20))
    layout = Layout(dataset.vocabulary, np.arange(len(dataset.vocabulary.actions)))
    model = world_model(Completion(dataset, layout).run(guess_of(random_theta(layout, 2), layout)), layout)
    for number, action in enumerate(model.model.actions):
        for part in ("pre", "add", "delete"):
            for atom in getattr(action, part):
                less = replace(action, **{part: getattr(action, part) - {atom}})
                actions = (*model.model.actions[:number], less, *model.model.actions[number + 1 :])
                smaller = replace(model, model=StripsModel(model.model.atoms, actions))
                assert wrong_traces(smaller.over_tokens(), dataset).any(), (action.name, part, atom)


@pytest.mark.parametrize("seed", range(5))
def test_pruning_never_makes_a_wrong_network_worse(seed: int) -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(300, 8))
    layout = Layout(dataset.vocabulary, np.full(3, SHARED))
    theta = random_theta(layout, seed)
    before = wrong_traces(model_of(theta, layout), dataset).sum()
    world = extract(heads_of(theta, layout), layout, Completion(dataset, layout), dataset)
    assert wrong_traces(world.over_tokens(), dataset).sum() <= before
    assert world.counts()["effects"] <= count_parts(model_of(theta, layout))["effects"]


def test_traces_with_and_without_named_states_mix() -> None:
    dataset = Dataset.of([Trace(("a",), (True,), state="s"), Trace(("a",), (False,)), Trace((), (), frozenset("p"))])
    layout = Layout(dataset.vocabulary, np.arange(1))
    world = world_model(Completion(dataset, layout).run(guess_of(random_theta(layout, 0), layout)), layout)
    assert wrong_traces(world.over_tokens(), dataset).sum() <= 1


def test_equal_spare_heads_are_merged() -> None:
    dataset = Dataset.of([Trace(("use", "make", "use", "use"), (True, True, True, False))] * 3)
    layout = Layout(dataset.vocabulary, np.full(3, SHARED))  # rows: make, use, the start, which makes all true
    query = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=np.float32)
    key = np.ones((3, 3), dtype=np.float32)
    value = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 0]], dtype=np.float32)
    world = extract(heads_of(Theta(query, key, value), layout), layout, Completion(dataset, layout), dataset)
    assert len(world.model.atoms) == 1
    (atom,) = world.model.atoms
    assert world.model.action("use").pre == {atom}
    assert world.model.action("use").delete == {atom}
    assert world.model.action("make").add == {atom}


def complete(traces: Dataset | list[Trace], **changed: Any) -> tuple[WorldModel, Dataset]:
    """The world that completion alone learns, under the defaults but for what is changed."""
    dataset = traces if isinstance(traces, Dataset) else Dataset.of(traces)
    layout = Rows(dataset.vocabulary)
    return world_model(Completion(dataset, layout, CompletionSettings(**changed)).run(), layout), dataset


def test_atoms_that_can_be_one_become_one() -> None:
    """From twelve cells that are free in some mazes and not in others; two of them had an atom for each side before."""
    traces = sample(get_domain("maze-5x5"), SampleSettings(3000, 50, init="states:20"))
    world, dataset = complete(traces, state_traces=1)
    assert wrong_traces(world.over_tokens(), dataset).sum() == 0
    assert len(world.invented) == 12
    apart, _ = complete(traces)  # 150 traces from a state are too few: what looks like one may be two
    assert len(apart.invented) > 12


def test_what_nothing_is_known_of_is_false() -> None:
    """No trace from `b` says whether the door can be opened there."""
    traces = [
        Trace(("open",), (True,), state="a"),
        Trace(("wait",), (True,), state="b"),
        Trace(("open",), (False,), state="c"),
    ]
    for enough, expected in ((1, [True, False, False]), (2, [True, True, False])):  # else what is simplest
        world, _ = complete(traces, state_traces=enough)
        (atom,) = world.model.action("open").pre
        assert [atom in world.states[name] for name in "abc"] == expected


def test_effects_code() -> None:
    layout = Layout(Vocabulary(("a",), init_states=("s",)), np.full(3, SHARED))
    key = np.array([[0, 1, 1], [1, 1, 1]], dtype=np.float32)
    value = np.array([[1, 0, 1], [1, 0, 1]], dtype=np.float32)
    effects = guess_of(Theta(key, key, value), layout).effects
    assert effects.tolist() == [[NONE, ADD, DELETE], [DELETE, ADD, DELETE]]
