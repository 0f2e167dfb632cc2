"""World-model metrics: kernels against references and the definition, and predictors whose scores are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace2strips.errors import ModelError, TraceError, UserError
from trace2strips.judging.boundaries import count_by_asking, count_in_models
from trace2strips.judging.history_pool import Pool
from trace2strips.judging.predictors import LabellingPredictor, ModelPredictor
from trace2strips.judging.world_metrics import Share, WorldMetrics, WorldSettings, measure_world
from trace2strips.learners.learning import learn
from trace2strips.model.strips import StripsAction, StripsModel, final_state, label, label_tokens
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

SMALL = WorldSettings(histories=200, pairs=100, pool=3_000)
BLOCKS = get_domain("blocksworld:3")


@pytest.fixture(scope="module")
def blocks() -> Dataset:
    return sample(BLOCKS, SampleSettings(100, 40, "test"))


def hidden_predictor(dataset: Dataset) -> ModelPredictor:
    return ModelPredictor(dataset.vocabulary.extend(BLOCKS.model, dataset.states), dataset.vocabulary)


def changed(dataset: Dataset, change: Callable[[StripsAction], StripsAction]) -> ModelPredictor:
    """The hidden model with every domain action changed, setup actions as they are."""
    hidden = hidden_predictor(dataset)
    actions = tuple(
        change(action) if kind == Kind.ACTION else action
        for action, kind in zip(hidden.model.actions, dataset.vocabulary.kinds, strict=True)
    )
    assert actions != hidden.model.actions
    return replace(hidden, model=replace(hidden.model, actions=actions))


def lose_precondition(action: StripsAction) -> StripsAction:
    return replace(action, pre=frozenset(sorted(action.pre)[1:]))


def lose_deletes(action: StripsAction) -> StripsAction:
    return replace(action, delete=frozenset())


def labels_of(predictor: ModelPredictor) -> LabellingPredictor:
    return LabellingPredictor(lambda t, o: label_tokens(predictor.model.bits, t, o), predictor.vocabulary)


# --- against references and the definition ----------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn) -> tuple[ModelPredictor, ModelPredictor, Pool, np.ndarray]:
    """Two models over the same actions, a pool of histories, and pairs of them, equal ones too."""
    names = tuple(f"a{i}" for i in range(draw(st.integers(1, 3))))
    vocabulary = Vocabulary(names, init_states=("start",))
    predictors = []
    for _ in range(2):
        atoms = tuple(f"p{i}" for i in range(draw(st.sampled_from([0, 2, 3, 70]))))
        some = st.frozensets(st.sampled_from([*atoms[:2], *atoms[-1:]]), max_size=2) if atoms else st.just(frozenset())
        actions = []
        for name in names:
            add = draw(some)
            actions.append(StripsAction(name, draw(some), add, draw(some) - add))
        start = {"start": frozenset(atoms) - draw(some)}
        predictors.append(ModelPredictor(vocabulary.extend(StripsModel(atoms, tuple(actions)), start), vocabulary))
    walks = draw(st.lists(st.lists(st.sampled_from(names), max_size=5), min_size=1, max_size=4))
    dataset = Dataset.of([Trace(tuple(walk), (True,) * len(walk)) for walk in walks], vocabulary)
    pool = Pool.of(dataset, predictors[0], 1_000, np.random.default_rng(0))
    number = st.integers(0, len(pool) - 1)
    pairs = np.array(draw(st.lists(st.tuples(number, number), max_size=4)), dtype=np.int64).reshape(-1, 2)
    return *predictors, pool, pairs


@given(worlds(), st.integers(1, 3), st.integers(0, 4), st.integers(0, 2), st.integers(0, 9))
def test_kernel_is_the_reference(
    world: tuple[ModelPredictor, ModelPredictor, Pool, np.ndarray], exact: int, walks: int, longer: int, seed: int
) -> None:
    drawer, judge, pool, pairs = world
    draws = np.random.default_rng(seed).integers(2**32, size=(len(pairs), walks, exact + longer))
    fast = count_in_models(drawer, judge, pool, pairs, exact, draws)
    slow = count_by_asking(drawer, judge, pool, pairs, exact, draws)
    np.testing.assert_allclose(fast, slow, rtol=1e-12, atol=0)  # sums in another order
    np.testing.assert_array_equal(slow, count_by_asking(labels_of(drawer), labels_of(judge), pool, pairs, exact, draws))


def names_of(predictor: ModelPredictor, pool: Pool, number: int) -> list[str]:
    return [predictor.vocabulary.names[token] for token in pool.history(number).tolist()]


def language(predictor: ModelPredictor, history: list[str], length: int) -> set[tuple[str, ...]]:
    """L(h) up to a length, word for word."""
    words = (x for n in range(length + 1) for x in product(predictor.vocabulary.actions, repeat=n))
    return {x for x in words if not any(label(predictor.model, [*history, *x])[len(history) :])}


def shortest(words: set[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    return (x for x in words if not any(x[:n] in words for n in range(len(x))))


@given(worlds(), st.integers(1, 3))
def test_boundaries_are_the_shortest_words_that_tell_apart(
    world: tuple[ModelPredictor, ModelPredictor, Pool, np.ndarray], length: int
) -> None:
    drawer, judge, pool, pairs = world
    counts = count_in_models(drawer, judge, pool, pairs, length, np.zeros((len(pairs), 0, length), dtype=np.int64))
    for (one, two), row in zip(pairs.tolist(), counts.tolist(), strict=True):
        histories = names_of(drawer, pool, one), names_of(drawer, pool, two)
        first, second = (language(drawer, history, length) for history in histories)
        judge_first, judge_second = (language(judge, history, length) for history in histories)

        def chance(x: tuple[str, ...], both: set[tuple[str, ...]] = first & second) -> float:
            """That a random walk comes by x: at each of its actions, one of those that lead on."""
            ways = (sum((*x[:n], a) in both for a in drawer.vocabulary.actions) for n in range(len(x)))
            return 1 / prod(ways)

        told_apart = judge_first - judge_second
        expected = [
            sum(chance(x[:-1]) for x in shortest(first - second)),
            sum(chance(x[:-1]) for x in shortest(first - second) if x in told_apart),
            sum(chance(x[:-1]) for x in shortest(second - first)),
        ]
        assert row == pytest.approx(expected, rel=1e-12)


@given(worlds(), st.sampled_from([1, 7, 1_000]))
def test_applicable_actions_by_definition(
    world: tuple[ModelPredictor, ModelPredictor, Pool, np.ndarray], batch: int
) -> None:
    predictor, _, pool, _ = world
    histories = pool.gather(np.arange(len(pool)))
    rows = predictor.applicable(*histories)
    for number, row in enumerate(rows):
        state = final_state(predictor.model, names_of(predictor, pool, number))
        actions = map(predictor.model.action, predictor.vocabulary.actions)
        assert row.tolist() == [action.applicable(state) for action in actions]
    np.testing.assert_array_equal(rows, replace(labels_of(predictor), batch=batch).applicable(*histories))


@pytest.mark.parametrize("init", ["atoms", "states:5"])
def test_setup_actions_are_part_of_a_history(init: str) -> None:
    dataset = sample(BLOCKS, SampleSettings(20, 10, "test", init, "all"))
    predictor = hidden_predictor(dataset)
    pool = Pool.of(dataset, predictor, 1_000, np.random.default_rng(0))
    histories = pool.gather(np.arange(len(pool)))
    rows = predictor.applicable(*histories)
    np.testing.assert_array_equal(rows, labels_of(predictor).applicable(*histories))
    for number in range(len(pool)):
        kinds = dataset.vocabulary.kinds[pool.history(number)]
        assert kinds[0] in (Kind.INIT_FALSE, Kind.INIT_STATE)
        assert Kind.TEST_ATOM not in kinds
        state = final_state(predictor.model, names_of(predictor, pool, number))
        expected = [BLOCKS.model.action(name).applicable(state) for name in dataset.vocabulary.actions]
        assert rows[number].tolist() == expected


# --- predictors whose scores are known --------------------------------------------------------------------------------


def values(metrics: WorldMetrics) -> dict[str, float | None]:
    return {name: share.value for name, share in vars(metrics).items() if isinstance(share, Share)}


@pytest.mark.parametrize("init", ["atoms", "states:5"])
@pytest.mark.parametrize("near", [0, 3])
def test_the_hidden_model_is_perfect(init: str, near: int) -> None:
    dataset = sample(BLOCKS, SampleSettings(100, 40, "test", init))
    metrics = measure_world(hidden_predictor(dataset), BLOCKS.model, dataset, replace(SMALL, near=near))
    assert {name for name, value in values(metrics).items() if value != 1} == {"base_rate"}
    assert (metrics.whole_sets.of, metrics.compression.of, metrics.different_pairs) == (200, 100, 100)
    assert metrics.distinction_precision.of == metrics.distinction_recall.of > 90


def test_always_yes(blocks: Dataset) -> None:
    """Legal as often as a blind guess, one state for everything, and no boundary anywhere."""
    yes = changed(blocks, lambda action: replace(action, pre=frozenset()))
    metrics = measure_world(yes, BLOCKS.model, blocks, SMALL)
    assert metrics.legality_precision == metrics.base_rate
    assert 0 < metrics.base_rate.hits < metrics.base_rate.of == 200 * len(blocks.vocabulary.actions)
    assert metrics.legality_recall.value == metrics.compression.value == 1
    assert metrics.whole_sets.hits == metrics.distinction_precision.of == 0
    assert metrics.distinction_recall == Share(0.0, 100)
    assert metrics.distinction_precision.value is None


def test_a_lost_precondition_costs_legality(blocks: Dataset) -> None:
    one = "pick-up_b1"
    lost = changed(blocks, lambda action: lose_precondition(action) if action.name == one else action)
    metrics = measure_world(lost, BLOCKS.model, blocks, SMALL)
    assert metrics.legality_precision.hits < metrics.legality_precision.of
    assert metrics.whole_sets.hits < metrics.whole_sets.of
    assert metrics.distinction_recall.hits < metrics.distinction_recall.of


def test_a_lost_effect_costs_compression(blocks: Dataset) -> None:
    """Histories of one state lead to several states of a model that does not delete."""
    metrics = measure_world(changed(blocks, lose_deletes), BLOCKS.model, blocks, SMALL)
    assert metrics.legality_recall.value == 1
    assert metrics.legality_precision.hits < metrics.legality_precision.of
    assert metrics.compression.hits < metrics.compression.of
    assert metrics.distinction_precision.hits < metrics.distinction_precision.of


def test_remembering_too_much_costs_compression(blocks: Dataset) -> None:
    """Right about every action after an even number of tokens, and refusing all of them after an odd one."""
    hidden = hidden_predictor(blocks)

    def moody(tokens: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        position = np.arange(len(tokens)) - np.repeat(offsets[:-1], np.diff(offsets))
        return label_tokens(hidden.model.bits, tokens, offsets) | (position % 2 == 1)

    metrics = measure_world(LabellingPredictor(moody, blocks.vocabulary), BLOCKS.model, blocks, SMALL)
    assert metrics.legality_precision.value == 1
    assert metrics.legality_recall.hits < metrics.legality_recall.of
    assert metrics.compression.hits < metrics.compression.of
    assert metrics.distinction_recall.hits < metrics.distinction_recall.of


@pytest.mark.parametrize("change", [lose_precondition, lose_deletes])
def test_asking_every_action_is_as_good_as_knowing_the_model(
    blocks: Dataset, change: Callable[[StripsAction], StripsAction]
) -> None:
    lost = changed(blocks, change)
    settings = replace(SMALL, exact=2, length=5)
    known, asked = (measure_world(p, BLOCKS.model, blocks, settings) for p in (lost, labels_of(lost)))
    assert known.row() == pytest.approx(asked.row(), rel=1e-12)
    assert known.distinction_precision.value not in (None, 1)


def test_enough_walks_find_what_the_search_finds(blocks: Dataset) -> None:
    lost = changed(blocks, lose_precondition)
    every, walked = (
        measure_world(lost, BLOCKS.model, blocks, replace(SMALL, exact=exact, length=4, walks=walks))
        for exact, walks in ((4, 0), (1, 300))
    )
    assert 0.1 < (every.distinction_precision.value or 0) < 0.9
    assert walked.row() == pytest.approx(every.row(), rel=0.02)


def test_a_learned_model_can_be_measured() -> None:
    train = sample(BLOCKS, SampleSettings(400, 20))
    test = sample(BLOCKS, SampleSettings(100, 40, "test"), like=train)
    learned = learn(train)
    metrics = measure_world(ModelPredictor(learned.over_tokens(test), test.vocabulary), BLOCKS.model, test, SMALL)
    assert learned.accuracy(test) == 1
    assert {name for name, value in values(metrics).items() if value != 1} == {"base_rate"}


# --- what is sampled ---------------------------------------------------------------------------------------------------


def test_pairs_are_what_they_are_called(blocks: Dataset) -> None:
    predictor = hidden_predictor(blocks)
    rng = np.random.default_rng(0)
    pool = Pool.of(blocks, predictor, 2_000, rng)

    def state(number: int) -> frozenset[str]:
        return final_state(predictor.model, names_of(predictor, pool, number))

    same = pool.same_pairs(200, rng)
    assert len(same) == 200
    for one, two in same.tolist():
        assert state(one) == state(two)
        assert names_of(predictor, pool, one) != names_of(predictor, pool, two)
    apart, near = pool.different_pairs(200, 0, rng), pool.different_pairs(200, 2, rng)
    for one, two in [*apart.tolist(), *near.tolist()]:
        assert state(one) != state(two)
    assert len(near) == 200
    assert (pool.begin[near[:, 0]] == pool.begin[near[:, 1]]).all()
    assert (abs(pool.end[near[:, 0]] - pool.end[near[:, 1]]) <= 2).all()
    assert (pool.begin[apart[:, 0]] != pool.begin[apart[:, 1]]).any()


def test_a_seed_repeats(blocks: Dataset) -> None:
    lost = changed(blocks, lose_precondition)
    one, again, other = (measure_world(lost, BLOCKS.model, blocks, replace(SMALL, seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_no_pairs_is_no_score() -> None:
    """One history, one state: nothing to compare, and no figure that looks like one."""
    dataset = sample(BLOCKS, SampleSettings(1, 0, "test"))
    metrics = measure_world(hidden_predictor(dataset), BLOCKS.model, dataset, SMALL)
    assert metrics.whole_sets == Share(1, 1)
    assert metrics.different_pairs == 0
    assert (metrics.compression.value, metrics.distinction_precision.value) == (None, None)
    row = metrics.row()
    assert (row["compression"], row["compression_of"], row["whole_sets"], row["different_pairs"]) == (None, 0, 1.0, 0)


def test_user_errors(blocks: Dataset) -> None:
    with pytest.raises(UserError, match=r"pairs is 0 \(hint: 1 or more\)"):
        WorldSettings(pairs=0)
    with pytest.raises(UserError, match=r"walks is -1 \(hint: 0 or more\)"):
        WorldSettings(walks=-1)
    hidden = hidden_predictor(blocks)
    with pytest.raises(TraceError, match="different vocabularies"):
        measure_world(hidden, BLOCKS.model, sample(BLOCKS, SampleSettings(5, 5, "test", "states:2")))
    with pytest.raises(ModelError, match="unknown action"):
        measure_world(hidden, StripsModel(BLOCKS.model.atoms, ()), blocks)
    named = replace(sample(BLOCKS, SampleSettings(5, 5, "test", "states:2")), states={})
    with pytest.raises(TraceError, match="nothing says what is true in the initial state 's0'"):
        measure_world(ModelPredictor(hidden.model, named.vocabulary), BLOCKS.model, named)
    untold = Dataset.of([Trace(("pick-up_b1",), (True,))])
    with pytest.raises(TraceError, match="nothing says what is true in the initial state 'start'"):
        measure_world(hidden, BLOCKS.model, untold)
    empty = Dataset.of([], blocks.vocabulary)
    with pytest.raises(TraceError, match="no trace to measure on"):
        measure_world(hidden, BLOCKS.model, empty)


def test_the_example_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parent.parent / "docs" / "world-model-metrics.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, page.name, "exec"), names)
    metrics = names["metrics"]
    assert f"compression {metrics.compression}" in capsys.readouterr().out
    assert metrics.compression.of == metrics.whole_sets.of == 1_000
    assert 0.5 < metrics.whole_sets.value <= 1
