"""What a lifted world says of each attempt of a dataset: which preconditions are false there.

The ground atoms that an action touches are few, however many objects there are; so a trace is followed atom by atom,
not as rows of bits over all atoms. `LiftedWorld.over_tokens` is the same as a ground model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, UInt64

from trace2strips.compilation import compiled
from trace2strips.learners.windows.lifted import EVERYWHERE, LiftedWorld, Place
from trace2strips.model.vocabulary import INIT_FALSE, INIT_STATE, Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import schema_of

ALL_TRUE, TOLD = -2, -1  # how a trace starts that names no state
MOST = 64  # preconditions of one action that are told apart


@compiled(vector=True)
def follow(  # type: ignore[no-untyped-def]
    pre_start, pre, add_start, add, delete_start, delete, always, true_at, kinds, tokens, refused, offsets, out,
    says_refused,
):  # fmt: skip
    """out[i]: which preconditions of the action are false there, as bits; what was refused changes nothing. `true_at`
    has, sorted, state · atoms + atom for each atom that is true at a named start."""
    atoms = len(always)
    value = np.zeros(len(always), dtype=np.bool_)
    stamp = np.full(len(always), -1, dtype=np.int64)
    for t in range(len(offsets) - 1):
        start = np.int64(ALL_TRUE)  # what no action has touched is true
        for i in range(offsets[t], offsets[t + 1]):
            token = tokens[i]
            if kinds[token] == INIT_FALSE:
                start = np.int64(TOLD)
            elif kinds[token] == INIT_STATE:
                start = np.int64(token)
            out[i] = 0
            says_refused[i] = False
            for k in range(pre_start[token], pre_start[token + 1]):
                atom = pre[k]
                holds = value[atom]
                if stamp[atom] != t:
                    holds = start == ALL_TRUE or (start == TOLD and always[atom])
                    if start >= 0:
                        place = np.searchsorted(true_at, start * atoms + atom)
                        holds = place < len(true_at) and true_at[place] == start * atoms + atom
                if not holds:
                    says_refused[i] = True
                    if k - pre_start[token] < 64:
                        out[i] |= np.uint64(1) << np.uint64(k - pre_start[token])
            if not refused[i]:
                for k in range(delete_start[token], delete_start[token + 1]):
                    stamp[delete[k]], value[delete[k]] = t, False
                for k in range(add_start[token], add_start[token + 1]):  # what is added and deleted is added
                    stamp[add[k]], value[add[k]] = t, True


def simulate(
    lifted: LiftedWorld, dataset: Dataset
) -> tuple[UInt64[np.ndarray, " positions"], Bool[np.ndarray, " positions"]]:
    """For each position its false preconditions (bit k is the k-th of the attempt's schema), and whether there are
    any; given what worked before by the labels."""
    return Simulation(lifted, dataset).run()


class Simulation:
    """A lifted world over the atoms that a dataset touches, to be followed with or without some effect."""

    def __init__(self, lifted: LiftedWorld, dataset: Dataset) -> None:
        self.dataset, vocabulary = dataset, dataset.vocabulary
        schemas = {(Kind.ACTION, a.name, a.pattern): i for i, a in enumerate(lifted.actions)}
        schemas |= {(Kind.TEST_ATOM, a.name, a.pattern): ~i for i, a in enumerate(lifted.tests)}
        told: dict[tuple[str, tuple[int, ...]], list[Place]] = defaultdict(list)
        for number, predicate in enumerate(lifted.predicates):
            if predicate.start == "told":
                told[predicate.tells].append((number, tuple(range(len(predicate.types)))))
        atoms: dict[tuple[int, tuple[str, ...]], int] = {}
        pre, add, delete = Rows(), Rows(), Rows()
        occurs = np.bincount(dataset.tokens, minlength=len(vocabulary)) > 0
        self.tokens: dict[int, list[int]] = defaultdict(list)  # of each action, by its number; ~number of each test
        kinds = map(Kind, vocabulary.kinds.tolist())
        for token, (kind, subject, used) in enumerate(zip(kinds, vocabulary.subjects, occurs, strict=True)):
            parts: list[list[int]] = [[], [], []]
            if used and kind in (Kind.ACTION, Kind.TEST_ATOM, Kind.INIT_ATOM):
                read = lifted.naming.words if kind == Kind.INIT_ATOM else lifted.naming.action
                word, *arguments = read(subject)
                (_, pattern), different = schema_of(word, tuple(arguments))

                def ground(places: Iterable[Place], objects: tuple[str, ...] = different) -> list[int]:
                    found = [(number, tuple(objects[i] for i in where)) for number, where in places]
                    return [atoms.setdefault(atom, len(atoms)) for atom in found]

                if kind == Kind.INIT_ATOM:
                    parts[1] = ground(told[word, pattern])
                elif (which := schemas.get((kind, word, pattern))) is not None:
                    schema = lifted.actions[which] if which >= 0 else lifted.tests[~which]
                    parts = [ground(places) for places in (schema.pre, schema.add, schema.delete)]
                    self.tokens[which].append(token)
            for rows, part in zip((pre, add, delete), parts, strict=True):
                rows.append(part)
        self.nobody = len(atoms)  # an atom that nobody asks
        state = {name: vocabulary.number(Kind.INIT_STATE, name) for name in vocabulary.init_states}
        true_at = [
            state[start] * (len(atoms) + 1) + atoms[number, tuple(objects)]
            for number, predicate in enumerate(lifted.predicates)
            for named, *objects in predicate.true_at
            for start in (state if named == EVERYWHERE else (named,))
            if start in state and (number, tuple(objects)) in atoms
        ]
        self.true_at = np.sort(np.array(true_at, dtype=np.int64))
        everywhere = {
            (number, tuple(objects))
            for number, predicate in enumerate(lifted.predicates)
            for named, *objects in predicate.true_at
            if named == EVERYWHERE
        }
        starts_true = [lifted.predicates[atom[0]].start == "true" or atom in everywhere for atom in atoms]
        self.always = np.array([*starts_true, False], dtype=bool)
        self.pre, self.add, self.delete = pre.arrays, add.arrays, delete.arrays

    def run(
        self, without: tuple[str, int, int] | None = None
    ) -> tuple[UInt64[np.ndarray, " positions"], Bool[np.ndarray, " positions"]]:
        """`without`: "add" or "delete", an action's number, and which of its effects is left out."""
        parts = {"add": self.add, "delete": self.delete}
        if without is not None:
            part, action, k = without
            begin, flat = parts[part]
            flat = flat.copy()
            flat[begin[self.tokens[action]] + k] = self.nobody
            parts[part] = begin, flat
        dataset = self.dataset
        out = np.empty(len(dataset.tokens), dtype=np.uint64)
        refused = np.empty(len(dataset.tokens), dtype=bool)
        follow(
            *self.pre, *parts["add"], *parts["delete"], self.always, self.true_at, dataset.vocabulary.kinds,
            dataset.tokens, dataset.inapplicable, dataset.offsets, out, refused,
        )  # fmt: skip
        return out, refused


class Rows:
    """Lists of atoms, one after the other."""

    def __init__(self) -> None:
        self.start, self.flat = [0], list[int]()

    def append(self, row: list[int]) -> None:
        self.flat += row
        self.start.append(len(self.flat))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.start, dtype=np.int64), np.array(self.flat, dtype=np.int64)


def idle_effects(lifted: LiftedWorld, dataset: Dataset) -> Iterator[tuple[int, tuple[str, int, tuple[int, ...]]]]:
    """Effects that changed nothing where their action worked: a predicate's number, and "adds" or "deletes", the
    action's number and the places of its objects."""
    observed = replace(lifted, actions=tuple(replace(a, pre=(*a.delete, *a.add)[:MOST]) for a in lifted.actions))
    simulation = Simulation(observed, dataset)
    false, _ = simulation.run()
    for number, action in enumerate(lifted.actions):
        mine = false[np.isin(dataset.tokens, simulation.tokens[number]) & ~dataset.inapplicable]
        for k, (predicate, places) in enumerate((*action.delete, *action.add)[:MOST]):
            was_false = (mine >> np.uint64(k) & np.uint64(1)).astype(bool)
            is_delete = k < len(action.delete)
            if len(mine) and (was_false.all() if is_delete else not was_false.any()):
                yield predicate, ("deletes" if is_delete else "adds", number, places)


def wrong_traces(lifted: LiftedWorld, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
    """Which traces have a position that is predicted wrongly. Up to the first one the labels and what is predicted are
    the same history."""
    _, refused = simulate(lifted, dataset)
    before = np.append(0, np.cumsum(refused != dataset.inapplicable))[dataset.offsets]
    return before[1:] > before[:-1]
