"""Multi-head stick-breaking attention: each query breaks its stick on earlier keys, the nearest one first.

    z_j = q·k_j / √d,   β_j = σ(z_j),   A_j = β_j · Π_{nearer keys m} (1 − β_m),   o = Σ_j A_j v_j

Traces are packed (`packing`): a query sees the first `visible` keys of its trace, and the nearest is the last of these.
A query without a key gets 0. Training may add a `shift` to all z of a batch (`training`).

`attend_sticks` is the fused kernel for the CPU, `attend_sticks_slowly` the same in log space on padded tensors, on any
device. The kernel holds 32 queries side by side, in the lanes of two vectors, and walks over the keys once in each
direction; nothing of size queries × keys is ever made. With g the gradient of o, the way back is, nearest key first:

    T starts as g·o;   T −= A·(g·v);   dz = A·(1 − β)·(g·v) − β·T;   then stick *= 1 − β

and for every four keys dz and A are spread over dq, dk and dv. A vector joins the walk at the first key that one of its
queries sees and leaves it when no stick of its 16 is longer than what rounding loses. A kernel runs in the thread that
calls it, in a fixed order. Needs the extra `networks`.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, overload, register_model
from torch import Tensor
from torch.nn import functional

from trace2strips.compilation import compiled
from trace2strips.learners.decoder.packing import Packing, pad_items, unpad_items

VECTOR = 16  # float32 in the widest vector
LANES = 2 * VECTOR  # queries side by side
GROUP = 4  # keys; after each group the kernel looks whether all sticks are used up
WIDE = (0,) * VECTOR  # tells compiled code the length of a vector
NEVER = 1 << 30  # the number of a key that no query sees


# --- reference -------------------------------------------------------------------------------------------------------


def break_stick(
    scores: Float[Tensor, "batch heads query key"], visible: Bool[Tensor, "batch query key"]
) -> Float[Tensor, "batch heads query key"]:
    """A in log space: log A_j = log σ(z_j) + Σ_{nearer m} log σ(−z_m). Keys with higher numbers are nearer."""
    seen = visible[:, None]
    keep = functional.logsigmoid(-scores) * seen
    nearer = torch.flip(torch.cumsum(torch.flip(keep, (-1,)), dim=-1), (-1,))  # Σ_{m ≥ j}
    nearer = torch.cat([nearer[..., 1:], torch.zeros_like(nearer[..., :1])], dim=-1)  # Σ_{m > j}
    return torch.where(seen, torch.exp(functional.logsigmoid(scores) + nearer), 0.0)


def attend_padded(
    q: Float[Tensor, "batch heads query size"],
    k: Float[Tensor, "batch heads key size"],
    v: Float[Tensor, "batch heads key size"],
    visible: Bool[Tensor, "batch query key"],
    shift: float = 0.0,
) -> Float[Tensor, "batch heads query size"]:
    """Stick-breaking attention where each query sees the keys that `visible` says."""
    return break_stick(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + shift, visible) @ v


def strict_mask(keys: Bool[Tensor, "batch time"]) -> Bool[Tensor, "batch time time"]:
    """Query i sees key j iff j < i and j is no masked position."""
    time = keys.shape[1]
    return keys[:, None, :] & torch.ones(time, time, dtype=torch.bool, device=keys.device).tril(-1)


def attend_sticks_slowly(
    q: Float[Tensor, "queries heads size"],
    k: Float[Tensor, "keys heads size"],
    v: Float[Tensor, "keys heads size"],
    packing: Packing,
) -> Float[Tensor, "queries heads size"]:
    """The same as `attend_sticks`, slowly, on any device."""
    mask = packing.mask
    padded_q = pad_items(q, packing.padded_query_indices, mask.shape[:2])
    padded_k, padded_v = (pad_items(x, packing.padded_key_indices, mask.shape[::2]) for x in (k, v))
    out = attend_padded(padded_q, padded_k, padded_v, torch.from_numpy(mask).to(q.device), packing.shift)
    return unpad_items(out, packing.padded_query_indices)


# --- vectors ---------------------------------------------------------------------------------------------------------
# Here and not in a module of their own: Numba's cache forgets a kernel only if the file of the kernel changes.


class Vector(types.Type):
    """`size` numbers of a kind, known to compiled code only: a row that stays in registers over a loop."""

    def __init__(self, kind: types.Float, size: int) -> None:
        self.kind, self.size = kind, size
        super().__init__(name=f"Vector({kind}, {size})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, vector: Vector) -> None:
        number = manager.lookup(vector.kind).get_value_type()
        super().__init__(manager, vector, ir.VectorType(number, vector.size))


def pointer_to(context: Any, builder: ir.IRBuilder, array_type: Any, array: Any, index: Any, vector: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), context.get_value_type(vector).as_pointer())


@intrinsic
def load(_, array, index, template):  # type: ignore[no-untyped-def]
    """The row of len(template) numbers that begins at this index of a flat array."""
    vector = Vector(array.dtype, template.count)

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        where = pointer_to(context, builder, signature.args[0], arguments[0], arguments[1], vector)
        return builder.load(where, align=array.dtype.bitwidth // 8)

    return vector(array, index, template), generate


@intrinsic
def store(_, array, index, row):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        where = pointer_to(context, builder, signature.args[0], arguments[0], arguments[1], row)
        builder.store(arguments[2], where, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(array, index, row), generate


@intrinsic
def add_times(_, factor, row, total):  # type: ignore[no-untyped-def]
    """factor · row + total, rounded once."""

    def generate(_, builder, __, arguments):  # type: ignore[no-untyped-def]
        number, x, y = arguments
        kind, size = x.type, row.size
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), size), [0] * size)
        all_of_them = builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)
        name = f"llvm.fma.v{size}f{row.kind.bitwidth}"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)
        return builder.call(function, [all_of_them, x, y])

    return row(factor, row, total), generate


# --- fused kernel ----------------------------------------------------------------------------------------------------


def attend_sticks(
    q: Float[Tensor, "queries heads size"],
    k: Float[Tensor, "keys heads size"],
    v: Float[Tensor, "keys heads size"],
    packing: Packing,
) -> Float[Tensor, "queries heads size"]:
    """Stick-breaking attention over packed traces on the CPU, with its gradient."""
    out: Tensor = StickBreaking.apply(q, k, v, packing)  # type: ignore[no-untyped-call]
    return out


class StickBreaking(torch.autograd.Function):
    """The two kernels as one function that autograd knows.

    What they write to is PyTorch's, which begins where a line of the cache does: no row of 16 lies across two of them.
    """

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, packing: Packing) -> Tensor:
        arrays = [x.detach().contiguous().numpy() for x in (q, k, v)]
        result = torch.empty(q.shape, dtype=q.dtype)
        out = result.numpy()
        forward_kernel(*arrays, *constants(packing, arrays[0]), out)
        ctx.arrays, ctx.packing = (*arrays, out), packing
        return result

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        q, k, v, out = ctx.arrays
        slopes = [torch.zeros(x.shape, dtype=slope.dtype) for x in (q, k, v)]
        arrays = (x.numpy() for x in (slope.contiguous(), *slopes))
        backward_kernel(q, k, v, *constants(ctx.packing, q), out, *arrays)
        return (*slopes, None)


def constants(packing: Packing, q: np.ndarray) -> tuple[Any, ...]:
    """What both kernels need besides q, k, v.

    The head size is told as the length of a tuple: it must be known when the kernel is compiled, so that loops over it
    are unrolled. The width of a vector must not: then the loop over its lanes is what becomes vector code.
    """
    kind, size = q.dtype.type, q.shape[2]
    stop = kind(3e-7) if kind is np.float32 else kind(1e-16)
    scale = kind(1 / np.sqrt(size))
    return (
        packing.query_offsets,
        packing.key_offsets,
        packing.visible,
        (0,) * size,
        VECTOR,
        scale,
        kind(packing.shift),
        stop,
    )


@intrinsic
def fma(_, a, b, c):  # type: ignore[no-untyped-def]  # noqa: ARG001
    """a·b + c, rounded once. Asked for by name: otherwise the compiler chooses whether to round once or twice."""

    def generate(_, builder, __, arguments):  # type: ignore[no-untyped-def]
        return builder.fma(*arguments)

    return a(a, a, a), generate


def exponential(x: Any) -> Any:
    """eˣ for −87 ≤ x ≤ 0. In compiled code each type has its own."""
    return np.exp(x)


def exponential32(x):  # type: ignore[no-untyped-def]
    """eˣ = 2ⁿ·eʳ with |r| ≤ ln 2 / 2, in operations that vectors have; within 1e-7 of its value."""
    shifted = x * np.float32(1.44269504) + np.float32(12582912)  # 1.5·2²³: what is left of the fraction is rounded off
    n = shifted - np.float32(12582912)
    r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = fma(p, r, np.float32(1.3981999507e-3))
    p = fma(p, r, np.float32(8.3334519073e-3))
    p = fma(p, r, np.float32(4.1665795894e-2))
    p = fma(p, r, np.float32(1.6666665459e-1))
    p = fma(p, r, np.float32(5.0000001201e-1))
    p = p * r * r + r + np.float32(1)
    return p * np.int32((np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)).view(np.float32)


def exponential64(x):  # type: ignore[no-untyped-def]
    return np.exp(x)


@overload(exponential)
def typed_exponential(x):  # type: ignore[no-untyped-def]
    return inspect.unwrap(exponential32 if x == types.float32 else exponential64)


@compiled(vector=True)
def break_off(z, seen):  # type: ignore[no-untyped-def]
    """β = σ(z) and 1 − β, both without cancellation; a key that is not seen takes nothing."""
    kind = type(z)
    zero, one = kind(0), kind(1)
    e = exponential(max(-abs(z), kind(-87)))
    large = one / (one + e)
    small = e * large
    beta = (large if z >= zero else small) if seen else zero
    return beta, (small if z >= zero else large) if seen else one


@compiled(vector=True)
def arrive(lanes, visible, first, count, stick, seen, most):  # type: ignore[no-untyped-def]
    """New queries: whole sticks, the keys that each sees, and `most` of them by any query of a vector."""
    lanes[:] = 0
    most[:] = 0
    for n in range(count):
        h, i = n // VECTOR, n % VECTOR
        lanes[stick, h, i] = 1
        lanes[seen, h, i] = visible[first + n]
        most[h] = max(most[h], np.int64(visible[first + n]))


@compiled(vector=True)
def leave(lanes, stick, stop, width, most):  # type: ignore[no-untyped-def]
    """A vector whose sticks are used up sees no key any more."""
    for h in range(2):
        going = np.int64(0)
        for i in range(width):
            going |= np.int64(lanes[stick, h, i] >= stop)
        if not going:
            most[h] = 0


@compiled(vector=True)
def dot_group(lanes, begin, rows, places, template, vector, to):  # type: ignore[no-untyped-def]
    """Products of what stands in `lanes` from `begin` on, a row for each coordinate, with the rows of four keys.

    Written as vectors: of a loop over lanes LLVM would first spread out all numbers of the keys, more than there are
    registers.
    """
    a, b, c, e = places
    za = load(lanes, to, vector)  # zeros
    zb, zc, ze = za, za, za
    for d in range(len(template)):
        x = load(lanes, begin + d * LANES, vector)
        za, zb = add_times(rows[a + d], x, za), add_times(rows[b + d], x, zb)
        zc, ze = add_times(rows[c + d], x, zc), add_times(rows[e + d], x, ze)
    store(lanes, to, za)
    store(lanes, to + LANES, zb)
    store(lanes, to + 2 * LANES, zc)
    store(lanes, to + 3 * LANES, ze)


@compiled(vector=True)
def add_group(lanes, begin, rows, places, template, vector, share):  # type: ignore[no-untyped-def]
    """Adds to what stands in `lanes` from `begin` on the rows of four keys, each times its share."""
    a, b, c, e = places
    wa, wb = load(lanes, share, vector), load(lanes, share + LANES, vector)
    wc, we = load(lanes, share + 2 * LANES, vector), load(lanes, share + 3 * LANES, vector)
    for d in range(len(template)):
        at = begin + d * LANES
        o = add_times(rows[b + d], wb, add_times(rows[a + d], wa, load(lanes, at, vector)))
        store(lanes, at, add_times(rows[e + d], we, add_times(rows[c + d], wc, o)))


@compiled(vector=True)
def places_of_group(top, begin, step):  # type: ignore[no-untyped-def]
    """Where the keys of a group stand, the nearest first, and their numbers. There is always a first one; in the place
    of a key before it stands that one again, under a number that no query sees."""
    a, b, c, d = top - 1, top - 2, top - 3, top - 4
    numbers = a, b if b >= 0 else NEVER, c if c >= 0 else NEVER, d if d >= 0 else NEVER
    return (begin + a * step, begin + max(b, 0) * step, begin + max(c, 0) * step, begin + max(d, 0) * step), numbers


@compiled(vector=True)
def forward_kernel(q, k, v, query_offsets, key_offsets, visible, template, width, scale, shift, stop, out):  # type: ignore[no-untyped-def]
    """Rows of `lanes`, each of two vectors: q, o (a row for each coordinate), the stick, how many keys are seen, A of a
    group of keys. `most` of them: by any query of the vector; 0 when its sticks are used up.

    Four keys at a time: what is read of the queries serves all four. All in one array: LLVM makes vector code of loops
    over few arrays only.
    """
    kind = q.dtype.type
    size, heads, vector = len(template), q.shape[1], WIDE
    step = heads * size
    stick, seen, share = 2 * size, 2 * size + 1, 2 * size + 2
    lanes = np.empty((2 * size + 6, 2, VECTOR), q.dtype)
    flat, flat_k, flat_v = lanes.reshape(-1), k.reshape(-1), v.reshape(-1)
    most = np.zeros(2, np.int64)
    for trace in range(len(query_offsets) - 1):
        begin, end, base = query_offsets[trace], query_offsets[trace + 1], key_offsets[trace]
        for head in range(heads):
            for first in range(begin, end, LANES):
                count = min(LANES, end - first)
                arrive(lanes, visible, first, count, stick, seen, most)
                for n in range(count):
                    h, i = n // VECTOR, n % VECTOR
                    for d in range(size):
                        lanes[d, h, i] = q[first + n, head, d] * scale
                for top in range(max(most[0], most[1]), 0, -GROUP):
                    places, numbers = places_of_group(top, base * step + head * size, step)
                    ja, jb, jc, je = kind(numbers[0]), kind(numbers[1]), kind(numbers[2]), kind(numbers[3])
                    for h in range(2):
                        if top - GROUP >= most[h]:
                            continue
                        lanes[share, h] = 0
                        dot_group(flat, h * VECTOR, flat_k, places, template, vector, share * LANES + h * VECTOR)
                        for i in range(width):
                            za, zb = lanes[share, h, i], lanes[share + 1, h, i]
                            zc, ze = lanes[share + 2, h, i], lanes[share + 3, h, i]
                            last, left = lanes[seen, h, i], lanes[stick, h, i]
                            beta, rest = break_off(za + shift, ja < last)
                            lanes[share, h, i] = beta * left
                            left *= rest
                            beta, rest = break_off(zb + shift, jb < last)
                            lanes[share + 1, h, i] = beta * left
                            left *= rest
                            beta, rest = break_off(zc + shift, jc < last)
                            lanes[share + 2, h, i] = beta * left
                            left *= rest
                            beta, rest = break_off(ze + shift, je < last)
                            lanes[share + 3, h, i] = beta * left
                            lanes[stick, h, i] = left * rest
                        where = h * VECTOR
                        add_group(flat, size * LANES + where, flat_v, places, template, vector, share * LANES + where)
                    leave(lanes, stick, stop, width, most)
                    if not most.any():
                        break
                for n in range(count):
                    for d in range(size):
                        out[first + n, head, d] = lanes[size + d, n // VECTOR, n % VECTOR]


@compiled(vector=True)
def spread(pulls, shares, begin, end, query, key, step, q, k, slope, slope_q, slope_k, slope_v, template):  # type: ignore[no-untyped-def]
    """dq += dz·k, dk += dz·q, dv += A·g for one key and the lanes from begin to end.

    All arrays are flat. Lane 0 stands at `query`, the key at `key`, and what is next to either is a `step` away.
    """
    row, dk, dv = load(k, key, template), load(slope_k, key, template), load(slope_v, key, template)
    for i in range(begin, end):
        at = query + i * step
        dk = add_times(pulls[i], load(q, at, template), dk)
        dv = add_times(shares[i], load(slope, at, template), dv)
        store(slope_q, at, add_times(pulls[i], row, load(slope_q, at, template)))
    store(slope_k, key, dk)
    store(slope_v, key, dv)


@compiled(vector=True)
def spread_group(pulls, shares, begin, end, query, key, step, q, k, slope, slope_q, slope_k, slope_v, template):  # type: ignore[no-untyped-def]
    """The same for a whole group, the nearest key first: what is read of a query serves four keys. Keys and values by
    turns: the sums of both are more than there are registers."""
    a, b, c, d = key, key - step, key - 2 * step, key - 3 * step
    ka, kb, kc, kd = load(k, a, template), load(k, b, template), load(k, c, template), load(k, d, template)
    dka, dkb = load(slope_k, a, template), load(slope_k, b, template)
    dkc, dkd = load(slope_k, c, template), load(slope_k, d, template)
    for i in range(begin, end):
        at = query + i * step
        row, dq = load(q, at, template), load(slope_q, at, template)
        za, zb, zc, zd = pulls[i], pulls[LANES + i], pulls[2 * LANES + i], pulls[3 * LANES + i]
        dka, dkb = add_times(za, row, dka), add_times(zb, row, dkb)
        dkc, dkd = add_times(zc, row, dkc), add_times(zd, row, dkd)
        store(slope_q, at, add_times(zd, kd, add_times(zc, kc, add_times(zb, kb, add_times(za, ka, dq)))))
    for where, dk in ((a, dka), (b, dkb), (c, dkc), (d, dkd)):
        store(slope_k, where, dk)
    dva, dvb = load(slope_v, a, template), load(slope_v, b, template)
    dvc, dvd = load(slope_v, c, template), load(slope_v, d, template)
    for i in range(begin, end):
        g = load(slope, query + i * step, template)
        dva, dvb = add_times(shares[i], g, dva), add_times(shares[LANES + i], g, dvb)
        dvc, dvd = add_times(shares[2 * LANES + i], g, dvc), add_times(shares[3 * LANES + i], g, dvd)
    for where, dv in ((a, dva), (b, dvb), (c, dvc), (d, dvd)):
        store(slope_v, where, dv)


@compiled(vector=True)
def backward_kernel(  # type: ignore[no-untyped-def]
    q,
    k,
    v,
    query_offsets,
    key_offsets,
    visible,
    template,
    width,
    scale,
    shift,
    stop,
    out,
    slope,
    slope_q,
    slope_k,
    slope_v,
):
    """Adds to slopes that begin as 0. Rows of `lanes`, each of two vectors: q, g, the stick, how many keys are seen, T;
    then, of each key of a group, A, which is needed for dv, β and A·(1 − β), and dz/√d."""
    kind = q.dtype.type
    size, heads, vector = len(template), q.shape[1], WIDE
    step = heads * size
    stick, seen, left = 2 * size, 2 * size + 1, 2 * size + 2
    share, taken, kept, pull = 2 * size + 3, 2 * size + 7, 2 * size + 11, 2 * size + 15
    lanes = np.empty((2 * size + 19, 2, VECTOR), q.dtype)
    flat = lanes.reshape(-1)
    shares, pulls = flat[share * LANES : taken * LANES], flat[pull * LANES :]
    flat_k, flat_v = k.reshape(-1), v.reshape(-1)
    rows = q.reshape(-1), k.reshape(-1), slope.reshape(-1)
    slopes = slope_q.reshape(-1), slope_k.reshape(-1), slope_v.reshape(-1)
    most = np.zeros(2, np.int64)
    for trace in range(len(query_offsets) - 1):
        begin, end, base = query_offsets[trace], query_offsets[trace + 1], key_offsets[trace]
        for head in range(heads):
            for first in range(begin, end, LANES):
                count = min(LANES, end - first)
                arrive(lanes, visible, first, count, stick, seen, most)
                for n in range(count):
                    h, i = n // VECTOR, n % VECTOR
                    for d in range(size):
                        g = slope[first + n, head, d]
                        lanes[d, h, i] = q[first + n, head, d] * scale
                        lanes[size + d, h, i] = g
                        lanes[left, h, i] += g * out[first + n, head, d]
                for top in range(max(most[0], most[1]), 0, -GROUP):
                    places, numbers = places_of_group(top, base * step + head * size, step)
                    ja, jb, jc, je = kind(numbers[0]), kind(numbers[1]), kind(numbers[2]), kind(numbers[3])
                    for h in range(2):
                        if top - GROUP >= most[h]:
                            continue
                        lanes[share, h], lanes[pull, h] = 0, 0
                        where = h * VECTOR
                        dot_group(flat, where, flat_k, places, template, vector, share * LANES + where)
                        dot_group(flat, size * LANES + where, flat_v, places, template, vector, pull * LANES + where)
                        for i in range(width):
                            za, zb = lanes[share, h, i], lanes[share + 1, h, i]
                            zc, ze = lanes[share + 2, h, i], lanes[share + 3, h, i]
                            last, whole = lanes[seen, h, i], lanes[stick, h, i]
                            beta, rest = break_off(za + shift, ja < last)
                            weight = beta * whole
                            lanes[share, h, i], lanes[taken, h, i], lanes[kept, h, i] = weight, beta, weight * rest
                            whole *= rest
                            beta, rest = break_off(zb + shift, jb < last)
                            weight = beta * whole
                            lanes[share + 1, h, i], lanes[taken + 1, h, i], lanes[kept + 1, h, i] = (
                                weight,
                                beta,
                                weight * rest,
                            )
                            whole *= rest
                            beta, rest = break_off(zc + shift, jc < last)
                            weight = beta * whole
                            lanes[share + 2, h, i], lanes[taken + 2, h, i], lanes[kept + 2, h, i] = (
                                weight,
                                beta,
                                weight * rest,
                            )
                            whole *= rest
                            beta, rest = break_off(ze + shift, je < last)
                            weight = beta * whole
                            lanes[share + 3, h, i], lanes[taken + 3, h, i], lanes[kept + 3, h, i] = (
                                weight,
                                beta,
                                weight * rest,
                            )
                            lanes[stick, h, i] = whole * rest
                        for i in range(width):
                            za, zb = lanes[pull, h, i], lanes[pull + 1, h, i]  # g·v
                            zc, ze = lanes[pull + 2, h, i], lanes[pull + 3, h, i]
                            rest = lanes[left, h, i] - lanes[share, h, i] * za
                            lanes[pull, h, i] = (lanes[kept, h, i] * za - lanes[taken, h, i] * rest) * scale
                            rest -= lanes[share + 1, h, i] * zb
                            lanes[pull + 1, h, i] = (lanes[kept + 1, h, i] * zb - lanes[taken + 1, h, i] * rest) * scale
                            rest -= lanes[share + 2, h, i] * zc
                            lanes[pull + 2, h, i] = (lanes[kept + 2, h, i] * zc - lanes[taken + 2, h, i] * rest) * scale
                            rest -= lanes[share + 3, h, i] * ze
                            lanes[pull + 3, h, i] = (lanes[kept + 3, h, i] * ze - lanes[taken + 3, h, i] * rest) * scale
                            lanes[left, h, i] = rest
                    n = min(GROUP, top)
                    low = 0 if top - GROUP < most[0] else VECTOR
                    high = count if top - GROUP < most[1] else min(count, VECTOR)
                    query, key_place = first * step + head * size, (base + top - 1) * step + head * size
                    if n == GROUP:
                        spread_group(pulls, shares, low, high, query, key_place, step, *rows, *slopes, template)
                    else:
                        for one in range(n):
                            row, place = slice(one * LANES, (one + 1) * LANES), key_place - one * step
                            spread(pulls[row], shares[row], low, high, query, place, step, *rows, *slopes, template)
                    leave(lanes, stick, stop, width, most)
                    if not most.any():
                        break


# --- softmax, for the baselines --------------------------------------------------------------------------------------
# Here for the same reason. `softmax` makes a function of them that autograd knows.


@compiled(vector=True)
def group_from(j, most, begin, step):  # type: ignore[no-untyped-def]
    """Where key j and the three behind it stand; beyond the last one, that one again."""
    last = begin + (most - 1) * step
    at = begin + j * step
    return at, min(at + step, last), min(at + 2 * step, last), min(at + 3 * step, last)


@compiled(vector=True)
def softmax_forward(q, k, v, query_offsets, key_offsets, visible, template, width, scale, unseen, out, peaks, parts):  # type: ignore[no-untyped-def]
    """o = Σ_j e^{z_j − m} v_j / Σ_j e^{z_j − m}, where m is the largest score so far: when it grows, the sums shrink.
    In the end m goes to `peaks` and 1 / Σ_j to `parts`.

    Rows of `lanes`: q, o (a row for each coordinate), four shares, how many keys are seen, m, Σ.
    All in one array, and four keys at a time, as in stick-breaking. Keys beyond the last one are this one again, and
    unseen: their score is `unseen`, less than any.
    """
    kind = q.dtype.type
    zero, lowest = kind(0), kind(-87)
    size, heads = len(template), q.shape[1]
    step = heads * size
    share, seen, top, total = 2 * size, 2 * size + 4, 2 * size + 5, 2 * size + 6
    lanes = np.empty((2 * size + 7, LANES), q.dtype)
    flat, flat_k, flat_v = lanes.reshape(-1), k.reshape(-1), v.reshape(-1)
    for trace in range(len(query_offsets) - 1):
        begin, end, base = query_offsets[trace], query_offsets[trace + 1], key_offsets[trace]
        for head in range(heads):
            for first in range(begin, end, LANES):
                count = min(LANES, end - first)
                lanes[:] = 0
                lanes[top] = unseen
                most = np.int64(0)
                for n in range(count):
                    lanes[seen, n] = visible[first + n]
                    most = max(most, np.int64(visible[first + n]))
                    for d in range(size):
                        lanes[d, n] = q[first + n, head, d] * scale
                for j in range(0, most, GROUP):
                    places = group_from(j, most, base * step + head * size, step)
                    lanes[share : share + GROUP] = 0
                    for where in (0, VECTOR):
                        dot_group(flat, where, flat_k, places, template, WIDE, share * LANES + where)
                    for i in range(width):
                        za, zb = lanes[share, i], lanes[share + 1, i]
                        zc, ze = lanes[share + 2, i], lanes[share + 3, i]
                        left, before = lanes[seen, i] - kind(j), lanes[top, i]
                        za, zb = za if left > kind(0) else unseen, zb if left > kind(1) else unseen
                        zc, ze = zc if left > kind(2) else unseen, ze if left > kind(3) else unseen
                        m = max(before, max(max(za, zb), max(zc, ze)))
                        za, zb = exponential(max(za - m, lowest)), exponential(max(zb - m, lowest))
                        zc, ze = exponential(max(zc - m, lowest)), exponential(max(ze - m, lowest))
                        za, zb = za if left > kind(0) else zero, zb if left > kind(1) else zero
                        zc, ze = zc if left > kind(2) else zero, ze if left > kind(3) else zero
                        shrunk = exponential(max(before - m, lowest))
                        lanes[share, i], lanes[share + 1, i], lanes[share + 2, i], lanes[share + 3, i] = za, zb, zc, ze
                        lanes[top, i] = m
                        lanes[total, i] = fma(lanes[total, i], shrunk, (za + zb) + (zc + ze))
                        for d in range(size):
                            lanes[size + d, i] *= shrunk
                    for where in (0, VECTOR):
                        begin_o, begin_a = size * LANES + where, share * LANES + where
                        add_group(flat, begin_o, flat_v, places, template, WIDE, begin_a)
                for n in range(count):
                    part = kind(1) / lanes[total, n] if visible[first + n] > 0 else zero
                    peaks[first + n, head], parts[first + n, head] = lanes[top, n], part
                    for d in range(size):
                        out[first + n, head, d] = lanes[size + d, n] * part


@compiled(vector=True)
def softmax_backward(  # type: ignore[no-untyped-def]
    q,
    k,
    v,
    query_offsets,
    key_offsets,
    visible,
    template,
    width,
    scale,
    out,
    peaks,
    shares,
    slope,
    slope_q,
    slope_k,
    slope_v,
):
    """Adds to slopes that begin as 0. With A_j = e^{z_j − m} / Σ and g the gradient of o: dz_j = A_j·(g·v_j − g·o).

    Rows of `lanes`: q, g, how many keys are seen, m, 1 / Σ, g·o; then, of four keys, the nearest first, A and dz/√d.
    """
    kind = q.dtype.type
    zero, lowest = kind(0), kind(-87)
    size, heads = len(template), q.shape[1]
    step = heads * size
    seen, top, share, mean = 2 * size, 2 * size + 1, 2 * size + 2, 2 * size + 3
    part, pull = 2 * size + 4, 2 * size + 8
    lanes = np.empty((2 * size + 12, LANES), q.dtype)
    flat, flat_k, flat_v = lanes.reshape(-1), k.reshape(-1), v.reshape(-1)
    flat_parts, flat_pulls = flat[part * LANES : pull * LANES], flat[pull * LANES :]
    rows = q.reshape(-1), k.reshape(-1), slope.reshape(-1)
    slopes = slope_q.reshape(-1), slope_k.reshape(-1), slope_v.reshape(-1)
    for trace in range(len(query_offsets) - 1):
        begin, end, base = query_offsets[trace], query_offsets[trace + 1], key_offsets[trace]
        for head in range(heads):
            for first in range(begin, end, LANES):
                count = min(LANES, end - first)
                lanes[:] = 0
                most = np.int64(0)
                for n in range(count):
                    most = max(most, np.int64(visible[first + n]))
                    lanes[seen, n] = visible[first + n]
                    lanes[top, n], lanes[share, n] = peaks[first + n, head], shares[first + n, head]
                    for d in range(size):
                        g = slope[first + n, head, d]
                        lanes[d, n] = q[first + n, head, d] * scale
                        lanes[size + d, n] = g
                        lanes[mean, n] += g * out[first + n, head, d]
                for j in range(0, most, GROUP):
                    places = group_from(j, most, base * step + head * size, step)
                    places = places[3], places[2], places[1], places[0]  # the nearest first
                    lanes[part:] = 0
                    for where in (0, VECTOR):
                        dot_group(flat, where, flat_k, places, template, WIDE, part * LANES + where)
                        dot_group(flat, size * LANES + where, flat_v, places, template, WIDE, pull * LANES + where)
                    for i in range(width):
                        left, m, whole = lanes[seen, i] - kind(j), lanes[top, i], lanes[share, i]
                        za = exponential(max(lanes[part, i] - m, lowest)) * whole
                        zb = exponential(max(lanes[part + 1, i] - m, lowest)) * whole
                        zc = exponential(max(lanes[part + 2, i] - m, lowest)) * whole
                        ze = exponential(max(lanes[part + 3, i] - m, lowest)) * whole
                        za, zb = za if left > kind(3) else zero, zb if left > kind(2) else zero
                        zc, ze = zc if left > kind(1) else zero, ze if left > kind(0) else zero
                        lanes[part, i], lanes[part + 1, i], lanes[part + 2, i], lanes[part + 3, i] = za, zb, zc, ze
                    for i in range(width):
                        g = lanes[mean, i]
                        for c in range(GROUP):
                            lanes[pull + c, i] = lanes[part + c, i] * (lanes[pull + c, i] - g) * scale
                    query, key = first * step + head * size, (base + j + 3) * step + head * size
                    if j + GROUP <= most:
                        spread_group(flat_pulls, flat_parts, 0, count, query, key, step, *rows, *slopes, template)
                    else:
                        for n in range(j, most):
                            row = slice((j + 3 - n) * LANES, (j + 4 - n) * LANES)
                            place = key - (j + 3 - n) * step
                            spread(
                                flat_pulls[row], flat_parts[row], 0, count, query, place, step, *rows, *slopes, template
                            )
