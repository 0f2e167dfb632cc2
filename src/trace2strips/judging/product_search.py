"""Search for a trace that one of two models refuses and the other accepts, through the pairs of their states.

The models differ iff some joint state that can be reached from a start has an action which exactly one of them accepts.
`ProductSearch` looks at all pairs, breadth first, so that the first difference ends a shortest trace; where there are
too many of them, `walk_for_difference` takes random walks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from trace2strips.bits import hash_words, random_below, unpack
from trace2strips.compilation import compiled
from trace2strips.judging.joint import JointModel, Starts
from trace2strips.model.strips import State, StripsModel

WALKS, WALK_LENGTH = 2_000, 1_000  # random walks where the search had to stop


@dataclass(frozen=True)
class Difference:
    """A trace that both models accept up to its last action, which exactly one refuses. `start` is a start's number."""

    start: int
    trace: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What a search came to: a difference, or all pairs (exhausted), or neither."""

    difference: Difference | None
    exhausted: bool
    pairs: int


def search_slowly(a: StripsModel, b: StripsModel, starts: Sequence[tuple[State, State]], limit: int) -> Found:
    """`ProductSearch` word for word. Once `limit` pairs are known no more are added, but those known are looked at."""
    names = JointModel(a, b).names
    history: dict[tuple[State, State], Difference] = {}
    for number, pair in enumerate(starts):
        history.setdefault(pair, Difference(number, ()))
    left_out = False
    queue = deque(history)
    while queue:
        s_a, s_b = queue.popleft()
        so_far = history[s_a, s_b]
        steps = []
        for name in names:
            by_a = name in a.action_index and a.action(name).applicable(s_a)
            by_b = name in b.action_index and b.action(name).applicable(s_b)
            if by_a != by_b:
                return Found(Difference(so_far.start, (*so_far.trace, name)), False, len(history))
            if by_a:
                steps.append(name)
        for name in steps:
            pair = (a.action(name).progress(s_a), b.action(name).progress(s_b))
            if pair in history:
                continue
            if len(history) >= limit:
                left_out = True
                continue
            history[pair] = Difference(so_far.start, (*so_far.trace, name))
            queue.append(pair)
    return Found(None, not left_out, len(history))


class ProductSearch:
    """Breadth-first search over pairs of bit sets; the first difference ends a shortest trace.

    A pair costs 8 bytes a word (64 atoms; at least one word a model), 8 for its history and 8 to 16 in the hash table:
    about 56 bytes for two models of 81 atoms. Arrays double as they fill; `run` can be called again with more.
    """

    def __init__(self, joint: JointModel, starts: Starts) -> None:
        self.joint = joint
        self.model = (joint.rows("pre"), joint.rows("add"), joint.rows("delete"), joint.known, joint.split)
        first = joint.pack(starts)
        self.states = np.empty((max(1024, len(first)), first.shape[1]), dtype=np.uint64)
        self.parent = np.empty(len(self.states), dtype=np.int32)  # of a start: −1 − its number
        self.action = np.empty(len(self.states), dtype=np.int32)
        self.table = new_table(len(self.states))
        # pairs looked at, pairs known, the action that differs, the first pair with a successor left out (−1: none)
        self.cursor = np.array([0, 0, -1, -1], dtype=np.int64)
        insert_starts(first, self.states, self.parent, self.table, self.cursor)

    @property
    def pairs(self) -> int:
        return int(self.cursor[1])

    def run(self, limit: int, last: bool = True) -> Found:
        """Go on until a difference, the end, or `limit` pairs. With `last` the pairs known then are still looked at."""
        while True:
            capacity = min(len(self.states), max(limit, self.pairs))
            outcome = explore(*self.model, self.states[:capacity], self.parent, self.action, self.table, self.cursor,
                              last and capacity >= limit)  # fmt: skip
            if outcome == FULL and capacity < limit:
                self.grow(min(limit, 2 * len(self.states)))
                continue
            difference = self.trace_back() if outcome == DIFFERS else None
            return Found(difference, outcome == DONE, self.pairs)

    def grow(self, capacity: int) -> None:
        for name in ("states", "parent", "action"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), dtype=old.dtype)
            new[: self.pairs] = old[: self.pairs]
            setattr(self, name, new)
            del old
        self.table = new_table(capacity)
        insert_known(self.states, self.pairs, self.table)

    def trace_back(self) -> Difference:
        place, numbers = int(self.cursor[0]), [int(self.cursor[2])]
        while self.parent[place] >= 0:
            numbers.append(int(self.action[place]))
            place = int(self.parent[place])
        return Difference(-1 - int(self.parent[place]), tuple(self.joint.names[n] for n in reversed(numbers)))

    def contains(self, starts: Starts) -> Bool[np.ndarray, " starts"]:
        found = np.zeros(len(starts), dtype=bool)
        look_up(self.joint.pack(starts), self.states, self.table, found)
        return found

    def known_pairs(self) -> Starts:
        """All pairs found so far, as starts are given: reached from one, they are starts like any other."""
        a, b, split = self.joint.a, self.joint.b, self.joint.split
        known = self.states[: self.pairs]
        return Starts(unpack(known[:, :split], len(a.atoms)), unpack(known[:, split:], len(b.atoms)), origin="reached")


DONE, DIFFERS, FULL = 0, 1, 2


def new_table(capacity: int) -> np.ndarray:
    """Open addressing: the number of a pair at its place, −1 where none is; at most half full."""
    return np.full(1 << (2 * capacity - 1).bit_length(), -1, dtype=np.int32)


@compiled()
def find_place(states, table, row):  # type: ignore[no-untyped-def]
    """The place of a pair in the table: where it is, or where it would go."""
    mask = np.uint64(table.shape[0] - 1)
    place = np.int64(hash_words(row) & mask)
    while table[place] >= 0:
        known = states[table[place]]
        same = True
        for w in range(row.shape[0]):
            if known[w] != row[w]:
                same = False
                break
        if same:
            break
        place = (place + 1) % table.shape[0]
    return place


@compiled()
def insert_starts(first, states, parent, table, cursor):  # type: ignore[no-untyped-def]
    for number in range(first.shape[0]):
        place = find_place(states, table, first[number])
        if table[place] < 0:
            table[place] = cursor[1]
            states[cursor[1]] = first[number]
            parent[cursor[1]] = -1 - number
            cursor[1] += 1


@compiled()
def insert_known(states, count, table):  # type: ignore[no-untyped-def]
    for number in range(count):
        table[find_place(states, table, states[number])] = number


@compiled()
def look_up(rows, states, table, found):  # type: ignore[no-untyped-def]
    for i in range(rows.shape[0]):
        found[i] = table[find_place(states, table, rows[i])] >= 0


@compiled()
def try_actions(pre, known, split, state, common):  # type: ignore[no-untyped-def]
    """The actions that both accept, listed in `common`: (their number, −1), or (_, an action that one refuses)."""
    count = 0
    for action in range(pre.shape[0]):
        by_a, by_b = known[0, action], known[1, action]
        for w in range(split):
            if pre[action, w] & ~state[w]:
                by_a = False
                break
        for w in range(split, state.shape[0]):
            if pre[action, w] & ~state[w]:
                by_b = False
                break
        if by_a != by_b:
            return count, action
        if by_a:
            common[count] = action
            count += 1
    return count, -1


@compiled()
def explore(pre, add, delete, known, split, states, parent, via, table, cursor, last):  # type: ignore[no-untyped-def]
    """Look at one pair after the other from cursor[0] on. A full store ends it, or, if `last`, adds nothing more."""
    words = states.shape[1]
    new = np.empty(words, dtype=np.uint64)
    common = np.empty(pre.shape[0], dtype=np.int64)
    if cursor[3] >= 0:  # what was left out last time may have room now
        cursor[0] = cursor[3]
        cursor[3] = -1
    while cursor[0] < cursor[1]:
        here = cursor[0]
        count, differs = try_actions(pre, known, split, states[here], common)
        if differs >= 0:
            cursor[2] = differs
            return DIFFERS
        for i in range(count):
            action = common[i]
            for w in range(words):
                new[w] = (states[here, w] | add[action, w]) & ~delete[action, w]
            place = find_place(states, table, new)
            if table[place] >= 0:
                continue
            if cursor[1] >= states.shape[0]:
                if not last:
                    return FULL  # this pair is looked at again: what it has added is found in the table then
                if cursor[3] < 0:
                    cursor[3] = here
                continue
            number = cursor[1]
            table[place] = number
            states[number] = new
            parent[number] = here
            via[number] = action
            cursor[1] += 1
        cursor[0] += 1
    return FULL if cursor[3] >= 0 else DONE


# --- random walks ----------------------------------------------------------------------------------------------------


def walk_for_difference(
    joint: JointModel, starts: Starts, seed: int, walks: int = WALKS, length: int = WALK_LENGTH
) -> Difference | None:
    """Random walks by actions that both accept, until one refuses; the trace found is shortened."""
    trace = np.empty(length, dtype=np.int64)
    first = joint.pack(starts)
    stream = np.array([seed], dtype=np.uint64)
    start, steps = walk_at_random(
        joint.rows("pre"), joint.rows("add"), joint.rows("delete"), joint.known, joint.split, first, stream,
        walks, trace,
    )  # fmt: skip
    if start < 0:
        return None
    found = [joint.names[n] for n in trace[:steps]]
    return Difference(int(start), tuple(shorten_trace(joint, joint.states(starts, int(start)), found)))


@compiled()
def walk_at_random(pre, add, delete, known, split, first, stream, walks, trace):  # type: ignore[no-untyped-def]
    state = np.empty(first.shape[1], dtype=np.uint64)
    common = np.empty(pre.shape[0], dtype=np.int64)
    for _ in range(walks):
        start = random_below(stream, 0, first.shape[0])
        state[:] = first[start]
        for step in range(trace.shape[0]):
            count, differs = try_actions(pre, known, split, state, common)
            if differs >= 0:
                trace[step] = differs
                return start, step + 1
            if count == 0:
                break
            action = common[random_below(stream, 0, count)]
            trace[step] = action
            for w in range(state.shape[0]):
                state[w] = (state[w] | add[action, w]) & ~delete[action, w]
    return -1, 0


def shorten_trace(joint: JointModel, start: tuple[State, State], trace: Sequence[str]) -> list[str]:
    """Leave out blocks of actions, longest first, as long as a shorter trace with a difference is left."""
    kept = replay(joint, start, trace)
    size = len(kept)
    while size:
        place = 0
        while place < len(kept):
            shorter = replay(joint, start, [*kept[:place], *kept[place + size :]])
            if 0 < len(shorter) < len(kept):
                kept = shorter
            else:
                place += size
        size //= 2
    return kept


def replay(joint: JointModel, start: tuple[State, State], trace: Sequence[str]) -> list[str]:
    """The trace up to the first action that exactly one model refuses, without those that both refuse; else nothing."""
    s_a, s_b = start
    kept = []
    for name in trace:
        by_a = name in joint.a.action_index and joint.a.action(name).applicable(s_a)
        by_b = name in joint.b.action_index and joint.b.action(name).applicable(s_b)
        if by_a or by_b:
            kept.append(name)
        if by_a != by_b:
            return kept
        if by_a:
            s_a, s_b = joint.a.action(name).progress(s_a), joint.b.action(name).progress(s_b)
    return []
