"""The STRIPS Transformer: one attention head per atom, its parameters θ(l, m, pre / affect / delete) are the model.

Two forms of one network, equal at binary parameters (there f_θ = f_M), different in between:

attention (the paper's equations)            factored (ours, the default)

    S_l(i,j) = Q_l(i)·K_l(j), 0 for j ≥ i        state_l(i+1) = state_l(i) + K_l(i)·(V_l(i) − state_l(i))
    S'_l(i,j) = S_l(i,j)·Π_{j<k<i}(1 − S_l(i,k))
    y_l(i) = Σ_j S'_l(i,j)·V_l(j)                y_l(i) = Q_l(i)·state_l(i)

    y(i) = 1 − Π_l (1 − y_l(i)), f_θ(τ) = 1 − Π_i (1 − y(i))                       (in both)

A state of 1 means "deleted", 0 "true or never touched". Positions labelled inapplicable change nothing. The factored
form moves the query out of the stick: O(n) per head instead of O(n²), and a head reads the most recent effect at every
parameter value. Setup actions are hard-wired: `init-false` deletes every head, `init-p` makes p's head true, `test-p`
asks p's head alone; only the values of `init-s` are learned.

Each form has a slow reference in NumPy and a fused kernel in Numba with its gradient. May import up to `traces`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

from trace2strips.compilation import compiled
from trace2strips.learners.layout import Rows
from trace2strips.learners.transformer.optimiser import Parameters, radam_step
from trace2strips.model.strips import Atom, StripsAction, StripsModel
from trace2strips.model.vocabulary import ACTION, INIT_ATOM, INIT_FALSE, INIT_STATE, TEST_ATOM, Kind
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import trace_accuracy

CHUNKS = 4  # parts of a batch, each with its own gradient: the sum does not depend on the number of cores
ALMOST_ONE = np.float32(1 - 1e-6)
LEAST = 2.0**-20  # predictions are kept this far from 0 and 1 in the loss; both ends are exact in float32
SHARED = -1  # owner of a head that any action may ask


@dataclass(frozen=True)
class Layout(Rows):
    """Which heads there are and what each token does to them.

    Aligned heads come first, one for every atom that a setup action names, then spare heads for atoms to be invented.
    A spare head with an owner is *private*: only that action may have it as a precondition, so that the action's
    refusals train it undisturbed; equal heads are merged afterwards.
    """

    owner: Int64[np.ndarray, " spare"]  # for each spare head the number of its action, or SHARED

    @property
    def heads(self) -> int:
        return len(self.aligned) + len(self.owner)

    @cached_property
    def askable(self) -> Bool[np.ndarray, "rows heads"]:
        """Where a query may be learned: every action on aligned and shared heads, the owner on its private ones."""
        mask = np.zeros((self.rows, self.heads), dtype=bool)
        mask[: self.actions, : len(self.aligned)] = True
        for spare, owner in enumerate(self.owner):
            mask[slice(self.actions) if owner == SHARED else owner, len(self.aligned) + spare] = True
        return mask

    def names(self) -> tuple[Atom, ...]:
        """Aligned heads carry their atom's name, invented ones `p<head>`."""
        taken = set(self.aligned)
        names = []
        for number in range(len(self.aligned), self.heads):
            name = f"p{number}"
            while name in taken:
                name += "_"
            taken.add(name)
            names.append(name)
        return (*self.aligned, *names)


@dataclass(frozen=True)
class Theta:
    """θ as probabilities: queries (preconditions), keys (affects), values (deletes) of each row and head."""

    query: Float[np.ndarray, "rows heads"]
    key: Float[np.ndarray, "rows heads"]
    value: Float[np.ndarray, "rows heads"]

    def binarise(self) -> Theta:
        """θ̄ = [θ ≥ 0.5]."""
        return Theta(*((part >= 0.5).astype(np.float32) for part in (self.query, self.key, self.value)))


def theta_of(model: StripsModel, layout: Layout) -> Theta:
    """θ_M (Eqs. 1-3) of a model whose atoms are the layout's heads, in order."""
    parts = np.zeros((3, layout.rows, layout.heads), dtype=np.float32)
    heads = {atom: i for i, atom in enumerate(model.atoms)}
    for row, name in enumerate((*layout.vocabulary.actions, *(f"init-{s}" for s in layout.vocabulary.init_states))):
        action = model.action(name)
        parts[0, row, [heads[a] for a in action.pre]] = 1  # Eq. 1
        parts[1, row, [heads[a] for a in action.add | action.delete]] = 1  # Eq. 2
        parts[2, row, [heads[a] for a in action.delete]] = 1  # Eq. 3
    return Theta(*parts)


def model_of(theta: Theta, layout: Layout, name: str = "learned") -> StripsModel:
    """The STRIPS model over tokens that binarised parameters are, with the hard-wired setup actions."""
    binary = theta.binarise()
    atoms = layout.names()
    every = frozenset(atoms)

    def chosen(row: Bool[np.ndarray, " heads"]) -> frozenset[Atom]:
        return frozenset(atoms[i] for i in np.flatnonzero(row))

    actions = []
    vocabulary = layout.vocabulary
    for token, (kind, text) in enumerate(zip(vocabulary.kinds.tolist(), vocabulary.names, strict=True)):
        subject = frozenset({vocabulary.subjects[token]})
        match Kind(kind):
            case Kind.INIT_FALSE:
                actions.append(StripsAction(text, delete=every))
            case Kind.INIT_ATOM:
                actions.append(StripsAction(text, add=subject))
            case Kind.TEST_ATOM:
                actions.append(StripsAction(text, pre=subject))
            case _:
                row = layout.row[token]
                query, key, value = (part[row] > 0 for part in (binary.query, binary.key, binary.value))
                if kind == Kind.INIT_STATE:
                    actions.append(StripsAction(text, frozenset(), chosen(~value), chosen(value)))
                else:
                    pre = chosen(query & layout.askable[row])
                    actions.append(StripsAction(text, pre, chosen(key & ~value), chosen(key & value)))
    return StripsModel(atoms, tuple(actions), name=name)


# --- references ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenTheta:
    """Q, K, V of every position of one trace, setup actions included."""

    query: Float[np.ndarray, "positions heads"]
    key: Float[np.ndarray, "positions heads"]
    value: Float[np.ndarray, "positions heads"]


def expand(theta: Theta, layout: Layout, tokens: np.ndarray) -> TokenTheta:
    """Q(i) = θ(·, m, 1), K(i) = θ(·, m, 2), V(i) = θ(·, m, 3) (Eqs. 4-6), with the setup actions' rows hard-wired."""
    q, k, v = (np.zeros((len(tokens), layout.heads), dtype=theta.query.dtype) for _ in range(3))
    for i, token in enumerate(tokens):
        row, head = layout.row[token], layout.head[token]
        match Kind(layout.vocabulary.kinds[token]):
            case Kind.INIT_FALSE:
                k[i], v[i] = 1, 1
            case Kind.INIT_ATOM:
                k[i, head] = 1
            case Kind.TEST_ATOM:
                q[i, head] = 1
            case Kind.INIT_STATE:
                k[i], v[i] = 1, theta.value[row]
            case Kind.ACTION:
                q[i] = theta.query[row] * layout.askable[row]
                k[i], v[i] = theta.key[row], theta.value[row]
    return TokenTheta(q, k, v)


@dataclass(frozen=True)
class HeadSteps:
    """What one head computes on one trace, step by step."""

    query: Float[np.ndarray, " positions"]
    key: Float[np.ndarray, " positions"]
    value: Float[np.ndarray, " positions"]
    scores: Float[np.ndarray, "positions positions"]  # S, 0 where masked
    weights: Float[np.ndarray, "positions positions"]  # S'
    output: Float[np.ndarray, " positions"]  # y_l


def head_steps(at: TokenTheta, head: int, masked: Bool[np.ndarray, " positions"]) -> HeadSteps:
    """Eqs. 7-9 for one head, matrix by matrix; nobody attends to a masked position."""
    q, k, v = at.query[:, head], at.key[:, head], at.value[:, head]
    n = len(q)
    scores = np.outer(q, k * ~masked)  # Eq. 7
    scores[np.triu_indices(n)] = 0  # strict future mask
    weights = np.zeros_like(scores)
    for i in range(n):
        for j in range(i):
            weights[i, j] = scores[i, j] * np.prod(1 - scores[i, j + 1 : i])  # Eq. 8
    return HeadSteps(q, k, v, scores, weights, weights @ v)  # Eq. 9


def attention_reference(
    theta: Theta, layout: Layout, tokens: np.ndarray, masked: Bool[np.ndarray, " positions"]
) -> Float[np.ndarray, " positions"]:
    """y_θ of one trace by the paper's equations."""
    at = expand(theta, layout, tokens)
    keep = np.ones(len(tokens), dtype=at.query.dtype)
    for head in range(layout.heads):
        keep *= 1 - head_steps(at, head, masked).output  # the product of Eq. 10
    return 1 - keep


def factored_reference(
    theta: Theta, layout: Layout, tokens: np.ndarray, masked: Bool[np.ndarray, " positions"]
) -> Float[np.ndarray, " positions"]:
    """y_θ of one trace in the factored form."""
    at = expand(theta, layout, tokens)
    state = np.zeros(layout.heads, dtype=at.query.dtype)
    out = np.zeros(len(tokens), dtype=at.query.dtype)
    for i in range(len(tokens)):
        out[i] = 1 - np.prod(1 - at.query[i] * state)
        if not masked[i]:
            state = state + at.key[i] * (at.value[i] - state)
    return out


def focal_loss(y: Float[np.ndarray, " n"], z: Bool[np.ndarray, " n"], alpha: float, gamma: float) -> float:
    """Mean over a trace of −α·z·(1−y)^γ·log y − (1−α)·(1−z)·y^γ·log(1−y)."""
    y = np.clip(y, LEAST, 1 - LEAST)
    terms = np.where(z, -alpha * (1 - y) ** gamma * np.log(y), -(1 - alpha) * y**gamma * np.log(1 - y))
    return float(terms.sum() / max(1, len(y)))


# --- kernels ---------------------------------------------------------------------------------------------------------


@dataclass
class Gradient:
    """Where the kernels leave loss and gradient: one slice per chunk of the batch."""

    loss: Float32[np.ndarray, " chunks"]
    query: Float32[np.ndarray, "chunks rows heads"]
    key: Float32[np.ndarray, "chunks rows heads"]
    value: Float32[np.ndarray, "chunks rows heads"]

    @staticmethod
    def for_layout(layout: Layout) -> Gradient:
        shape = (CHUNKS, layout.rows, layout.heads)
        return Gradient(np.zeros(CHUNKS, dtype=np.float32), *(np.zeros(shape, dtype=np.float32) for _ in range(3)))


def gradient_step(
    theta: Theta, layout: Layout, dataset: Dataset, chosen: Int64[np.ndarray, " batch"], form: str, alpha: float,
    gamma: float, out: Gradient,
) -> float:  # fmt: skip
    """Mean loss over the chosen traces; `out` gets its gradient with respect to the probabilities, chunk by chunk."""
    kernel = factored_kernel if form == "factored" else attention_kernel
    kernel(
        layout.vocabulary.kinds, layout.row, layout.head, theta.query, theta.key, theta.value, dataset.tokens,
        dataset.inapplicable, dataset.offsets, chosen, np.float32(alpha), np.float32(gamma),
        out.loss, out.query, out.key, out.value,
    )  # fmt: skip
    return float(out.loss.sum()) / max(1, len(chosen))


@compiled()
def loss_and_slope(y, z, alpha, gamma):  # type: ignore[no-untyped-def]
    """The focal loss of one position and its derivative by y."""
    y = min(max(y, np.float32(LEAST)), np.float32(1 - LEAST))
    if z:
        rest = np.float32(1) - y
        power = rest**gamma
        loss = -alpha * power * np.log(y)
        slope = alpha * (gamma * rest ** (gamma - np.float32(1)) * np.log(y) - power / y)
    else:
        rest = np.float32(1) - y
        power = y**gamma
        weight = np.float32(1) - alpha
        loss = -weight * power * np.log(rest)
        slope = weight * (power / rest - gamma * y ** (gamma - np.float32(1)) * np.log(rest))
    return loss, slope


@compiled(parallel=True)
def factored_kernel(  # type: ignore[no-untyped-def]
    kind, row, head, query, key, value, tokens, inapplicable, offsets, chosen, alpha, gamma,
    loss, grad_query, grad_key, grad_value,
):  # fmt: skip
    """Forward scan and reverse scan, both over heads as the contiguous axis."""
    heads = query.shape[1]
    longest = 0
    for t in chosen:
        longest = max(longest, offsets[t + 1] - offsets[t])
    for chunk in numba.prange(CHUNKS):
        loss[chunk] = 0
        grad_query[chunk] = 0
        grad_key[chunk] = 0
        grad_value[chunk] = 0
        states = np.empty((longest + 1, heads), dtype=np.float32)  # states[i]: before position i
        slopes = np.empty(longest, dtype=np.float32)  # dL/dy(i), divided by what Π(1 − y_l) needs
        keeps = np.empty(longest, dtype=np.float32)  # Π_l (1 − y_l(i))
        back = np.empty(heads, dtype=np.float32)  # dL/dstate
        for b in range(chunk, len(chosen), CHUNKS):
            start, end = offsets[chosen[b]], offsets[chosen[b] + 1]
            n = end - start
            if n == 0:
                continue
            scale = np.float32(1) / np.float32(n)
            states[0] = 0
            total = np.float32(0)
            for i in range(n):
                token = tokens[start + i]
                what = kind[token]
                state, after = states[i], states[i + 1]
                if what == ACTION:
                    r = row[token]
                    keep = np.float32(1)
                    for h in range(heads):
                        keep *= np.float32(1) - min(query[r, h] * state[h], ALMOST_ONE)
                    keeps[i] = keep
                    part, slope = loss_and_slope(np.float32(1) - keep, inapplicable[start + i], alpha, gamma)
                    total += part
                    slopes[i] = slope * scale
                    if inapplicable[start + i]:
                        for h in range(heads):
                            after[h] = state[h]
                    else:
                        for h in range(heads):
                            after[h] = state[h] + key[r, h] * (value[r, h] - state[h])
                elif what == TEST_ATOM:
                    part, slope = loss_and_slope(state[head[token]], inapplicable[start + i], alpha, gamma)
                    total += part
                    slopes[i] = slope * scale
                    for h in range(heads):
                        after[h] = state[h]
                elif what == INIT_STATE:
                    r = row[token]
                    for h in range(heads):
                        after[h] = value[r, h]
                elif what == INIT_ATOM:
                    for h in range(heads):
                        after[h] = state[h]
                    after[head[token]] = 0
                else:  # init-false
                    for h in range(heads):
                        after[h] = 1
            loss[chunk] += total * scale
            back[:] = 0
            for j in range(n):
                i = n - 1 - j
                token = tokens[start + i]
                what = kind[token]
                state = states[i]
                if what == ACTION:
                    r = row[token]
                    if not inapplicable[start + i]:
                        for h in range(heads):
                            grad_key[chunk, r, h] += back[h] * (value[r, h] - state[h])
                            grad_value[chunk, r, h] += back[h] * key[r, h]
                            back[h] *= np.float32(1) - key[r, h]
                    slope = slopes[i] * keeps[i]
                    for h in range(heads):
                        one = slope / (np.float32(1) - min(query[r, h] * state[h], ALMOST_ONE))
                        grad_query[chunk, r, h] += one * state[h]
                        back[h] += one * query[r, h]
                elif what == TEST_ATOM:
                    back[head[token]] += slopes[i]
                elif what == INIT_STATE:
                    for h in range(heads):
                        grad_value[chunk, row[token], h] += back[h]
                    break
                elif what == INIT_ATOM:
                    back[head[token]] = 0
                else:
                    break  # nothing before init-false matters


@compiled(parallel=True)
def attention_kernel(  # type: ignore[no-untyped-def]
    kind, row, head, query, key, value, tokens, inapplicable, offsets, chosen, alpha, gamma,
    loss, grad_query, grad_key, grad_value,
):  # fmt: skip
    """The paper's form without an n×n matrix. For a query at i, walking the keys from the oldest to the newest,
    u_j = s_j·v_j + (1 − s_j)·u_{j−1} ends in y_l(i); and ∂y_l(i)/∂s_j = Π_{k>j}(1 − s_k)·(v_j − u_{j−1}).

    The setup prefix is folded into u_0: q after init-false, q − q² where an init-p follows, q·v after init-s.
    """
    heads = query.shape[1]
    longest = 0
    for t in chosen:
        longest = max(longest, offsets[t + 1] - offsets[t])
    for chunk in numba.prange(CHUNKS):
        loss[chunk] = 0
        grad_query[chunk] = 0
        grad_key[chunk] = 0
        grad_value[chunk] = 0
        applied = np.empty(longest, dtype=np.int64)  # rows of the applied actions so far, in order
        # before[j]: u before the j-th applied action, for the query at hand
        before = np.empty((longest + 1, heads), dtype=np.float32)
        rest = np.empty(heads, dtype=np.float32)
        once = np.empty(heads, dtype=np.float32)  # u_0 = q·once − q²·twice
        twice = np.empty(heads, dtype=np.float32)
        for b in range(chunk, len(chosen), CHUNKS):
            start, end = offsets[chosen[b]], offsets[chosen[b] + 1]
            n = end - start
            if n == 0:
                continue
            scale = np.float32(1) / np.float32(n)
            count = 0
            total = np.float32(0)
            init_row = -1
            once[:] = 0
            twice[:] = 0
            for i in range(n):
                token = tokens[start + i]
                what = kind[token]
                if what == INIT_FALSE:
                    once[:] = 1
                elif what == INIT_ATOM:
                    twice[head[token]] = once[head[token]]
                elif what == INIT_STATE:
                    init_row = row[token]
                    for h in range(heads):
                        once[h] = value[init_row, h]
                elif what == ACTION:
                    r = row[token]
                    for h in range(heads):  # the oldest keys: the setup prefix
                        before[0, h] = query[r, h] * (once[h] - query[r, h] * twice[h])
                    for j in range(count):
                        a = applied[j]
                        for h in range(heads):
                            s = query[r, h] * key[a, h]
                            before[j + 1, h] = before[j, h] + s * (value[a, h] - before[j, h])
                    keep = np.float32(1)
                    for h in range(heads):
                        keep *= np.float32(1) - min(before[count, h], ALMOST_ONE)
                    part, slope = loss_and_slope(np.float32(1) - keep, inapplicable[start + i], alpha, gamma)
                    total += part
                    slope *= scale * keep
                    for h in range(heads):
                        rest[h] = slope / (np.float32(1) - min(before[count, h], ALMOST_ONE))
                    for k in range(count):
                        j = count - 1 - k
                        a = applied[j]
                        for h in range(heads):
                            s = query[r, h] * key[a, h]
                            slope_s = rest[h] * (value[a, h] - before[j, h])
                            grad_query[chunk, r, h] += slope_s * key[a, h]
                            grad_key[chunk, a, h] += slope_s * query[r, h]
                            grad_value[chunk, a, h] += rest[h] * s
                            rest[h] *= np.float32(1) - s
                    for h in range(heads):
                        grad_query[chunk, r, h] += rest[h] * (once[h] - np.float32(2) * query[r, h] * twice[h])
                    if init_row >= 0:
                        for h in range(heads):
                            grad_value[chunk, init_row, h] += rest[h] * query[r, h]
                    if not inapplicable[start + i]:
                        applied[count] = r
                        count += 1
                else:  # test-p: the query is 1 on one head
                    h = head[token]
                    before[0, h] = once[h] - twice[h]
                    for j in range(count):
                        a = applied[j]
                        before[j + 1, h] = before[j, h] + key[a, h] * (value[a, h] - before[j, h])
                    part, slope = loss_and_slope(before[count, h], inapplicable[start + i], alpha, gamma)
                    total += part
                    one = slope * scale
                    for k in range(count):
                        j = count - 1 - k
                        a = applied[j]
                        grad_key[chunk, a, h] += one * (value[a, h] - before[j, h])
                        grad_value[chunk, a, h] += one * key[a, h]
                        one *= np.float32(1) - key[a, h]
                    if init_row >= 0:
                        grad_value[chunk, init_row, h] += one
            loss[chunk] += total * scale


# --- the network that training sees ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class NetworkSettings:
    """How the parameters are stored, started and updated."""

    form: str = "factored"
    logit: bool = True
    query_range: tuple[float, float] = (0.0, 0.1)
    key_range: tuple[float, float] = (0.0, 0.1)
    alpha: float = 0.5
    gamma: float = 1.0
    rate: float = 0.05
    l1: float = 0.0  # weight of the mean of the queries, and of that of the keys


class StripsNetwork:
    """θ with its optimiser, on one training set: what `training.train` drives."""

    def __init__(self, layout: Layout, dataset: Dataset, settings: NetworkSettings, seed: int) -> None:
        self.layout = layout
        self.dataset = dataset
        self.settings = settings
        self.gradient = Gradient.for_layout(layout)
        self.steps = 0
        rng = np.random.default_rng([seed, 1])
        shape = (layout.rows, layout.heads)
        query = rng.uniform(*settings.query_range, shape)
        key = rng.uniform(*settings.key_range, shape)
        value = rng.random(shape)
        for spare, owner in enumerate(layout.owner):
            if owner != SHARED:
                query[owner, len(layout.aligned) + spare] = 0.9  # the owner's refusals train its private head at once
        is_action = np.broadcast_to(np.arange(layout.rows)[:, None] < layout.actions, shape)
        query[~layout.askable] = 0
        key[~is_action] = 1  # init-s writes every head
        every = np.ones(shape, dtype=bool)
        parts = ((query, layout.askable), (key, is_action), (value, every))
        self.query, self.key, self.value = (
            Parameters.starting_at(start.astype(np.float32), free, settings.logit) for start, free in parts
        )

    @property
    def theta(self) -> Theta:
        return Theta(self.query.theta, self.key.theta, self.value.theta)

    def __len__(self) -> int:
        return len(self.dataset)

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        """One batch: loss, gradient, update."""
        s = self.settings
        loss = gradient_step(self.theta, self.layout, self.dataset, chosen, s.form, s.alpha, s.gamma, self.gradient)
        self.steps += 1
        for part, slope, l1 in (
            (self.query, self.gradient.query, s.l1),
            (self.key, self.gradient.key, s.l1),
            (self.value, self.gradient.value, 0.0),
        ):
            radam_step(part, slope, len(chosen), self.steps, s.rate, l1 / max(1, part.free.sum()), s.logit)
        return loss

    def evaluate(self, dataset: Dataset) -> float:
        """Trace accuracy of the binarised network, self-masked."""
        return trace_accuracy(model_of(self.theta, self.layout), dataset)

    def save(self) -> dict[str, np.ndarray]:
        """Everything that the next step depends on."""
        arrays = {"steps": np.array([self.steps])}
        for name in ("query", "key", "value"):
            part: Parameters = getattr(self, name)
            arrays |= {f"{name}.{field}": getattr(part, field) for field in ("x", "theta", "mean", "square")}
        return arrays

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.steps = int(arrays["steps"][0])
        for name in ("query", "key", "value"):
            part: Parameters = getattr(self, name)
            for field_name in ("x", "theta", "mean", "square"):
                getattr(part, field_name)[:] = arrays[f"{name}.{field_name}"]
