"""Grounding: the schemas of a lifted domain over the objects of a problem, as far as they can be reached."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeVar

from trace2strips.errors import PddlError
from trace2strips.model.lifted import LiftedDomain, LiftedProblem, Literal, Schema
from trace2strips.model.strips import StripsAction, StripsModel, StripsProblem
from trace2strips.pddl.names import unambiguous_names

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class GroundTask:
    """A propositional model with where its names come from: `on_a_b` is ("on", "a", "b")."""

    problem: StripsProblem
    statics: tuple[Literal, ...]
    origin: dict[str, tuple[str, ...]] = field(compare=False)

    @property
    def model(self) -> StripsModel:
        return self.problem.model


def ground(domain: LiftedDomain, problem: LiftedProblem, varying: Collection[str] = ()) -> GroundTask:
    """Instantiate the schemas, keep what is reachable when deletes are ignored, evaluate and drop the statics.

    A predicate in `varying` stays in F although no action changes it: it differs between the problems of one domain.
    """
    fluent = domain.changing | set(varying)
    for schema in domain.schemas:
        for literal in schema.negative_pre:
            if literal.predicate in varying:  # it is no static here, and F holds no negative preconditions
                schema.fail(
                    f"unsupported feature: negative precondition over {literal.predicate!r}, in which problems differ",
                    hint=f"give all problems the same ({literal.predicate} …) atoms, or add a complementary predicate",
                )
    objects = dict(domain.constants) | dict(problem.objects)
    static_facts = {fact for fact in problem.init if fact.predicate not in fluent}
    candidates = [
        (schema, binding)
        for schema in domain.schemas
        for binding in instantiate(schema, domain, objects, static_facts, fluent)
    ]

    def fluents(literals: Sequence[Literal], binding: dict[str, str]) -> frozenset[Literal]:
        return frozenset(x.bind(binding) for x in literals if x.predicate in fluent)

    pre = [fluents(schema.pre, binding) for schema, binding in candidates]
    add = [fluents(schema.add, binding) for schema, binding in candidates]
    reached = {fact for fact in problem.init if fact.predicate in fluent}
    applied = reach(pre, add, reached)

    actions = sorted((candidates[i][0].name, *candidates[i][1].values()) for i in applied)
    atoms = sorted((x.predicate, *x.arguments) for x in reached)
    action_name, atom_name = unambiguous_names(actions), unambiguous_names(atoms)
    facts = {Literal(words[0], words[1:]): name for words, name in atom_name.items()}

    ground_actions = []
    for i in applied:
        schema, binding = candidates[i]
        words = (schema.name, *binding.values())
        delete = fluents(schema.delete, binding) & reached
        for both in sorted(map(str, add[i] & delete)):
            schema.fail(
                f"action ({' '.join(words)}) adds and deletes {both}",
                hint="exclude such arguments, for example with (not (= ?x ?y))",
            )
        ground_actions.append(
            StripsAction(action_name[words], *(frozenset(facts[x] for x in part) for part in (pre[i], add[i], delete)))
        )
    model = StripsModel(
        tuple(atom_name.values()), tuple(sorted(ground_actions, key=lambda a: a.name)), name=domain.name
    )
    init = frozenset(facts[fact] for fact in problem.init if fact.predicate in fluent)
    goal = frozenset(goal_atom(fact, facts, static_facts, fluent) for fact in problem.goal) - {""}
    origin = {name: words for words, name in (*action_name.items(), *atom_name.items())}
    return GroundTask(StripsProblem(model, init, goal, problem.name), tuple(sorted(static_facts, key=str)), origin)


def goal_atom(fact: Literal, facts: dict[Literal, str], statics: set[Literal], fluent: Collection[str]) -> str:
    """The ground name of a goal atom; '' for a static one that holds."""
    if fact in facts:
        return facts[fact]
    if fact.predicate not in fluent and fact in statics:
        return ""
    raise PddlError(f"the goal atom {fact} can never become true", hint="check the problem's goal and init")


Binding = dict[str, str]  # variable → object


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
    fitting = {v: {o: None for o, t in objects.items() if domain.is_a(t, kind)} for v, kind in schema.parameters}
    tests = [(x, True) for x in schema.pre if x.predicate == "="] + [(x, False) for x in schema.negative_pre]
    bindings: Iterable[Binding] = [{}]
    bound: set[str] = set()
    for join in (NO_JOIN, *order_joins(schema, fitting, statics, fluent)):
        bound |= set(join.new)
        ready = [test for test in tests if fitting.keys() & set(test[0].arguments) <= bound]
        tests = [test for test in tests if test not in ready]
        bindings = select(join.extend(bindings), ready, statics)  # lazily: one binding goes through all joins at a time
    for binding in bindings:
        yield {variable: binding[variable] for variable in fitting}  # in the order of the parameters


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
            and not any(holds(x.bind(binding), statics) for x in schema.negative_pre)
        ):
            yield binding


@dataclass(frozen=True)
class Join:
    """One more condition on bindings: for each choice of the variables `old`, the choices that are left for `new`."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    choices: Mapping[tuple[str, ...], Sequence[tuple[str, ...]]]

    def extend(self, bindings: Iterable[Binding]) -> Iterator[Binding]:
        for binding in bindings:
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
        yield Join((), (variable,), {(): [(name,) for name in fitting[variable]]})


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
    bindings: Iterable[Binding], tests: Sequence[tuple[Literal, bool]], statics: set[Literal]
) -> Iterator[Binding]:
    """The bindings under which each literal holds or not, as wanted."""
    for binding in bindings:
        if all(holds(literal.bind(binding), statics) is wanted for literal, wanted in tests):
            yield binding


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
