"""A learned lifted world: predicates and action schemas in words, for any objects of its types.

It is what the search found, named as people would: a predicate that starts as a told atom has that atom's name and the
order of its arguments; an invented one is called after who makes it true (`after-pay`) or needs it (`can-put-down`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, combinations, count
from typing import Any

from trace2strips.learners.windows.predicates import FALSE, TRUE, Predicate, bits_of
from trace2strips.learners.windows.projection import Projection
from trace2strips.model.lifted import OBJECT, LiftedDomain, Literal, Schema
from trace2strips.model.strips import State, StripsAction, StripsModel
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.pddl import encode_name, format_domain
from trace2strips.schemas import Schema as FileSchema
from trace2strips.schemas import record_of
from trace2strips.traces.names import Naming, schema_of

EVERYWHERE = ""  # in place of the name of a start: at all of them
Place = tuple[int, tuple[int, ...]]  # a predicate's number, and which arguments of the action it is over


@dataclass(frozen=True)
class LiftedPredicate:
    """`start` is "false", "true" or "told": as the initial atoms called `told` say of objects of its types. `true_at`
    lists what holds at named starts, (start, objects …), or EVERYWHERE. `same`: which of its objects each argument of
    the told atom is, where one object is several: `behind(x, x)`."""

    name: str
    types: tuple[int, ...]
    start: str
    true_at: tuple[tuple[str, ...], ...] = ()
    told: str = ""
    same: tuple[int, ...] = ()

    @property
    def tells(self) -> tuple[str, tuple[int, ...]]:
        """The schema of the initial atoms that tell how it starts."""
        return self.told, self.same or tuple(range(len(self.types)))

    def told_of(self, objects: Sequence[str]) -> tuple[str, ...]:
        """The words of the initial atom that tells how it starts of these objects."""
        word, pattern = self.tells
        return word, *(objects[i] for i in pattern)


@dataclass(frozen=True)
class LiftedAction:
    """A schema; `pattern` says which of its arguments are the same object. A test has preconditions alone."""

    name: str
    pattern: tuple[int, ...]
    types: tuple[int, ...]  # of its different objects
    pre: tuple[Place, ...] = ()
    add: tuple[Place, ...] = ()
    delete: tuple[Place, ...] = ()

    @property
    def schema(self) -> tuple[str, tuple[int, ...]]:
        return self.name, self.pattern


@dataclass(frozen=True)
class Relation:
    """A static relation for planners (`relations.py`): the objects that were tried together, and where it is asked: an
    action's number and its places."""

    name: str
    types: tuple[int, ...]
    tuples: tuple[tuple[str, ...], ...]
    uses: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class LiftedWorld:
    """`example` has the initial atoms of the first training trace that tells some."""

    naming: Naming
    predicates: tuple[LiftedPredicate, ...]
    actions: tuple[LiftedAction, ...]
    tests: tuple[LiftedAction, ...]
    relations: tuple[Relation, ...] = ()
    example: tuple[str, ...] | None = None

    def atom(self, number: int, objects: Sequence[str]) -> str:
        return self.naming.join((self.predicates[number].name, *objects))

    def over_tokens(self, vocabulary: Vocabulary) -> StripsModel:
        """The ground model with all setup actions of a vocabulary, in the order of its tokens."""
        schemas = {("action", a.name, a.pattern): a for a in self.actions}
        schemas |= {("test", a.name, a.pattern): a for a in self.tests}
        told: dict[tuple[str, tuple[int, ...]], list[int]] = defaultdict(list)
        for i, predicate in enumerate(self.predicates):
            if predicate.start == "told":
                told[predicate.tells].append(i)
        number_of: dict[str, int] = {}
        parts: list[tuple[str, set[str], set[str], set[str]]] = []

        def ground(places: Sequence[Place], objects: tuple[str, ...]) -> set[str]:
            found = set()
            for number, arguments in places:
                name = self.atom(number, [objects[i] for i in arguments])
                number_of[name] = number
                found.add(name)
            return found

        for name, kind, subject in zip(vocabulary.names, vocabulary.kinds.tolist(), vocabulary.subjects, strict=True):
            pre, add, delete = set[str](), set[str](), set[str]()
            if kind in (Kind.ACTION, Kind.TEST_ATOM, Kind.INIT_ATOM):
                read = self.naming.words if kind == Kind.INIT_ATOM else self.naming.action
                word, *arguments = read(subject)
                (_, pattern), objects = schema_of(word, tuple(arguments))
                if kind == Kind.INIT_ATOM:
                    add = ground([(i, tuple(range(len(objects)))) for i in told[word, pattern]], objects)
                else:
                    schema = schemas.get(("action" if kind == Kind.ACTION else "test", word, pattern))
                    if schema is not None:
                        pre, add, delete = (ground(x, objects) for x in (schema.pre, schema.add, schema.delete))
            parts.append((name, pre, add, delete))
        for predicate_number, predicate in enumerate(self.predicates):
            for _, *others in predicate.true_at:
                number_of.setdefault(self.atom(predicate_number, others), predicate_number)
        atoms = tuple(sorted(number_of))
        always = {name for name, number in number_of.items() if self.predicates[number].start == "true"}
        always |= self.holds_at(EVERYWHERE)
        actions = []
        for token, (name, pre, add, delete) in enumerate(parts):
            if vocabulary.kinds[token] == Kind.INIT_FALSE:
                add, delete = always, set(atoms) - always
            elif vocabulary.kinds[token] == Kind.INIT_STATE:
                add = self.holds_at(vocabulary.subjects[token]) & set(atoms)
                delete = set(atoms) - add
            actions.append(StripsAction(name, frozenset(pre), frozenset(add), frozenset(delete - add)))
        return StripsModel(atoms, tuple(actions), name="learned")

    def holds_at(self, start: str) -> set[str]:
        """The atoms that hold at a named start."""
        return {
            self.atom(number, objects)
            for number, predicate in enumerate(self.predicates)
            for name, *objects in predicate.true_at
            if name in (start, EVERYWHERE)
        }

    def world(self, vocabulary: Vocabulary) -> WorldModel:
        """The ground world over the objects of a vocabulary, for planning and comparing."""
        whole = self.over_tokens(vocabulary)
        kinds = vocabulary.kinds.tolist()
        actions = tuple(action for action, kind in zip(whole.actions, kinds, strict=True) if kind == Kind.ACTION)
        states = {name: frozenset(self.holds_at(name) & set(whole.atoms)) for name in vocabulary.init_states}
        always, meaning = frozenset[str](), dict[str, State]()
        for action, kind, subject in zip(whole.actions, kinds, vocabulary.subjects, strict=True):
            if kind == Kind.INIT_FALSE:
                always = action.add
            elif kind == Kind.INIT_ATOM and action.add != {subject}:
                meaning[subject] = action.add
        return WorldModel(StripsModel(whole.atoms, actions, name="learned"), vocabulary, states, always, meaning)

    def understood(self) -> str:
        """How the names of the log were read."""
        return str(self.naming)

    def pddl(self) -> str:
        """A domain that planners take: types by what stands for what, one action for each schema."""
        return format_domain(self.domain())

    @property
    def type_names(self) -> dict[int, str]:
        """Types are called after the schema and the place of their first argument; one type needs no name."""
        names: dict[int, str] = {}
        for action in (*self.actions, *self.tests):
            for i, kind in enumerate(action.types):
                word = f"{encode_name(action.name)}-{action.pattern.index(i) + 1}"
                more = (f"{word}-{number}" for number in count(2))
                if kind not in names:
                    names[kind] = next(name for name in chain([word], more) if name not in names.values())
        return names if len(names) > 1 else dict.fromkeys(names, OBJECT)

    @property
    def held(self) -> dict[str, tuple[int, ...]]:
        """The types of all predicates and relations."""
        found = {predicate.name: predicate.types for predicate in self.predicates}
        return found | {relation.name: relation.types for relation in self.relations}

    @property
    def different(self) -> str:
        """What the relation is called that holds of any two objects: plain STRIPS has no inequality."""
        name = "different"
        while name in self.held:
            name += "-again"
        return name

    def domain(self, name: str = "learned") -> LiftedDomain:
        """Names that PDDL cannot hold are spelled as `encode_name` does. Nothing is known of one object in two places
        of an action, unless it was tried, and then it is an action of its own; so objects of one type must differ."""
        schemas = self.schemas()
        names = self.type_names
        typed = len(names) > 1
        held = [(encode_name(word), tuple(names[kind] for kind in types)) for word, types in self.held.items()]
        if any(x.predicate == self.different for schema in schemas for x in schema.pre):
            held.append((self.different, (OBJECT, OBJECT)))
        by_name = sorted(range(len(schemas)), key=lambda i: is_twin(self.actions[i]))
        types = tuple((text, OBJECT) for text in names.values()) if typed else ()
        constants = tuple((encode_name(word), names[kind]) for word, kind in self.constants.items())
        return LiftedDomain(name, types, constants, tuple(held), tuple(schemas[i] for i in by_name), typed)

    def fixed(self, action: LiftedAction) -> dict[int, str]:
        """Which of an action's objects are constants."""
        more = [word for schema, *words in self.naming.constants if schema == action.name for word in words]
        own = len(action.pattern) - len(more)
        return {action.pattern[own + i]: word for i, word in enumerate(more)}

    def called(self, action: LiftedAction, objects: Sequence[str]) -> str:
        """An action as the log would call it; constants are not said."""
        more = sum(len(words) for schema, *words in self.naming.constants if schema == action.name)
        own = action.pattern[: len(action.pattern) - more]
        return self.naming.join((action.name, *(objects[i] for i in own)))

    @property
    def constants(self) -> dict[str, int]:
        """Objects that actions are about without naming them, with their types."""
        found = {word: action.types[i] for action in self.actions for i, word in self.fixed(action).items()}
        return dict(sorted(found.items()))

    def schemas(self) -> list[Schema]:
        """The actions as PDDL has them, in their own order."""
        names = self.type_names
        found: dict[int, Schema] = {}
        taken: set[str] = set()
        for number in sorted(range(len(self.actions)), key=lambda i: is_twin(self.actions[i])):
            action = self.actions[number]
            variables = [f"?{chr(ord('x') + i)}" if i < 3 else f"?x{i}" for i in range(len(action.types))]
            fixed = self.fixed(action)
            for i, word in fixed.items():
                variables[i] = encode_name(word)
            spelled = encode_name(action.name)  # who has its own name keeps it
            if is_twin(action):
                spelled += "-" + "-".join(map(str, action.pattern))
            while spelled in taken:
                spelled += "-again"
            taken.add(spelled)

            def literal(name: str, places: Sequence[int], variables: Sequence[str] = variables) -> Literal:
                return Literal(encode_name(name), tuple(variables[i] for i in places))

            pre, add, delete = (
                [literal(self.predicates[predicate].name, places) for predicate, places in part]
                for part in (action.pre, action.add, action.delete)
            )
            related = [(r, places) for r in self.relations for used, places in r.uses if used == number]
            pre += [literal(relation.name, places) for relation, places in related]
            apart = {frozenset(places) for _, places in related if len(places) > 1}
            pre += [
                literal(self.different, pair)
                for pair in combinations(range(len(variables)), 2)
                if action.types[pair[0]] == action.types[pair[1]] and frozenset(pair) not in apart
                if not fixed.keys() >= set(pair)
            ]
            parameters = tuple(
                (v, names[kind])
                for i, (v, kind) in enumerate(zip(variables, action.types, strict=True))
                if i not in fixed
            )
            found[number] = Schema(spelled, parameters, tuple(pre), (), tuple(add), tuple(delete))
        return [found[i] for i in range(len(self.actions))]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> LiftedWorld:
        """A ValueError where a field is none, or a number points nowhere."""
        found = lifted_schema().take(record)
        world = LiftedWorld(
            Naming(**found["naming"]),
            tuple(LiftedPredicate(**row) for row in found["predicates"]),
            tuple(LiftedAction(**row) for row in found["actions"]),
            tuple(LiftedAction(**row) for row in found["tests"]),
            tuple(Relation(**row) for row in found.get("relations", ())),
            found.get("example"),
        )
        if not world.is_sound():
            raise ValueError("a number out of range")
        return world

    def is_sound(self) -> bool:
        """Whether every number points at something that is there."""
        sizes = [len(predicate.types) for predicate in self.predicates]
        acting = (*self.actions, *self.tests)
        return (
            all(set(p.same) <= set(range(len(p.types))) for p in self.predicates)
            and all(p.start in ("false", "true", "told") and all(p.true_at) for p in self.predicates)
            and all(set(a.pattern) == set(range(len(a.types))) for a in acting)
            and all(
                0 <= number < len(sizes) and len(places) == sizes[number] and set(places) <= set(range(len(a.types)))
                for a in acting
                for number, places in (*a.pre, *a.add, *a.delete)
            )
            and all(
                0 <= number < len(self.actions) and set(places) <= set(range(len(self.actions[number].types)))
                for relation in self.relations
                for number, places in relation.uses
            )
        )


@cache
def lifted_schema() -> FileSchema:
    return FileSchema(record_of(LiftedWorld, "ignore"))


def is_twin(action: LiftedAction) -> bool:
    """Whether one object stands in several places."""
    return len(set(action.pattern)) < len(action.pattern)


def lift(
    predicates: Sequence[Predicate], projection: Projection, types: tuple[tuple[int, ...], ...], naming: Naming,
    init_atoms: Iterable[str] = (),
) -> LiftedWorld:  # fmt: skip
    """The search's predicates in words; those that many ask come first. `init_atoms`: those of the log."""
    ordered = in_order(predicates)
    words = {naming.words(atom)[0] for atom in init_atoms}
    named = list(zip(ordered, names_for(ordered, projection, words), strict=True))
    lists: dict[int, dict[str, list[Place]]] = defaultdict(lambda: {"pre": [], "add": [], "delete": []})
    found = []
    for number, (predicate, name) in enumerate(named):
        order = order_of(predicate)  # the objects of the search's frame in the order that people see
        at = sorted((str(key[1]), *(str(key[2 + i]) for i in order)) for key in predicate.true_at)
        types_in_order = tuple(predicate.types[i] for i in order)
        if isinstance(predicate.start, tuple):
            told, *about = predicate.start
            same = tuple(order.index(i) for i in about) if len(about) > len(order) else ()
            found.append(LiftedPredicate(name, types_in_order, "told", tuple(at), str(told), same))
        else:
            found.append(LiftedPredicate(name, types_in_order, str(predicate.start), tuple(at)))
        for schema, places in predicate.asked:
            lists[schema]["pre"].append((number, tuple(places[i] for i in order)))
        for part, mask in (("add", predicate.adds), ("delete", predicate.deletes)):
            for bit in bits_of(mask):
                schema, places = projection.tokens[predicate.arity][bit]
                lists[schema][part].append((number, tuple(places[i] for i in order)))
    actions = [
        LiftedAction(name, pattern, types[i], *(tuple(lists[i][part]) for part in ("pre", "add", "delete")))
        for i, (name, pattern) in enumerate(projection.asked)
    ]
    count = len(projection.schemas)
    return LiftedWorld(naming, tuple(found), tuple(actions[:count]), tuple(actions[count:]))


def in_order(predicates: Sequence[Predicate]) -> list[Predicate]:
    return sorted(predicates, key=lambda p: (isinstance(p.start, str), -len(p.asked), p.asked, p.adds, p.deletes))


def order_of(predicate: Predicate) -> tuple[int, ...]:
    """A told atom says the order of its arguments; an invented one keeps that of who asks it first."""
    if isinstance(predicate.start, tuple) and len(set(predicate.start[1:])) == predicate.arity:
        return tuple(dict.fromkeys(predicate.start[1:]))
    if predicate.asked:
        _, places = predicate.asked[0]
        return tuple(sorted(range(predicate.arity), key=lambda i: places[i]))
    return tuple(range(predicate.arity))


def names_for(predicates: Sequence[Predicate], projection: Projection, told: Collection[str] = ()) -> list[str]:
    """Different names, the same from run to run; no invented one is that of an atom which the log tells."""
    taken: set[str] = set()
    names = []
    for predicate in predicates:
        wanted = wanted_names(predicate, projection)
        numbered = (f"{wanted[0]}-{number}" for number in count(2))
        own = {predicate.start[0]} if isinstance(predicate.start, tuple) else set()
        avoided = set(told) - own
        name = next(name for name in chain(wanted, numbered) if name not in taken and name not in avoided)
        taken.add(name)
        names.append(name)
    return names


def wanted_names(predicate: Predicate, projection: Projection) -> list[str]:
    """The best first. A told atom and a final value have names. What starts false and one action alone makes true is
    `after-pay`; what starts true and one action alone makes false is `before-cancel`; anything else is called after who
    needs it and uses it up, `can-put-down`."""
    if isinstance(predicate.start, tuple):
        told, *about = predicate.start
        return [f"{told}-same" if len(about) > predicate.arity else str(told)]
    tests = [schema for schema, _ in predicate.asked if schema >= len(projection.schemas)]
    if tests:
        return [projection.asked[tests[0]][0]]
    tokens = projection.tokens[predicate.arity]
    adders, deleters = (
        {projection.schemas[tokens[bit][0]][0] for bit in bits_of(mask)} for mask in (predicate.adds, predicate.deletes)
    )
    found = []
    if len(adders) == 1 and predicate.start == FALSE and not predicate.true_at:
        found.append(f"after-{min(adders)}")
    starts_true = predicate.start == TRUE or (predicate.true_at and not predicate.arity)
    if len(deleters) == 1 and starts_true:
        found.append(f"before-{min(deleters)}")
    using = [
        schema
        for schema, places in predicate.asked
        if any(tokens[bit] == (schema, places) for bit in bits_of(predicate.deletes))
    ]
    schemas = using or [schema for schema, _ in predicate.asked]
    return [*found, f"can-{projection.asked[min(schemas)][0]}" if schemas else "free"]


__all__ = ["EVERYWHERE", "FALSE", "TRUE", "LiftedAction", "LiftedPredicate", "LiftedWorld", "lift"]
