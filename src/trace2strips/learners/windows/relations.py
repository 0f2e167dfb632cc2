"""Which objects may stand together in an action: what the attempts of a log show of a map that nobody told.

In a maze nobody even tries to move between cells far apart, so no refusal says that it cannot be done, and the learned
preconditions do not say it either. A planner must be told: each pair of places (`move`, 2 and 3) that is filled with
some of the possible objects only, and not by chance, is a static relation of the domain, `may-move-2-3`. It holds the
objects that were tried together. Predictions for a log do without: what is attempted can be attempted. Where it is
asked whether something *would* work, objects that were never tried together make nothing certain (`Together`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import combinations, count
from math import prod

from trace2strips.learners.windows.lifted import LiftedAction, LiftedWorld, Relation
from trace2strips.traces.names import Schema, schema_of

Tuples = frozenset[tuple[str, ...]]
Places = tuple[int, ...]
FEW = 1.6  # how many times as much of what happens as of what is possible; random walks on free objects stay below 1.5
OFTEN, SOME = 5, 0.1
MOST_STEPS = 200_000  # of the search that finds a relation needless; without an answer it stays


@dataclass(frozen=True)
class Filled:
    """With what the places of one action were filled, and how often that worked."""

    action: LiftedAction
    counts: Counter[tuple[str, ...]]

    def at(self, places: Places) -> Tuples:
        return frozenset(tuple(objects[i] for i in places) for objects in self.counts)


def with_relations(lifted: LiftedWorld, worked: Mapping[str, int], told: Collection[str]) -> LiftedWorld:
    """The world with its relations. `worked`: how often each action that was tried did work; `told`: initial atoms."""
    filled = [Filled(action, Counter()) for action in lifted.actions]
    number = {action.schema: i for i, action in enumerate(lifted.actions)}
    for name, times in worked.items():
        schema, objects = lifted.naming.schema(name)
        if schema in number:
            filled[number[schema]].counts[objects] += times
    objects_of, often = objects_by_type(filled), often_seen(filled)
    starts = {i: starting(lifted, i, told) for i in range(len(lifted.predicates))}
    found: dict[tuple[tuple[int, ...], Tuples], Relation] = {}
    taken = {predicate.name for predicate in lifted.predicates}
    for i, one in enumerate(filled):
        for places, tuples in needed_relations(one, filled, objects_of, often, starts).items():
            if set(places) & lifted.fixed(one.action).keys():
                continue  # a constant is said by its name
            types = tuple(one.action.types[place] for place in places)
            name = "-".join(("may", one.action.name, *(str(place + 1) for place in places)))
            while name in taken:
                name += "-again"
            relation = found.get((types, tuples), Relation(name, types, tuple(sorted(tuples))))
            found[types, tuples] = replace(relation, uses=(*relation.uses, (i, places)))
    return replace(lifted, relations=tuple(found.values()))


def objects_by_type(filled: Sequence[Filled]) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = {}
    for one in filled:
        for objects in one.counts:
            for kind, name in zip(one.action.types, objects, strict=True):
                found.setdefault(kind, set()).add(name)
    return {kind: frozenset(names) for kind, names in found.items()}


def often_seen(filled: Sequence[Filled]) -> dict[int, frozenset[str]]:
    """Of each type the objects that something worked with often: of others it says nothing where they never stood."""
    found: dict[int, Counter[str]] = {}
    for one in filled:
        for objects, times in one.counts.items():
            for kind, name in zip(one.action.types, objects, strict=True):
                found.setdefault(kind, Counter())[name] += times
    return {kind: frozenset(n for n, times in names.items() if times >= OFTEN) for kind, names in found.items()}


def starting(lifted: LiftedWorld, predicate: int, told: Collection[str]) -> Tuples | None:
    """Of which objects the predicate ever was true at a start; None: of all."""
    p = lifted.predicates[predicate]
    if p.start == "true":
        return None
    found = {objects[1:] for objects in p.true_at}
    if p.start == "told":
        words = (lifted.naming.words(atom) for atom in told)
        schemas = (schema_of(word, tuple(rest)) for word, *rest in words)
        found |= {objects for schema, objects in schemas if schema == p.tells}
    return frozenset(found)


def needed_relations(
    one: Filled, filled: Sequence[Filled], objects_of: Mapping[int, frozenset[str]],
    often: Mapping[int, frozenset[str]], starts: Mapping[int, Tuples | None],
) -> dict[Places, Tuples]:  # fmt: skip
    """The relations that no precondition and no others imply; the largest are tried first for being needless."""
    kinds = one.action.types
    domains = [often.get(kind, frozenset()) for kind in kinds]
    found: dict[Places, Tuples] = {}
    for size in (1, 2):
        for places in combinations(range(len(kinds)), size):
            if not by_chance(one, places, domains):
                found[places] = one.at(places)
        domains = [frozenset(name for (name,) in one.at((i,))) if (i,) in found else d for i, d in enumerate(domains)]
    implied = {p for p, tuples in found.items() if is_precondition(one.action, p, tuples, filled, starts)}
    everything = [objects_of.get(kind, frozenset()) for kind in kinds]
    for places in sorted(found.keys() - implied, key=lambda p: (-len(found[p]), p)):
        others = {p: tuples for p, tuples in found.items() if p != places}
        if is_implied(places, found[places], others, everything):
            del found[places]
    return {places: tuples for places, tuples in sorted(found.items()) if places not in implied}


def by_chance(one: Filled, places: Places, domains: Sequence[frozenset[str]]) -> bool:
    """Whether all objects may stand there, as far as one can tell.

    No chance: what was tried is few of all that is possible, and yet nearly all that happens (Good and Turing: what
    worked once tells how much is still to come); or nothing of it worked just a few times, and still some is missing.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for objects, times in one.counts.items():
        if all(objects[i] in domains[i] for i in places):
            counts[tuple(objects[i] for i in places)] += times
    chosen = [domains[i] for i in places]
    possible = prod(map(len, chosen)) - (len(chosen[0] & chosen[1]) if len(places) == 2 else 0)
    worked = counts.total()
    if len(counts) >= possible or not worked:
        return True
    to_come = (1 + sum(times == 1 for times in counts.values())) / worked
    few = 1 - to_come > FEW * len(counts) / possible
    settled = min(counts.values()) >= OFTEN and len(counts) <= (1 - SOME) * possible
    return not few and not settled


def is_precondition(
    action: LiftedAction, places: Places, tuples: Tuples, filled: Sequence[Filled],
    starts: Mapping[int, Tuples | None],
) -> bool:  # fmt: skip
    """Whether a precondition over these places can only ever be true of these objects: no start and no action makes it
    true of others. (`truck-at` is about places of the truck's own city, since `drive` is.)"""
    for number, arguments in action.pre:
        if not set(places) <= set(arguments):
            continue
        order = [arguments.index(place) for place in places]
        begin = starts[number]
        if begin is None or not {tuple(t[i] for i in order) for t in begin} <= tuples:
            continue
        added = [(o, found) for o in filled for predicate, found in o.action.add if predicate == number]
        if all(o.at(tuple(found[i] for i in order)) <= tuples for o, found in added):
            return True
    return False


def is_implied(
    places: Places, tuples: Tuples, others: Mapping[Places, Tuples], domains: Sequence[frozenset[str]]
) -> bool:
    """Whether whatever the other relations allow is among these tuples; no, if that takes long to find out."""
    found = join(others, [sorted(domain) for domain in domains], (), count(1))
    return all(step < MOST_STEPS and (chosen is None or tuple(chosen[i] for i in places) in tuples)
               for step, chosen in found)  # fmt: skip


def join(
    relations: Mapping[Places, Tuples], domains: Sequence[Sequence[str]], chosen: tuple[str, ...], steps: Iterator[int]
) -> Iterator[tuple[int, tuple[str, ...] | None]]:
    """All choices of different objects that the relations allow, with the number of objects looked at up to there;
    None on the way."""
    last = len(chosen)
    if last == len(domains):
        yield next(steps), chosen
        return
    closing = [(places, tuples) for places, tuples in relations.items() if max(places) == last]
    for name in domains[last]:
        yield next(steps), None
        longer = (*chosen, name)
        if name not in chosen and all(tuple(longer[i] for i in places) in tuples for places, tuples in closing):
            yield from join(relations, domains, longer, steps)


def tried(lifted: LiftedWorld, actions: Collection[str]) -> dict[str, set[tuple[str, ...]]]:
    """The tuples of each relation in another list of actions, such as all those that a larger world has."""
    found: dict[str, set[tuple[str, ...]]] = {relation.name: set() for relation in lifted.relations}
    uses: dict[Schema, list[tuple[str, Places]]] = defaultdict(list)
    for relation in lifted.relations:
        for number, places in relation.uses:
            uses[lifted.actions[number].schema].append((relation.name, places))
    for name in actions:
        schema, objects = lifted.naming.schema(name)
        for relation_name, places in uses[schema]:
            found[relation_name].add(tuple(objects[i] for i in places))
    return found


class Together:
    """Which objects were tried together in an action, where only some are. Of others nobody knows whether something
    that was never told forbids it: a wall between two cells that nobody tried to pass."""

    def __init__(self, lifted: LiftedWorld) -> None:
        self.tuples = [set(relation.tuples) for relation in lifted.relations]
        self.uses: dict[Schema, list[tuple[Places, int]]] = defaultdict(list)
        for number, relation in enumerate(lifted.relations):
            for action, places in relation.uses:
                self.uses[lifted.actions[action].schema].append((places, number))

    def copy(self) -> Together:
        """Another one that learns by itself."""
        twin = copy(self)
        twin.tuples = [set(tuples) for tuples in self.tuples]
        return twin

    def add(self, schema: Schema, objects: tuple[str, ...]) -> None:
        for places, number in self.uses.get(schema, ()):
            self.tuples[number].add(tuple(objects[i] for i in places))

    def apart(self, schema: Schema, objects: tuple[str, ...]) -> tuple[str, ...]:
        """Objects of an attempt that were never tried together there; none: all were, or any may be."""
        for places, number in self.uses.get(schema, ()):
            if (about := tuple(objects[i] for i in places)) not in self.tuples[number]:
                return about
        return ()
