"""Actions that are still wrong after training are trained again, each alone, with new heads of its own.

The loss is a sum over positions. What a position's action predicts depends on the heads that the action asks and on
nothing else; so once the heads of told atoms are settled, the private heads of one action can be trained on the
positions of that action alone. It is the factored form, its loss and its optimiser as ever, but a step costs
(length · heads of one action) instead of (length · all heads), so that new beginnings are cheap.

    trial: so many new heads, false at first or, with `told`, one more for every told atom without final values
    batch: half successes, half refusals; every second refusal is replaced by a position that was wrong at the last look
    look:  errors of the binarised heads on all positions of the action; none: done

An action keeps the heads of the trial with the fewest errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numba
import numpy as np
from jaxtyping import Bool, Int64, UInt8

from trace2strips.bits import next_random, random_below
from trace2strips.compilation import compiled
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Heads
from trace2strips.learners.completion.histories import Histories, is_false
from trace2strips.learners.completion.preconditions import find_false_heads
from trace2strips.learners.radam import BETA1, BETA2, EPSILON, rectification
from trace2strips.learners.transformer.kernels import ALMOST_ONE, loss_and_slope


@dataclass(frozen=True)
class Trial:
    """How many new heads that are false at first, and whether told atoms get new heads too."""

    heads: int
    told: bool = False


# few heads first: what one head explains should not be spread over several
TRIALS = (
    Trial(1), Trial(2), Trial(1, told=True), Trial(2), Trial(2, told=True), Trial(1, told=True), Trial(3),
    Trial(3, told=True), Trial(2, told=True), Trial(4), Trial(4, told=True), Trial(5),
)  # fmt: skip


@dataclass(frozen=True)
class AloneSettings:
    steps: int = 4_000
    batch: int = 64
    look_every: int = 200
    rate: float = 0.05
    alpha: float = 0.5
    gamma: float = 1.0
    trials: tuple[Trial, ...] = TRIALS


@dataclass
class Found:
    """The best binarised heads of each action of one trial. `known` are heads that were there before."""

    errors: Int64[np.ndarray, " actions"]
    known: Bool[np.ndarray, "actions known"]
    asked: Bool[np.ndarray, "actions heads"]
    effects: UInt8[np.ndarray, "actions rows heads"]


@dataclass
class Alone:
    """The work on one training set: `improve` gives the actions that are wrong better heads."""

    histories: Histories
    heads: Heads
    seed: int
    settings: AloneSettings = field(default_factory=AloneSettings)

    def improve(self) -> int:
        """Trial after trial, until no action is wrong; how many positions still are."""
        layout, aligned = self.histories.layout, len(self.histories.layout.aligned)
        tested = [h for h in range(aligned) if self.histories.occurs(layout.actions + h)]
        untested = [h for h in range(aligned) if h not in set(tested)] if layout.vocabulary.init_atoms else []
        errors = {action: count_errors(self.histories, self.heads, action) for action in range(layout.actions)}
        for number, trial in enumerate(self.settings.trials):
            wrong = [action for action, count in errors.items() if count]
            if not wrong:
                break
            if trial.told and not untested:
                continue
            known = tested if trial.told else list(range(aligned))
            starts = [aligned] * trial.heads + (untested if trial.told else [])
            found = self.train(wrong, known, starts, trial.heads, number)
            for i, action in enumerate(wrong):
                if found.errors[i] < errors[action]:
                    errors[action] = int(found.errors[i])
                    self.heads.pre[action] = {known[h] for h in np.flatnonzero(found.known[i])}
                    for c in np.flatnonzero(found.asked[i]).tolist():
                        self.heads.pre[action].add(self.heads.append(found.effects[i, :, c], starts[c]))
        return sum(errors.values())

    def train(
        self, actions: Sequence[int], known: Sequence[int], starts: Sequence[int], spare: int, number: int
    ) -> Found:
        """New heads with these starts for each of the actions; `known` heads can be asked and stay as they are. The
        first `spare` heads are asked from the beginning, the others hardly."""
        h, s, rows = self.histories, self.settings, self.histories.layout.rows
        there = np.array(known, dtype=np.int64)
        states = find_false_heads(h, Heads(np.ascontiguousarray(self.heads.effects[:, there]), self.heads.start[there]))
        streams = np.random.default_rng([self.seed, 4, number]).integers(2**63, size=len(actions)).astype(np.uint64)
        short = np.array([0.0, *(rectification(step) for step in range(1, s.steps + 1))], dtype=np.float32)
        errors = np.zeros(len(actions), dtype=np.int64)
        known_query = np.zeros((len(actions), len(known)), dtype=np.float32)
        query = np.zeros((len(actions), len(starts)), dtype=np.float32)
        key, value = (np.zeros((len(actions), rows, len(starts)), dtype=np.float32) for _ in range(2))
        train_kernel(
            np.array(actions), h.rows, h.row_start, h.initially_false, h.trace, h.depth, h.refused, h.occurrence_start,
            h.layout.actions, np.array(starts, dtype=np.int64), spare, states, streams, s.steps, s.batch, s.look_every,
            np.float32(s.rate), np.float32(s.alpha), np.float32(s.gamma), short,
            np.array([BETA1, BETA2, EPSILON], dtype=np.float32), errors, known_query, query, key, value,
        )  # fmt: skip
        effects = np.where(key >= 0.5, np.where(value >= 0.5, DELETE, ADD), NONE).astype(np.uint8)
        return Found(errors, known_query >= 0.5, query >= 0.5, effects)


def count_errors(histories: Histories, heads: Heads, user: int) -> int:
    """Positions of an action, or of a final test, that its heads get wrong."""
    mine: Int64[np.ndarray, " occurrences"] = histories.occurrences(user)
    says = np.zeros(len(mine), dtype=bool)
    for head in heads.pre[user]:
        says |= is_false(histories, mine, heads.column(head), int(heads.start[head]))
    return int((says != histories.refused[mine]).sum())


@compiled()
def uniform(stream):  # type: ignore[no-untyped-def]
    return np.float32(next_random(stream, 0) >> np.uint64(40)) * np.float32(2.0**-24)


@compiled()
def logit(p):  # type: ignore[no-untyped-def]
    p = min(max(p, np.float32(1e-3)), np.float32(1 - 1e-3))
    return np.log(p / (np.float32(1) - p))


@compiled()
def sigmoid(x):  # type: ignore[no-untyped-def]
    return np.float32(1) / (np.float32(1) + np.exp(-x))


@compiled()
def bit(states, state, head):  # type: ignore[no-untyped-def]
    return (states[state, head // 64] >> np.uint64(head % 64)) & np.uint64(1) == np.uint64(1)


@compiled()
def add_gradient(  # type: ignore[no-untyped-def]
    rows, begin, depth, start, known, query, key, value, refused, alpha, gamma,
    state, back, slope_known, slope_query, slope_key, slope_value,
):  # fmt: skip
    """Loss of one position, and what it adds to the gradient by the probabilities. `start[c]` says whether head c is
    false at first, `known` which known heads are false here, with their queries; `state` and `back` are room."""
    one = np.float32(1)
    heads = len(query)
    for c in range(heads):
        state[0, c] = start[c]
    for i in range(depth):
        r = rows[begin + i]
        for c in range(heads):
            state[i + 1, c] = state[i, c] + key[r, c] * (value[r, c] - state[i, c])
    keep = one
    for c in range(heads):
        keep *= one - min(query[c] * state[depth, c], ALMOST_ONE)
    for h in range(len(known)):
        keep *= one - min(known[h], ALMOST_ONE)  # 0 where the head is true
    loss, slope = loss_and_slope(one - keep, refused, alpha, gamma)
    slope *= keep
    for h in range(len(known)):
        slope_known[h] += slope / (one - min(known[h], ALMOST_ONE))
    for c in range(heads):
        part = slope / (one - min(query[c] * state[depth, c], ALMOST_ONE))
        slope_query[c] += part * state[depth, c]
        back[c] = part * query[c]
    for j in range(depth):
        i = depth - 1 - j
        r = rows[begin + i]
        for c in range(heads):
            slope_key[r, c] += back[c] * (value[r, c] - state[i, c])
            slope_value[r, c] += back[c] * key[r, c]
            back[c] *= one - key[r, c]
    return loss


@compiled()
def update(x, theta, mean, square, slope, scale, rate, rectify, unbias1, unbias2, adam):  # type: ignore[no-untyped-def]
    """RAdam on logits, all of them (`optimiser`)."""
    one = np.float32(1)
    b1, b2, epsilon = adam[0], adam[1], adam[2]
    for i in range(len(x)):
        p = theta[i]
        g = slope[i] * scale * p * (one - p)
        m = b1 * mean[i] + (one - b1) * g
        v = b2 * square[i] + (one - b2) * g * g
        mean[i], square[i] = m, v
        if rectify > 0:
            x[i] -= rate * rectify * m * unbias1 / (np.sqrt(v * unbias2) + epsilon)
        else:
            x[i] -= rate * m * unbias1
        theta[i] = sigmoid(x[i])


@compiled()
def find_wrong(  # type: ignore[no-untyped-def]
    rows, row_start, initially_false, trace, depth, refused, first, last, starts, known_query, query, key, value,
    states, wrong,
):  # fmt: skip
    """The positions that the binarised heads of an action get wrong; how many."""
    count = 0
    for o in range(first, last):
        t = trace[o]
        begin = row_start[t]
        says = False
        for h in range(len(known_query)):
            if known_query[h] >= 0.5 and bit(states, begin + t + depth[o], h):
                says = True
                break
        for c in range(len(query)):
            if says:
                break
            if query[c] >= 0.5:
                at = begin + depth[o] - 1
                while at >= begin and key[rows[at], c] < 0.5:
                    at -= 1
                says = value[rows[at], c] >= 0.5 if at >= begin else initially_false[t, starts[c]] == 1
        if says != refused[o]:
            wrong[count] = o
            count += 1
    return count


@compiled(parallel=True)
def train_kernel(  # type: ignore[no-untyped-def]
    actions, rows, row_start, initially_false, trace, depth, refused, occurrence_start, free_rows, starts, spare,
    states, streams, steps, batch, look_every, rate, alpha, gamma, short, adam,
    best_errors, best_known, best_query, best_key, best_value,
):  # fmt: skip
    """Each action by itself; the result depends on its stream of random numbers alone."""
    for a in numba.prange(len(actions)):
        best_errors[a] = train_action(
            occurrence_start[actions[a]], occurrence_start[actions[a] + 1], rows, row_start, initially_false, trace,
            depth, refused, free_rows, starts, spare, states, streams[a : a + 1], steps, batch, look_every, rate, alpha,
            gamma, short, adam, best_known[a], best_query[a], best_key[a], best_value[a],
        )  # fmt: skip


@compiled()
def train_action(  # type: ignore[no-untyped-def]
    first, last, rows, row_start, initially_false, trace, depth, refused, free_rows, starts, spare, states, stream,
    steps, batch, look_every, rate, alpha, gamma, short, adam, best_known, best_query, best_key, best_value,
):  # fmt: skip
    """The fewest errors that were seen, and the parameters then."""
    one = np.float32(1)
    all_rows, heads, knowns = len(best_key), len(starts), len(best_known)
    fewest = last - first + 1
    worked, failed = np.empty(last - first, dtype=np.int64), np.empty(last - first, dtype=np.int64)
    wrong = np.empty(last - first, dtype=np.int64)
    works, fails, wrongs, longest = 0, 0, 0, 0
    for o in range(first, last):
        longest = max(longest, depth[o])
        if refused[o]:
            failed[fails] = o
            fails += 1
        else:
            worked[works] = o
            works += 1
    # one flat array each for logits, probabilities, moments and slopes: known queries, queries, keys, values
    size = knowns + heads + 2 * all_rows * heads
    q, k, v = knowns, knowns + heads, knowns + heads + all_rows * heads
    x, theta = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
    mean, square = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    slope = np.zeros(size, dtype=np.float32)
    for i in range(size):
        p = uniform(stream)  # values
        if q <= i < k and i - q < spare:
            p = np.float32(0.9) if spare == 1 else np.float32(0.5) + np.float32(0.4) * p
        elif i < v:
            p *= np.float32(0.1)
        x[i] = logit(p)
        theta[i] = sigmoid(x[i])
    theta[k + free_rows * heads : v] = 1  # init-s writes every head
    known_query, query = theta[:q], theta[q:k]
    key, value = theta[k:v].reshape(all_rows, heads), theta[v:].reshape(all_rows, heads)
    slope_known, slope_query = slope[:q], slope[q:k]
    slope_key, slope_value = slope[k:v].reshape(all_rows, heads), slope[v:].reshape(all_rows, heads)
    state, back = np.empty((longest + 1, heads), dtype=np.float32), np.empty(heads, dtype=np.float32)
    start, known = np.empty(heads, dtype=np.float32), np.empty(knowns, dtype=np.float32)
    known_slope = np.empty(knowns, dtype=np.float32)
    scale = one / np.float32(batch)
    for step in range(1, steps + 1):
        slope[:] = 0
        for i in range(batch):
            if i % 4 == 0 and wrongs > 0:
                at = wrong[random_below(stream, 0, wrongs)]
            elif works == 0 or (i % 4 < 2 and fails > 0):
                at = failed[random_below(stream, 0, fails)]
            else:
                at = worked[random_below(stream, 0, works)]
            t = trace[at]
            for c in range(heads):
                start[c] = initially_false[t, starts[c]]
            for h in range(knowns):
                known[h] = known_query[h] if bit(states, row_start[t] + t + depth[at], h) else np.float32(0)
                known_slope[h] = 0
            add_gradient(
                rows, row_start[t], depth[at], start, known, query, key, value, refused[at], alpha, gamma,
                state, back, known_slope, slope_query, slope_key, slope_value,
            )  # fmt: skip
            for h in range(knowns):
                if bit(states, row_start[t] + t + depth[at], h):
                    slope_known[h] += known_slope[h]
        unbias1 = one / (one - adam[0] ** np.float32(step))
        unbias2 = one / (one - adam[1] ** np.float32(step))
        rest = (scale, rate, short[step], unbias1, unbias2, adam)
        free = k + free_rows * heads
        update(x[:free], theta[:free], mean[:free], square[:free], slope[:free], *rest)
        update(x[v:], theta[v:], mean[v:], square[v:], slope[v:], *rest)
        if step % look_every == 0 or step == steps:
            wrongs = find_wrong(
                rows, row_start, initially_false, trace, depth, refused, first, last, starts, known_query, query,
                key, value, states, wrong,
            )  # fmt: skip
            if wrongs < fewest:
                fewest = wrongs
                best_known[:], best_query[:], best_key[:], best_value[:] = known_query, query, key, value
            if wrongs == 0:
                break
    return fewest
