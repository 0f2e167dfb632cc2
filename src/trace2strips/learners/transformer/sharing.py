"""Heads that only few actions ask give way to heads that many ask.

An action trained alone may find a head that fits its own labels and is no atom: half "the ferry is here", half "the
ferry is empty". Other actions have found these two atoms by then. So the queries of the action are trained again, over
the told atoms and the heads that more actions ask; keys and values of these stay. It is kept if the action has no more
wrong labels than before. A head is rare that at most 1, 2, 4, … actions ask.

Where that fails a shared head may have a wrong value in a named state that none of its users could tell: when the
puzzle begins with 7 and 8 beside the gap in the corner, only these two can tell that it is there. Then the values of
the shared heads are trained too, and with all that ask them (`retraining.join`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trace2strips.learners.completion.heads import Heads
from trace2strips.learners.transformer.alone import Alone, count_errors
from trace2strips.learners.transformer.retraining import join

STEPS = 1_000  # at a rate of .05 a logit can go from one end to the other several times
FIRST_STREAM = 1_000  # of random numbers: behind those of the trials


def share_heads(alone: Alone) -> int:
    """In place; how many actions have come to ask other heads."""
    heads, layout = alone.heads, alone.histories.layout
    aligned, changed, few = len(layout.aligned), 0, 1
    failed: dict[int, set[int]] = {}  # with these heads an action could not do, so it cannot with fewer
    while few < max(map(len, (users := users_of(heads, layout.actions)).values()), default=0):
        rare = {head for head, askers in users.items() if head >= aligned and len(askers) <= few}
        known = {*range(aligned), *(users.keys() - rare)}
        actions = [
            action
            for action in range(layout.actions)
            if heads.pre[action] & rare and not failed.get(action, set()) >= known
        ]
        if actions:
            worse = do_without(alone, actions, sorted(known), FIRST_STREAM + few)
            failed |= dict.fromkeys(worse, known)
            changed += len(actions) - len(worse)
        few *= 2
    return changed


def do_without(alone: Alone, actions: list[int], known: list[int], stream: int) -> list[int]:
    """These actions ask known heads alone. Those with more wrong labels are left as they were; they are returned."""
    trainer = replace(alone, settings=replace(alone.settings, steps=STEPS))
    found = trainer.train(actions, known, (), 0, stream)
    worse = []
    for i, action in enumerate(actions):
        asked = {known[h] for h in np.flatnonzero(found.known[i])}
        if found.errors[i] <= count_errors(alone.histories, alone.heads, action):
            alone.heads.pre[action] = asked
        elif not join(alone, action, known, stream * len(alone.heads.pre) + action):
            worse.append(action)
    return worse


def users_of(heads: Heads, actions: int) -> dict[int, set[int]]:
    """Which actions ask a head."""
    users: dict[int, set[int]] = {}
    for action in range(actions):
        for head in heads.pre[action]:
            users.setdefault(head, set()).add(action)
    return users
