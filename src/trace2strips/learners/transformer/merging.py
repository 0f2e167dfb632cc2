"""Private heads that are one atom become one head.

Two heads can be one if nothing contradicts it: no action adds one and deletes the other, and with the effects of both
no training label of an action that asks either of them is wrong that was right before. What one action's labels leave
open is then said by those of the others. A named initial state gives every head a value; one that no label needs
contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from jaxtyping import UInt8

from trace2strips.learners.completion.effects import Fit
from trace2strips.learners.completion.heads import NONE, Heads
from trace2strips.learners.completion.histories import Histories
from trace2strips.learners.completion.preconditions import demands_on, find_false_heads
from trace2strips.learners.transformer.alone import count_errors


def merge_heads(histories: Histories, heads: Heads) -> None:
    """In place; the head with the most effects first, and with the head that it has most effects in common with."""
    layout = histories.layout
    aligned = len(layout.aligned)
    users = {
        head: {action for action in range(layout.actions) if head in heads.pre[action]}
        for head in range(heads.effects.shape[1])
        if head >= aligned or not histories.occurs(layout.actions + head)  # told final values settle a head
    }
    users = {head: askers for head, askers in users.items() if askers}
    errors = {action: count_errors(histories, heads, action) for action in set().union(*users.values(), set())}
    needed = needed_effects(histories, heads, users)
    kept: list[int] = []
    for head in sorted(users, key=lambda h: (h >= aligned, -int((needed[h] != NONE).sum()))):
        likely = sorted((-common, other) for other in kept if (common := agreement(needed[head], needed[other])) > 0)
        for _, other in likely:
            start = joint_start(heads, head, other, aligned)
            if start is not None and unite(histories, heads, head, other, start, needed, users, errors):
                users[other] |= users.pop(head)
                break
        else:
            kept.append(head)
    give_names(heads, kept, aligned)


def needed_effects(
    histories: Histories, heads: Heads, users: Mapping[int, Iterable[int]]
) -> dict[int, UInt8[np.ndarray, " rows"]]:
    """The effects of each head, without values at named initial states that no label of its users needs."""
    found = {head: heads.column(head).copy() for head in users}
    if not histories.layout.vocabulary.init_states:
        return found
    states = find_false_heads(histories, heads)
    for head, askers in users.items():
        demands = demands_on(histories, states, heads, (head,), sorted(askers))
        fit = Fit(histories, demands, int(heads.start[head]), found[head], even=True)
        for row in range(fit.free_rows, len(fit.effect)):
            if fit.change[row, 3 - fit.effect[row]] <= 0:
                found[head][row] = NONE
    return found


def agreement(one: UInt8[np.ndarray, " rows"], other: UInt8[np.ndarray, " rows"]) -> int:
    """How many effects two heads have in common; 0 if they contradict each other."""
    both = (one != NONE) & (other != NONE)
    return 0 if (both & (one != other)).any() else int(both.sum())


def joint_start(heads: Heads, one: int, other: int, aligned: int) -> int | None:
    """Two that start alike, or one that nobody told, which may be as a told one; None if they are told apart."""
    starts = {int(heads.start[one]), int(heads.start[other])}
    told = starts - {aligned}
    return min(told or starts) if len(told) < 2 else None


def unite(
    histories: Histories, heads: Heads, head: int, other: int, start: int,
    needed: dict[int, UInt8[np.ndarray, " rows"]], users: dict[int, set[int]], errors: dict[int, int],
) -> bool:  # fmt: skip
    """`other` gets the effects of both and is asked for both, if no label speaks against it."""
    before = heads.column(other).copy(), heads.start[other], {action: heads.pre[action] for action in users[head]}
    heads.effects[:, other] = np.where(needed[head] != NONE, needed[head], before[0])
    heads.start[other] = start
    for action in users[head]:
        heads.pre[action] = (heads.pre[action] - {head}) | {other}
    if all(count_errors(histories, heads, action) <= errors[action] for action in sorted(users[head] | users[other])):
        needed[other] = np.where(needed[head] != NONE, needed[head], needed[other])
        return True
    heads.effects[:, other], heads.start[other] = before[0], before[1]
    for action, pre in before[2].items():
        heads.pre[action] = pre
    return False


def give_names(heads: Heads, kept: list[int], aligned: int) -> None:
    """A new head that starts as a told atom takes its place if nobody asks the old one."""
    for head in kept:
        told = int(heads.start[head])
        if head >= aligned > told and not any(told in pre for pre in heads.pre[: -aligned or None]):
            heads.effects[:, told] = heads.effects[:, head]
            for action, pre in enumerate(heads.pre[: -aligned or None]):
                if head in pre:
                    heads.pre[action] = (pre - {head}) | {told}
