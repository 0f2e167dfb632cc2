"""Preconditions: which heads each action needs, given what every head is in every state.

A head can be a precondition of an action only if it was never false when the action worked; a set of such heads that
explains every refusal, none of them to spare, is its precondition list (`cover`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import sqrt

import numba
import numpy as np
from jaxtyping import Bool, Int64, UInt64

from trace2strips.bits import pack
from trace2strips.compilation import compiled
from trace2strips.learners.completion.heads import ADD, DELETE, Heads
from trace2strips.learners.completion.histories import Demands, Histories, demand, join_demands
from trace2strips.learners.completion.settings import DEFAULTS, CompletionSettings
from trace2strips.learners.layout import Rows


def find_false_heads(histories: Histories, heads: Heads) -> UInt64[np.ndarray, "states words"]:
    """Which heads are false, in every state of every history, 64 heads a word."""
    adds, deletes = (pack(heads.effects == effect) for effect in (ADD, DELETE))
    begin = pack(histories.initially_false[:, heads.start] == 1)
    states = np.empty((len(histories.rows) + len(histories.row_start) - 1, begin.shape[1]), dtype=np.uint64)
    fill_states(histories.rows, histories.row_start, begin, adds, deletes, states)
    return states


@compiled(parallel=True)
def fill_states(rows, row_start, begin, adds, deletes, states):  # type: ignore[no-untyped-def]
    words = states.shape[1]
    for t in numba.prange(len(row_start) - 1):
        s = row_start[t] + t
        for w in range(words):
            states[s, w] = begin[t, w]
        for at in range(row_start[t], row_start[t + 1]):
            r = rows[at]
            for w in range(words):
                states[s + 1, w] = (states[s, w] & ~adds[r, w]) | deletes[r, w]
            s += 1


def renew_head(histories: Histories, heads: Heads, head: int, states: UInt64[np.ndarray, "states words"]) -> None:
    """The effects of one head have changed: write anew where it is false."""
    begin = histories.initially_false[:, heads.start[head]] == 1
    fill_head(histories.rows, histories.row_start, begin, heads.column(head), states[:, head // 64], head % 64)


@compiled(parallel=True)
def fill_head(rows, row_start, begin, effect, words, place):  # type: ignore[no-untyped-def]
    bit = np.uint64(1) << np.uint64(place)
    for t in numba.prange(len(row_start) - 1):
        s = row_start[t] + t
        false = begin[t]
        words[s] = words[s] | bit if false else words[s] & ~bit
        for at in range(row_start[t], row_start[t + 1]):
            e = effect[rows[at]]
            if e != 0:
                false = e == 2
            s += 1
            words[s] = words[s] | bit if false else words[s] & ~bit


@compiled()
def count_false_bits(states, index, count):  # type: ignore[no-untyped-def]
    """count[h]: in how many of the indexed states is head h false."""
    for i in range(len(index)):
        for w in range(states.shape[1]):
            bits = states[index[i], w]
            for h in range(64):
                count[w * 64 + h] += np.int64(bits >> np.uint64(h) & np.uint64(1))


def count_false(
    states: UInt64[np.ndarray, "states words"], index: Int64[np.ndarray, " n"]
) -> Int64[np.ndarray, " bits"]:
    count = np.zeros(states.shape[1] * 64, dtype=np.int64)
    count_false_bits(states, index, count)
    return count


def false_in(
    states: UInt64[np.ndarray, "states words"], index: Int64[np.ndarray, " n"], head: int
) -> Bool[np.ndarray, " n"]:
    return (states[index, head // 64] >> np.uint64(head % 64) & np.uint64(1)).astype(bool)


@dataclass(frozen=True)
class Cover:
    """A smallest precondition list found, and the refusals that no list of safe heads explains."""

    pre: tuple[int, ...]
    unexplained: Int64[np.ndarray, " occurrences"]


def cover(
    histories: Histories,
    states: UInt64[np.ndarray, "states words"],
    action: int,
    rank: Int64[np.ndarray, " heads"],
    noise: float = 0.0,
    settings: CompletionSettings = DEFAULTS,
) -> Cover:
    """Greedy set cover of the refusals by safe heads, then what proves needless is dropped. Ties go to lower ranks.

    A head is safe if it was never false when the action worked; with noisy labels, if it explains more than twice as
    many refusals as it forbids successes.
    """
    heads = len(rank)
    occurrences = histories.occurrences(action)
    refused = histories.refused[occurrences]
    index = histories.states(occurrences)
    worked, failed = index[~refused], index[refused]
    broken = count_false(states, worked)[:heads]
    chosen: list[int] = []
    left = np.arange(len(failed))
    order = np.argsort(rank, kind="stable")
    expected = noise * len(index)
    chance = settings.deviations * sqrt(expected)
    while heads and len(left):
        explained = count_false(states, failed[left])[:heads]
        explained[chosen] = 0
        safe = explained > settings.noise_success * broken + chance if noise else broken == 0
        explained = np.where(safe, explained - broken, 0)
        best = int(order[explained[order].argmax()])
        if explained[best] <= 0:
            break
        chosen.append(best)
        left = left[~false_in(states, failed[left], best)]
    unexplained = occurrences[refused][left]
    explains = {head: false_in(states, failed, head) for head in chosen}
    everything = np.logical_or.reduce([*explains.values(), np.zeros(len(failed), dtype=bool)])
    for head in sorted(chosen, key=lambda h: (int(explains[h].sum()), -rank[h])):
        rest = [explains[other] for other in chosen if other != head]
        lost = (everything & ~np.logical_or.reduce([*rest, np.zeros(len(failed), dtype=bool)])).sum()
        if lost <= (settings.noise_success * broken[head] if noise else 0):
            chosen.remove(head)
    if len(unexplained) <= settings.noise_refusals * expected + chance:
        unexplained = unexplained[:0]
    return Cover(tuple(chosen), unexplained)


def choose_preconditions(
    histories: Histories, heads: Heads, noise: float = 0.0, settings: CompletionSettings = DEFAULTS
) -> dict[int, Int64[np.ndarray, " occurrences"]]:
    """Closed-form preconditions of every action; returns the refusals that stay unexplained, by action."""
    states = find_false_heads(histories, heads)
    unexplained = {}
    rank = rank_heads(heads, histories.layout)
    for action in range(histories.layout.actions):
        found = cover(histories, states, action, rank, noise, settings)
        heads.pre[action] = set(found.pre)
        if len(found.unexplained):
            unexplained[action] = found.unexplained
    return unexplained


def rank_heads(heads: Heads, layout: Rows) -> Int64[np.ndarray, " heads"]:
    """Whom ties go to: aligned heads, then invented ones that many actions need."""
    count = heads.effects.shape[1]
    users = np.zeros(count, dtype=np.int64)
    for pre in heads.pre[: layout.actions]:
        users[list(pre)] += 1
    order = np.lexsort((np.arange(count), -users, np.arange(count) >= len(layout.aligned)))
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return rank


def demands_on(
    histories: Histories, states: UInt64[np.ndarray, "states words"], heads: Heads, which: Collection[int],
    users: Iterable[int],
) -> Demands:  # fmt: skip
    """What users demand of one atom in place of the heads `which`: to be true where they worked, false where they were
    refused, unless another of their preconditions is false there.
    """
    parts = []
    width = states.shape[1] * 64
    for user in users:
        mine = histories.occurrences(user)
        refused = histories.refused[mine]
        others = pack(np.isin(np.arange(width), [h for h in heads.pre[user] if h not in which])[None])
        alone = ~(states[histories.states(mine)] & others).any(axis=1)
        parts.append(demand(mine[~refused & alone], mine[refused & alone]))
    return join_demands(parts)
