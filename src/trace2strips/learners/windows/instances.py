"""A learned lifted world over some objects: as a PDDL problem for any planner, and as a ground world to plan in.

A start is told in the log's own words (`on_b1_b2`, `at(car1, port2)`): initial atoms as training told them, learned
predicates, and the relations that say which objects may stand together (`relations.py`). What starts true without
being told is added; objects that training never had get the type of the places where they are named.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product

from trace2strips.errors import ModelError, PddlError, shorten, suggest
from trace2strips.learners.windows.lifted import EVERYWHERE, LiftedWorld
from trace2strips.model.goals import NOT, START, split_names
from trace2strips.model.lifted import OBJECT, LiftedProblem, Literal
from trace2strips.model.strips import StripsModel, StripsProblem
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.pddl import decode_name, encode_name, format_problem, parse_problem
from trace2strips.pddl.grounding import instantiate
from trace2strips.traces.names import schema_of

Fact = tuple[str, ...]  # a name and objects
MOST_PROBLEMS = 100  # files for named starts
MOST_OBJECTS = 300  # of a problem, if not all are named at its start
COMMENT = """; {what}
; Any goal over the predicates of domain.pddl will do; (and) is empty, so the empty plan solves it.
"""


@dataclass(frozen=True)
class Instance:
    """Objects with their types, and what is told of them."""

    objects: Mapping[str, int]
    facts: frozenset[Fact]


def pddl_files(lifted: LiftedWorld, vocabulary: Vocabulary) -> dict[str, str]:
    """domain.pddl, and a problem for each start that is known, by the file's name."""
    files = {"domain.pddl": lifted.pddl()}
    objects = known_objects(lifted, vocabulary.actions)
    for name in vocabulary.init_states[:MOST_PROBLEMS]:
        facts = {
            (p.name, *rest) for p in lifted.predicates for start, *rest in p.true_at if start in (name, EVERYWHERE)
        }
        file = "problem.pddl" if name == START else f"problem-{encode_name(name)}.pddl"
        what = "Where the traces begin." if name == START else f"The initial state {shorten(name)!r} of the log."
        files[file] = write_problem(lifted, Instance(some(objects, facts), frozenset(facts)), encode_name(name), what)
    if lifted.example is not None:
        told = [tuple(lifted.naming.words(atom)) for atom in lifted.example]
        instance = Instance(some(objects, told), frozenset(told))
        file = "problem.pddl" if "problem.pddl" not in files else "problem-told.pddl"
        files[file] = write_problem(lifted, with_starts(lifted, instance), "example", "As the first trace begins.")
    return files


def some(objects: Mapping[str, int], facts: Iterable[Fact]) -> Mapping[str, int]:
    """All objects; of very many those that are named, as any two that differ are listed."""
    named = {word for fact in facts for word in fact[1:]}
    return objects if len(objects) <= MOST_OBJECTS else {o: t for o, t in objects.items() if o in named}


def known_objects(lifted: LiftedWorld, actions: Iterable[str]) -> dict[str, int]:
    """The objects of these actions with their types."""
    types = {action.schema: action.types for action in lifted.actions}
    found: dict[str, int] = {}
    for name in actions:
        schema, objects = lifted.naming.schema(name)
        found |= zip(objects, types.get(schema, ()), strict=False)
    return dict(sorted(found.items()))


def with_starts(lifted: LiftedWorld, instance: Instance) -> Instance:
    """Told atoms in the learned predicates, and what starts true without being told."""
    facts = set()
    for predicate in lifted.predicates:
        facts |= {(predicate.name, *objects) for start, *objects in predicate.true_at if start == EVERYWHERE}
        if predicate.start == "true":
            facts |= {(predicate.name, *objects) for objects in choices(predicate.types, instance.objects)}
    told = {p.tells for p in lifted.predicates if p.start == "told"}
    for word, *objects in instance.facts:
        schema, different = schema_of(word, tuple(objects))
        if schema not in told:
            facts.add((word, *objects))
        facts |= {
            (p.name, *different)
            for p in lifted.predicates
            if (p.start, p.tells) == ("told", schema)
            and p.types == tuple(instance.objects.get(name, -1) for name in different)
        }
    return Instance(instance.objects, frozenset(facts))


def choices(types: tuple[int, ...], objects: Mapping[str, int]) -> Iterable[tuple[str, ...]]:
    """All different objects of these types."""
    for found in product(*([name for name, kind in objects.items() if kind == wanted] for wanted in types)):
        if len(set(found)) == len(found):
            yield found


def write_problem(lifted: LiftedWorld, instance: Instance, name: str, what: str) -> str:
    """The learned predicates and the relations of these objects; facts about others are left out."""
    types = lifted.type_names
    facts = {
        (word, *objects)
        for word, *objects in instance.facts | related(lifted, instance)
        if lifted.held.get(word) == tuple(instance.objects.get(name, -1) for name in objects)
    }
    literals = [Literal(encode_name(word), tuple(map(encode_name, rest))) for word, *rest in sorted(facts)]
    domain = lifted.domain()
    for kind in apart(lifted):
        alike = [encode_name(name) for name, other in instance.objects.items() if other == kind]
        literals += [Literal(lifted.different, pair) for pair in permutations(alike, 2)]
    objects = tuple(
        (encode_name(name), types[kind]) for name, kind in instance.objects.items() if name not in lifted.constants
    )
    problem = LiftedProblem(name, domain.name, objects, tuple(literals), ())
    return COMMENT.format(what=what) + format_problem(problem, domain.typed)


def apart(lifted: LiftedWorld) -> list[int]:
    """The types of which an action takes two objects that must differ."""
    kinds = {name: kind for kind, name in lifted.type_names.items()}
    found = {
        kinds[dict(schema.parameters)[word]]
        for schema in lifted.schemas()
        for literal in schema.pre
        if literal.predicate == lifted.different
        for word in literal.arguments
        if word in dict(schema.parameters)
    }
    return sorted(found)


def related(lifted: LiftedWorld, instance: Instance) -> set[Fact]:
    """The relations as training showed them, among these objects."""
    return {
        (relation.name, *objects)
        for relation in lifted.relations
        for objects in relation.tuples
        if all(name in instance.objects for name in objects)
    }


def read_problem(lifted: LiftedWorld, text: str, file: str) -> StripsProblem:
    """A problem for the learned domain.pddl over any objects, in the log's own names. It says all that holds."""
    problem = parse_problem(text, lifted.domain(), file)
    kinds = {name: kind for kind, name in lifted.type_names.items()}
    for name, kind in problem.objects:
        if kind not in kinds and kind != OBJECT:
            raise PddlError(f"the object {name!r} is of no type of the domain", hint=suggest(kind, kinds, "types"))
    objects = {decode_name(name): kinds.get(kind, -1) for name, kind in problem.objects} | lifted.constants

    def facts(literals: Iterable[Literal]) -> frozenset[Fact]:
        return frozenset((decode_name(x.predicate), *map(decode_name, x.arguments)) for x in literals)

    init, goal = facts(problem.init), facts(problem.goal)
    relations = {relation.name for relation in lifted.relations} | {lifted.different}
    world = ground(lifted, Instance(objects, init), init | goal)
    start, wanted = (frozenset(lifted.naming.join(x) for x in part if x[0] not in relations) for part in (init, goal))
    missing = sorted(" ".join(x) for x in goal if x[0] in relations and x not in init and x[0] != lifted.different)
    if missing:
        raise PddlError(f"the goal ({missing[0]}) is static and does not hold", hint="goals are about what changes")
    return StripsProblem(world.model, start, wanted, decode_name(problem.name))


def ground(lifted: LiftedWorld, instance: Instance, mentioned: Collection[Fact] = ()) -> WorldModel:
    """The ground world over the objects, with all atoms that are mentioned, reachable or not. Which actions there are
    is said by the relations among the facts."""
    domain, types = lifted.domain(), lifted.type_names
    fluent = {encode_name(p.name) for p in lifted.predicates}
    objects = {name: types.get(kind, OBJECT) for name, kind in instance.objects.items()}
    relations = {relation.name for relation in lifted.relations}
    static = {Literal(encode_name(word), tuple(rest)) for word, *rest in instance.facts if word in relations}
    actions = []
    for action, schema in zip(lifted.actions, lifted.schemas(), strict=True):
        joined = tuple(x for x in schema.pre if x.predicate != lifted.different)
        for binding in instantiate(replace(schema, pre=joined), domain, objects, static, fluent):
            fixed, rest = lifted.fixed(action), iter(binding.values())
            chosen = [fixed[i] if i in fixed else next(rest) for i in range(len(action.types))]
            if len(set(chosen)) == len(chosen):
                actions.append(lifted.called(action, chosen))
    told = {p.told for p in lifted.predicates if p.start == "told"} | relations
    init_atoms = {lifted.naming.join(fact) for fact in mentioned if fact[0] in told}
    world = lifted.world(Vocabulary(tuple(sorted(actions)), tuple(sorted(init_atoms)), has_init_false=True))
    held = {p.name for p in lifted.predicates}
    more = {lifted.naming.join(fact) for fact in mentioned if fact[0] in held} - set(world.model.atoms)
    atoms = tuple(sorted({*world.model.atoms, *more}))
    return replace(world, model=StripsModel(atoms, world.model.actions, world.model.name))


class Sayable(Container[str]):
    """The atoms that can be told of any objects, by their names and numbers of objects, `!` in front or not."""

    def __init__(self, lifted: LiftedWorld) -> None:
        self.naming = lifted.naming
        self.types: dict[tuple[str, int], list[tuple[int, ...]]] = {}
        told = [(p.told, tuple(p.types[i] for i in p.tells[1])) for p in lifted.predicates if p.start == "told"]
        for name, types in [*lifted.held.items(), *told]:
            if types not in self.types.setdefault((name, len(types)), []):
                self.types[name, len(types)].append(types)

    def fact(self, name: str) -> Fact:
        return tuple(self.naming.words(name.removeprefix(NOT)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self.fact(name)[0], len(self.fact(name)) - 1) in self.types


def world_about(lifted: LiftedWorld, known: WorldModel, texts: Collection[str]) -> WorldModel:
    """The world over the objects that these atoms name; the known one if it has all of them."""
    sayable = Sayable(lifted)
    atoms = {*known.model.atoms, *known.vocabulary.init_atoms, *known.states}
    names = [word for text in texts for word in ([text] if text in atoms else split_names(text, sayable))]
    if all(name.removeprefix(NOT) in atoms for name in names) or not all(name in sayable for name in names):
        return known  # who names what is no atom is told so there
    facts = frozenset(map(sayable.fact, names))
    objects = types_of(
        {fact: sayable.types[fact[0], len(fact) - 1] for fact in facts},
        known_objects(lifted, known.vocabulary.actions),
    )
    facts |= related(lifted, Instance(objects, facts))
    if lifted.relations and not {relation.name for relation in lifted.relations} & {fact[0] for fact in facts}:
        relation = lifted.relations[0]
        example = lifted.naming.join((relation.name, *relation.tuples[0]))
        raise ModelError(
            "nothing says which of these objects may stand together in an action",
            hint=f"tell it among the initial atoms, as {shorten(example)!r} is true in training",
        )
    return ground(lifted, Instance(objects, facts), facts)


def types_of(facts: Mapping[Fact, list[tuple[int, ...]]], known: Mapping[str, int]) -> dict[str, int]:
    """The type of each object: as training has it, else the one that fits all places where it is named."""
    possible: dict[str, set[int]] = {}
    for (_, *objects), types in facts.items():
        for i, name in enumerate(objects):
            fitting = {known[name]} if name in known else {choice[i] for choice in types}
            possible[name] = possible.get(name, fitting) & fitting
    for name, fitting in sorted(possible.items()):
        if len(fitting) != 1:
            raise ModelError(
                f"what kind of object {name!r} is, is not clear" if fitting else f"no kind of object fits {name!r}",
                hint="a problem file for domain.pddl says the types of its objects",
            )
    return {name: min(fitting) for name, fitting in sorted(possible.items())}


def over_actions(lifted: LiftedWorld, known: Vocabulary, actions: Iterable[str], atoms: Iterable[str]) -> WorldModel:
    """The world over these actions, as far as their schemas are known, told these atoms or those of training."""
    schemas = {action.schema for action in lifted.actions}
    told = {p.tells for p in lifted.predicates if p.start == "told"}
    more = [name for name in actions if lifted.naming.schema(name)[0] in schemas]
    init_atoms = dict.fromkeys(known.init_atoms)
    if known.has_init_false:
        words = ((atom, *lifted.naming.words(atom)) for atom in atoms)
        init_atoms |= dict.fromkeys(atom for atom, word, *rest in words if schema_of(word, tuple(rest))[0] in told)
    return lifted.world(replace(known, actions=tuple(dict.fromkeys(more)), init_atoms=tuple(init_atoms)))


__all__ = ["Instance", "ground", "over_actions", "pddl_files", "read_problem", "world_about"]
