"""Do two models accept the same traces? `compare` answers *equivalent*, *different* or *not distinguished*.

Both models walk together: a joint state is a pair (s_A, s_B), a joint step is an action that both accept. The models
differ iff some joint state that can be reached from a start has an action which exactly one of them accepts; an action
that a model does not have is one it always refuses. `ProductSearch` looks at all pairs, breadth first.

`find_invariants` shows equivalence without visiting the pairs. A literal is an atom of A or of B, or its negation.
R is the least set of pairs of literals (a literal with itself too) such that

1. all pairs that hold in a start are in R;
2. if all pairs among pre_A(a) ∪ pre_B(a) ∪ {those of l, m that a does not make true} are in R, and a makes neither l
   nor m false, then (l, m) is in R.

Every pair that holds in a reached joint state is in R: at a start by 1. If all pairs that hold in s are, and a leads
from s to s', then for l, m in s' the literals named in 2 hold in s, so their pairs are in R, and a makes neither l nor
m false; so (l, m) is in R. Hence if for every action a and p ∈ pre_A(a) some pair among pre_B(a) ∪ {¬p} is outside R,
A accepts a wherever B does; with the same for A and B exchanged the models are equivalent. The induction needs of a
start only that its pairs are in R: the proof holds for every further start of which that is true (`Invariants.covers`).

May import up to `sources`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt64

from trace2strips.bits import pack, random_below, unpack
from trace2strips.compilation import compiled
from trace2strips.errors import ModelError, UserError, suggest
from trace2strips.judging.sources import Source
from trace2strips.model.strips import (
    Atom,
    State,
    StripsAction,
    StripsModel,
    is_negative_by_definition,
    membership,
    state_of,
    walk,
)
from trace2strips.pddl import read_model_problem
from trace2strips.worlds import Domain

MAX_PAIRS = 4_000_000
QUICK_PAIRS = 200_000  # searched before the invariants are tried: shallow differences and small spaces end here
MOST_PAIRS = 1_000_000_000  # pairs are numbered by 32 bits
MOST_STARTS = 10_000_000
WALKS, WALK_LENGTH = 2_000, 1_000  # random walks where the search had to stop
CHUNK = 65_536  # starts multiplied at a time

EQUIVALENT, DIFFERENT, NOT_DISTINGUISHED = "equivalent", "different", "not distinguished"
EXHAUSTED, INVARIANTS = "exhausted", "invariants"


@dataclass(frozen=True)
class Starts:
    """Pairs of initial states, one row each: what holds in A and what holds in B. `names` may be empty."""

    a: Bool[np.ndarray, "starts atoms_a"]
    b: Bool[np.ndarray, "starts atoms_b"]
    names: tuple[str, ...] = ()
    origin: str = "given starts"

    def __len__(self) -> int:
        return len(self.a)

    @staticmethod
    def of(a: StripsModel, b: StripsModel, pairs: Mapping[str, tuple[State, State]], origin: str = "given") -> Starts:
        first, second = (membership(m, [m.state(p[i]) for p in pairs.values()]) for i, m in enumerate((a, b)))
        return Starts(first, second, tuple(pairs), origin)

    @cached_property
    def joint(self) -> Bool[np.ndarray, "starts atoms"]:
        return np.concatenate([self.a, self.b], axis=1)

    def and_also(self, others: Starts) -> Starts:
        return Starts(np.concatenate([self.a, others.a]), np.concatenate([self.b, others.b]), (), self.origin)


def everything_true(a: StripsModel, b: StripsModel) -> Starts:
    """The start of f_M: nothing is touched yet, so f_A = f_B on all traces is what is asked."""
    every = frozenset(a.atoms), frozenset(b.atoms)
    return Starts.of(a, b, {"every atom true": every}, "every atom true, as f_M has it")


@dataclass(frozen=True)
class JointModel:
    """Two models over the union of their actions. A joint state is A's words, then B's."""

    a: StripsModel
    b: StripsModel

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(action.name for model in (self.a, self.b) for action in model.actions))

    @cached_property
    def sides(self) -> tuple[StripsModel, StripsModel]:
        """Both models with all actions; one that a model lacks has no lists there, and `known` says so."""
        return tuple(  # type: ignore[return-value]
            StripsModel(m.atoms, tuple(m.action(n) if n in m.action_index else StripsAction(n) for n in self.names))
            for m in (self.a, self.b)
        )

    @cached_property
    def known(self) -> Bool[np.ndarray, "2 actions"]:
        return np.array([[n in m.action_index for n in self.names] for m in (self.a, self.b)], dtype=bool)

    def rows(self, part: str) -> UInt64[np.ndarray, "actions words"]:
        lists = [membership(side, [getattr(action, part) for action in side.actions]) for side in self.sides]
        return np.concatenate([pack(matrix) for matrix in lists], axis=1)

    @property
    def split(self) -> int:
        """The number of A's words."""
        return pack(np.zeros((0, len(self.a.atoms)), dtype=bool)).shape[1]

    def pack(self, starts: Starts) -> UInt64[np.ndarray, "starts words"]:
        return np.concatenate([pack(starts.a), pack(starts.b)], axis=1)

    def states(self, start: Starts, number: int) -> tuple[State, State]:
        return state_of(self.a, start.a[number]), state_of(self.b, start.b[number])


# --- the product of both state spaces --------------------------------------------------------------------------------


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
    value = np.uint64(0)
    for w in range(row.shape[0]):
        value = (value ^ row[w]) + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value = value ^ (value >> np.uint64(31))
    mask = np.uint64(table.shape[0] - 1)
    place = np.int64(value & mask)
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


# --- invariants ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counterpart:
    """What is proven of an atom of one model: equal or opposite to the atom `other` of the other model, or constant."""

    atom: Atom
    relation: str  # "equal", "opposite", "always true", "always false", "none"
    other: Atom | None = None


@dataclass(frozen=True)
class Invariants:
    """R of the module's docstring: `together[l, m]` is False where l and m never hold together in a reached pair.

    Literals are numbered: A's atoms, B's atoms, then the negations of both in the same order.
    """

    joint: JointModel
    together: Bool[np.ndarray, "literals literals"]

    @property
    def atoms(self) -> int:
        return len(self.together) // 2

    def consistent(self, literals: Sequence[int]) -> bool:
        """No two of them are known never to hold together."""
        return bool(self.together[np.ix_(literals, literals)].all())

    def preconditions(self, action: str) -> tuple[list[int] | None, list[int] | None]:
        """The literals that A, and those that B, asks for; None for a model without the action."""
        a, b = self.joint.a, self.joint.b
        return (
            sorted(a.atom_index[p] for p in a.action(action).pre) if action in a.action_index else None,
            sorted(len(a.atoms) + b.atom_index[p] for p in b.action(action).pre) if action in b.action_index else None,
        )

    @cached_property
    def unproven(self) -> tuple[tuple[str, str, Atom | None], ...]:
        """(action, side, atom): it is not shown that this side's precondition follows from the other's; the atom is
        None where the side does not have the action at all. Empty: the models are equivalent.
        """
        open_questions: list[tuple[str, str, Atom | None]] = []
        every = [*self.joint.a.atoms, *self.joint.b.atoms]
        for action in self.joint.names:
            pre_a, pre_b = self.preconditions(action)
            for side, mine, theirs in (("A", pre_a, pre_b), ("B", pre_b, pre_a)):
                if theirs is None or not self.consistent(theirs):
                    continue  # the other side never accepts it
                if mine is None:
                    open_questions.append((action, side, None))
                    continue
                for literal in mine:
                    if self.consistent([*theirs, literal + self.atoms]):
                        open_questions.append((action, side, every[literal]))
        return tuple(open_questions)

    @property
    def prove(self) -> bool:
        """The models are equivalent from every start that the invariants cover."""
        return not self.unproven

    def covers(self, starts: Starts) -> Bool[np.ndarray, " starts"]:
        """Whether the invariants, and so the proof, hold for these starts too: all their pairs of literals are in R."""
        never = (~self.together).astype(np.float32)
        parts = [np.zeros(0, dtype=bool)]
        for literals in literal_rows(starts):
            parts.append(((literals @ never) * literals).sum(axis=1) == 0)
        return np.concatenate(parts)

    def mapping(self, of_b: bool = False) -> tuple[Counterpart, ...]:
        """For each atom of A: constant, or the atom of B (of the same name, if that will do) that it always equals.

        With `of_b` the same for B's atoms, the other way round.
        """
        n, split, never = self.atoms, len(self.joint.a.atoms), ~self.together
        ours, theirs = (self.joint.b, self.joint.a) if of_b else (self.joint.a, self.joint.b)
        mine, other = (split, slice(0, split)) if of_b else (0, slice(split, n))
        other_false = slice(other.start + n, other.stop + n)
        found = []
        for true, atom in enumerate(ours.atoms, start=mine):
            false = true + n
            equal = never[true, other_false] & never[false, other]
            opposite = never[true, other] & never[false, other_false]
            namesake = theirs.atom_index.get(atom)
            if never[true, true]:
                found.append(Counterpart(atom, "always false"))
            elif never[false, false]:
                found.append(Counterpart(atom, "always true"))
            elif namesake is not None and equal[namesake]:
                found.append(Counterpart(atom, "equal", atom))
            elif equal.any():
                found.append(Counterpart(atom, "equal", theirs.atoms[int(np.argmax(equal))]))
            elif opposite.any():
                found.append(Counterpart(atom, "opposite", theirs.atoms[int(np.argmax(opposite))]))
            else:
                found.append(Counterpart(atom, "none"))
        return tuple(found)


def literal_rows(starts: Starts) -> Iterator[np.ndarray]:
    """The literals that hold in each start as 0 and 1, some starts at a time."""
    for i in range(0, len(starts), CHUNK):
        states = starts.joint[i : i + CHUNK]
        yield np.concatenate([states, ~states], axis=1).astype(np.float32)


def pairs_at_start(starts: Starts) -> Bool[np.ndarray, "literals literals"]:
    """Rule 1: the pairs of literals that hold in some start."""
    size = 2 * starts.joint.shape[1]
    together = np.zeros((size, size), dtype=bool)
    for literals in literal_rows(starts):
        together |= literals.T @ literals > 0
    return together


def find_invariants_slowly(joint: JointModel, starts: Starts) -> Invariants:
    """Rules 1 and 2 word for word."""
    together = pairs_at_start(starts)
    literals, atoms, split = range(len(together)), len(together) // 2, len(joint.a.atoms)
    number = [{atom: i for i, atom in enumerate(joint.a.atoms)}, {p: split + i for i, p in enumerate(joint.b.atoms)}]
    common = [name for name in joint.names if name in joint.a.action_index and name in joint.b.action_index]
    before = -1
    while together.sum() != before:
        before = together.sum()
        for name in common:
            lists = list(zip(number, (joint.a.action(name), joint.b.action(name)), strict=True))
            pre = {index[p] for index, action in lists for p in action.pre}
            makes = {index[p] for index, action in lists for p in action.add}
            makes |= {index[p] + atoms for index, action in lists for p in action.delete}
            for one in literals:
                for other in literals:
                    if {(one + atoms) % (2 * atoms), (other + atoms) % (2 * atoms)} & makes:
                        continue
                    needed = pre | ({one, other} - makes)
                    if all(together[x, y] for x in needed for y in needed):
                        together[one, other] = True
    return Invariants(joint, together)


def find_invariants(joint: JointModel, starts: Starts) -> Invariants:
    """The least R that both rules allow, by repeating rule 2 over rows of bits until nothing is new."""
    together = pack(pairs_at_start(starts))
    atoms, split = starts.joint.shape[1], len(joint.a.atoms)
    needs, makes = np.zeros((2, len(joint.names), 2 * atoms), dtype=bool)
    for side, columns in zip(joint.sides, (slice(0, split), slice(split, atoms)), strict=True):
        needs[:, columns] |= membership(side, [action.pre for action in side.actions])
        makes[:, columns] |= membership(side, [action.add for action in side.actions])
        negative = slice(columns.start + atoms, columns.stop + atoms)
        makes[:, negative] |= membership(side, [action.delete for action in side.actions])
    touches = makes | np.roll(makes, atoms, axis=1)
    both = joint.known.all(axis=0)
    while add_pairs(together, needs[both], makes[both], pack(makes[both]), pack(~touches[both])):
        pass
    return Invariants(joint, unpack(together, 2 * atoms))


@compiled()
def has_bit(row, i):  # type: ignore[no-untyped-def]
    return (row[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != np.uint64(0)


@compiled()
def add_pairs(together, needs, makes, made, untouched):  # type: ignore[no-untyped-def]
    """Rule 2 for each action once; whether a pair is new.

    Two untouched literals must be a pair in R to be added to it, so what is new has a literal that the action makes.
    """
    literals, words = together.shape
    new = False
    fits = np.empty(words, dtype=np.uint64)  # untouched literals whose pairs with all preconditions are in R
    for action in range(needs.shape[0]):
        fits[:] = np.uint64(0)
        for literal in range(literals):
            fits[literal >> 6] |= together[literal, literal >> 6] & (np.uint64(1) << np.uint64(literal & 63))
        for p in range(literals):
            if needs[action, p]:
                for w in range(words):
                    fits[w] &= together[p, w]
        possible = True
        for p in range(literals):
            if needs[action, p] and not has_bit(fits, p):
                possible = False
                break
        if not possible:
            continue
        for w in range(words):
            fits[w] &= untouched[action, w]
        for literal in range(literals):
            if not makes[action, literal] and not has_bit(fits, literal):
                continue
            for w in range(words):
                row = together[literal, w] | made[action, w]
                if makes[action, literal]:
                    row |= fits[w]
                if row != together[literal, w]:
                    together[literal, w] = row
                    new = True
    return new


# --- the answer ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """The answer of `compare` and what it rests on."""

    verdict: str  # equivalent, different, not distinguished
    how: tuple[str, ...]  # equivalent: exhausted, invariants, or both
    pairs: int  # different joint states that were looked at
    starts: int  # different starts among them
    origin: str  # where the starts come from
    further: int = 0  # other starts, drawn apart from those, that the proof covers too
    added: int = 0  # other starts that it did not cover: it was done again, with them among `starts`
    only_a: tuple[str, ...] = ()  # actions that only A has: B always refuses them
    only_b: tuple[str, ...] = ()
    trace: tuple[str, ...] | None = None  # different: both accept all but its last action
    shortest: bool = False  # no shorter trace tells the models apart
    start: str | None = None  # where the trace begins, and what holds there
    start_a: tuple[Atom, ...] = ()
    start_b: tuple[Atom, ...] = ()
    refused_by: str | None = None  # A or B
    missing: tuple[Atom, ...] | None = None  # its preconditions that are false then; None: it has no such action
    mapping: tuple[Counterpart, ...] = ()  # of A's atoms in B
    mapping_back: tuple[Counterpart, ...] = ()  # of B's atoms in A

    @property
    def exit_code(self) -> int:
        return {EQUIVALENT: 0, DIFFERENT: 1, NOT_DISTINGUISHED: 3}[self.verdict]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(
    a: StripsModel,
    b: StripsModel,
    starts: Starts | None = None,
    max_pairs: int = MAX_PAIRS,
    seed: int = 0,
    further: Starts | None = None,
    exhaust: bool = False,
) -> Comparison:
    """Do A and B accept the same traces from these starts (without any: from F, as f_M)?

    A short search, then invariants, then the search up to `max_pairs`, then random walks. If what was shown does not
    cover the `further` starts, it is shown again for both. With `exhaust` the search goes on to its limit even where
    invariants have settled it.
    """
    if not 1 <= max_pairs <= MOST_PAIRS:
        raise UserError(f"cannot look at {max_pairs} pairs of states", hint=f"1 to {MOST_PAIRS}")
    check_seed(seed)
    starts = everything_true(a, b) if starts is None else starts
    if not len(starts):
        raise UserError("there is no start to compare from", hint="at least one initial state")
    joint = JointModel(a, b)
    search = ProductSearch(joint, starts)
    result = Comparison(
        NOT_DISTINGUISHED, (), search.pairs, search.pairs, starts.origin,
        only_a=tuple(np.array(joint.names, dtype=object)[~joint.known[1]]),
        only_b=tuple(np.array(joint.names, dtype=object)[~joint.known[0]]),
    )  # fmt: skip
    found = search.run(min(QUICK_PAIRS, max_pairs), last=False)
    if found.difference:
        return with_difference(replace(result, pairs=found.pairs), joint, starts, found.difference, True)
    invariants = find_invariants(joint, starts)
    if not found.exhausted and (exhaust or not invariants.prove):
        found = search.run(max_pairs)
    if found.difference and invariants.prove:
        raise RuntimeError("internal error: invariants and search contradict each other")
    result = replace(
        result, pairs=found.pairs, mapping=invariants.mapping(), mapping_back=invariants.mapping(of_b=True)
    )
    if found.difference:
        return with_difference(result, joint, starts, found.difference, True)
    how = ((EXHAUSTED,) if found.exhausted else ()) + ((INVARIANTS,) if invariants.prove else ())
    if how:
        if further is not None:
            covered = invariants.covers(further) if invariants.prove else search.contains(further)
            if not covered.all():
                everything = compare(a, b, starts.and_also(further), max_pairs, seed, None, exhaust)
                return replace(everything, added=int((~covered).sum()))
            result = replace(result, further=ProductSearch(joint, starts.and_also(further)).pairs - result.starts)
        return replace(result, verdict=EQUIVALENT, how=how)
    deeper = walk_for_difference(joint, starts, seed)
    return with_difference(result, joint, starts, deeper, False) if deeper else result


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**63:
        raise UserError(f"the seed {seed} is out of range", hint="0 to 2^63 - 1")


def with_difference(
    result: Comparison, joint: JointModel, starts: Starts, difference: Difference, shortest: bool
) -> Comparison:
    """Fill in who refuses what, after f_M of both models, by its definition, has confirmed the trace."""
    states, trace = joint.states(starts, difference.start), difference.trace
    refusing = [negative_from(m, s, trace) for m, s in zip((joint.a, joint.b), states, strict=True)]
    before = [negative_from(m, s, trace[:-1]) for m, s in zip((joint.a, joint.b), states, strict=True)]
    if any(before) or refusing[0] == refusing[1]:
        raise RuntimeError(f"internal error: the trace {trace} is no counterexample")
    refuser, state = (joint.a, states[0]) if refusing[0] else (joint.b, states[1])
    missing = None
    if trace[-1] in refuser.action_index:
        *_, (last, _) = walk(refuser, trace, state)
        missing = in_order(refuser, refuser.action(trace[-1]).pre - last)
    return replace(
        result, verdict=DIFFERENT, how=(), trace=trace, shortest=shortest,
        start=starts.names[difference.start] if starts.names else f"start {difference.start + 1}",
        start_a=in_order(joint.a, states[0]), start_b=in_order(joint.b, states[1]),
        refused_by="A" if refusing[0] else "B", missing=missing,
    )  # fmt: skip


def in_order(model: StripsModel, atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    return tuple(sorted(atoms, key=model.atom_index.__getitem__))


def negative_from(model: StripsModel, init: State, trace: Sequence[str]) -> bool:
    """f_M of the trace after a setup action that makes `init` true and all else false; an unknown action is refused."""
    begin = "init"
    while begin in model.action_index:
        begin += "-"
    setup = StripsAction(begin, add=init, delete=frozenset(model.atoms) - init)
    unknown = [i for i, name in enumerate(trace) if name not in model.action_index]
    known = trace[: unknown[0]] if unknown else trace
    extended = StripsModel(model.atoms, (setup, *model.actions))
    return bool(unknown) or is_negative_by_definition(extended, [begin, *known])


# --- what is compared, and from where --------------------------------------------------------------------------------


def with_final_values(a: Source, b: Source) -> tuple[StripsModel, StripsModel]:
    """Both models, with a `test-p` for each final value that the traces of a run tell and both models can."""
    tested = dict.fromkeys(atom for side in (a, b) if side.world for atom in side.world.vocabulary.test_atoms)
    actions = [
        StripsAction(f"test-{atom}", pre=frozenset({atom}))
        for atom in tested
        if all(atom in m.atom_index and f"test-{atom}" not in m.action_index for m in (a.model, b.model))
    ]
    first, second = (StripsModel(m.atoms, (*m.actions, *actions), m.name) for m in (a.model, b.model))
    return first, second


def told_starts(a: Source, b: Source, atoms: Iterable[Atom], origin: str) -> Starts:
    """One start: the atoms told are true, each model takes those it has."""
    known = tuple(dict.fromkeys((*a.model.atoms, *b.model.atoms)))
    told = tuple(dict.fromkeys(atoms))
    for atom in told:
        if atom not in known:
            raise ModelError(f"unknown atom {atom!r}", hint=suggest(atom, known, "atoms"))
    pair = frozenset(told) & frozenset(a.model.atoms), frozenset(told) & frozenset(b.model.atoms)
    return Starts.of(a.model, b.model, {origin: pair}, origin)


def problem_starts(a: Source, b: Source, path: Path) -> Starts:
    """The initial state of a propositional problem file."""
    union = StripsModel(tuple(dict.fromkeys((*a.model.atoms, *b.model.atoms))), ())
    return told_starts(a, b, read_model_problem(path, union).init, f"the initial state of {path}")


def find_starts(
    a: Source, b: Source, domain: Domain | None = None, count: int = 100_000, seed: int = 0
) -> tuple[Starts, Starts | None]:
    """The starts that the sides themselves suggest, and further ones, drawn apart, to check a proof on.

    With a domain: its generated initial states, or those a run knows by name. Two runs: their named states. Else F.
    """
    if not 1 <= count <= MOST_STARTS:
        raise UserError(f"cannot draw {count} starts", hint=f"1 to {MOST_STARTS}")
    check_seed(seed)
    domain = domain or a.domain or b.domain
    named = [side.named_states for side in (a, b) if side.named_states]
    if named and (domain is not None or len(named) == 2):
        names = named[0]
        told = {} if domain is None else {f"s{i}": row for i, row in enumerate(domain.state_set(len(names)))}
        # s0 of 50 states is another state than s0 of 100
        if set(names) != set(named[-1]) or (domain is not None and set(names) != set(told)):
            raise UserError("the sides do not have the same named initial states", hint="--init ATOMS")

        def state(side: Source, name: str) -> State:
            if side.world is not None and side.named_states:
                return side.world.states[name]
            assert domain is not None
            return state_of(side.model, side.tell(told[name][None], domain.model.atoms)[0])

        pairs = {name: (state(a, name), state(b, name)) for name in names}
        return Starts.of(a.model, b.model, pairs, "named initial states"), None
    if domain is None:
        return everything_true(a.model, b.model), None
    rng = np.random.default_rng([seed, 4])
    atoms, origin = domain.model.atoms, f"generated initial states of {domain.name}"
    draws = [np.unique(domain.draw_states(rng, count), axis=0) for _ in range(2)]
    first, second = (Starts(a.tell(rows, atoms), b.tell(rows, atoms), origin=origin) for rows in draws)
    return first, second
