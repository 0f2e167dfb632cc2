"""Actions that are trained alone, and heads that become one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Heads, untouched, world_model
from trace2strips.learners.completion.histories import Histories
from trace2strips.learners.layout import Rows
from trace2strips.learners.learning import learn
from trace2strips.learners.transformer.alone import Alone, AloneSettings, Trial, add_gradient, count_errors
from trace2strips.learners.transformer.extraction import heads_of
from trace2strips.learners.transformer.learner import Strips
from trace2strips.learners.transformer.merging import agreement, merge_heads
from trace2strips.learners.transformer.parameters import Layout, Theta, model_of
from trace2strips.learners.transformer.references import factored_reference, focal_loss
from trace2strips.learners.transformer.retraining import retrain_told
from trace2strips.learners.transformer.sharing import share_heads, users_of
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces import Dataset, Trace
from trace2strips.traces.accuracy import wrong_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def two_keys(traces: int, seed: int = 0) -> Dataset:
    """`go` needs a key and a ticket, and uses up both; nothing of that is told."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(traces):
        key = ticket = False
        steps: list[tuple[str, bool]] = []
        for _ in range(12):
            name = ("key", "ticket", "go", "wait")[rng.integers(4)]
            works = name != "go" or (key and ticket)
            steps.append((name, works))
            if name == "go" and works:
                key = ticket = False
            key, ticket = key or name == "key", ticket or name == "ticket"
        found.append(Trace(*map(tuple, zip(*steps, strict=True)), state="home"))
    return Dataset.of(found)


def losses(draw: np.random.Generator) -> tuple[float, float, np.ndarray, np.ndarray]:
    """The loss of one position by the reference and by the kernel, and the gradient by the kernel and by differences:
    two heads of its own for action 0 and a known head, after a history of four actions that worked."""
    vocabulary = Vocabulary(("a", "b", "c"), test_atoms=("p",))
    layout = Layout(vocabulary, np.array([0, 0]))
    query, key, value = (draw.uniform(0.05, 0.95, (3, 3)).astype(np.float64) for _ in range(3))
    key[:, 0], value[:, 0] = draw.integers(0, 2, 3), draw.integers(0, 2, 3)  # the known head is settled
    query[1:] = 0
    history = draw.integers(0, 3, 4)
    tokens, masked = np.append(history, 0), np.zeros(5, dtype=bool)
    refused = bool(draw.integers(2))

    def loss(parts: np.ndarray) -> float:
        y = factored_reference(Theta(*parts), layout, tokens, masked)[-1:]
        return focal_loss(y, np.array([refused]), 0.5, 1.0)

    parts = np.stack([query, key, value])
    state = 0.0
    for a in history:
        state += key[a, 0] * (value[a, 0] - state)
    f = np.float32
    known = np.array([query[0, 0] * state], dtype=f)
    slopes = np.zeros(1, f), np.zeros(2, f), np.zeros((3, 2), f), np.zeros((3, 2), f)
    mine = add_gradient(
        history, 0, 4, np.zeros(2, f), known, query[0, 1:].astype(f), key[:, 1:].astype(f), value[:, 1:].astype(f),
        refused, f(0.5), f(1), np.empty((5, 2), f), np.empty(2, f), *slopes,
    )  # fmt: skip
    expected = np.zeros_like(parts)
    for at in np.ndindex(*parts.shape):
        step = np.zeros_like(parts)
        step[at] = 1e-5
        expected[at] = (loss(parts + step) - loss(parts - step)) / 2e-5
    found = np.zeros_like(parts)
    found[0, 0, 0], found[0, 0, 1:], found[1, :, 1:], found[2, :, 1:] = slopes[0][0] * state, *slopes[1:]
    expected[1:, :, 0], expected[0, 1:] = 0, 0  # of these it makes nothing
    return loss(parts), float(mine), expected, found


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_gradient_of_one_position_is_that_of_the_factored_form(seed: int) -> None:
    whole, mine, expected, found = losses(np.random.default_rng(seed))
    assert mine == pytest.approx(whole, rel=1e-4)
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


def test_an_action_that_needs_two_unknown_atoms_gets_two_heads() -> None:
    dataset = two_keys(400)
    layout = Rows(dataset.vocabulary)
    histories = Histories.of(dataset, layout)
    nothing = Heads(np.empty((layout.rows, 0), dtype=np.uint8), np.empty(0, dtype=np.int64))
    nothing.pre = [set() for _ in range(layout.actions)]
    go = dataset.vocabulary.actions.index("go")
    before = count_errors(histories, nothing, go)
    assert before > 500
    one = Alone(histories, nothing.copy(), 0, AloneSettings(trials=(Trial(1),)))
    assert 0 < one.improve() < before  # one atom explains a part of the refusals
    heads = nothing.copy()
    assert Alone(histories, heads, 0).improve() == 0
    assert count_errors(histories, heads, go) == 0
    assert len(heads.pre[go]) == 2


def test_the_same_seed_gives_the_same_heads() -> None:
    dataset = two_keys(100)
    histories = Histories.of(dataset, Rows(dataset.vocabulary))
    found = []
    for seed in (3, 3, 4):
        heads = Heads(np.empty((len(dataset.vocabulary.actions) + 1, 0), dtype=np.uint8), np.empty(0, dtype=np.int64))
        heads.pre = [set() for _ in range(4)]
        Alone(histories, heads, seed).improve()
        found.append(heads.effects.tobytes())
    assert found[0] == found[1] != found[2]


def test_strips_learns_by_gradients_what_one_head_an_action_cannot() -> None:
    dataset, later = two_keys(1_000), two_keys(500, seed=1)
    learned = learn(dataset, Strips(steps=500), seed=0)
    assert learned.figures.train_errors == 0
    assert learned.errors(later) == 0
    assert learned.figures.network_train_accuracy is not None
    assert learned.figures.network_train_accuracy < 1  # before


def test_heads_that_contradict_each_other_stay_two() -> None:
    one, other = np.array([ADD, DELETE, NONE], dtype=np.uint8), np.array([ADD, NONE, DELETE], dtype=np.uint8)
    assert agreement(one, other) == 1
    assert agreement(one, np.array([DELETE, DELETE, NONE], dtype=np.uint8)) == 0


def test_two_heads_of_one_atom_become_one_and_carry_the_told_name() -> None:
    """blocksworld:3: every action gets its own head for the hand; told or not at the start, they are one atom."""
    domain = get_domain("blocksworld:3")
    dataset = sample(domain, SampleSettings(500, 30))
    learned = learn(dataset, Strips(), seed=0)
    assert learned.figures.train_errors == 0
    assert len(learned.model.atoms) <= len(domain.model.atoms)
    assert "handempty" in learned.model.atoms


def test_a_head_may_start_as_a_told_atom_does_beside_it() -> None:
    vocabulary = Vocabulary(("a", "b"), init_atoms=("p",), has_init_false=True)
    layout = Rows(vocabulary)
    effects = np.stack([np.array([DELETE, NONE]), np.array([NONE, DELETE])], axis=1).astype(np.uint8)
    heads = Heads(effects, np.array([0, 0]), [{0}, {1}, set()])
    world = world_model(heads, layout)
    assert world.meaning == {"p": frozenset({"p", "p1"})}
    assert world.told(["p"]) == {"p", "p1"}


def test_merging_never_adds_an_error() -> None:
    dataset = two_keys(300)
    histories = Histories.of(dataset, Rows(dataset.vocabulary))
    actions = len(dataset.vocabulary.actions)
    rng = np.random.default_rng(0)
    for _ in range(20):
        columns = [untouched(histories.layout) for _ in range(4)]
        for column in columns:
            column[:actions] = rng.choice([NONE, ADD, DELETE], actions)
        heads = Heads(np.stack(columns, axis=1), np.zeros(4, dtype=np.int64), [{a} for a in range(actions)])
        before = sum(count_errors(histories, heads, action) for action in range(actions))
        merge_heads(histories, heads)
        assert sum(count_errors(histories, heads, action) for action in range(actions)) <= before


def shop(traces: int) -> tuple[Dataset, Histories, Heads]:
    """`key` and `ticket` are used up by `go` and `leave`, which need both; three doors need the key, three gates the
    ticket. The doors share a head, and so do the gates; `leave` asks both, `go` a head that is neither."""
    rng = np.random.default_rng(0)
    asked = {
        "door1": {0},
        "door2": {0},
        "door3": {0},
        "gate1": {1},
        "gate2": {1},
        "gate3": {1},
        "go": {2},
        "leave": {0, 1},
    }
    needs = {name: "k" if heads == {0} else "t" if heads == {1} else "kt" for name, heads in asked.items()}
    needs |= {"key": "", "ticket": ""}
    names = sorted(needs)
    found = []
    for _ in range(traces):
        has: set[str] = set()
        steps = []
        for _ in range(12):
            name = names[rng.integers(len(names))]
            works = set(needs[name]) <= has
            steps.append((name, works))
            if name in ("go", "leave") and works:
                has = set()
            elif name in ("key", "ticket"):
                has = has | {name[0]}
        found.append(Trace(*map(tuple, zip(*steps, strict=True)), state="home"))
    dataset = Dataset.of(found)
    layout = Rows(dataset.vocabulary)
    at = dataset.vocabulary.actions.index
    columns = np.full((layout.rows, 3), NONE, dtype=np.uint8)
    columns[layout.actions :] = DELETE
    columns[at("go")] = columns[at("leave")] = DELETE
    columns[at("key"), [0, 2]], columns[at("ticket"), 1] = ADD, ADD
    columns[[at("gate1"), at("gate2"), at("gate3")], 2] = ADD  # who passes a gate has a ticket: half the truth
    pre: list[set[int]] = [set() for _ in range(layout.actions)]
    for name, heads in asked.items():
        pre[at(name)] = set(heads)
    return dataset, Histories.of(dataset, layout), Heads(columns, np.zeros(3, dtype=np.int64), pre)


@pytest.mark.parametrize("askers", [("go",), ("go", "leave")])
def test_a_head_that_few_actions_ask_gives_way_to_those_that_many_ask(askers: tuple[str, ...]) -> None:
    dataset, histories, heads = shop(400)
    few = [dataset.vocabulary.actions.index(name) for name in askers]
    for action in few:
        heads.pre[action] = {2}
        assert count_errors(histories, heads, action) > 0
    assert share_heads(Alone(histories, heads, 0)) == len(few)
    for action in few:
        assert heads.pre[action] == {0, 1}
        assert count_errors(histories, heads, action) == 0


def test_a_head_that_is_needed_stays() -> None:
    dataset, histories, heads = shop(400)
    at = dataset.vocabulary.actions.index
    heads.pre[at("go")] = {0, 1, 2}
    for name in ("gate2", "gate3", "leave"):
        heads.pre[at(name)] = set()  # the ticket is now asked by `go` and one gate
    share_heads(Alone(histories, heads, 0))
    assert heads.pre[at("gate1")] == {1}
    assert users_of(heads, histories.layout.actions)[1] == {at("gate1"), at("go")}
    assert 2 not in heads.pre[at("go")]


def test_sharing_never_adds_an_error() -> None:
    dataset, histories, heads = shop(100)
    actions = range(len(dataset.vocabulary.actions))
    rng = np.random.default_rng(1)
    for _ in range(10):
        tried = heads.copy()
        tried.pre = [set(rng.choice(3, rng.integers(3), replace=False).tolist()) for _ in actions]
        before = [count_errors(histories, tried, action) for action in actions]
        share_heads(Alone(histories, tried, 0))
        after = [count_errors(histories, tried, action) for action in actions]
        assert all(one <= other for one, other in zip(after, before, strict=True))


def key_in_the_hand(doors_need_it: bool) -> tuple[Dataset, Histories, Heads]:
    """`go` uses up a key, which one has from the beginning in the state `away`. Three doors need it too, and are tried
    once `take` or `go` has worked; so they cannot tell what is so at the beginning. Or else, they need a pass, which
    only `take` gives, can be tried from the beginning, and in `away` are not the key. Head 0 is that of the doors, with
    no key in `away`; head 1 is that of `go`."""
    rng = np.random.default_rng(0)
    names = ("take", "go", "door1", "door2", "door3")
    found = []
    for number in range(200):
        key, free, steps = number % 2 == 1, False, []
        door = False
        for _ in range(12):
            name = names[rng.integers(5)]
            if name.startswith("door") and doors_need_it and not free:
                continue
            works = name == "take" or (key if name == "go" or doors_need_it else door)
            steps.append((name, works))
            if works and name in ("take", "go"):
                key = door = name == "take"
                free = True
        found.append(Trace(*map(tuple, zip(*steps, strict=True)), state="away" if number % 2 else "home"))
    dataset = Dataset.of(found)
    layout = Rows(dataset.vocabulary)
    at = dataset.vocabulary.actions.index
    columns = np.full((layout.rows, 2), NONE, dtype=np.uint8)
    columns[at("take")], columns[at("go")] = ADD, DELETE
    columns[layout.actions :] = DELETE
    columns[layout.actions + dataset.vocabulary.init_states.index("away"), 1] = ADD
    pre: list[set[int]] = [{0} if name.startswith("door") else set() for name in dataset.vocabulary.actions]
    pre[at("go")] = {1}
    return dataset, Histories.of(dataset, layout), Heads(columns, np.zeros(2, dtype=np.int64), pre)


def test_an_initial_value_that_only_one_action_can_tell_is_trained_for_all() -> None:
    dataset, histories, heads = key_in_the_hand(doors_need_it=True)
    actions = range(histories.layout.actions)
    go, away = dataset.vocabulary.actions.index("go"), dataset.vocabulary.init_states.index("away")
    assert [count_errors(histories, heads, action) for action in actions] == [0] * 5
    heads.pre[go] = {0}
    assert count_errors(histories, heads, go) > 0  # so the head of the doors will not do as it is
    heads.pre[go] = {1}
    expected = heads.effects[:, 0].copy()
    expected[histories.layout.actions + away] = ADD
    assert share_heads(Alone(histories, heads, 0)) == 1
    assert heads.pre[go] == {0}
    assert heads.effects[:, 0].tolist() == expected.tolist()  # one bit
    assert [count_errors(histories, heads, action) for action in actions] == [0] * 5


def test_what_others_can_tell_is_not_trained_away() -> None:
    _, histories, heads = key_in_the_hand(doors_need_it=False)
    assert [count_errors(histories, heads, action) for action in range(5)] == [0] * 5
    before = heads.copy()
    assert share_heads(Alone(histories, heads, 0)) == 0
    assert heads.pre == before.pre
    assert (heads.effects == before.effects).all()


def lamps(traces: int) -> tuple[Dataset, Layout, Theta]:
    """`lit` is told at the end; the parameters know all but that `wind` puts the lamp out. `read` needs light."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(traces):
        lit, steps = False, []
        for _ in range(8):
            name = ("on", "off", "wind", "read")[rng.integers(4)]
            steps.append((name, lit or name != "read"))
            lit = name == "on" or (lit and name == "read")
        found.append(Trace(*map(tuple, zip(*steps, strict=True)), state="home", final={"lit": lit}))
    dataset = Dataset.of(found)
    layout = Layout(dataset.vocabulary, np.empty(0, dtype=np.int64))
    at = dataset.vocabulary.actions.index
    query, key, value = (np.zeros((layout.rows, 1), dtype=np.float32) for _ in range(3))
    query[at("read")] = key[at("on")] = key[at("off")] = value[at("off")] = 1
    key[layout.actions :] = value[layout.actions :] = 1
    return dataset, layout, Theta(query, key, value)


def test_a_told_head_with_wrong_final_values_is_trained_again() -> None:
    dataset, layout, theta = lamps(200)
    assert wrong_traces(model_of(theta, layout), dataset).sum() > 20
    world = Strips().read(theta, layout, Completion(dataset, layout), dataset, 0)
    assert wrong_traces(world.over_tokens(), dataset).sum() == 0
    assert world.model.atoms == ("lit",)
    assert world.model.action("wind").delete == {"lit"}


def test_told_heads_without_an_error_are_left_alone() -> None:
    dataset, layout, theta = lamps(200)
    theta.key[dataset.vocabulary.actions.index("wind")] = 1
    theta.value[dataset.vocabulary.actions.index("wind")] = 1
    heads = heads_of(theta, layout)
    before = heads.copy()
    assert retrain_told(Alone(Histories.of(dataset, layout), heads, 0)) == 0
    assert (heads.effects == before.effects).all()


def test_a_told_head_that_cannot_be_better_stays() -> None:
    """One final value contradicts all others."""
    dataset, _, _ = lamps(200)
    wrong = Trace(("off",), (True,), state="home", final={"lit": True})
    dataset = Dataset.of([*dataset, wrong])
    layout = Layout(dataset.vocabulary, np.empty(0, dtype=np.int64))
    at = dataset.vocabulary.actions.index
    effects = np.full((layout.rows, 1), DELETE, dtype=np.uint8)
    effects[at("on")], effects[at("read")] = ADD, NONE
    pre: list[set[int]] = [{0} if name == "read" else set() for name in dataset.vocabulary.actions]
    heads = Heads(effects.copy(), np.zeros(1, dtype=np.int64), [*pre, {0}])
    histories = Histories.of(dataset, layout)
    assert count_errors(histories, heads, layout.actions) == 1
    assert retrain_told(Alone(histories, heads, 0)) == 0
    assert (heads.effects == effects).all()


def test_training_again_never_adds_an_error() -> None:
    dataset, layout, _ = lamps(60)
    histories = Histories.of(dataset, layout)
    rng = np.random.default_rng(0)
    better = 0
    for _ in range(10):
        effects = rng.choice(np.array([NONE, ADD, DELETE], dtype=np.uint8), (layout.rows, 1))
        effects[layout.actions :] = DELETE
        asked: list[set[int]] = [set(np.flatnonzero(rng.random(1) < 0.5).tolist()) for _ in range(layout.actions)]
        heads = Heads(effects, np.zeros(1, dtype=np.int64), [*asked, {0}])
        before = sum(count_errors(histories, heads, user) for user in range(layout.actions + 1))
        kept = heads.effects.copy()
        if retrain_told(Alone(histories, heads, 0)):
            better += 1
            assert sum(count_errors(histories, heads, user) for user in range(layout.actions + 1)) < before
        else:
            assert (heads.effects == kept).all()
    assert better > 0
