"""The paper's form of the STRIPS Transformer with everything that the paper leaves open as a setting.

Here every token has a query, a key and a value on every head, and which of them are learned is a mask; so setup actions
may be learned as well as hard-wired. `trace2strips.learners.transformer.kernels` is the same network with the choices
made (a test compares them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int64, UInt64

from trace2strips.compilation import compiled
from trace2strips.learners.radam import BETA1, BETA2, EPSILON, rectification
from trace2strips.learners.transformer.parameters import Layout, Theta, model_over_tokens, over_tokens
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import scored, trace_accuracy

INSIDE = 1 - 1e-6  # of a head's output, where the others' gradients divide by the rest
PARTS = ("query", "key", "value")


@dataclass(frozen=True)
class Choices:
    """What the paper gives, and after it what it leaves open, as ours has it.

    `l1` says of what the weight is taken: "mean", "sum", "heads" (the sum of each head's mean) or "none". `weights`
    says how positions weigh in a trace's loss: "traces" (1/|τ|), "scored" (setup prefixes do not count in |τ|), "kinds"
    (actions and `test-p` have half of it each) or "positions" (all positions of all traces alike); `summed` over a
    batch's traces, not their mean. Where y is nearer than `limit` to 0 or 1, it is taken to be there, and with `stops`
    it has no gradient. θ is x "cut" to [0, 1] after each step, "held" in it (where it is cut the gradient stops) or
    σ(x) ("logits").
    """

    start: tuple[float, float] = (0.0, 0.1)
    alpha: float = 0.999
    gamma: float = 1.0
    rate: float = 0.01
    batch: int = 16
    heads: int | None = 50  # None: as many as the hidden model has atoms

    l1: str = "mean"
    weights: str = "traces"
    summed: bool = False
    limit: float = 2.0**-20
    stops: bool = False
    theta: str = "cut"
    epsilon: float = EPSILON
    norm: float = 0.0  # to which a batch's gradient is shortened, if it is longer; 0: never
    suffix: str = "goal"  # the atoms of `test-p`; "goal": all that can occur in a goal of the domain
    own_goals: bool = False  # a trace has the `test-p` of a goal of its own
    learned: frozenset[Kind] = frozenset()  # setup actions that are not hard-wired
    spare_false: str = "false"  # what init-false does to spare heads: "false", "nothing" or "learned"


class OpenNetwork:
    """What `training.train` drives."""

    def __init__(self, layout: Layout, dataset: Dataset, settings: Choices, seed: int) -> None:
        self.layout, self.dataset, self.settings, self.steps = layout, dataset, settings, 0
        kinds, aligned = layout.vocabulary.kinds, len(layout.aligned)
        rng = np.random.default_rng([seed, 1])
        shape = (layout.rows, layout.heads)
        drawn = Theta(*(rng.uniform(*ends, shape) for ends in (settings.start, settings.start, (0.0, 1.0))))
        x = np.stack([getattr(over_tokens(drawn, layout), part) for part in PARTS])
        free = np.isnan(layout.hard_wired)
        more = np.zeros_like(free)
        for kind in settings.learned:
            more[0 if kind == Kind.TEST_ATOM else slice(1, 3), kinds == kind] = True
        if settings.spare_false == "learned":
            more[1:, kinds == Kind.INIT_FALSE, aligned:] = True
        elif settings.spare_false == "nothing":
            x[1:, kinds == Kind.INIT_FALSE, aligned:] = 0
        wide = np.stack([rng.uniform(*ends, x.shape[1:]) for ends in (settings.start, settings.start, (0.0, 1.0))])
        x[more] = wide[more]
        self.free: Bool[np.ndarray, "3 tokens heads"] = free | more
        self.x: Float32[np.ndarray, "3 tokens heads"] = x.astype(np.float32)
        if settings.theta == "logits":
            inside = np.clip(self.x[self.free], 1e-3, 1 - 1e-3)
            self.x[self.free] = np.log(inside / (1 - inside))
        self.theta, self.mean, self.square, self.gradient = (np.zeros_like(self.x) for _ in range(4))
        self.theta[:] = np.where(self.free & (settings.theta == "logits"), 1 / (1 + np.exp(-self.x)), self.x)
        self.asks, self.writes = (where_any(self.free[part] | (x[part] != 0)) for part in (0, 1))
        self.weights = weights_of(dataset, settings.weights) * np.float32(settings.batch if settings.summed else 1)
        actions = self.free[0].sum()
        self.l1 = (
            1e-4
            * {"mean": 1 / max(1, actions), "heads": layout.heads / max(1, actions), "sum": 1, "none": 0}[settings.l1]
        )

    def __len__(self) -> int:
        return len(self.dataset)

    def loss(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        """Of these traces, and its gradient into `gradient`."""
        s, data = self.settings, self.dataset
        return float(
            kernel(
                *self.theta, self.asks, self.writes, data.tokens, data.inapplicable, data.offsets, self.weights, chosen,
                np.float32(s.alpha), np.float32(s.gamma), np.float32(s.limit), s.stops, *self.gradient,
            )
        )  # fmt: skip

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        loss, s = self.loss(chosen), self.settings
        self.steps += 1
        if s.norm:
            self.gradient *= min(1.0, s.norm / max(1e-30, float(np.sqrt((self.gradient[self.free] ** 2).sum()))))
        short, f = rectification(self.steps), np.float32
        for part in range(3):
            update(
                self.x[part], self.theta[part], self.mean[part], self.square[part], self.free[part],
                self.gradient[part], f(s.rate), f(self.l1 if part < 2 else 0), s.theta, f(BETA1), f(BETA2),
                f(s.epsilon), f(1 / (1 - BETA1**self.steps)), f(1 / (1 - BETA2**self.steps)), f(short),
            )  # fmt: skip
        return loss

    @property
    def model(self) -> StripsModel:
        return model_over_tokens(Theta(*self.theta).binarise(), self.layout)

    def evaluate(self, dataset: Dataset) -> float:
        return trace_accuracy(self.model, dataset)

    def save(self) -> dict[str, np.ndarray]:
        return {"steps": np.array(self.steps)} | {n: getattr(self, n) for n in ("x", "theta", "mean", "square")}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.steps = int(arrays["steps"])
        for name in ("x", "theta", "mean", "square"):
            getattr(self, name)[:] = arrays[name]


def where_any(there: Bool[np.ndarray, "tokens heads"]) -> UInt64[np.ndarray, "tokens 2"]:
    """For each token the first head of which something is true, and the one after the last."""
    ends = np.stack([there.argmax(axis=1), there.shape[1] - there[:, ::-1].argmax(axis=1)], axis=1)
    return np.where(np.any(there, axis=1)[:, None], ends, 0).astype(np.uint64)  # the kernel checks no sign then


def weights_of(dataset: Dataset, how: str) -> Float32[np.ndarray, " positions"]:
    """How much each position weighs in its trace's loss."""
    lengths = np.diff(dataset.offsets)
    traces = np.repeat(np.arange(len(dataset)), lengths)
    counts = scored(dataset.vocabulary)[dataset.tokens]
    if how == "traces":
        weights = counts / lengths[traces]
    elif how == "scored":
        weights = counts / np.bincount(traces, counts, len(dataset))[traces].clip(1)
    elif how == "kinds":
        tests = dataset.vocabulary.kinds[dataset.tokens] == Kind.TEST_ATOM
        weights = sum(
            0.5 * some / np.bincount(traces, some, len(dataset))[traces].clip(1) for some in (counts & ~tests, tests)
        )
    else:
        weights = counts / lengths.mean()
    return weights.astype(np.float32)


@compiled()
def powers(x, gamma):  # type: ignore[no-untyped-def]
    """x^γ and its slope; most of the time γ = 1."""
    one = np.float32(1)
    return (x, one) if gamma == one else (x**gamma, gamma * x ** (gamma - one))


@compiled()
def kernel(  # type: ignore[no-untyped-def]
    query, key, value, asks, writes, tokens, inapplicable, offsets, weights, chosen, alpha, gamma, limit, stops,
    grad_query, grad_key, grad_value,
):  # fmt: skip
    """For a query at i, walking the keys from the oldest to the newest, u_j = s_j·v_j + (1 − s_j)·u_{j−1} ends in
    y_l(i) (Eqs. 7-9); and ∂y_l(i)/∂s_j = Π_{k>j}(1 − s_k)·(v_j − u_{j−1})."""
    one, inside = np.float32(1), np.float32(INSIDE)
    heads = query.shape[1]
    longest = 0
    for t in chosen:
        longest = max(longest, offsets[t + 1] - offsets[t])
    grad_query[:] = 0
    grad_key[:] = 0
    grad_value[:] = 0
    keys = np.empty(longest, dtype=np.uint64)  # tokens that later positions attend to, in order
    before = np.empty((longest, heads), dtype=np.float32)  # u before each of them, where it writes
    u = np.empty(heads, dtype=np.float32)
    rest = np.empty(heads, dtype=np.float32)
    total = np.float32(0)
    batch = np.float32(len(chosen))
    for t in chosen:
        count = 0
        for i in range(offsets[t], offsets[t + 1]):
            a = tokens[i]
            first, last = asks[a]
            if first < last and weights[i] > 0:
                for h in range(first, last):
                    u[h] = 0
                for j in range(count):
                    b = keys[j]
                    for h in range(max(first, writes[b, 0]), min(last, writes[b, 1])):
                        before[j, h] = u[h]
                        u[h] += query[a, h] * key[b, h] * (value[b, h] - u[h])
                left = one
                for h in range(first, last):
                    u[h] = one - min(u[h], inside)
                    left *= u[h]
                y = max(one - left, limit)
                free = max(left, limit)
                if inapplicable[i]:
                    power, power_slope = powers(free, gamma)
                    loss = -alpha * power * np.log(y)
                    slope = alpha * (power_slope * np.log(y) - power / y)
                    stopped = one - left < limit
                else:
                    power, power_slope = powers(y, gamma)
                    loss = -(one - alpha) * power * np.log(free)
                    slope = (one - alpha) * (power / free - power_slope * np.log(free))
                    stopped = left < limit
                total += weights[i] * loss / batch
                if not (stops and stopped):
                    slope *= weights[i] / batch * left
                    for h in range(first, last):
                        rest[h] = slope / u[h]
                    for k in range(count):
                        j = count - 1 - k
                        b = keys[j]
                        for h in range(max(first, writes[b, 0]), min(last, writes[b, 1])):
                            s = query[a, h] * key[b, h]
                            slope_s = rest[h] * (value[b, h] - before[j, h])
                            grad_query[a, h] += slope_s * key[b, h]
                            grad_key[b, h] += slope_s * query[a, h]
                            grad_value[b, h] += rest[h] * s
                            rest[h] *= one - s
            if not inapplicable[i] and writes[a, 0] < writes[a, 1]:
                keys[count] = a
                count += 1
    return total


@compiled()
def update(  # type: ignore[no-untyped-def]
    x, theta, mean, square, free, gradient, rate, l1, how, b1, b2, epsilon, unbias1, unbias2, rectify
):
    """RAdam, and θ of x."""
    zero, one = np.float32(0), np.float32(1)
    logits, held = how == "logits", how == "held"
    for r in range(x.shape[0]):
        for h in range(x.shape[1]):
            if not free[r, h]:
                continue
            p, g = theta[r, h], gradient[r, h]
            if logits:
                g = (g + l1) * p * (one - p)
            elif held:  # beyond, only L1, of x, pulls back
                g = (g if zero <= x[r, h] <= one else zero) + l1 * np.sign(x[r, h])
            else:
                g += l1
            mean[r, h] = b1 * mean[r, h] + (one - b1) * g
            square[r, h] = b2 * square[r, h] + (one - b2) * g * g
            way = mean[r, h] * unbias1
            if rectify > 0:
                way *= rectify / (np.sqrt(square[r, h] * unbias2) + epsilon)
            x[r, h] -= rate * way
            if logits:
                theta[r, h] = one / (one + np.exp(-x[r, h]))
            else:
                theta[r, h] = min(max(x[r, h], zero), one)
                if not held:
                    x[r, h] = theta[r, h]
