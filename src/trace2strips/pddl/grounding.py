"""Grounding: the schemas of a lifted domain over the objects of a problem, as far as they can be reached."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, product
from math import prod
from typing import TypeVar

from trace2strips.model.lifted import LiftedDomain, LiftedProblem, Literal, Schema
from trace2strips.model.strips import StripsAction, StripsModel, StripsProblem
from trace2strips.pddl.names import find_joiner, unambiguous_names

Fact = TypeVar("Fact")
MOST_TRIED = 2_000_000  # choices of objects for parameters: about 1 µs each
MOST_ACTIONS = 500_000  # instances of action schemas: about 2 kB and 20 µs each


@dataclass(frozen=True)
class GroundTask:
    """A propositional model with where its names come from: `on_a_b` is ("on", "a", "b")."""

    problem: StripsProblem
    statics: tuple[Literal, ...]
    origin: dict[str, tuple[str, ...]] = field(compare=False)
    out_of_reach: tuple[str, ...] = ()  # what the goal wants and nothing can bring about
    opposites: dict[str, Literal] = field(default_factory=dict)  # the atom not-on_a_b → (on a b)

    @property
    def model(self) -> StripsModel:
        return self.problem.model


def ground(
    domain: LiftedDomain,
    problem: LiftedProblem,
    varying: Collection[str] = (),
    unsure: Collection[Literal] = (),
    joiner: str | None = None,
) -> GroundTask:
    """Instantiate the schemas, keep what is reachable when deletes are ignored, evaluate and drop the statics.

    A predicate in `varying` stays in F although no action changes it: it differs between the problems of one domain.
    What is `unsure` holds in some initial states only. `joiner` stands between the words of a name.
    F has no negative preconditions: a literal (not (on a b)) that some action or the goal asks for is an atom of its
    own, (not-on a b), which is true where the other is false. What is added and deleted at once is added, as PDDL says.
    """
    fluent = domain.changing | set(varying)
    objects = dict(domain.constants) | dict(problem.objects)
    static_facts = {fact for fact in problem.init if fact.predicate not in fluent}
    refuse_too_many(domain, objects, static_facts, fluent)
    candidates = [
        (schema, binding)
        for schema in domain.schemas
        for binding in instantiate(schema, domain, objects, static_facts, fluent)
    ]

    def fluents(literals: Sequence[Literal], binding: dict[str, str]) -> frozenset[Literal]:
        return frozenset(x.bind(binding) for x in literals if x.predicate in fluent)

    false = [fluents(schema.negative_pre, binding) for schema, binding in candidates]
    asked = {x for part in (*false, problem.negative_goal) for x in part if x.predicate in fluent or x in static_facts}
    opposite = opposites(domain, asked)
    pre = [fluents(schema.pre, b) | {opposite[x] for x in false[i]} for i, (schema, b) in enumerate(candidates)]
    add = [fluents(schema.add, binding) for schema, binding in candidates]
    delete = [fluents(schema.delete, binding) - add[i] for i, (schema, binding) in enumerate(candidates)]
    if opposite:
        both = [({opposite[x] for x in lost & opposite.keys()}, {opposite[x] for x in won & opposite.keys()})
                for won, lost in zip(add, delete, strict=True)]  # fmt: skip
        add = [won | more for won, (more, _) in zip(add, both, strict=True)]
        delete = [lost | more for lost, (_, more) in zip(delete, both, strict=True)]
    true = {fact for fact in problem.init if fact.predicate in fluent}
    init = true | {other for fact, other in opposite.items() if fact not in true and fact not in static_facts}
    wanted = [x for x in problem.goal if x not in static_facts]
    wanted += [opposite[x] for x in problem.negative_goal if x in opposite]
    reached = init | {other for fact, other in opposite.items() if fact in unsure}
    applied = reach(pre, add, reached)

    actions = sorted((candidates[i][0].name, *candidates[i][1].values()) for i in applied)
    never = sorted(set(wanted) - reached, key=str)  # atoms of the goal all the same: that no plan exists is an answer
    atoms = sorted((x.predicate, *x.arguments) for x in (*reached, *never))
    joiner = joiner or find_joiner(words_of(domain, objects))
    action_name, atom_name = unambiguous_names(actions, joiner), unambiguous_names(atoms, joiner)
    facts = {Literal(words[0], words[1:]): name for words, name in atom_name.items()}

    ground_actions = []
    for i in applied:
        schema, binding = candidates[i]
        words = (schema.name, *binding.values())
        parts = (pre[i], add[i], delete[i] & reached)
        ground_actions.append(StripsAction(action_name[words], *(frozenset(facts[x] for x in part) for part in parts)))
    model = StripsModel(
        tuple(atom_name.values()), tuple(sorted(ground_actions, key=lambda a: a.name)), name=domain.name
    )
    start, goal = (frozenset(facts[fact] for fact in some) for some in (init, wanted))
    origin = {name: words for words, name in (*action_name.items(), *atom_name.items())}
    statics = tuple(sorted(static_facts, key=str))
    ground_problem = StripsProblem(model, start, goal, problem.name)
    known = {facts[other]: fact for fact, other in opposite.items() if other in facts}
    return GroundTask(ground_problem, statics, origin, tuple(facts[fact] for fact in never), known)


def words_of(domain: LiftedDomain, objects: Iterable[str]) -> set[str]:
    """What names of ground actions and atoms may be made of."""
    return {*(schema.name for schema in domain.schemas), *domain.changing, *objects}


def opposites(domain: LiftedDomain, asked: Collection[Literal]) -> dict[Literal, Literal]:
    """For each literal that is asked to be false an atom that says so."""
    taken = {name for name, _ in domain.predicates}
    names: dict[str, str] = {}
    for predicate in sorted({literal.predicate for literal in asked}):
        name = f"not-{predicate}"
        while name in taken:
            name += "-again"
        taken.add(name)
        names[predicate] = name
    return {literal: Literal(names[literal.predicate], literal.arguments) for literal in asked}


def refuse_too_many(
    domain: LiftedDomain, objects: dict[str, str], statics: set[Literal], fluent: Collection[str]
) -> None:
    """Count the instances before they are made: those that static facts allow, times all objects for the others."""
    total = tried = 0

    def counted(join: Join, schema: Schema, binding: Binding) -> Iterator[Binding]:
        """Also those that a later condition does not allow: finding them takes as long."""
        nonlocal tried
        for longer in join.extend(binding):
            tried += 1
            if tried > MOST_TRIED:
                schema.fail(
                    f"too large to ground: static facts allow more than {MOST_TRIED:,} choices for parameters, up to "
                    f"action {schema.name!r}",
                    hint="take a problem with fewer objects",
                )
            yield longer

    for schema in domain.schemas:
        fitting = fitting_objects(schema, domain, objects)
        joins = list(order_joins(schema, fitting, statics, fluent))
        steps = [partial(counted, join, schema) for join in joins if not join.free]
        found = sum(1 for _ in islice(extend_all(steps), MOST_ACTIONS + 1))
        total += found * prod(len(join.choices[()]) for join in joins if join.free)
        if total > MOST_ACTIONS:
            schema.fail(
                f"too large to ground: up to action {schema.name!r} there are at least {total:,} instances, "
                f"{MOST_ACTIONS:,} can be handled",
                hint="take a problem with fewer objects",
            )


Binding = dict[str, str]  # variable → object
Step = Callable[[Binding], Iterator[Binding]]


def instantiate(
    schema: Schema,
    domain: LiftedDomain,
    objects: dict[str, str],
    statics: set[Literal],
    fluent: Collection[str],
) -> Iterator[Binding]:
    """All bindings of the parameters that fit types, `=` and the static facts.

    Static preconditions are joined one after the other, as a database joins its tables: the work follows the facts that
    there are, not all combinations of objects. Other conditions are tested as soon as their variables are bound.
    """
    fitting = fitting_objects(schema, domain, objects)
    tests = [(x, True) for x in schema.pre if x.predicate == "="]
    tests += [(x, False) for x in schema.negative_pre if x.predicate not in fluent]
    steps: list[Step] = []
    bound: set[str] = set()
    for join in (NO_JOIN, *order_joins(schema, fitting, statics, fluent)):
        bound |= set(join.new)
        ready = [test for test in tests if fitting.keys() & set(test[0].arguments) <= bound]
        tests = [test for test in tests if test not in ready]
        steps.append(partial(select, join, ready, statics))
    for binding in extend_all(steps):
        yield {variable: binding[variable] for variable in fitting}  # in the order of the parameters


def extend_all(steps: Sequence[Step]) -> Iterator[Binding]:
    """What is left when each step has extended what the one before it gave. One binding goes through all of them at a
    time; no recursion: an action may have more parameters than Python's stack has places."""
    stack: list[Iterator[Binding]] = [iter([{}])]
    while stack:
        binding = next(stack[-1], None)
        if binding is None:
            stack.pop()
        elif len(stack) > len(steps):
            yield binding
        else:
            stack.append(steps[len(stack) - 1](binding))


def fitting_objects(schema: Schema, domain: LiftedDomain, objects: dict[str, str]) -> dict[str, dict[str, None]]:
    """For each parameter the objects of its type."""
    kinds = {kind for _, kind in schema.parameters}
    known = set(objects.values())
    fits = {kind: {other for other in known if domain.is_a(other, kind)} for kind in kinds}
    return {v: {o: None for o, t in objects.items() if t in fits[kind]} for v, kind in schema.parameters}


def instantiate_slowly(
    schema: Schema,
    domain: LiftedDomain,
    objects: dict[str, str],
    statics: set[Literal],
    fluent: Collection[str],
) -> Iterator[Binding]:
    """All combinations of objects, each tested: what `instantiate` must find."""
    variables = [variable for variable, _ in schema.parameters]
    for values in product(objects, repeat=len(variables)):
        binding = dict(zip(variables, values, strict=True))
        if (
            all(domain.is_a(objects[binding[variable]], kind) for variable, kind in schema.parameters)
            and all(holds(x.bind(binding), statics) for x in schema.pre if x.predicate not in fluent)
            and not any(holds(x.bind(binding), statics) for x in schema.negative_pre if x.predicate not in fluent)
        ):
            yield binding


@dataclass(frozen=True)
class Join:
    """One more condition on bindings: for each choice of the variables `old`, the choices that are left for `new`."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    choices: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]]
    free: bool = False  # any object of the right type will do

    def extend(self, binding: Binding) -> Iterator[Binding]:
        for objects in self.choices.get(tuple(binding[variable] for variable in self.old), ()):
            yield binding | dict(zip(self.new, objects, strict=True))


NO_JOIN = Join((), (), {(): [()]})  # binds nothing: conditions without variables are tested after it, before all others


def order_joins(
    schema: Schema, fitting: Mapping[str, Collection[str]], statics: set[Literal], fluent: Collection[str]
) -> Iterator[Join]:
    """A join for each static precondition, always one with the fewest new variables and then facts, so that the number
    of bindings stays small; then one for each variable that no static precondition has bound.
    """
    waiting = [x for x in schema.pre if x.predicate not in fluent and x.predicate != "="]
    facts: dict[str, list[tuple[str, ...]]] = {literal.predicate: [] for literal in waiting}
    for fact in sorted(statics, key=str):
        if fact.predicate in facts:
            facts[fact.predicate].append(fact.arguments)
    unbound = dict.fromkeys(fitting)
    while waiting:
        literal = min(waiting, key=lambda x: (len(unbound.keys() & set(x.arguments)), len(facts[x.predicate])))
        waiting.remove(literal)
        new = tuple(dict.fromkeys(a for a in literal.arguments if a in unbound))
        old = tuple(a for a in literal.arguments if a in fitting and a not in unbound)
        choices: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for objects in facts[literal.predicate]:
            match = match_arguments(literal, objects, fitting)
            if match is not None:
                choices.setdefault(tuple(match[a] for a in old), []).append(tuple(match[a] for a in new))
        yield Join(old, new, choices)
        for variable in new:
            del unbound[variable]
    for variable in unbound:
        yield Join((), (variable,), {(): [(name,) for name in fitting[variable]]}, free=True)


def match_arguments(
    literal: Literal, objects: tuple[str, ...], fitting: Mapping[str, Collection[str]]
) -> Binding | None:
    """What the literal's arguments must stand for to make it the fact about these objects; None where they cannot."""
    match: Binding = {}
    for argument, name in zip(literal.arguments, objects, strict=True):
        possible = (
            name in fitting[argument] if argument in fitting else name == argument
        )  # a constant stands for itself
        if not possible or match.setdefault(argument, name) != name:
            return None
    return match


def select(
    join: Join, tests: Sequence[tuple[Literal, bool]], statics: set[Literal], binding: Binding
) -> Iterator[Binding]:
    """The longer bindings under which each literal holds or not, as wanted."""
    for longer in join.extend(binding):
        if all(holds(literal.bind(longer), statics) is wanted for literal, wanted in tests):
            yield longer


def holds(literal: Literal, statics: set[Literal]) -> bool:
    return literal.arguments[0] == literal.arguments[1] if literal.predicate == "=" else literal in statics


def reach(pre: Sequence[Collection[Fact]], add: Sequence[Collection[Fact]], reached: set[Fact]) -> list[int]:
    """The numbers of the actions that can ever apply when nothing is deleted; `reached` grows to all atoms they add."""
    waiting: dict[Fact, list[int]] = {}
    missing = [len(set(condition) - reached) for condition in pre]
    for i, condition in enumerate(pre):
        for fact in condition:
            if fact not in reached:
                waiting.setdefault(fact, []).append(i)
    ready = [i for i, count in enumerate(missing) if count == 0]
    for i in ready:  # grows while it is walked
        for fact in add[i]:
            if fact not in reached:
                reached.add(fact)
                for j in waiting.get(fact, ()):
                    missing[j] -= 1
                    if missing[j] == 0:
                        ready.append(j)
    return sorted(ready)
