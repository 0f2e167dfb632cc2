"""Trained parameters as a lifted STRIPS model: binarise at 0.5, drop what no training label needs, merge heads.

The same reading as `extraction` has for the ground form, with one difference: heads are merged not only if they are
equal but also if one of them, or both together, can stand for both without one more wrong label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from jaxtyping import Bool, Float, Int64

from trace2strips.learners.lifted_transformer.layout import LiftedLayout
from trace2strips.learners.lifted_transformer.network import Bits, LiftedTheta, wrong_positions
from trace2strips.learners.windows.lifted import FALSE, TRUE, LiftedWorld, Place, lift
from trace2strips.learners.windows.predicates import Asking, Predicate
from trace2strips.learners.windows.simulation import idle_effects
from trace2strips.traces import Dataset

MOST_TRACES = 2_000  # that a bit is tried on; all of them have the last word


def read_model(theta: LiftedTheta, layout: LiftedLayout, dataset: Dataset) -> Model:
    """The pruned model, unless it gets more positions of all training traces wrong than the binarised one."""
    plain = Model(layout, theta.binarise(), np.abs(theta.first - 0.5))
    pruned = prune(plain, dataset.first(MOST_TRACES))
    return plain if pruned.errors(dataset) > plain.errors(dataset) else pruned


def without_idle_effects(lifted: LiftedWorld, dataset: Dataset) -> LiftedWorld:
    """Effects go that never changed anything where their action worked. Others stay although no label may need them:
    gradients made them, and a car that has left a port may be looked for there in other traces."""
    idle = set(idle_effects(lifted, dataset))

    def kept(part: str, number: int, places: tuple[Place, ...]) -> tuple[Place, ...]:
        return tuple(place for place in places if (place[0], (part, number, place[1])) not in idle)

    actions = (
        replace(action, add=kept("adds", i, action.add), delete=kept("deletes", i, action.delete))
        for i, action in enumerate(lifted.actions)
    )
    return replace(lifted, actions=tuple(actions))


@dataclass(frozen=True)
class Model:
    """Binary parameters with their layout."""

    layout: LiftedLayout
    bits: Bits
    sureness: Float[np.ndarray, " firsts"]  # how far what atoms begin with was from either

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
        begins = [len(layout.heads) + i * len(atoms) for i in range(len(layout.vocabulary.init_states))]
        first = np.concatenate((np.array(kept, dtype=np.int64), *(begin + old for begin in begins)))
        query, key, value = (part[params] for part in (self.bits.query, self.bits.key, self.bits.value))
        return Model(small, Bits(query, key, value, self.bits.first[first]), self.sureness[first])


def softened(model: Model, gone: int) -> tuple[LiftedLayout, LiftedTheta]:
    """Without one head, and halfway back to where gradients can move it: any action may ask any head that is left."""
    small = model.only([head for head in range(len(model.layout.heads)) if head != gone])
    layout = replace(small.layout, heads=tuple(replace(head, owner=None) for head in small.layout.heads))
    query, key, value, first = (
        np.where(part, high, low).astype(np.float32)
        for part, low, high in zip(
            (small.bits.query, small.bits.key, small.bits.value, small.bits.first),
            (0.1, 0.1, 0.2, 0.2), (0.8, 0.8, 0.8, 0.8), strict=True,
        )
    )  # fmt: skip
    return layout, LiftedTheta(query, key, value, first)


def prune(model: Model, dataset: Dataset) -> Model:
    """Preconditions that explain least go first, invented ones before told ones; then heads are merged."""
    least = model.errors(dataset)
    model = without_needless_heads(without_queries(model, dataset, least))
    return without_needless_heads(merged(model, dataset, least))


def without_needless_heads(model: Model) -> Model:
    """Without invented ones that nobody asks; told ones may come to be asked when training goes on."""
    layout = model.layout
    used = {layout.params[p][1] for p in np.flatnonzero(model.bits.query).tolist()}
    return model.only([i for i, head in enumerate(layout.heads) if head.told is not None or i in used])


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


def merged(model: Model, dataset: Dataset, least: int) -> Model:
    """A spare head goes where an earlier one, whose effects may be widened by its own, can stand for it."""
    heads = model.layout.heads
    for gone in range(len(heads)):
        if heads[gone].told is not None:
            continue
        for stays in range(gone):
            found = next((m for m in stand_ins(model, stays, gone) if m.errors(dataset) <= least), None)
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
        asked = replace(model, bits=replace(bits, query=query))
        yield asked
        for kept in (bits.key[theirs], ~bits.key[mine]):  # who prevails where both have an effect
            yield with_starts(with_effects(asked, mine, theirs, kept), stays, gone, order, surest=True)
        if layout.heads[stays].told is None:
            everything = with_effects(asked, mine, theirs, np.zeros(len(mine), dtype=bool))
            yield with_starts(everything, stays, gone, order, surest=False)


Numbers = Int64[np.ndarray, " n"]


def with_effects(model: Model, mine: Numbers, theirs: Numbers, kept: Bool[np.ndarray, " n"]) -> Model:
    """The effects of `mine` are those of `theirs` too, except where these are kept."""
    key, value = model.bits.key.copy(), model.bits.value.copy()
    key[theirs] = np.where(kept, key[theirs], key[mine])
    value[theirs] = np.where(kept, value[theirs], value[mine])
    return replace(model, bits=replace(model.bits, key=key, value=value))


def with_starts(model: Model, stays: int, gone: int, order: tuple[int, ...], surest: bool) -> Model:
    """A head begins as another one does; or of each atom as the one that is more sure of it."""
    layout = model.layout
    first, sureness = model.bits.first.copy(), model.sureness.copy()
    _, atoms = layout.grounding
    place = {atom: i for i, atom in enumerate(atoms)}
    same = [(gone, stays)] if layout.heads[stays].told is None else []
    for state in range(len(layout.vocabulary.init_states)):
        begin = len(layout.heads) + state * len(atoms)
        for (head, about), i in place.items():
            if head == gone and (other := place.get((stays, tuple(about[j] for j in order)))) is not None:
                same.append((begin + i, begin + other))
    for mine, theirs in same:
        if not surest or sureness[mine] > sureness[theirs]:
            first[theirs], sureness[theirs] = first[mine], sureness[mine]
    return replace(model, bits=replace(model.bits, first=first), sureness=sureness)


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
    for i, predicate in enumerate(layout.heads):
        start = FALSE if bits.first[i] or not vocabulary.has_init_false else TRUE
        begins = (predicate.told[0], *predicate.told[1]) if predicate.told and predicate.told in told else start
        at = frozenset(
            ("named", name, *about)
            for number, name in enumerate(vocabulary.init_states)
            for j, (whose, about) in enumerate(atoms)
            if whose == i and not bits.first[len(layout.heads) + number * len(atoms) + j]
        )
        if asked[i]:
            predicates.append(Predicate(predicate.types, adds[i], deletes[i], begins, at, tuple(asked[i])))
    return lift(predicates, projection, layout.types, layout.naming, vocabulary.init_atoms)
