"""A ground model whose names hold arguments, lifted: `stack_A_B` needs `clear_B`, so `stack ?x ?y` needs `clear ?y`.

Listing (c) of the paper does so with what was read out of an SB Transformer. It can be done where every atom of an
action is about objects of that action alone and all groundings of a schema say the same; what disagrees is named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from trace2strips.errors import ModelError, shorten
from trace2strips.learners.windows.encoding import find_types
from trace2strips.learners.windows.lifted import LiftedAction, LiftedPredicate, LiftedWorld, Place
from trace2strips.learners.windows.projection import Projection, arity_of
from trace2strips.learners.windows.relations import with_relations
from trace2strips.model.strips import StripsAction
from trace2strips.model.world import WorldModel
from trace2strips.traces.names import Naming, Schema, schema_of, understand

PARTS = {"pre": "needs", "add": "adds", "delete": "deletes"}
OFTEN = 1_000  # an action of the model can be tried as often as one likes
Fact = tuple[str, Schema, tuple[int, ...]]  # the part, the predicate, and which objects of the action it is about


@dataclass(frozen=True)
class Grounding:
    """One action of a ground model: its objects, and what it says of them."""

    name: str
    objects: tuple[str, ...]
    facts: frozenset[Fact]


def lift_model(world: WorldModel, separator: str | None = None) -> LiftedWorld:
    """The lifted world of which this is a grounding; an error names what disagrees."""
    naming = understand([action.name for action in world.model.actions], separator)
    schemas: dict[Schema, list[Grounding]] = defaultdict(list)
    wrong: list[str] = []
    for action in world.model.actions:
        schema, objects = naming.schema(action.name)
        facts = list(facts_of(action, naming, objects))
        wrong += [
            f"{shorten(action.name)!r} {PARTS[part]} {shorten(atom)!r}, which is not about its arguments alone"
            for part, atom, fact in facts
            if fact is None
        ]
        schemas[schema].append(Grounding(action.name, objects, frozenset(f for _, _, f in facts if f is not None)))
    for (name, _), groundings in sorted(schemas.items()):
        wrong += disagreements(name, groundings)
    patterns = {schema_of(word, tuple(rest))[0] for word, *rest in map(naming.words, world.model.atoms)}
    words = Counter(word for word, _ in patterns)
    wrong += [f"{shorten(word)!r} is said of different numbers of objects" for word in sorted(words) if words[word] > 1]
    if wrong:
        more = f", and {len(wrong) - 1} more such" if len(wrong) > 1 else ""
        raise ModelError(f"the model cannot be lifted: {wrong[0]}{more}", hint=f"names were read as {naming}")
    return assemble(world, naming, dict(sorted(schemas.items())))


def facts_of(action: StripsAction, naming: Naming, objects: tuple[str, ...]) -> Iterator[tuple[str, str, Fact | None]]:
    """All that a ground action needs, adds and deletes, as it would be said of its objects; None: it cannot be."""
    for part in PARTS:
        for atom in sorted(getattr(action, part)):
            word, *arguments = naming.words(atom)
            predicate, about = schema_of(word, tuple(arguments))
            inside = set(about) <= set(objects)
            yield part, atom, (part, predicate, tuple(objects.index(name) for name in about)) if inside else None


def disagreements(name: str, groundings: list[Grounding]) -> Iterator[str]:
    """What some groundings of a schema say and others do not, a sentence each."""
    counts = Counter(fact for grounding in groundings for fact in grounding.facts)
    for (part, (word, pattern), places), count in sorted(counts.items()):
        if count < len(groundings):
            has_not = next(g.name for g in groundings if (part, (word, pattern), places) not in g.facts)
            about = " ".join((word, *(f"?{i + 1}" for i in places)))
            yield (
                f"{shorten(name)!r} {PARTS[part]} ({shorten(about)}) in {count} of {len(groundings)} groundings, "
                f"not in {shorten(has_not)!r}"
            )


def assemble(world: WorldModel, naming: Naming, schemas: dict[Schema, list[Grounding]]) -> LiftedWorld:
    """All groundings agree: the first one of each schema speaks for it."""
    atoms = {atom: schema_of(word, tuple(rest)) for atom in world.model.atoms for word, *rest in [naming.words(atom)]}
    predicates = sorted({predicate for predicate, _ in atoms.values()})
    projection = Projection(tuple(schemas), tuple(predicates), max(map(arity_of, predicates), default=0))
    places = [((i, j), o) for i, found in enumerate(schemas.values()) for g in found for j, o in enumerate(g.objects)]
    number = {predicate: i for i, predicate in enumerate(predicates)}
    places += [
        ((len(schemas) + number[predicate], j), name)
        for predicate, about in atoms.values()
        for j, name in enumerate(about)
    ]
    types = find_types(projection, places)
    found = tuple(
        LiftedPredicate(word, types[len(schemas) + i], "told", told=word, same=pattern if has_twins(pattern) else ())
        for i, (word, pattern) in enumerate(predicates)
    )
    actions = []
    for i, ((name, pattern), groundings) in enumerate(schemas.items()):
        lists: dict[str, list[Place]] = {part: [] for part in PARTS}
        for part, predicate, about in sorted(groundings[0].facts):
            lists[part].append((number[predicate], about))
        actions.append(LiftedAction(name, pattern, types[i], *(tuple(lists[part]) for part in PARTS)))
    lifted = LiftedWorld(naming, found, tuple(actions), ())
    return with_relations(lifted, dict.fromkeys(world.model.action_index, OFTEN), world.model.atoms)


def has_twins(pattern: tuple[int, ...]) -> bool:
    """Whether one object is several arguments."""
    return len(set(pattern)) < len(pattern)
