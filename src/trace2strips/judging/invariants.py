"""Equivalence shown without visiting the pairs of states: what never holds together in any pair that can be reached.

A literal is an atom of A or of B, or its negation.
R is the least set of pairs of literals (a literal with itself too) such that

1. all pairs that hold in a start are in R;
2. if all pairs among pre_A(a) ∪ pre_B(a) ∪ {those of l, m that a does not make true} are in R, and a makes neither l
   nor m false, then (l, m) is in R.

Every pair that holds in a reached joint state is in R: at a start by 1. If all pairs that hold in s are, and a leads
from s to s', then for l, m in s' the literals named in 2 hold in s, so their pairs are in R, and a makes neither l nor
m false; so (l, m) is in R. Hence if for every action a and p ∈ pre_A(a) some pair among pre_B(a) ∪ {¬p} is outside R,
A accepts a wherever B does; with the same for A and B exchanged the models are equivalent. The induction needs of a
start only that its pairs are in R: the proof holds for every further start of which that is true (`Invariants.covers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool

from trace2strips.bits import pack, unpack
from trace2strips.compilation import compiled
from trace2strips.judging.joint import JointModel, Starts
from trace2strips.model.strips import Atom, membership

CHUNK = 65_536  # starts multiplied at a time


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
