"""Support: which preconditions were false at each attempt of the log, and so which of them are needless.

A refusal may have several false preconditions. A precondition that is never the only false one is needless if that
cannot be chance: were it false independently of the others, each refusal at which it is false would have another false
one with the chance q with which the action is refused anyway where it holds, so all n of them with the chance qⁿ. It
goes where that is less than `CHANCE`, shared among all preconditions that are tried; else it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import UInt64

from trace2strips.compilation import compiled
from trace2strips.learners.windows.lifted import LiftedAction, LiftedWorld
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import schema_of

CHANCE = 0.01  # of dropping any precondition that the hidden world has
MOST = 64  # preconditions of one action that are looked at


@compiled()
def mark_false(pre_start, pre_atom, add, delete, start, tokens, refused, offsets, out):  # type: ignore[no-untyped-def]
    """out[i]: which preconditions of the action are false there, as bits; what was refused changes nothing."""
    words = len(start)
    state = np.empty(words, dtype=np.uint64)
    for t in range(len(offsets) - 1):
        state[:] = start
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            out[i] = 0
            for k in range(pre_start[token], pre_start[token + 1]):
                atom = pre_atom[k]
                if not state[atom // 64] >> np.uint64(atom % 64) & np.uint64(1):
                    out[i] |= np.uint64(1) << np.uint64(k - pre_start[token])
            if not refused[i]:
                for w in range(words):
                    state[w] = (state[w] | add[token, w]) & ~delete[token, w]


def false_preconditions(lifted: LiftedWorld, dataset: Dataset) -> UInt64[np.ndarray, " positions"]:
    """Bit k is the k-th precondition of the attempt's schema."""
    vocabulary = dataset.vocabulary
    model = lifted.over_tokens(vocabulary)
    schemas = {(False, a.name, a.pattern): a for a in lifted.actions} | {
        (True, a.name, a.pattern): a for a in lifted.tests
    }
    pre_start, pre_atom = [0], []
    for kind, subject in zip(vocabulary.kinds.tolist(), vocabulary.subjects, strict=True):
        if kind in (Kind.ACTION, Kind.TEST_ATOM):
            word, *arguments = lifted.naming.action(subject)
            (_, pattern), objects = schema_of(word, tuple(arguments))
            schema = schemas.get((kind == Kind.TEST_ATOM, word, pattern))
            for number, places in schema.pre[:MOST] if schema else ():
                pre_atom.append(model.atom_index[lifted.atom(number, [objects[i] for i in places])])
        pre_start.append(len(pre_atom))
    out = np.zeros(len(dataset.tokens), dtype=np.uint64)
    bits = model.bits
    mark_false(
        np.array(pre_start), np.array(pre_atom, dtype=np.int64), bits.add, bits.delete, bits.all_true, dataset.tokens,
        dataset.inapplicable, dataset.offsets, out,
    )  # fmt: skip
    return out


def without_needless(lifted: LiftedWorld, dataset: Dataset) -> LiftedWorld:
    """The same world without preconditions that the log shows to be implied by others."""
    false = false_preconditions(lifted, dataset)
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
        kept = needed(len(action.pre), masks.tolist(), counts.tolist(), worked, CHANCE / max(1, tried))
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
        share = refused / max(1, refused + worked)
        if n == 0 or share**n < chance:
            kept.remove(k)
    return kept
