"""Both forms of the STRIPS Transformer: references, kernels and the PyTorch module agree; at θ_M they are f_M."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import models

from trace2strips.learners.radam import rectification
from trace2strips.learners.transformer.kernels import Gradient, gradient_step
from trace2strips.learners.transformer.module import StripsTransformer, break_stick, pad_traces
from trace2strips.learners.transformer.module import focal_loss as torch_focal_loss
from trace2strips.learners.transformer.network import NetworkSettings, StripsNetwork
from trace2strips.learners.transformer.optimiser import Parameters, radam_step
from trace2strips.learners.transformer.parameters import SHARED, Layout, Theta, model_of, theta_of
from trace2strips.learners.transformer.references import attention_reference, factored_reference, focal_loss
from trace2strips.model.strips import StripsAction, StripsModel, label
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.traces import Dataset, Trace
from trace2strips.traces.accuracy import trace_accuracy, wrong_traces
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

REFERENCES = {"factored": factored_reference, "attention": attention_reference}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Layout, Theta, Dataset]:
    """Random traces over few actions, with and without told initial and final values, and random parameters."""
    actions, atoms = ["a", "b", "c"], ["p", "q"]
    kind = draw(st.sampled_from(["atoms", "states", "nothing"]))
    traces = []
    for _ in range(draw(st.integers(1, 4))):
        steps = draw(st.lists(st.tuples(st.sampled_from(actions), st.booleans()), max_size=6))
        init = draw(st.frozensets(st.sampled_from(atoms))) if kind == "atoms" else None
        state = draw(st.sampled_from(["s0", "s1"])) if kind == "states" else None
        final = draw(st.dictionaries(st.sampled_from(atoms), st.booleans()))
        traces.append(Trace(tuple(a for a, _ in steps), tuple(ok for _, ok in steps), init, state, final))
    states = ("s0", "s1") if kind == "states" else ()
    vocabulary = Vocabulary(tuple(actions), tuple(atoms), states, tuple(atoms), has_init_false=True)
    owner = np.array(draw(st.lists(st.sampled_from([SHARED, 0, 1, 2]), max_size=3)), dtype=np.int64)
    dataset = Dataset.of(traces, vocabulary)
    layout = Layout(dataset.vocabulary, owner)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    shape = (layout.rows, layout.heads)
    query, key, value = (rng.uniform(0.02, 0.98, shape).astype(np.float32) for _ in range(3))
    key[layout.actions :] = 1
    return layout, Theta((query * layout.askable).astype(np.float32), key, value), dataset


def reference_loss(form: str, layout: Layout, theta: Theta, dataset: Dataset) -> float:
    """The loss from the slow reference; setup prefixes are never refused and add nothing."""
    total = 0.0
    for t in range(len(dataset)):
        where = slice(int(dataset.offsets[t]), int(dataset.offsets[t + 1]))
        y = REFERENCES[form](theta, layout, dataset.tokens[where], dataset.inapplicable[where])
        scored = layout.vocabulary.kinds[dataset.tokens[where]] >= Kind.ACTION
        if len(y):
            total += focal_loss(y[scored], dataset.inapplicable[where][scored], 0.5, 1.0) * scored.sum() / len(y)
    return total / len(dataset)


@pytest.mark.parametrize("form", REFERENCES)
@settings(max_examples=120)
@given(cases())
def test_kernels_have_the_loss_of_the_references(form: str, case: tuple[Layout, Theta, Dataset]) -> None:
    layout, theta, dataset = case
    out = Gradient.for_layout(layout)
    loss = gradient_step(theta, layout, dataset, np.arange(len(dataset)), form, 0.5, 1.0, out)
    assert loss == pytest.approx(reference_loss(form, layout, theta, dataset), abs=2e-5, rel=1e-4)


@pytest.mark.parametrize("form", REFERENCES)
@settings(max_examples=60)
@given(cases(), st.sampled_from([(0.5, 1.0), (0.999, 1.0), (0.3, 2.0)]))
def test_gradients_agree_with_autograd(
    form: str, case: tuple[Layout, Theta, Dataset], focus: tuple[float, float]
) -> None:
    layout, theta, dataset = case
    out = Gradient.for_layout(layout)
    chosen = np.arange(len(dataset))
    loss = gradient_step(theta, layout, dataset, chosen, form, *focus, out)
    wide = Theta(*(part.astype(np.float64) for part in (theta.query, theta.key, theta.value)))
    module = StripsTransformer(layout, wide, form)
    tokens, refused = pad_traces(dataset, chosen)
    expected = torch_focal_loss(module(tokens, refused), refused, tokens, *focus)
    assert loss == pytest.approx(float(expected.detach()), abs=2e-5, rel=1e-4)
    expected.backward()
    is_action = (np.arange(layout.rows) < layout.actions)[:, None]
    for name, mask in (("query", layout.askable), ("key", is_action), ("value", np.True_)):
        ours = getattr(out, name).sum(axis=0) / len(dataset) * mask
        theirs = getattr(module, name).grad
        theirs = np.zeros_like(ours) if theirs is None else theirs.numpy() * mask
        np.testing.assert_allclose(ours, theirs, atol=2e-4, rtol=2e-3)


@pytest.mark.parametrize("form", REFERENCES)
def test_gradients_agree_with_finite_differences(form: str) -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(6, 6, init="states:3"))
    layout = Layout(dataset.vocabulary, np.array([0, SHARED]))
    rng = np.random.default_rng(3)
    shape = (layout.rows, layout.heads)
    theta = Theta(*(rng.uniform(0.1, 0.9, shape).astype(np.float32) for _ in range(3)))
    theta.query[~layout.askable] = 0
    out = Gradient.for_layout(layout)
    gradient_step(theta, layout, dataset, np.arange(6), form, 0.5, 1.0, out)
    wide = Theta(*(part.astype(np.float64) for part in (theta.query, theta.key, theta.value)))
    for name in ("query", "key", "value"):
        part = getattr(wide, name)
        for row, head in [(0, 0), (1, 3), (2, layout.heads - 1), (3, 5)]:
            if name == "query" and not layout.askable[row, head]:
                continue
            old = part[row, head]
            part[row, head] = old + 1e-6
            up = reference_loss(form, layout, wide, dataset)
            part[row, head] = old - 1e-6
            down = reference_loss(form, layout, wide, dataset)
            part[row, head] = old
            assert getattr(out, name)[:, row, head].sum() / 6 == pytest.approx((up - down) / 2e-6, abs=1e-4)


@settings(max_examples=300)
@given(models(max_atoms=4), st.data())
def test_at_binary_parameters_both_forms_are_the_classifier(model: StripsModel, data: st.DataObject) -> None:
    """The theorem: for θ = θ_M the network classifies as M does, in both forms (masked as M itself would mask)."""
    names = tuple(action.name for action in model.actions)
    layout = Layout(Vocabulary(names), np.full(len(model.atoms), SHARED))
    theta = theta_of(model, layout)
    trace = data.draw(st.lists(st.sampled_from(names), max_size=10)) if names else []
    tokens = np.array([names.index(name) for name in trace], dtype=np.uint16)
    refused = np.array(label(model, trace), dtype=bool)
    for reference in REFERENCES.values():
        assert (reference(theta, layout, tokens, refused) >= 0.5).tolist() == refused.tolist()
    again = model_of(theta, layout)
    lists = [(a.name, len(a.pre), len(a.add), len(a.delete)) for a in model.actions]
    assert [(a.name, len(a.pre), len(a.add), len(a.delete)) for a in again.actions] == lists


def test_setup_actions_are_hard_wired() -> None:
    """Whatever the parameters: init-false deletes, init-p makes true, test-p asks one head."""
    vocabulary = Vocabulary(("a",), ("p", "q"), (), ("p", "q"), has_init_false=True)
    layout = Layout(vocabulary, np.array([0]))
    rng = np.random.default_rng(0)
    theta = Theta(*(rng.random((1, 3)).astype(np.float32) for _ in range(3)))
    dataset = Dataset.of([Trace((), (), frozenset({"q"}), final={"p": True, "q": True})], vocabulary)
    for reference in REFERENCES.values():
        y = reference(theta, layout, dataset.tokens, np.zeros(len(dataset.tokens), dtype=bool))
        assert y.tolist() == [0, 0, 1, 0]  # init-false, init-q, test-p, test-q


def test_setup_actions_of_a_learned_model_are_those_of_the_vocabulary() -> None:
    """Hard-wired as parameters here, written as STRIPS actions there: the same actions, whatever was learned."""
    vocabulary = Vocabulary(("a", "b"), ("p", "q"), ("s0", "s1"), ("q", "r"), has_init_false=True)
    layout = Layout(vocabulary, np.array([0, SHARED]))
    rng = np.random.default_rng(1)
    theta = Theta(*(rng.random((layout.rows, layout.heads)).astype(np.float32) for _ in range(3)))
    found = model_of(theta, layout)
    atoms = layout.names()
    states = {
        name: frozenset(atom for atom, deleted in zip(atoms, theta.value[2 + i], strict=True) if deleted < 0.5)
        for i, name in enumerate(vocabulary.init_states)
    }
    actions = tuple(found.action(name) for name in vocabulary.actions)
    assert found.actions == vocabulary.extend(StripsModel(atoms, actions), states).actions
    assert [action.name for action in actions if action.pre] == ["a", "b"]


def test_stick_breaking_by_hand() -> None:
    scores = torch.tensor([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert break_stick(scores).tolist() == [[0, 0, 0], [0.5, 0, 0], [0.25, 0.5, 0]]


def test_private_heads_can_only_be_asked_by_their_owner() -> None:
    layout = Layout(Vocabulary(("a", "b"), test_atoms=("p",)), np.array([1, SHARED]))
    assert layout.askable.tolist() == [[True, False, True], [True, True, True]]
    assert layout.names() == ("p", "p1", "p2")


def test_radam_is_that_of_pytorch() -> None:
    rng = np.random.default_rng(0)
    start = rng.uniform(0.3, 0.7, (3, 4)).astype(np.float32)
    part = Parameters.starting_at(start, np.ones((3, 4), dtype=bool), logit=False)
    theirs = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimiser = torch.optim.RAdam([theirs], lr=0.001)
    for step in range(1, 40):
        slope = rng.normal(size=(4, 3, 4)).astype(np.float32) * 0.01
        radam_step(part, slope, 2, step, 0.001, 0.0, logit=False)
        theirs.grad = torch.from_numpy(slope.sum(axis=0) / 2)
        optimiser.step()
    np.testing.assert_allclose(part.theta, theirs.detach().numpy(), atol=2e-6)
    assert rectification(1) == 0
    assert 0 < rectification(10) < rectification(1000) < 1


def test_clipped_parameters_stay_probabilities() -> None:
    part = Parameters.starting_at(np.full((1, 2), 0.5, dtype=np.float32), np.ones((1, 2), dtype=bool), logit=False)
    for step in range(1, 200):
        radam_step(part, np.array([[[1.0, -1.0]]], dtype=np.float32), 1, step, 0.1, 0.0, logit=False)
    assert part.theta.tolist() == [[0.0, 1.0]]


def test_a_network_learns_and_saves_all_that_matters() -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(500, 10))
    layout = Layout(dataset.vocabulary, np.arange(8))
    one, two = (StripsNetwork(layout, dataset, NetworkSettings(), seed) for seed in (0, 1))
    losses = [one.step(np.arange(i, i + 64)) for i in range(100)]
    assert np.mean(losses[-10:]) < 0.7 * np.mean(losses[:10])
    two.load(one.save())
    assert two.step(np.arange(64)) == one.step(np.arange(64))
    assert two.evaluate(dataset) == one.evaluate(dataset)
    assert (one.query.theta[~layout.askable] == 0).all()


def test_the_sum_of_the_chunks_does_not_depend_on_the_cores() -> None:
    import numba

    dataset = sample(get_domain("ferry-5c"), SampleSettings(200, 20))
    layout = Layout(dataset.vocabulary, np.arange(len(dataset.vocabulary.actions)))
    results = []
    threads = numba.get_num_threads()
    for count in (1, threads):
        numba.set_num_threads(count)
        network = StripsNetwork(layout, dataset, NetworkSettings(), 0)
        for i in range(20):
            network.step(np.arange(i, i + 32))
        results.append(network.save())
    numba.set_num_threads(threads)
    assert all((results[0][name] == results[1][name]).all() for name in results[0])


def test_accuracy_counts_whole_traces_and_masks_by_its_own_word() -> None:
    model = StripsModel(("p",), (StripsAction("use", frozenset("p"), delete=frozenset("p")), StripsAction("free")))
    vocabulary = Vocabulary(("use", "free"), init_states=("start",))
    right = Trace(("use", "use", "free"), (True, False, True))
    wrong = Trace(("use", "free", "use", "free"), (True, True, True, True))
    dataset = Dataset.of([right, wrong, right, right], vocabulary)
    over_tokens = vocabulary.extend(model, {"start": frozenset("p")})
    assert wrong_traces(over_tokens, dataset).tolist() == [False, True, False, False]
    assert trace_accuracy(over_tokens, dataset) == 0.75
