"""The decoders: strictness, masks, independence, inference, training, resuming, learning a small world."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Run

from trace2strips.errors import FileError, TraceError, UserError
from trace2strips.judging.network_predictor import NetworkPredictor
from trace2strips.judging.predictors import LabellingPredictor
from trace2strips.learners.decoder import training as decoder_training
from trace2strips.learners.decoder.batches import Batch, make_batch
from trace2strips.learners.decoder.inference import Session, probabilities, right_traces, self_masked
from trace2strips.learners.decoder.learner import Rope, StickBreaking, decoder_of
from trace2strips.learners.decoder.lengthening import longer_traces
from trace2strips.learners.decoder.network import Decoder
from trace2strips.learners.decoder.packing import Packing
from trace2strips.learners.decoder.settings import VARIANTS, DecoderSettings, OptimiserSettings
from trace2strips.learners.decoder.softmax import attend_softmax
from trace2strips.learners.decoder.training import SEARCH_EVERY, DecoderNetwork, focal_loss, orthogonal
from trace2strips.learners.learner import Figures, Learned
from trace2strips.learners.learning import learn, load
from trace2strips.learners.registry import make_learner
from trace2strips.learners.training import TrainingSettings, train
from trace2strips.model.strips import StripsModel, final_state, label
from trace2strips.model.vocabulary import Kind
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

SMALL = DecoderSettings(d_model=16, layers=2, heads=2, embedding_std=1.0)


@cache
def data(traces: int = 30, init: str = "atoms") -> Dataset:
    return sample(get_domain("blocksworld:3"), SampleSettings(traces, 12, init=init, suffix="all", seed=4))


def make(variant: str, dataset: Dataset, seed: int = 0, **changes: object) -> Decoder:
    torch.manual_seed(seed)
    decoder = Decoder(len(dataset.vocabulary), replace(SMALL, variant=variant, **changes))  # type: ignore[arg-type]
    decoder.head.weight.data *= 4  # so that untrained predictions fall on both sides of 0.5
    return decoder


def logits(decoder: Decoder, dataset: Dataset, traces: list[int] | None = None) -> np.ndarray:
    with torch.no_grad():
        return decoder(make_batch(dataset, np.array(range(len(dataset)) if traces is None else traces))).numpy()


def changed(dataset: Dataset, place: int, token: int) -> Dataset:
    tokens = dataset.tokens.copy()
    tokens[place] = token
    return replace(dataset, tokens=tokens)


def test_batches_say_which_positions_are_keys() -> None:
    trace = Trace(("a", "b", "c"), (True, False, True), init=frozenset({"p"}), final={"p": True, "q": False})
    dataset = Dataset.of([Trace((), ()), trace])
    batch = make_batch(dataset, np.array([1, 0, 1]))
    names = [dataset.vocabulary.names[t] for t in batch.tokens]
    long, keys = ["init-false", "init-p", "a", "b", "c", "test-p", "test-q"], ["init-false", "init-p", "a", "c"]
    assert names == [*long, "init-start", *long]
    assert [names[i] for i in batch.keys] == [*keys, "init-start", *keys]
    visible = [0, 1, 2, 3, 3, 4, 4]
    assert batch.packing.visible.tolist() == [*visible, 0, *visible]
    positions = [0, 1, 2, 3, 4, 5, 5]  # all probes stand right after the last action
    assert batch.positions.tolist() == [*positions, 0, *positions]
    assert batch.packing.query_offsets.tolist() == [0, 7, 8, 15]
    assert batch.packing.key_offsets.tolist() == [0, 4, 5, 9]


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_comes_later_changes_nothing_and_what_was_earlier_does(variant: str) -> None:
    dataset = data()
    decoder = make(variant, dataset)
    actions = np.flatnonzero(dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION)
    place = next(i for i in actions if not dataset.inapplicable[i] and i + 3 in actions)
    first = dataset.vocabulary.first[Kind.ACTION]
    other = changed(dataset, place, first + (dataset.tokens[place] - first + 1) % len(dataset.vocabulary.actions))
    before, after = logits(decoder, dataset), logits(decoder, other)
    trace = int(np.searchsorted(dataset.offsets, place, side="right")) - 1
    later = slice(place + 1, int(dataset.offsets[trace + 1]))
    assert np.array_equal(before[:place], after[:place])
    assert before[place] != after[place]
    assert (before[later] != after[later]).any()
    assert np.array_equal(before[later.stop :], after[later.stop :])


@pytest.mark.parametrize("variant", VARIANTS)
def test_nobody_attends_to_refused_actions_and_probes(variant: str) -> None:
    dataset = data()
    decoder = make(variant, dataset)
    kinds = dataset.vocabulary.kinds[dataset.tokens]
    for place in (
        int(np.flatnonzero(dataset.inapplicable & (kinds == Kind.ACTION))[0]),
        int(np.flatnonzero(kinds == Kind.TEST_ATOM)[2]),
    ):
        near = dataset.tokens[place] + (1 if kinds[place + 1] == kinds[place] or place == 0 else -1)
        before, after = logits(decoder, dataset), logits(decoder, changed(dataset, place, near))
        assert before[place] != after[place]
        assert np.array_equal(np.delete(before, place), np.delete(after, place))


@pytest.mark.parametrize("variant", VARIANTS)
def test_probes_do_not_depend_on_their_order(variant: str) -> None:
    dataset = data()
    decoder = make(variant, dataset)
    last = dataset.tokens[: int(dataset.offsets[1])]
    suffix = np.flatnonzero(dataset.vocabulary.kinds[last] == Kind.TEST_ATOM)
    tokens = dataset.tokens.copy()
    tokens[suffix] = tokens[suffix][::-1]
    before, after = logits(decoder, dataset)[suffix], logits(decoder, replace(dataset, tokens=tokens))[suffix]
    np.testing.assert_allclose(before, after[::-1], atol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trace_does_not_depend_on_its_batch(variant: str) -> None:
    dataset = data()
    decoder = make(variant, dataset)
    together = logits(decoder, dataset)
    for trace in range(8):
        here = slice(int(dataset.offsets[trace]), int(dataset.offsets[trace + 1]))
        np.testing.assert_allclose(logits(decoder, dataset, [trace]), together[here], atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_fused_network_is_the_one_on_the_reference(variant: str) -> None:
    dataset = data()
    fused = make(variant, dataset)
    slow = make(variant, dataset, fused=False)
    slow.load_state_dict(fused.state_dict())
    batch = make_batch(dataset, np.arange(len(dataset)))
    sums = [(decoder(batch).sin()).sum() for decoder in (fused, slow)]
    ours, theirs = (torch.autograd.grad(s, d.parameters()) for s, d in zip(sums, (fused, slow), strict=True))
    torch.testing.assert_close(sums[0], sums[1])
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_softmax_attention_by_its_formula() -> None:
    rng = np.random.default_rng(0)
    lengths, keys = rng.integers(0, 9, 40), rng.integers(0, 5, 40)
    visible = np.concatenate([rng.integers(0, k + 1, n) for n, k in zip(lengths, keys, strict=True)]).astype(np.int32)
    packing = Packing(np.append(0, np.cumsum(lengths)), np.append(0, np.cumsum(keys)), visible)
    q = torch.randn(int(lengths.sum()), 2, 4, dtype=torch.float64)
    k, v = (torch.randn(int(keys.sum()), 2, 4, dtype=torch.float64) for _ in range(2))
    out = attend_softmax(q, k, v, packing)
    trace_of = np.repeat(np.arange(40), lengths)
    for i, trace in enumerate(trace_of):
        begin = int(packing.key_offsets[trace])
        for head in range(2):
            seen = slice(begin, begin + int(visible[i]))
            weights = torch.softmax(k[seen, head] @ q[i, head] / 2, dim=0)
            torch.testing.assert_close(out[i, head], weights @ v[seen, head])


def test_rotation_makes_scores_depend_on_the_distance() -> None:
    dataset = data()
    decoder = make("rope", dataset)
    batch = make_batch(dataset, np.arange(4))
    moved = Batch(batch.tokens, batch.positions + 100, batch.keys, batch.packing)
    with torch.no_grad():
        np.testing.assert_allclose(decoder(batch), decoder(moved), atol=1e-4)
        sinusoidal = make("sinusoidal", dataset)
        assert not np.allclose(sinusoidal(batch), sinusoidal(moved), atol=1e-2)


# --- inference -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_self_masking_in_rounds_is_that_step_by_step(variant: str) -> None:
    dataset = data()
    decoder = make(variant, dataset, seed=3)
    y = self_masked(decoder, dataset)
    kinds = dataset.vocabulary.kinds[dataset.tokens]
    refusals = (y >= 0.5)[kinds == Kind.ACTION]
    assert 0.05 < refusals.mean() < 0.95  # both happen
    assert (refusals != dataset.inapplicable[kinds == Kind.ACTION]).any()
    for trace in range(10):
        session = Session(decoder, dataset.vocabulary)
        here = slice(int(dataset.offsets[trace]), int(dataset.offsets[trace + 1]))
        stepwise = [session.feed(int(token)) for token in dataset.tokens[here]]
        np.testing.assert_allclose(y[here], stepwise, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_session_that_is_told_the_outcomes_is_the_pass_with_labels(variant: str) -> None:
    dataset = data()
    decoder = make(variant, dataset)
    y = probabilities(decoder, dataset)
    session = Session(decoder, dataset.vocabulary)
    here = slice(0, int(dataset.offsets[1]))
    pairs = zip(dataset.tokens[here].tolist(), dataset.inapplicable[here].tolist(), strict=True)
    np.testing.assert_allclose([session.feed(token, refused) for token, refused in pairs], y[here], atol=1e-5)
    suffix = dataset.vocabulary.kinds[dataset.tokens[here]] == Kind.TEST_ATOM
    atoms = [dataset.vocabulary.subjects[token] for token in dataset.tokens[here][suffix]]
    assert session.state() == {atom for atom, value in zip(atoms, y[here][suffix], strict=True) if value < 0.5}


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_actions_are_asked_at_once_as_one_by_one(variant: str) -> None:
    """`NetworkPredictor` beside `LabellingPredictor`, also where the network refuses what the history did."""
    dataset = data()
    decoder, vocabulary = make(variant, dataset, seed=3), dataset.vocabulary

    def label(tokens: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        return self_masked(decoder, Dataset(vocabulary, tokens, np.zeros(len(tokens), dtype=bool), offsets)) >= 0.5

    ends = [(t, i) for t in range(8) for i in range(dataset.offsets[t] + 1, dataset.offsets[t + 1])
            if vocabulary.kinds[dataset.tokens[i]] != Kind.TEST_ATOM]  # fmt: skip
    histories = [dataset.tokens[dataset.offsets[trace] : end] for trace, end in ends]
    tokens, offsets = np.concatenate(histories), np.cumsum([0, *map(len, histories)])
    said = NetworkPredictor(decoder, vocabulary).applicable(tokens, offsets)
    np.testing.assert_array_equal(said, LabellingPredictor(label, vocabulary).applicable(tokens, offsets))
    assert 0.05 < said.mean() < 0.95
    assert label(tokens, offsets)[vocabulary.kinds[tokens] == Kind.ACTION].any()
    assert NetworkPredictor(decoder, vocabulary).applicable(tokens[:0], offsets[:1]).shape == (0, said.shape[1])


def test_what_a_network_was_asked_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histories that grow one action at a time are read once each, and get the same answers as all at once."""
    dataset = data()
    decoder, vocabulary = make("sb", dataset, seed=3), dataset.vocabulary
    passes = []
    logits = NetworkPredictor.logits
    monkeypatch.setattr(NetworkPredictor, "logits", lambda *given: passes.append(len(given[-1])) or logits(*given))
    predictor, refused = NetworkPredictor(decoder, vocabulary), 0
    for t in np.argsort(-np.diff(dataset.offsets))[:8]:
        trace = dataset.tokens[dataset.offsets[t] : dataset.offsets[t + 1]]
        actions = np.flatnonzero(vocabulary.kinds[trace] == Kind.ACTION)
        for end in range(actions[0], actions[-1] + 2):
            history, offsets = trace[:end], np.array([0, end])
            passes.clear()
            said = predictor.applicable(history, offsets)
            assert end == actions[0] or passes == [1]
            np.testing.assert_array_equal(said, NetworkPredictor(decoder, vocabulary).applicable(history, offsets))
            passes.clear()
            np.testing.assert_array_equal(predictor.applicable(history.astype(np.uint64), offsets), said)
            assert not passes
            if end <= actions[-1]:
                refused += not said[0, trace[end] - vocabulary.first[Kind.ACTION]]
    assert refused > 5


def test_one_pass_with_labels_says_which_traces_are_right_under_self_masking() -> None:
    dataset = data(200)
    decoder = make("sb", dataset)
    y = self_masked(decoder, dataset)
    labels = y >= 0.5  # a world of the decoder's own: in half of its traces one label is wrong
    labels[dataset.vocabulary.kinds[dataset.tokens] < Kind.ACTION] = False
    ends = dataset.offsets[1:] - 1
    wrong = np.arange(200) % 2 == 0
    labels[ends[wrong]] ^= True
    assert np.array_equal(right_traces(decoder, replace(dataset, inapplicable=labels)), ~wrong)


# --- training --------------------------------------------------------------------------------------------------------


def test_focal_loss_by_its_formula() -> None:
    values, z = torch.tensor([0.9, 0.2, 0.6], dtype=torch.float64), torch.tensor([True, False, False])
    weights = torch.tensor([0.5, 0.25, 0.0], dtype=torch.float64)
    a, g = 0.7, 2.0
    expected = -0.5 * a * 0.1**g * np.log(0.9) - 0.25 * (1 - a) * 0.2**g * np.log(0.8)
    assert float(focal_loss(torch.logit(values), z, weights, a, g)) == pytest.approx(expected)


@pytest.mark.parametrize(("variant", "reserve"), [("sb", 0.0), ("sb", 3.0), ("rope", 3.0)])
def test_scores_of_sticks_begin_where_much_is_left(variant: str, reserve: float) -> None:
    torch.manual_seed(0)
    settings = DecoderSettings(variant, d_model=64, heads=8, reserve=reserve)
    decoder = Decoder(200, settings)
    for block in decoder.each_block:
        with torch.no_grad():
            h = block.norm_attention(decoder.embedding)
            q, (k, _) = block.split(block.query(h)), block.split_pair(block.key_value(h))
            z = torch.einsum("ihd,jhd->hij", q, k) / 8**0.5
        assert float(z.mean()) == pytest.approx(-reserve if variant == "sb" else 0.0, abs=0.25)


def test_every_trace_weighs_the_same_and_setup_actions_nothing() -> None:
    dataset = data()
    settings = OptimiserSettings(alpha=0.3, gamma=1.0, tested=1.0)
    network = DecoderNetwork(dataset, SMALL, settings, 10, 0)
    loss, _ = network.loss_and_gradient(np.array([3, 5]), 2, np.random.default_rng(0))
    expected = 0.0
    y = probabilities(network.decoder, dataset).astype(np.float64)
    for trace in (3, 5):
        here = np.arange(dataset.offsets[trace], dataset.offsets[trace + 1])
        here = here[dataset.vocabulary.kinds[dataset.tokens[here]] >= Kind.ACTION]
        p, z = y[here], dataset.inapplicable[here]
        expected += np.where(z, -0.3 * (1 - p) * np.log(p), -0.7 * p * np.log(1 - p)).mean() / 2
    assert loss == pytest.approx(expected, rel=1e-5)


def test_a_share_of_the_final_values_gives_the_same_loss_and_gradient_on_average() -> None:
    dataset = data()
    whole, part = (DecoderNetwork(dataset, SMALL, OptimiserSettings(tested=tested), 10, 0) for tested in (1.0, 0.25))
    whole.steps = part.steps = 5  # at the beginning both look at all
    rng, chosen = np.random.default_rng(0), np.arange(8)
    loss, gradient = whole.loss_and_gradient(chosen, 8, rng)
    found = [part.loss_and_gradient(chosen, 8, rng) for _ in range(400)]
    assert np.mean([one[0] for one in found]) == pytest.approx(loss, rel=0.02)
    assert np.std([one[0] for one in found]) > 0.01 * loss
    mean = torch.stack([one[1] for one in found]).mean(0)
    assert float((mean - gradient).norm() / gradient.norm()) < 0.1


def test_a_shift_of_the_scores_changes_nothing_for_a_sharp_head() -> None:
    dataset = data()
    batch, shifted = (make_batch(dataset, np.arange(6), shift=shift) for shift in (0.0, 1.0))
    torch.manual_seed(0)
    decoder = Decoder(len(dataset.vocabulary), replace(SMALL, layers=1))
    with torch.no_grad():
        assert not torch.allclose(decoder(shifted), decoder(batch), atol=1e-3)
        decoder.each_block[0].query.weight *= 1e5  # every share is 0 or 1 then
        torch.testing.assert_close(decoder(shifted), decoder(batch), rtol=1e-3, atol=1e-3)


def test_a_silent_head_is_as_if_it_had_no_say_in_the_trace() -> None:
    dataset = data()
    batch = make_batch(dataset, np.arange(4))
    torch.manual_seed(0)
    decoder = Decoder(len(dataset.vocabulary), SMALL)
    size, mute = SMALL.d_model // SMALL.heads, 1
    weights = torch.ones(SMALL.layers, len(batch.tokens), SMALL.heads)
    weights[:, :, mute] = 0.0
    with torch.no_grad():
        whole, part = decoder(batch), decoder(batch, weights)
        assert not torch.allclose(whole, part, atol=1e-4)
        for block in decoder.each_block:
            block.out.weight[:, mute * size : (mute + 1) * size] = 0.0
        torch.testing.assert_close(decoder(batch), part)


def test_heads_are_silent_by_trace_and_only_before_the_end_of_training() -> None:
    queries = np.array([3, 0, 5, 2])
    network = DecoderNetwork(data(), replace(SMALL, silent=0.25), OptimiserSettings(), 100, 0)
    found = []
    for seed in range(200):
        weights = network.head_weights(np.random.default_rng(seed), queries)
        assert weights is not None
        assert weights.shape == (SMALL.layers, queries.sum(), SMALL.heads)
        assert ((weights == 0) | (weights == np.float32(4 / 3))).all()
        for trace in torch.split(weights, queries.tolist(), dim=1):
            assert (trace == trace[:, :1]).all()
        found.append(weights[:, [0, 3, 8]].numpy())
    assert np.mean(found) == pytest.approx(1.0, abs=0.05)  # the first query of each trace: all independent
    network.steps = 70
    assert network.head_weights(np.random.default_rng(0), queries) is None
    without = DecoderNetwork(data(), SMALL, OptimiserSettings(), 100, 0)
    assert without.head_weights(np.random.default_rng(0), queries) is None


def test_training_uses_only_the_heads_that_are_not_silent() -> None:
    dataset = data()
    quiet, loud = (DecoderNetwork(dataset, replace(SMALL, silent=p), OptimiserSettings(), 100, 0) for p in (0.5, 0.0))
    for steps, same in ((0, False), (69, False), (70, True)):
        quiet.steps = loud.steps = steps
        found = [n.loss_and_gradient(np.arange(8), 8, np.random.default_rng(1)) for n in (quiet, loud)]
        assert (found[0][0] == found[1][0]) is same
        assert torch.equal(found[0][1], found[1][1]) is same


def test_scores_are_shifted_once_half_of_the_traces_are_right_and_for_sticks_only() -> None:
    rng, dataset = np.random.default_rng(0), data()
    keys = dataset.vocabulary.kinds[dataset.tokens] != Kind.TEST_ATOM
    keys &= ~dataset.inapplicable
    longest = int(np.add.reduceat(keys, dataset.offsets[:-1]).max())
    for variant, since, steps, width in (
        ("sb", 0, 90, 0.0),
        ("sb", 20, 20, 0.0),
        ("sb", 20, 40, 0.5),
        ("sb", 20, 90, 1.0),
        ("rope", 20, 90, 0.0),
    ):
        settings = OptimiserSettings(lowered=2.0, horizon=55 * longest)  # log 55 is a little more than 4
        network = DecoderNetwork(dataset, replace(SMALL, variant=variant), settings, 100, 0)
        network.steps, network.half_right_at = steps, since
        found = [network.shift(rng) for _ in range(200)]
        assert -2 * width <= min(found) <= -1.8 * width
        assert 3.6 * width <= max(found) <= np.log(55) * width
    none = DecoderNetwork(dataset, SMALL, OptimiserSettings(horizon=longest // 2), 100, 0)
    assert none.raised == 0.0


def test_the_loss_of_a_step_is_that_of_shifted_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = data()
    network = DecoderNetwork(dataset, SMALL, OptimiserSettings(tested=1.0), 100, 0)
    monkeypatch.setattr(network, "shift", lambda _: 2.5)
    batch = make_batch(dataset, np.array([3]), shift=2.5)
    here = dataset.vocabulary.kinds[batch.tokens] >= Kind.ACTION
    with torch.no_grad():
        logits = network.decoder(batch)[torch.from_numpy(here)]
    refused = torch.from_numpy(dataset.inapplicable[dataset.offsets[3] : dataset.offsets[4]][here])
    expected = focal_loss(logits, refused, torch.full_like(logits, 1 / len(logits)), 0.5, 0.0)
    loss, _ = network.loss_and_gradient(np.array([3]), 1, np.random.default_rng(0))
    assert loss == pytest.approx(float(expected), rel=1e-5)


def test_final_values_are_looked_at_all_first_and_then_in_part() -> None:
    network = DecoderNetwork(data(), SMALL, OptimiserSettings(tested=0.0), 100, 0)
    rng = np.random.default_rng(0)
    everything = network.loss_and_gradient(np.arange(8), 8, rng)[0]
    network.steps = 20
    with np.errstate(divide="ignore"):
        assert network.loss_and_gradient(np.arange(8), 8, rng)[0] < everything


def test_hard_traces_are_those_that_are_farthest_from_the_truth() -> None:
    dataset = data(400)
    network = DecoderNetwork(dataset, SMALL, OptimiserSettings(hard=0.5), 100, 0)
    off = np.abs(probabilities(network.decoder, dataset) - dataset.inapplicable)
    off *= dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION
    worst = np.maximum.reduceat(off, dataset.offsets[:-1])
    assert sorted(worst[network.find_hard()]) == pytest.approx(sorted(worst)[-12:], abs=1e-5)

    chosen = np.arange(100, 116)
    assert network.mix_in_hard_traces(chosen) is chosen
    network.hard = network.find_hard()
    batch = network.mix_in_hard_traces(chosen)
    assert len(batch) == 16
    assert sum(trace in network.hard for trace in batch) >= 8
    assert sum(trace in chosen[8:] for trace in batch) >= 8


def test_hard_traces_are_looked_for_in_a_part_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = data(400)
    network = DecoderNetwork(dataset, SMALL, OptimiserSettings(), 100, 0)
    monkeypatch.setattr(decoder_training, "SEARCHED", len(network.actions_only.tokens) // 4)
    found = [network.find_hard().tolist()]
    network.steps = 1
    found.append(network.find_hard().tolist())
    assert found[0] != found[1]
    assert all(2 <= len(traces) <= 4 for traces in found)


def test_hard_traces_are_looked_for_now_and_then_once_half_of_the_traces_are_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = DecoderNetwork(data(400), SMALL, OptimiserSettings(), 32_000, 0)
    looks: list[int] = []
    right = 0.4
    monkeypatch.setattr(network, "evaluate", lambda _: right)
    monkeypatch.setattr(network, "find_hard", lambda: looks.append(network.steps) or np.arange(3))

    def run(begin: int, end: int) -> None:
        for network.steps in range(begin, end):
            network.check_progress()

    run(0, 10_000)
    assert (network.half_right_at, looks) == (0, [])
    right = 0.5
    run(10_001, 14_500)
    # of the checks at 8,000, 10,000, 12,000 … the first that saw half of them right
    assert network.half_right_at == 12_000
    assert looks == [12_000, 12_000 + SEARCH_EVERY, 12_000 + 2 * SEARCH_EVERY]

    easy = DecoderNetwork(data(), SMALL, OptimiserSettings(), 32_000, 0)
    monkeypatch.setattr(easy, "evaluate", lambda _: 1.0)
    easy.steps = 4_000  # a check, but for the first fifth of training
    easy.check_progress()
    assert easy.half_right_at == 0


@pytest.mark.parametrize("shape", [(6, 6), (12, 5), (5, 12)])
def test_muon_makes_singular_values_equal(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    matrix = torch.randn(shape)
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    found = orthogonal(matrix)
    values = torch.diagonal(u.T @ found @ v.T)
    assert values.min() > 0.6
    assert values.max() < 1.3
    torch.testing.assert_close(u @ torch.diag(values) @ v, found, rtol=1e-3, atol=1e-4)


def test_muon_moves_the_matrices_of_the_blocks_and_nothing_else() -> None:
    """One step from zero moments: a matrix moves by rate · √(rows/columns) · UVᵀ of its gradient, the rest by Adam."""
    settings = OptimiserSettings(rate=0.01, muon=0.1, warmup=0, falling=False, weight_decay=0.0, clip=0.0)
    network = DecoderNetwork(data(), SMALL, settings, 10, 0)
    before = {name: p.detach().clone() for name, p in network.decoder.named_parameters()}
    gradient = torch.randn(len(network.flat), generator=torch.Generator().manual_seed(0))
    network.update(gradient.clone())
    end = 0
    for name, p in network.decoder.named_parameters():
        g, end = gradient[end : end + p.numel()].view_as(p), end + p.numel()
        moved = before[name] - p.detach()
        if p.ndim == 2 and name.startswith("blocks."):
            expected = 0.1 * max(1.0, p.shape[0] / p.shape[1]) ** 0.5 * orthogonal(g)
        else:
            expected = 0.01 * g.sign()
        torch.testing.assert_close(moved, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["adamw", "radam"])
def test_the_optimisers_are_those_of_pytorch(name: str) -> None:
    decay = 0.01 if name == "adamw" else 0.0
    settings = OptimiserSettings(name, 0.01, warmup=0, falling=False, weight_decay=decay, clip=0.0, muon=0.0)
    network = DecoderNetwork(data(), SMALL, settings, 10, 0)
    theirs = torch.nn.Parameter(network.flat.clone())
    kind = torch.optim.AdamW if name == "adamw" else torch.optim.RAdam
    optimiser = kind([theirs], lr=0.01, weight_decay=decay)
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        gradient = torch.randn(len(theirs), generator=generator)
        theirs.grad = gradient.clone()
        optimiser.step()
        network.update(gradient)
    torch.testing.assert_close(network.flat, theirs.detach(), rtol=1e-4, atol=1e-6)


def test_the_rate_rises_then_falls_and_long_gradients_are_cut() -> None:
    network = DecoderNetwork(data(), SMALL, OptimiserSettings(warmup=10, clip=1.0), 100, 0)
    rates = []
    for network.steps in (1, 10, 50, 100):
        rates.append(network.slowness())
    assert rates == pytest.approx([0.1 * 0.99**2, 0.9**2, 0.5**2, 0.0])
    network.steps = 0
    network.update(torch.full_like(network.flat, 3.0))
    assert float(network.mean.norm()) == pytest.approx(0.1, rel=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_run_that_is_cut_off_ends_as_if_nothing_had_happened(variant: str) -> None:
    dataset = data(400)
    settings = OptimiserSettings()

    def fresh() -> DecoderNetwork:
        return DecoderNetwork(dataset, replace(SMALL, variant=variant), settings, 8, 1)

    whole, cut, other = fresh(), fresh(), fresh()
    for network in (whole, cut):
        network.steps, network.half_right_at, network.hard = 1, 1, network.find_hard()
    rng = np.random.default_rng(0)
    batches = [rng.integers(len(dataset), size=8) for _ in range(6)]
    losses = [whole.step(batch) for batch in batches]
    for batch in batches[:3]:
        cut.step(batch)
    other.load({name: array.copy() for name, array in cut.save().items()})
    assert (other.steps, other.half_right_at) == (4, 1)
    assert np.array_equal(other.hard, cut.hard)
    assert [other.step(batch) for batch in batches[3:]] == losses[3:]
    assert torch.equal(other.flat, whole.flat)
    assert np.array_equal(other.decoder.embedding.detach().numpy(), whole.weights()["embedding"])


def test_a_run_that_is_cut_off_right_before_half_of_the_traces_are_right_ends_as_if_nothing_had_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset, batch = data(400), np.arange(8)
    whole, other = (DecoderNetwork(dataset, SMALL, OptimiserSettings(), 10, 1) for _ in range(2))
    for network in (whole, other):
        monkeypatch.setattr(network, "evaluate", lambda _: 0.5)
    whole.step(batch)
    whole.step(batch)
    assert (whole.half_right_at, len(whole.hard)) == (0, 0)
    other.load({name: array.copy() for name, array in whole.save().items()})
    learned: list[int] = []
    gradient = whole.loss_and_gradient

    def watched(chosen: np.ndarray, *rest: Any) -> tuple[float, torch.Tensor]:
        learned.extend(chosen.tolist())
        return gradient(chosen, *rest)

    monkeypatch.setattr(whole, "loss_and_gradient", watched)
    assert [whole.step(batch) for _ in range(3)] == [other.step(batch) for _ in range(3)]
    assert (whole.half_right_at, other.half_right_at, len(whole.hard)) == (2, 2, 12)
    assert np.array_equal(whole.hard, other.hard)
    assert all(sum(trace in whole.hard for trace in learned[i : i + 8]) >= 4 for i in (0, 8, 16))


def test_checkpoints_of_other_versions_are_refused(tmp_path: Path) -> None:
    dataset, plan = data(), TrainingSettings(4, 8, 500, seed=1)
    path = tmp_path / "checkpoint.safetensors"

    class Older(DecoderNetwork):
        def save(self) -> dict[str, np.ndarray]:
            return {**super().save(), "steps": np.array([self.steps])}

        def load(self, arrays: dict[str, np.ndarray]) -> None:
            super().load({**arrays, "steps": np.append(arrays["steps"], [0, 0])})

    train(Older(dataset, SMALL, OptimiserSettings(), 4, 1), dataset, plan, path)
    with pytest.raises(FileError, match="another version"):
        train(DecoderNetwork(dataset, SMALL, OptimiserSettings(), 4, 1), dataset, plan, path)


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    code = (
        "import numpy as np, hashlib\n"
        "from trace2strips.worlds import get_domain\n"
        "from trace2strips.worlds.sampling import sample, SampleSettings\n"
        "from trace2strips.learners.decoder.training import DecoderNetwork\n"
        "from trace2strips.learners.decoder.settings import *\n"
        "d = sample(get_domain('blocksworld:3'), SampleSettings(30, 12, suffix='all'))\n"
        "n = DecoderNetwork(d, DecoderSettings(d_model=16, heads=2), OptimiserSettings(), 5, 0)\n"
        "n.steps, n.half_right_at, n.hard = 1, 1, n.find_hard()\n"
        "for i in range(3): n.step(np.arange(i, i + 9))\n"
        "print(hashlib.sha256(n.flat.numpy().tobytes()).hexdigest())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
            env={**os.environ, "NUMBA_NUM_THREADS": number},
        ).stdout
        for number in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1


# --- the end of training ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["atoms", "states:3"])
def test_longer_traces_are_walks_of_the_model_from_where_training_traces_start(init: str) -> None:
    hidden, dataset = get_domain("blocksworld:3").model, data(50, init)
    actions = tuple(hidden.action(name) for name in dataset.vocabulary.actions)
    model = StripsModel(hidden.atoms, actions)
    world = WorldModel(model, dataset.vocabulary, dataset.states)
    longer = longer_traces(world, dataset, 200, np.random.default_rng(0))
    known = {trace.init if trace.state is None else trace.state for trace in dataset}
    lengths, refusals = [], 0
    for trace in longer:
        assert (trace.init if trace.state is None else trace.state) in known
        start = world.states[trace.state] if trace.state is not None else trace.init
        assert start is not None
        assert [not ok for ok in trace.ok] == label(model, trace.actions, start)
        assert all(trace.ok[:-1])
        refusals += not all(trace.ok)
        end = final_state(model, trace.actions, start)
        assert trace.final == {atom: atom in end for atom in dataset.vocabulary.test_atoms}
        lengths.append(len(trace.actions))
    assert 40 < max(lengths) <= 48  # of the training traces at most 12
    assert 70 < refusals < 130


def test_training_ends_with_the_average_once_it_is_done_and_goes_on_to_the_same_when_it_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dataset, batch = data(400), np.arange(8)

    def fresh(done_at: int) -> DecoderNetwork:
        network = DecoderNetwork(dataset, SMALL, OptimiserSettings(), 64, 1)
        network.steps, network.half_right_at = 20, 1
        monkeypatch.setattr(network, "average_is_done", lambda: network.steps >= done_at)
        return network

    whole, cut, other, never = (fresh(at) for at in (30, 30, 30, 99))
    for network in (whole, never):
        for _ in range(14):
            network.step(batch)
    # asked every 4 steps
    assert (whole.steps, whole.done, never.steps, never.done) == (32, True, 34, False)
    for _ in range(12):
        cut.step(batch)
    assert not torch.equal(cut.average, cut.flat)
    assert torch.equal(whole.flat, cut.average)
    other.load({name: array.copy() for name, array in cut.save().items()})
    other.step(batch)
    assert (other.steps, other.done, torch.equal(other.flat, whole.flat)) == (32, True, True)
    again = fresh(99)
    again.load({name: array.copy() for name, array in whole.save().items()})
    again.step(batch)
    assert (again.steps, again.done, torch.equal(again.flat, whole.flat)) == (32, True, True)


def test_the_average_is_that_of_about_the_last_tenth_of_the_steps() -> None:
    network = DecoderNetwork(data(), SMALL, OptimiserSettings(), 1000, 0)
    network.steps = 500
    network.average.zero_()
    network.flat.fill_(1.0)
    for _ in range(50):
        before = float(network.average[0])
        network.update(torch.zeros_like(network.flat))
        assert float(network.average[0]) > before
    assert 0.5 < float(network.average.mean()) < 0.75  # 1 − 1/e


@pytest.mark.parametrize(("suffix", "stop"), [("none", True), ("all", False)])
def test_who_may_not_stop_is_not_asked(suffix: str, stop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(20, 8, suffix=suffix, seed=1))
    network = DecoderNetwork(dataset, SMALL, OptimiserSettings(stop=stop), 32, 1)
    network.steps = network.half_right_at = 1
    monkeypatch.setattr(network, "average_is_done", lambda: pytest.fail("asked"))
    for _ in range(4):
        network.step(np.arange(4))
    assert (network.steps, network.done) == (5, False)


def test_a_network_that_is_wrong_on_longer_traces_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    network = DecoderNetwork(tiny(), SMALL, OptimiserSettings(), 32, 1)
    answers: list[int] = []
    wrong: list[int] = []

    def right(_: Decoder, dataset: Dataset) -> np.ndarray:
        answers.append(len(dataset))
        return np.arange(len(dataset)) < len(dataset) - wrong[len(answers) - 1]

    hidden = get_domain("blocksworld:2").model
    world = WorldModel(
        StripsModel(hidden.atoms, tuple(hidden.action(a) for a in tiny().vocabulary.actions)), tiny().vocabulary
    )
    monkeypatch.setattr(decoder_training, "right_traces", right)
    monkeypatch.setattr(decoder_training, "extract_by_probing", lambda *_: SimpleNamespace(world=world))
    before = network.flat.clone()
    for wrong[:], asked, done in (([1], 1, False), ([0, 1], 2, False), ([0, 0], 2, True)):
        answers.clear()
        assert network.average_is_done() is done
        assert len(answers) == asked
    spoiled = replace(world.model.actions[0], pre=frozenset(hidden.atoms))
    wrong_world = replace(world, model=StripsModel(hidden.atoms, (spoiled, *world.model.actions[1:])))
    monkeypatch.setattr(decoder_training, "extract_by_probing", lambda *_: SimpleNamespace(world=wrong_world))
    answers.clear()
    assert not network.average_is_done()
    assert len(answers) == 1  # the model does not explain the training traces
    assert torch.equal(network.flat, before)


@pytest.mark.parametrize("variant", ["sinusoidal", "rope"])
def test_a_baseline_is_done_when_its_training_traces_are_right(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked of nothing longer, and needs no final values for that."""
    dataset = sample(get_domain("blocksworld:2"), SampleSettings(50, 8, suffix="none", seed=1))
    network = DecoderNetwork(dataset, replace(SMALL, variant=variant), OptimiserSettings(), 32, 1)
    network.steps = network.half_right_at = 16
    asked: list[Dataset] = []
    for right in (False, True):
        monkeypatch.setattr(
            decoder_training, "right_traces", lambda _, few, right=right: asked.append(few) or np.full(len(few), right)
        )
        network.check_progress()
        assert network.done is right
    assert [len(few) for few in asked] == [50, 50]


# --- learning --------------------------------------------------------------------------------------------------------


@cache
def tiny() -> Dataset:
    return sample(get_domain("blocksworld:2"), SampleSettings(500, 8, suffix="all", seed=1))


@pytest.mark.slow
def test_a_small_world_is_learned_end_to_end(tmp_path: Path) -> None:
    hidden, dataset = get_domain("blocksworld:2").model, tiny()
    longer = sample(get_domain("blocksworld:2"), SampleSettings(200, 40, "test", suffix="all", seed=2), like=dataset)
    learned = learn(dataset, StickBreaking(steps=800), test=longer)
    assert learned.figures.steps is not None
    assert learned.figures.steps < 800  # it was done before
    assert learned.figures.train_accuracy == learned.figures.model_train_accuracy == 1
    assert learned.figures.test_accuracy == learned.figures.model_test_accuracy == 1
    assert learned.figures.least_sure_effect > 0.99
    for action in learned.model.actions:
        true = hidden.action(action.name)
        assert (action.add, action.delete) == (true.add, true.delete)
        assert action.pre >= true.pre  # and what always holds where the action can be done
    learned.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.world == learned.world
    assert again.errors(longer) == 0
    session = Session(decoder_of(again), again.vocabulary)
    number = again.vocabulary.number
    session.feed(number(Kind.INIT_FALSE))
    start = next(iter(dataset)).init
    assert start is not None
    for atom in sorted(start):
        session.feed(number(Kind.INIT_ATOM, atom))
    assert session.state() == start


def test_a_run_is_read_with_the_sizes_that_it_was_trained_with() -> None:
    """Even if its preset has others by now."""
    torch.manual_seed(0)
    sizes = DecoderSettings(d_model=32, layers=3, heads=4, mlp_factor=1)
    decoder = Decoder(5, sizes)
    weights = {name: array.detach().numpy() for name, array in decoder.named_parameters()}
    figures = Figures(1, 1.0, 0, 0.0, heads=4)
    again = decoder_of(Learned(StickBreaking(), 0, "", tiny().vocabulary, None, figures, weights))
    assert (again.settings.d_model, again.settings.layers, again.settings.heads) == (32, 3, 4)
    for name, array in again.named_parameters():
        np.testing.assert_array_equal(array.detach().numpy(), weights[name])


def test_states_are_probed_along_as_many_actions_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trace2strips.learners.decoder.learner.PROBED", 100)
    probed = learn(tiny(), StickBreaking(steps=0)).figures.probed_traces
    before = tiny().actions_before()
    assert before[probed - 1] < 100 <= before[probed]
    assert before[-1] == sum(len(trace.actions) for trace in tiny())


def test_other_vocabularies_are_translated() -> None:
    dataset = tiny()
    traces = [next(iter(dataset)), Trace((), (), init=frozenset({"never-seen"}))]
    other = Dataset.of(traces)
    same = other.in_words_of(dataset.vocabulary)
    assert same.names(0) == dataset.names(0)
    assert same.names(1) == ["init-false"]
    assert dataset.in_words_of(dataset.vocabulary) is dataset
    with pytest.raises(TraceError, match="unknown action 'fly'"):
        Dataset.of([Trace(("fly",), (True,), frozenset())]).in_words_of(dataset.vocabulary)


def test_errors_of_the_user() -> None:
    with pytest.raises(UserError, match="unknown learner 'gpt'"):
        make_learner("gpt")
    with pytest.raises(UserError, match="128 cannot be divided into 3 heads"):
        StickBreaking(heads=3)
    with pytest.raises(UserError, match="silent with probability 1"):
        DecoderSettings(silent=1.0)
    with pytest.raises(TraceError, match="no final values"):
        learn([Trace(("a",), (True,))], Rope())
    with pytest.raises(TraceError, match="no action"):
        learn([Trace((), (), final={"p": True})], StickBreaking())


def test_without_pytorch_the_command_says_what_to_install(
    run_process: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps({"actions": ["a"], "ok": [True], "final": {"p": True}}) + "\n")
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None\n")  # as if it were not there
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    result = run_process("learn", "t.jsonl", "--out", "r", "--learner", "sb")
    assert result.returncode == 2
    assert "needs PyTorch (hint: pip install 'trace2strips[networks]')" in result.stderr
    assert not (tmp_path / "r").exists()
