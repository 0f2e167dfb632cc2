"""A learned lifted world in the words of a given signature: its predicates, its schemas and their types.

A predicate that starts as told atoms has their name, so it is aligned by construction. What is left over stands for
itself: an invented predicate keeps the name that it was given. A predicate is static as far as the log tells if nothing
learned changes it and its facts are the same in all states that are shown over the same objects. Static facts about an
action's own objects that held whenever it worked are safe preconditions, as in SAM.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import permutations

from trace2strips.learners.windows.lifted import LiftedWorld, is_twin
from trace2strips.model.lifted import LiftedDomain, Literal, Schema
from trace2strips.pddl import encode_name
from trace2strips.peers.trajectories import Trajectory, Words

NOT = "not-"  # how an atom begins that is true where the other is false


def in_words_of(signature: LiftedDomain, lifted: LiftedWorld, seen: Iterable[Trajectory]) -> LiftedDomain:
    """`seen`: where the actions worked and which facts were told at those starts. Schemas that never worked are left
    out: nothing is known of them."""
    known = dict(signature.predicates)
    own = {encode_name(p.name): p.told or p.name for p in lifted.predicates}
    kept = {name: told for name, told in own.items() if told.removeprefix(NOT) in known}
    invented = {encode_name(p.name): len(p.types) for p in lifted.predicates if encode_name(p.name) not in kept}
    aside = {encode_name(relation.name) for relation in lifted.relations} | {lifted.different}
    learned = {s.name: s for s, a in zip(lifted.schemas(), lifted.actions, strict=True) if not is_twin(a)}
    seen = list(seen)
    worked = instances_that_worked(seen)
    changed = {
        kept[x.predicate].removeprefix(NOT)
        for s in learned.values()
        for x in (*s.add, *s.delete)
        if x.predicate in kept
    }
    static = {name: kinds for name, kinds in signature.predicates if name not in changed | differing(seen)}
    schemas = []
    for schema in signature.schemas:
        found = learned.get(encode_name(schema.name))
        if found is None or not worked.get(schema.name):
            continue
        names = dict(zip((v for v, _ in found.parameters), (v for v, _ in schema.parameters), strict=True))
        schemas.append(translated(schema, found, names, kept, aside, safe_facts(static, schema, worked[schema.name])))
    more = tuple((name, ("object",) * arity) for name, arity in invented.items())
    return replace(signature, predicates=(*signature.predicates, *more), schemas=tuple(schemas))


def translated(
    schema: Schema, found: Schema, names: Mapping[str, str], kept: Mapping[str, str], aside: Collection[str],
    facts: tuple[Literal, ...],
) -> Schema:  # fmt: skip
    def literals(part: tuple[Literal, ...]) -> tuple[list[Literal], list[Literal]]:
        """As they are, and those that say the opposite."""
        true, false = list[Literal](), list[Literal]()
        for x in part:
            if x.predicate in aside:
                continue
            name = kept.get(x.predicate, x.predicate)
            side = false if x.predicate in kept and name.startswith(NOT) else true
            side.append(
                Literal(name.removeprefix(NOT) if side is false else name, tuple(names.get(v, v) for v in x.arguments))
            )
        return true, false

    (pre, negative), (add, drop), (delete, also) = map(literals, (found.pre, found.add, found.delete))
    pre += [fact for fact in facts if fact not in pre]
    adds = unique([*add, *also])
    deletes = [x for x in unique([*delete, *drop]) if x not in adds]
    return replace(schema, pre=unique(pre), negative_pre=unique(negative), add=adds, delete=tuple(deletes))


def unique(literals: Iterable[Literal]) -> tuple[Literal, ...]:
    return tuple(dict.fromkeys(literals))


def instances_that_worked(seen: Iterable[Trajectory]) -> dict[str, list[tuple[Words, frozenset[Words]]]]:
    """By schema: the arguments, and what was told at the start."""
    found: dict[str, list[tuple[Words, frozenset[Words]]]] = {}
    for trajectory in seen:
        for words in dict.fromkeys(trajectory.actions):
            found.setdefault(words[0], []).append((words[1:], trajectory.states[0]))
    return found


def differing(seen: Iterable[Trajectory]) -> set[str]:
    """Predicates whose facts differ between two states over the same objects, of those that are shown."""
    first: dict[frozenset[str], frozenset[Words]] = {}
    found: set[str] = set()
    for trajectory in seen:
        start = trajectory.states[0]
        objects = frozenset(word for fact in start for word in fact[1:])
        for state in dict.fromkeys(trajectory.states):
            found |= {fact[0] for fact in first.setdefault(objects, start) ^ state}
    return found


def safe_facts(
    static: Mapping[str, tuple[str, ...]], schema: Schema, worked: Collection[tuple[Words, frozenset[Words]]]
) -> tuple[Literal, ...]:
    """Static facts about the action's own objects that held whenever it worked."""
    variables = [variable for variable, _ in schema.parameters]
    found = []
    for predicate, kinds in static.items():
        for places in permutations(range(len(variables)), len(kinds)):
            if all((predicate, *(arguments[i] for i in places)) in told for arguments, told in worked):
                found.append(Literal(predicate, tuple(variables[i] for i in places)))
    return tuple(found)
