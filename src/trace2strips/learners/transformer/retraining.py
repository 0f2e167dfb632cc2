"""Heads that are trained once more, over all that ask them, everything else as it is.

Training together may leave a told head wrong in some final values. And a head that one action found for itself can only
give way to a shared one if that may still change: no other action may have needed its value in some named state, or
what some action does to it. So a few heads are trained again, keys, values and initial values, from where they stand.
The positions are those of every action, and of the final test, that asks any of them, where the other heads that it
asks do not refuse already: there these heads decide.

It is the factored form, its loss and its optimiser as ever; batches and looks are those of `alone`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, UInt8

from trace2strips.bits import random_below
from trace2strips.compilation import compiled
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Heads
from trace2strips.learners.completion.histories import join_demands
from trace2strips.learners.completion.preconditions import demands_on, find_false_heads
from trace2strips.learners.radam import BETA1, BETA2, EPSILON, rectification
from trace2strips.learners.transformer.alone import Alone, add_gradient, count_errors, logit, update

STEPS = 1_000  # at a rate of .05 a logit can go from one end to the other several times
LOOK_EVERY = 100
SOFTNESS = (0.02, 0.1, 0.3)  # of a start: how far probabilities are from the bits; further from them more can change


@dataclass
class Again:
    """With the fewest wrong positions: the effects of the trained heads, and which of them the asker asks."""

    errors: int
    asked: Bool[np.ndarray, " trained"]
    effects: UInt8[np.ndarray, "rows trained"]


def retrain_told(alone: Alone) -> int:
    """Told heads with wrong final values; in place. How many have become better."""
    histories, heads, better = alone.histories, alone.heads, 0
    actions = histories.layout.actions
    for head in range(len(histories.layout.aligned)):
        if count_errors(histories, heads, actions + head):
            before = count_all_errors(alone, users_of_any(heads, [head]))
            better += retrain(alone, [head], before - 1, head)
    return better


def join(alone: Alone, action: int, known: Sequence[int], stream: int) -> bool:
    """An action comes to ask known heads alone, where these must have other values in some named states for it. First
    it alone says which heads these are; then those that it has not asked before are trained over all that ask them.
    In place, if no more labels are wrong than before; else all is left as it was."""
    heads, pre = alone.heads, alone.heads.pre[action]
    if not alone.histories.layout.vocabulary.init_states:
        return False
    before = count_errors(alone.histories, heads, action)
    heads.pre[action] = pre & set(known)
    found = train_again(alone, known, [action], SOFTNESS[0], (stream, len(SOFTNESS)), asker=True)
    if found.errors <= before:
        heads.pre[action] = {known[c] for c in np.flatnonzero(found.asked).tolist()}
        if new := sorted(heads.pre[action] - pre):
            others = users_of_any(heads, new) - {action}
            if retrain(alone, new, before + count_all_errors(alone, others), stream):
                return True
    heads.pre[action] = pre
    return False


def retrain(alone: Alone, trained: Sequence[int], most: int, stream: int) -> bool:
    """In place, if those that ask these heads have at most so many wrong labels then; else they stay as they were."""
    heads, kept = alone.heads, alone.heads.effects[:, trained].copy()
    users = sorted(users_of_any(heads, trained))
    for number, soft in enumerate(SOFTNESS):
        heads.effects[:, trained] = train_again(alone, trained, users, soft, (stream, number)).effects
        if count_all_errors(alone, users) <= most:
            return True
        heads.effects[:, trained] = kept
    return False


def users_of_any(heads: Heads, which: Collection[int]) -> set[int]:
    """The actions, and final tests, that ask any of these heads."""
    return {user for user, pre in enumerate(heads.pre) if pre.intersection(which)}


def count_all_errors(alone: Alone, users: Collection[int]) -> int:
    return sum(count_errors(alone.histories, alone.heads, user) for user in users)


def train_again(
    alone: Alone, trained: Sequence[int], users: Sequence[int], soft: float, stream: tuple[int, int],
    asker: bool = False,
) -> Again:  # fmt: skip
    """From where these heads stand. Who asks them is settled, but for an `asker`, the only user then: what it asks
    is trained too, and of the heads only the values in named states."""
    h, s, heads = alone.histories, alone.settings, alone.heads
    states = find_false_heads(h, heads)
    parts = [demands_on(h, states, heads, trained, [user]) for user in users]
    demands = join_demands(parts)
    asks = np.array([[head in heads.pre[user] for head in trained] for user in users], dtype=np.float32)
    generator = np.random.default_rng([alone.seed, 6, *stream])
    query = np.maximum(asks[0] * (1 - soft), generator.uniform(0, 0.1, len(trained))).astype(np.float32)
    effects, actions = np.ascontiguousarray(heads.effects[:, trained]), h.layout.actions
    key = np.where(effects == NONE, soft, 1 - soft).astype(np.float32)
    if asker:
        key = (effects != NONE).astype(np.float32)
    key[actions:] = 1  # init-s writes every head
    value = np.select([effects == ADD, effects == DELETE], [soft, 1 - soft], 0.5).astype(np.float32)
    short = np.array([0.0, *(rectification(step) for step in range(1, STEPS + 1))], dtype=np.float32)
    errors = retrain_kernel(
        demands.occurrence, demands.must_be_false, np.repeat(np.arange(len(users)), [len(p.occurrence) for p in parts]),
        asks, asker, h.rows, h.row_start, h.initially_false, h.trace, h.depth, heads.start[list(trained)],
        0 if asker else actions, actions if asker else 0, generator.integers(2**63, size=1).astype(np.uint64), STEPS,
        s.batch, LOOK_EVERY, np.float32(s.rate), np.float32(s.alpha), np.float32(s.gamma), short,
        np.array([BETA1, BETA2, EPSILON], dtype=np.float32), query, key, value,
    )  # fmt: skip
    found = np.where(key >= 0.5, np.where(value >= 0.5, DELETE, ADD), NONE).astype(np.uint8)
    return Again(int(errors), query >= 0.5, found)


@compiled()
def find_wrong_again(  # type: ignore[no-untyped-def]
    occurrence, refused, user, asks, asker, rows, row_start, initially_false, trace, depth, starts, query, key, value,
    wrong,
):  # fmt: skip
    """The positions that the binarised heads get wrong; how many."""
    count = 0
    for i in range(len(occurrence)):
        o = occurrence[i]
        t = trace[o]
        begin = row_start[t]
        says = False
        for c in range(len(starts)):
            if not says and (query[c] >= 0.5 if asker else asks[user[i], c] > 0):
                at = begin + depth[o] - 1
                while at >= begin and key[rows[at], c] < 0.5:
                    at -= 1
                says = value[rows[at], c] >= 0.5 if at >= begin else initially_false[t, starts[c]] == 1
        if says != refused[i]:
            wrong[count] = i
            count += 1
    return count


@compiled()
def retrain_kernel(  # type: ignore[no-untyped-def]
    occurrence, refused, user, asks, asker, rows, row_start, initially_false, trace, depth, starts, free_keys,
    first_value, stream, steps, batch, look_every, rate, alpha, gamma, short, adam, best_query, best_key, best_value,
):  # fmt: skip
    """From these parameters to those with the fewest wrong positions that were seen, which take their place. Keys
    of the first `free_keys` rows are trained, values from row `first_value` on, queries if there is an asker."""
    one = np.float32(1)
    all_rows, heads = best_key.shape
    worked, failed = np.flatnonzero(~refused), np.flatnonzero(refused)
    wrong = np.empty(len(occurrence), dtype=np.int64)
    longest = 0
    for o in occurrence:
        longest = max(longest, depth[o])
    # one flat array each for logits, probabilities, moments and slopes: keys, values, queries
    v, q = all_rows * heads, 2 * all_rows * heads
    size = q + heads
    x, theta = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
    mean, square = np.zeros(size, dtype=np.float32), np.zeros(size, dtype=np.float32)
    slope = np.zeros(size, dtype=np.float32)
    theta[:v], theta[v:q], theta[q:] = best_key.ravel(), best_value.ravel(), best_query
    for i in range(size):
        x[i] = logit(theta[i])
    key, value, query = theta[:v].reshape(all_rows, heads), theta[v:q].reshape(all_rows, heads), theta[q:]
    slope_key, slope_value = slope[:v].reshape(all_rows, heads), slope[v:q].reshape(all_rows, heads)
    slope_query = slope[q:]
    state, back = np.empty((longest + 1, heads), dtype=np.float32), np.empty(heads, dtype=np.float32)
    start = np.empty(heads, dtype=np.float32)
    nobody = np.empty(0, dtype=np.float32)
    scale = one / np.float32(batch)
    wrongs = fewest = find_wrong_again(
        occurrence, refused, user, asks, asker, rows, row_start, initially_false, trace, depth, starts, query, key,
        value, wrong,
    )  # fmt: skip
    for step in range(1, steps + 1):
        if wrongs == 0:
            break
        slope[:] = 0
        for i in range(batch):
            if i % 4 == 0:
                at = wrong[random_below(stream, 0, wrongs)]
            elif len(worked) == 0 or (i % 4 == 1 and len(failed) > 0):
                at = failed[random_below(stream, 0, len(failed))]
            else:
                at = worked[random_below(stream, 0, len(worked))]
            o = occurrence[at]
            for c in range(heads):
                start[c] = initially_false[trace[o], starts[c]]
            add_gradient(
                rows, row_start[trace[o]], depth[o], start, nobody, query if asker else asks[user[at]], key, value,
                refused[at], alpha, gamma, state, back, nobody, slope_query, slope_key, slope_value,
            )  # fmt: skip
        unbias1 = one / (one - adam[0] ** np.float32(step))
        unbias2 = one / (one - adam[1] ** np.float32(step))
        rest = (scale, rate, short[step], unbias1, unbias2, adam)
        free, values = free_keys * heads, v + first_value * heads
        update(x[:free], theta[:free], mean[:free], square[:free], slope[:free], *rest)
        update(x[values:q], theta[values:q], mean[values:q], square[values:q], slope[values:q], *rest)
        if asker:
            update(x[q:], theta[q:], mean[q:], square[q:], slope[q:], *rest)
        if step % look_every == 0 or step == steps:
            wrongs = find_wrong_again(
                occurrence, refused, user, asks, asker, rows, row_start, initially_false, trace, depth, starts, query,
                key, value, wrong,
            )  # fmt: skip
            if wrongs < fewest:
                fewest = wrongs
                best_query[:], best_key[:], best_value[:] = query, key, value
    return fewest
