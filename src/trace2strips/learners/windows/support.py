"""Support: which preconditions were false at each attempt of the log, and so which of them are needless.

A refusal may have several false preconditions. A precondition that is never the only false one is needless if that
cannot be chance: were it false independently of the others, each refusal at which it is false would have another false
one with the chance q with which the action is refused anyway where it holds, so all n of them with the chance qⁿ. It
goes where that is less than `CHANCE`, shared among all preconditions that are tried; else it stays. Who makes a log
rather tries what works: successes are counted as if each were tried `FAVOUR` times as often as chance would have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trace2strips.learners.windows.lifted import LiftedAction, LiftedWorld
from trace2strips.learners.windows.simulation import MOST, simulate
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import schema_of

FAVOUR = 10.0  # from few traces needed preconditions are kept so; from many the needless ones go all the same
CHANCE = 0.01  # of dropping any precondition that the hidden world has


def without_needless(lifted: LiftedWorld, dataset: Dataset) -> LiftedWorld:
    """The same world without preconditions that the log shows to be implied by others."""
    false, _ = simulate(lifted, dataset)
    tried = sum(len(action.pre) for action in (*lifted.actions, *lifted.tests))
    kinds = dataset.vocabulary.kinds
    by_schema: dict[tuple[bool, str, tuple[int, ...]], list[int]] = {}
    for token, subject in enumerate(dataset.vocabulary.subjects):
        if kinds[token] in (Kind.ACTION, Kind.TEST_ATOM):
            word, *arguments = lifted.naming.action(subject)
            (_, pattern), _ = schema_of(word, tuple(arguments))
            by_schema.setdefault((kinds[token] == Kind.TEST_ATOM, word, pattern), []).append(token)

    def pruned(action: LiftedAction, is_test: bool) -> LiftedAction:
        tokens = by_schema.get((is_test, action.name, action.pattern), [])
        mine = np.isin(dataset.tokens, tokens)
        refused = dataset.inapplicable[mine]
        masks, counts = np.unique(false[mine][refused], return_counts=True)
        worked = int((~refused).sum())
        count = min(len(action.pre), MOST)  # of further ones nothing is known: they stay
        kept = needed(count, masks.tolist(), counts.tolist(), worked, CHANCE / max(1, tried))
        kept |= set(range(count, len(action.pre)))
        return replace(action, pre=tuple(place for k, place in enumerate(action.pre) if k in kept))

    return replace(
        lifted,
        actions=tuple(pruned(action, False) for action in lifted.actions),
        tests=tuple(pruned(action, True) for action in lifted.tests),
    )


def needed(count: int, masks: Sequence[int], counts: Sequence[int], worked: int, chance: float) -> set[int]:
    """Which of the preconditions stay; those that are false least often are tried first."""
    kept = set(range(count))

    def total(k: int) -> int:
        return sum(n for mask, n in zip(masks, counts, strict=True) if mask >> k & 1)

    for k in sorted(kept, key=lambda k: (total(k), -k)):
        others = sum(1 << j for j in kept if j != k)
        rows = list(zip(masks, counts, strict=True))
        if any(mask >> k & 1 and not mask & others for mask, _ in rows):
            continue  # the only explanation of a refusal
        n = total(k)
        refused = sum(c for mask, c in rows if mask & others and not mask >> k & 1)  # for other reasons, where it holds
        share = refused / max(1.0, refused + worked / FAVOUR)
        if n == 0 or share**n < chance:
            kept.remove(k)
    return kept
