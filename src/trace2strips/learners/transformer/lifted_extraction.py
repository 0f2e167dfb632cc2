"""Trained parameters as a lifted STRIPS model: binarise at 0.5, drop what no training label needs, merge heads.

The same reading as `extraction` has for the ground form, with one difference: heads are merged not only if they are
equal but also if one of them, or both together, can stand for both without one more wrong label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from jaxtyping import Bool, Int64

from trace2strips.learners.transformer.lifted_layout import LiftedLayout
from trace2strips.learners.transformer.lifted_network import Bits, LiftedTheta, wrong_positions
from trace2strips.learners.windows.lifted import FALSE, TRUE, LiftedWorld, lift
from trace2strips.learners.windows.predicates import Asking, Predicate
from trace2strips.traces import Dataset

MOST_TRACES = 2_000  # that a bit is tried on; all of them have the last word


def extract_lifted(theta: LiftedTheta, layout: LiftedLayout, dataset: Dataset) -> LiftedWorld:
    """The pruned model, unless it gets more positions of all training traces wrong than the binarised one."""
    plain = Model(layout, theta.binarise())
    pruned = prune(plain, dataset.first(MOST_TRACES))
    worse = pruned.errors(dataset) > plain.errors(dataset)
    return world_of(plain if worse else pruned)


@dataclass(frozen=True)
class Model:
    """Binary parameters with their layout."""

    layout: LiftedLayout
    bits: Bits

    def errors(self, dataset: Dataset) -> int:
        return int(wrong_positions(self.layout.grounding[0], self.bits, dataset).sum())

    def asked(self, head: int) -> list[int]:
        """The parameters whose query asks a head."""
        return [p for p in np.flatnonzero(self.bits.query).tolist() if self.layout.params[p][1] == head]

    def only(self, kept: list[int]) -> Model:
        """The same with these heads alone."""
        layout = self.layout
        small = replace(layout, heads=tuple(layout.heads[i] for i in kept))
        new = {head: i for i, head in enumerate(kept)}
        params = [p for p, (_, head, _) in enumerate(layout.params) if head in new]  # they keep their order
        atoms, fewer = layout.grounding[1], small.grounding[1]
        place = {(new[head], about): i for i, (head, about) in enumerate(atoms) if head in new}
        old = np.array([place[atom] for atom in fewer], dtype=np.int64)
        first = [self.bits.first[kept]]
        for i in range(len(layout.vocabulary.init_states)):
            first.append(self.bits.first[len(layout.heads) + i * len(atoms) + old])
        query, key, value = (part[params] for part in (self.bits.query, self.bits.key, self.bits.value))
        return Model(small, Bits(query, key, value, np.concatenate(first)))


def prune(model: Model, dataset: Dataset) -> Model:
    """Preconditions that explain least go first, invented ones before told ones; then heads are merged, then effects
    that nothing needs are dropped."""
    least = model.errors(dataset)
    model = without_queries(model, dataset, least)
    tested = {model.layout.aligned.get((schema, kinds)) for schema, kinds in tests_of(model.layout)}
    used = {model.layout.params[p][1] for p in np.flatnonzero(model.bits.query).tolist()} | tested
    model = model.only([head for head in range(len(model.layout.heads)) if head in used])
    model = merged(model, dataset, least)
    model = without_effects(model, dataset, least)
    used = {model.layout.params[p][1] for p in np.flatnonzero(model.bits.query).tolist()}
    tested = {model.layout.aligned.get((schema, kinds)) for schema, kinds in tests_of(model.layout)}
    return model.only([head for head in range(len(model.layout.heads)) if head in used | tested])


def tests_of(layout: LiftedLayout) -> Iterator[tuple[tuple[str, tuple[int, ...]], tuple[int, ...]]]:
    yield from zip(layout.projection.tests, layout.types[len(layout.projection.schemas) :], strict=True)


def without_queries(model: Model, dataset: Dataset, least: int) -> Model:
    bits = model.bits
    asked = np.flatnonzero(bits.query).tolist()
    alone = {}
    for p in asked:
        query = np.zeros_like(bits.query)
        query[p] = True
        alone[p] = -replace(model, bits=replace(bits, query=query)).errors(dataset)
    heads, params = model.layout.heads, model.layout.params
    for p in sorted(asked, key=lambda p: (heads[params[p][1]].told is not None, alone[p], p)):
        query = model.bits.query.copy()
        query[p] = False
        shorter = replace(model, bits=replace(model.bits, query=query))
        if shorter.errors(dataset) <= least:
            model = shorter
    return model


def without_effects(model: Model, dataset: Dataset, least: int) -> Model:
    for p in np.flatnonzero(model.bits.key).tolist():
        key = model.bits.key.copy()
        key[p] = False
        shorter = replace(model, bits=replace(model.bits, key=key))
        if shorter.errors(dataset) <= least:
            model = shorter
    return model


def merged(model: Model, dataset: Dataset, least: int) -> Model:
    """A spare head goes where an earlier one, whose effects may be widened by its own, can stand for it."""
    heads = model.layout.heads
    for gone in range(len(heads)):
        if heads[gone].told is not None:
            continue
        for stays in range(gone):
            found = next(
                (m for m in stand_ins(model, stays, gone) if m.errors(dataset) <= least), None
            )
            if found is not None:
                model = found
                break
    return model


def stand_ins(model: Model, stays: int, gone: int) -> Iterator[Model]:
    """The models in which one head is asked wherever another was: with its own effects, with those of both, with those
    of the other; in all orders of the objects. A told head keeps what it begins with."""
    layout, bits = model.layout, model.bits
    if not model.asked(gone) or not (model.asked(stays) or layout.heads[stays].told):
        return
    number = {param: p for p, param in enumerate(layout.params)}
    kinds = layout.heads[gone].types
    for order in permutations(range(len(kinds))):
        if tuple(kinds[i] for i in order) != layout.heads[stays].types:
            continue
        same = [
            (p, number[schema, stays, tuple(pattern[i] for i in order)])
            for p, (schema, head, pattern) in enumerate(layout.params)
            if head == gone
        ]
        mine, theirs = (np.array(column, dtype=np.int64) for column in zip(*same, strict=True))
        query = bits.query.copy()
        query[theirs] |= query[mine]
        query[mine] = False
        yield replace(model, bits=replace(bits, query=query))
        agree = ~(bits.key[mine] & bits.key[theirs] & (bits.value[mine] != bits.value[theirs]))
        is_told = layout.heads[stays].told is not None
        if agree.all():
            yield replace(model, bits=with_effects(replace(bits, query=query), mine, theirs, bits.key[theirs]))
        if not is_told:
            yield replace(model, bits=moved(model, query, mine, theirs, stays, gone, order))


def with_effects(bits: Bits, mine: Int64[np.ndarray, " n"], theirs: Int64[np.ndarray, " n"], kept: Bool[np.ndarray, " n"]) -> Bits:
    """The effects of `mine` are those of `theirs` too, except where these are kept."""
    key, value = bits.key.copy(), bits.value.copy()
    key[theirs] = np.where(kept, key[theirs], key[mine])
    value[theirs] = np.where(kept, value[theirs], value[mine])
    return replace(bits, key=key, value=value)


def moved(model: Model, query: np.ndarray, mine: np.ndarray, theirs: np.ndarray, stays: int, gone: int, order: tuple[int, ...]) -> Bits:
    """All of a head in the place of another."""
    layout = model.layout
    bits = with_effects(replace(model.bits, query=query), mine, theirs, np.zeros(len(mine), dtype=bool))
    first = bits.first.copy()
    first[stays] = first[gone]
    _, atoms = layout.grounding
    place = {atom: i for i, atom in enumerate(atoms)}
    for state in range(len(layout.vocabulary.init_states)):
        begin = len(layout.heads) + state * len(atoms)
        for (head, about), i in place.items():
            if head == gone and (other := place.get((stays, tuple(about[j] for j in order)))) is not None:
                first[begin + other] = first[begin + i]
    return replace(bits, first=first)


def world_of(model: Model) -> LiftedWorld:
    """In words."""
    layout, bits = model.layout, model.bits
    projection, vocabulary = layout.projection, layout.vocabulary
    adds, deletes = [0] * len(layout.heads), [0] * len(layout.heads)
    asked: list[list[Asking]] = [[] for _ in layout.heads]
    for p, (schema, head, pattern) in enumerate(layout.params):
        if bits.key[p]:
            bit = 1 << projection.bit[len(pattern)][schema, pattern]
            signs = deletes if bits.value[p] else adds
            signs[head] |= bit
        if bits.query[p]:
            asked[head].append((schema, pattern))
    for i, (schema_name, kinds) in enumerate(tests_of(layout)):
        if (tested := layout.aligned.get((schema_name, kinds))) is not None:
            asked[tested].append((len(projection.schemas) + i, tuple(range(len(kinds)))))
    told = {word[2] for word in layout.words if word is not None and word[1] < 0}
    _, atoms = layout.grounding
    predicates = []
    for i, head in enumerate(layout.heads):
        start = FALSE if bits.first[i] or not vocabulary.has_init_false else TRUE
        begins = (head.told[0], *head.told[1]) if head.told in told and head.told else start
        at = frozenset(
            ("named", name, *about)
            for number, name in enumerate(vocabulary.init_states)
            for j, (whose, about) in enumerate(atoms)
            if whose == i and not bits.first[len(layout.heads) + number * len(atoms) + j]
        )
        if asked[i]:
            predicates.append(Predicate(head.types, adds[i], deletes[i], begins, at, tuple(asked[i])))
    names = vocabulary.init_atoms
    return lift(predicates, projection, layout.types, layout.naming, names)
