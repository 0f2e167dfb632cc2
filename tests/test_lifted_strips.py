"""The lifted STRIPS Transformer: kernel and reference agree, the ground form is a case of it, and what it learns from
few traces of a small size holds on larger ones."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace2strips.errors import TraceError
from trace2strips.judging.plan_outcomes import align, judge
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn, load
from trace2strips.learners.lifted_transformer.extraction import Model, prune, world_of
from trace2strips.learners.lifted_transformer.layout import LiftedLayout, Pairs, lay_out
from trace2strips.learners.lifted_transformer.learner import LiftedStrips
from trace2strips.learners.lifted_transformer.network import (
    LiftedNetwork,
    LiftedTheta,
    by_trace,
    drawn,
    sparse_step,
    wrong_positions,
)
from trace2strips.learners.lifted_transformer.references import sparse_reference
from trace2strips.learners.transformer.kernels import CHUNKS, Gradient, gradient_step
from trace2strips.learners.transformer.network import NetworkSettings
from trace2strips.learners.transformer.parameters import SHARED, Layout, Theta
from trace2strips.learners.transformer.references import focal_loss
from trace2strips.learners.windows.simulation import wrong_traces
from trace2strips.model.vocabulary import Kind
from trace2strips.pddl import parse_domain
from trace2strips.planning.plans import solve
from trace2strips.traces import Dataset, Trace
from trace2strips.traces.names import understand
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

PARTS = ("query", "key", "value", "first")
ACTIONS = ("rest", *(f"take({x})" for x in "ab"), *(f"put({x}, {y})" for x in "ab" for y in "abc"))
ATOMS = ("idle", *(f"in({x}, {y})" for x in "ab" for y in "ab"), "full(c)")
Case = tuple[LiftedLayout, LiftedTheta, Dataset]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Random traces over few objects, one in two places too, however they begin; random parameters."""
    kind = draw(st.sampled_from(["atoms", "states", "nothing"]))
    traces = []
    for _ in range(draw(st.integers(1, 4))):
        steps = draw(st.lists(st.tuples(st.sampled_from(ACTIONS), st.booleans()), max_size=8))
        init = draw(st.frozensets(st.sampled_from(ATOMS))) if kind == "atoms" else None
        state = draw(st.sampled_from(["s0", "s1"])) if kind == "states" else None
        final = draw(st.dictionaries(st.sampled_from(ATOMS), st.booleans()))
        traces.append(Trace(tuple(a for a, _ in steps), tuple(ok for _, ok in steps), init, state, final))
    dataset = Dataset.of(traces)
    layout = lay_out(dataset, understand(ACTIONS), 2, draw(st.integers(0, 2)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = (*[len(layout.params)] * 3, layout.firsts)
    return layout, LiftedTheta(*(rng.uniform(0.02, 0.98, size).astype(np.float32) for size in sizes)), dataset


def reference_loss(parts: list[np.ndarray], layout: LiftedLayout, dataset: Dataset) -> float:
    total = 0.0
    pairs, vocabulary = layout.grounding[0], dataset.vocabulary
    for t in range(len(dataset)):
        where = slice(int(dataset.offsets[t]), int(dataset.offsets[t + 1]))
        tokens, refused = dataset.tokens[where], dataset.inapplicable[where]
        y = sparse_reference(*parts, pairs, vocabulary, tokens, refused)
        scored = vocabulary.kinds[tokens] >= Kind.ACTION
        if len(y):
            total += focal_loss(y[scored], refused[scored], 0.5, 1.0) * scored.sum() / len(y)
    return total / len(dataset)


def step_of(theta: LiftedTheta, pairs: Pairs, dataset: Dataset) -> tuple[float, list[np.ndarray]]:
    """Loss and gradients of all traces."""
    gradients = [np.zeros((CHUNKS, 1, len(getattr(theta, name))), dtype=np.float32) for name in PARTS]
    chosen = np.arange(len(dataset))
    loss = sparse_step(theta, pairs, dataset, chosen, 0.5, 1.0, np.zeros(CHUNKS, dtype=np.float32), gradients)
    return loss, [part.sum(axis=0)[0] / len(dataset) for part in gradients]


@settings(max_examples=80)
@given(cases())
def test_the_kernel_has_the_loss_of_the_reference(case: Case) -> None:
    layout, theta, dataset = case
    loss, _ = step_of(theta, layout.grounding[0], dataset)
    assert loss == pytest.approx(
        reference_loss([getattr(theta, p) for p in PARTS], layout, dataset), abs=2e-5, rel=2e-3
    )


@settings(max_examples=15)
@given(cases())
def test_gradients_agree_with_finite_differences(case: Case) -> None:
    layout, theta, dataset = case
    _, gradients = step_of(theta, layout.grounding[0], dataset)
    parts = [getattr(theta, name).astype(np.float64) for name in PARTS]
    for part, gradient in zip(parts, gradients, strict=True):
        for i in np.argsort(-np.abs(gradient))[:4]:
            old = part[i]
            values = []
            for moved in (old + 1e-6, old - 1e-6):
                part[i] = moved
                values.append(reference_loss(parts, layout, dataset))
            part[i] = old
            assert gradient[i] == pytest.approx((values[0] - values[1]) / 2e-6, abs=2e-4, rel=2e-3)


@settings(max_examples=60)
@given(cases())
def test_binary_parameters_are_the_lifted_world(case: Case) -> None:
    """What the kernel, the reference, the world in words and its pruned form say of each trace."""
    layout, theta, dataset = case
    bits = theta.binarise()
    bits = replace(bits, query=bits.query & layout.askable, first=bits.first | ~layout.learned_first)
    wrong = wrong_positions(layout.grounding[0], bits, dataset)
    parts = [getattr(bits, name).astype(np.float64) for name in PARTS]
    for t in range(len(dataset)):
        where = slice(int(dataset.offsets[t]), int(dataset.offsets[t + 1]))
        y = sparse_reference(
            *parts, layout.grounding[0], dataset.vocabulary, dataset.tokens[where], dataset.inapplicable[where]
        )
        assert ((y > 0.5) != dataset.inapplicable[where]).tolist() == wrong[where].tolist()
    model = Model(layout, bits, np.abs(theta.first - 0.5))
    assert wrong_traces(world_of(model), dataset).tolist() == by_trace(wrong, dataset).tolist()
    pruned = prune(model, dataset)
    assert pruned.errors(dataset) <= wrong.sum()
    assert len(pruned.layout.heads) <= len(layout.heads)


@pytest.mark.parametrize("init", ["atoms", "states:3"])
def test_the_ground_form_touches_every_atom(init: str) -> None:
    """Its factored kernel has the same loss and gradients where each action has a parameter for each atom."""
    dataset = sample(get_domain("blocksworld:3"), SampleSettings(9, 12, "train", init, "goal", 4))
    ground = Layout(dataset.vocabulary, np.full(3, SHARED))
    rng = np.random.default_rng(5)
    query, key, value = (rng.uniform(0.05, 0.95, (ground.rows, ground.heads)).astype(np.float32) for _ in range(3))
    key[ground.actions :] = 1
    start, atom, param = [0], list[int](), list[int]()
    for token, row in enumerate(ground.row.tolist()):
        if 0 <= row < ground.actions:
            atom += range(ground.heads)
            param += range(row * ground.heads, (row + 1) * ground.heads)
        elif ground.head[token] >= 0:
            atom.append(int(ground.head[token]))
            param.append(-1)
        start.append(len(atom))
    state_first = np.where(ground.row >= ground.actions, 1 + (ground.row - ground.actions) * ground.heads, -1)
    pairs = Pairs(np.array(start), np.array(atom), np.array(param), np.zeros(ground.heads, dtype=np.int64), state_first)
    first = np.append(np.float32(1), value[ground.actions :].ravel())  # init-false deletes every head
    flat = LiftedTheta(*(part[: ground.actions].ravel() for part in (query, key, value)), first)
    loss, gradients = step_of(flat, pairs, dataset)
    out = Gradient.for_layout(ground)
    same = gradient_step(Theta(query, key, value), ground, dataset, np.arange(9), "factored", 0.5, 1.0, out)
    assert loss == pytest.approx(same, rel=1e-6)
    theirs = [getattr(out, name).sum(axis=0) / 9 for name in ("query", "key", "value")]
    for mine, found in zip(gradients, [part[: ground.actions].ravel() for part in theirs], strict=False):
        np.testing.assert_allclose(mine, found, atol=1e-6)
    np.testing.assert_allclose(gradients[3][1:], theirs[2][ground.actions :].ravel(), atol=1e-6)


def test_the_number_of_parameters_does_not_depend_on_the_objects() -> None:
    def count(size: str) -> tuple[int, int]:
        dataset = sample(get_domain(size), SampleSettings(60, 50, suffix="none"))
        layout = lay_out(dataset, understand(dataset.vocabulary.actions, "_"), 2, 1)
        return len(layout.heads), len(layout.params)

    assert count("blocksworld:3") == count("blocksworld:9") == (16, 80)


def test_what_is_hard_wired_stays() -> None:
    dataset = sample(get_domain("ferry:2x2"), SampleSettings(20, 20, suffix="none"))
    layout = lay_out(dataset, understand(dataset.vocabulary.actions, "_"), 2, 1)
    network = LiftedNetwork(layout, dataset, NetworkSettings(rate=0.1), 0)
    before = network.theta.query.copy()
    for _ in range(20):
        network.step(np.arange(20))
    assert (network.theta.query[~layout.askable] == 0).all()
    assert (network.theta.query != before)[layout.askable].any()
    assert (network.theta.first[~layout.learned_first] == 1).all()
    assert {head.told[0] for head in layout.heads if head.told} == {"at", "at-ferry", "empty-ferry"}
    assert (drawn(layout, NetworkSettings(), 1).key < 0.1).all()


# --- what is learned ---------------------------------------------------------------------------------------------------

LEARNER = LiftedStrips(separator="_")


@cache
def blocks() -> Learned:
    """From twenty traces of four blocks."""
    return learn(sample(get_domain("blocksworld:4"), SampleSettings(20, 50, suffix="none", seed=1)), LEARNER)


def accuracy(learned: Learned, name: str, init: str = "atoms") -> float:
    test = sample(get_domain(name), SampleSettings(300, 200, "test", init, "none", 9))
    return 1 - float(learned.predictor.wrong_traces(test).mean())


def test_twenty_traces_of_four_blocks_are_enough_for_twelve() -> None:
    learned = blocks()
    assert (learned.figures.train_errors, learned.figures.warnings) == (0, ())
    assert [accuracy(learned, size) for size in ("blocksworld:4", "blocksworld:12")] == [1.0, 1.0]
    domain = parse_domain(learned.lifted.pddl() if learned.lifted else "")
    assert {schema.name for schema in domain.schemas} == {"pick-up", "put-down", "stack", "unstack"}
    assert len(domain.predicates) <= 6  # five, and `different`


def test_its_plans_work_with_more_blocks() -> None:
    learned, domain = blocks(), get_domain("blocksworld:6")
    world = LEARNER.world_over(learned, domain.model.action_index, domain.model.atoms)
    for problem in domain.problems(3):
        assert judge(problem, solve(align(problem, world))) == "correct"


def test_a_run_folder_has_all_of_it(tmp_path: Path) -> None:
    blocks().save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.lifted == blocks().lifted
    assert accuracy(again, "blocksworld:5") == accuracy(blocks(), "blocksworld:5")
    assert parse_domain((tmp_path / "run" / "domain.pddl").read_text()) is not None
    assert (tmp_path / "run" / "problem.pddl").exists()


def test_nothing_told_from_one_start() -> None:
    train = sample(get_domain("ferry:2x2"), SampleSettings(60, 30, "train", "states:1", "none", 0))
    learned = learn(train, LEARNER)
    assert learned.figures.train_errors == 0
    assert accuracy(learned, "ferry:2x2", "states:1") > 0.99


def test_traces_of_several_sizes() -> None:
    domains = [get_domain(name) for name in ("npuzzle:2x2", "npuzzle:2x3")]
    traces = [t for d in domains for t in sample(d, SampleSettings(15, 30, suffix="none", seed=2))]
    learned, twice = (learn(Dataset.of(traces), LEARNER, seed=4) for _ in range(2))
    assert accuracy(learned, "npuzzle:4x4") == 1.0
    assert twice.lifted == learned.lifted  # same seed, same bytes
    assert all((array == (twice.weights or {})[name]).all() for name, array in (learned.weights or {}).items())


def test_what_cannot_be_explained_is_said() -> None:
    flips = [Trace(("press",), (i % 2 == 0,), frozenset({"on"})) for i in range(6)]
    learned = learn(flips, LiftedStrips(steps=500))
    assert learned.figures.train_errors == 3
    assert "3 of 6 training traces are not explained by the model" in learned.figures.warnings


def test_too_many_parameters_are_refused_before_the_work() -> None:
    many = Trace(tuple(f"a{i}" for i in range(1_100)), (True,) * 1_100, frozenset())
    with pytest.raises(TraceError, match="1,210,000 parameters for 1,100 kinds of actions"):
        learn([many], LiftedStrips())
