"""Stick-breaking attention: values, gradients, extremes; the fused kernel is its reference. Softmax beside it."""

import numba
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trace2strips.learners.decoder.packing import Packing
from trace2strips.learners.decoder.softmax import attend_softmax, attend_softmax_slowly
from trace2strips.learners.decoder.stick_breaking import (
    attend_padded,
    attend_sticks,
    attend_sticks_slowly,
    break_stick,
    exponential,
    strict_mask,
)

FUSED = [(attend_sticks, attend_sticks_slowly), (attend_softmax, attend_softmax_slowly)]
EVERY = [function for pair in FUSED for function in pair]


def offsets(lengths: list[int]) -> np.ndarray:
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


# each head size is compiled anew, which takes seconds: one that the kernels' loops over 4 and 2 divide, and one that
# leaves a rest of both
SIZES = (5, 8)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Packing, int, int, int]:
    """Traces with queries and keys, down to none at all; each query sees any number of its trace's keys; scores
    are shifted or not."""
    lengths = draw(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 24)), max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    seen = [rng.integers(0, keys + 1, size=queries) for queries, keys in lengths]
    visible = np.concatenate([*seen, np.empty(0)]).astype(np.int32)
    shift = draw(st.sampled_from([0.0, -1.5, 3.0]))
    packing = Packing(offsets([q for q, _ in lengths]), offsets([k for _, k in lengths]), visible, shift)
    return packing, draw(st.integers(1, 3)), draw(st.sampled_from(SIZES)), draw(st.integers(0, 2**32))


def random_inputs(packing: Packing, heads: int, size: int, seed: int, kind: torch.dtype) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    counts = (packing.query_offsets[-1], packing.key_offsets[-1], packing.key_offsets[-1])
    return [torch.randn(int(n), heads, size, generator=generator, dtype=kind).mul_(2).requires_grad_() for n in counts]


def outcome(function, inputs: list[torch.Tensor], packing: Packing) -> list[torch.Tensor]:
    """Output, and the gradients of a weighted sum of it."""
    out = function(*inputs, packing)
    weights = torch.arange(out.numel(), dtype=out.dtype).reshape(out.shape).sin()
    return [out.detach(), *torch.autograd.grad((out * weights).sum(), inputs)]


@pytest.mark.parametrize(("fused", "reference"), FUSED)
@settings(max_examples=80)
@given(cases())
def test_the_kernel_is_the_reference_in_value_and_gradient(
    fused, reference, case: tuple[Packing, int, int, int]
) -> None:
    packing, heads, size, seed = case
    inputs = random_inputs(packing, heads, size, seed, torch.float64)
    for ours, theirs in zip(outcome(fused, inputs, packing), outcome(reference, inputs, packing), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("fused", "reference"), FUSED)
@settings(max_examples=40)
@given(cases())
def test_the_kernel_in_single_precision(fused, reference, case: tuple[Packing, int, int, int]) -> None:
    packing, heads, size, seed = case
    single = random_inputs(packing, heads, size, seed, torch.float32)
    double = [x.detach().double().requires_grad_() for x in single]
    for ours, exact in zip(outcome(fused, single, packing), outcome(reference, double, packing), strict=True):
        torch.testing.assert_close(ours.double(), exact, rtol=1e-4, atol=1e-4)


def test_gradients_agree_with_finite_differences() -> None:
    packing = Packing(offsets([5, 3]), offsets([4, 2]), np.array([0, 1, 4, 2, 4, 2, 0, 1], dtype=np.int32))
    inputs = random_inputs(packing, 2, 5, 0, torch.float64)
    for function in EVERY:
        assert torch.autograd.gradcheck(lambda *x, f=function: f(*x, packing), inputs)


def test_the_nearest_key_takes_its_share_first() -> None:
    scores = torch.tensor([[[[0.0, 0.0, 0.0]]]], dtype=torch.float64)
    every = torch.ones(1, 1, 3, dtype=torch.bool)
    assert break_stick(scores, every).flatten().tolist() == pytest.approx([0.125, 0.25, 0.5])
    without = torch.tensor([[[True, False, True]]])
    assert break_stick(scores, without).flatten().tolist() == pytest.approx([0.25, 0.0, 0.5])


def test_a_query_sees_only_what_is_strictly_before_it() -> None:
    keys = torch.tensor([[True, False, True]])
    assert strict_mask(keys)[0].tolist() == [[False] * 3, [True, False, False], [True, False, False]]


@settings(max_examples=30)
@given(st.integers(0, 9), st.integers(0, 2**32))
def test_packed_keys_are_the_padded_ones_under_strict_and_key_mask(time: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.random(time) < 0.6
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(1, 2, time, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    padded = attend_padded(q, k, v, strict_mask(torch.from_numpy(keys)[None]))
    seen = np.append(0, np.cumsum(keys))[:time].astype(np.int32)
    packing = Packing(offsets([time]), offsets([int(keys.sum())]), seen)
    packed = attend_sticks(q[0].transpose(0, 1), k[0, :, keys].transpose(0, 1), v[0, :, keys].transpose(0, 1), packing)
    torch.testing.assert_close(packed, padded[0].transpose(0, 1))


@pytest.mark.parametrize("function", [attend_sticks, attend_sticks_slowly])
@pytest.mark.parametrize("size", [1e4, -1e4])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_extreme_scores_give_no_nan(function, size: float, kind: torch.dtype) -> None:
    """A score of 1e4 takes the whole stick, one of −1e4 nothing."""
    packing = Packing(offsets([20]), offsets([19]), np.arange(20, dtype=np.int32))
    q = torch.full((20, 1, 8), abs(size) ** 0.5, dtype=kind, requires_grad=True)
    k = torch.full((19, 1, 8), size / 8**0.5 / abs(size) ** 0.5, dtype=kind, requires_grad=True)
    v = torch.arange(19 * 8, dtype=kind).reshape(19, 1, 8).requires_grad_()
    out, *slopes = outcome(function, [q, k, v], packing)
    assert all(x.isfinite().all() for x in (out, *slopes))
    expected = torch.cat([torch.zeros(1, 1, 8, dtype=kind), v.detach()]) if size > 0 else torch.zeros(20, 1, 8)
    torch.testing.assert_close(out, expected.to(kind))


@pytest.mark.parametrize("function", EVERY)
@pytest.mark.parametrize(("queries", "keys"), [(0, 0), (1, 0), (3, 0), (0, 2), (1, 1)])
def test_without_a_key_the_output_is_zero(function, queries: int, keys: int) -> None:
    packing = Packing(offsets([queries]), offsets([keys]), np.zeros(queries, dtype=np.int32))
    out, *slopes = outcome(function, random_inputs(packing, 2, 8, 1, torch.float32), packing)
    assert out.shape == (queries, 2, 8)
    assert not out.any()
    assert not any(x.any() for x in slopes)


@pytest.mark.parametrize(
    "visible",
    [
        np.arange(200),
        np.repeat([150, 8], 16),
        np.repeat([8, 150], 16),
        np.repeat([150, 0], 16),
        np.repeat([3, 199], 20),
    ],
)
def test_a_walk_that_ends_early_loses_nothing_that_can_be_seen(visible: np.ndarray) -> None:
    """Also where one half of the queries is done long before the other begins."""
    packing = Packing(offsets([len(visible)]), offsets([199]), visible.astype(np.int32))
    single = random_inputs(packing, 2, 8, 3, torch.float32)
    double = [x.detach().double().requires_grad_() for x in single]
    for ours, exact in zip(
        outcome(attend_sticks, single, packing), outcome(attend_sticks_slowly, double, packing), strict=True
    ):
        torch.testing.assert_close(ours.double(), exact, rtol=1e-4, atol=5e-5)


def test_a_trace_does_not_depend_on_the_others() -> None:
    packing = Packing(
        offsets([30, 7, 40]), offsets([29, 6, 20]), np.r_[:30, :7, np.minimum(np.r_[:40], 20)].astype(np.int32)
    )
    q, k, v = random_inputs(packing, 2, 8, 5, torch.float32)
    together = attend_sticks(q, k, v, packing)
    alone = attend_sticks(
        q[30:37], k[29:35], v[29:35], Packing(offsets([7]), offsets([6]), np.arange(7, dtype=np.int32))
    )
    assert torch.equal(together[30:37], alone)


@numba.njit
def exponentials(x, out):
    for i in range(len(x)):
        out[i] = exponential(x[i])


def test_the_exponential_is_close_everywhere() -> None:
    x = np.linspace(-87, 0, 10_001, dtype=np.float32)
    ours = np.empty_like(x)
    exponentials(x, ours)
    np.testing.assert_allclose(ours, np.exp(x.astype(np.float64)), rtol=2e-7)
