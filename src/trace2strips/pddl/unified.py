"""A lifted domain and problem as objects of unified-planning, in the log's own names.

unified-planning is an optional dependency; whoever has none is told so in a line.
"""

from __future__ import annotations

from collections import OrderedDict
from importlib.util import find_spec
from typing import Any

from trace2strips.errors import UserError
from trace2strips.model.lifted import OBJECT, LiftedDomain, LiftedProblem, Literal, Schema
from trace2strips.model.strips import State, StripsModel
from trace2strips.pddl.names import decode_name, encode_name


def to_unified_planning(domain: LiftedDomain, problem: LiftedProblem) -> Any:
    """A `unified_planning.model.Problem`; all that the problem does not say is false at the start."""
    if find_spec("unified_planning") is None:
        raise UserError("unified-planning is not installed", hint="pip install 'trace2strips[unified]'")
    from unified_planning.environment import get_environment
    from unified_planning.model import Fluent, InstantaneousAction, Object, Problem

    environment = get_environment()  # the one that its planners take
    managed, types = environment.type_manager, {OBJECT: environment.type_manager.UserType(OBJECT)}
    parents, called = dict(domain.types), names_of(domain, problem)

    def type_of(name: str) -> Any:
        if name not in types:
            types[name] = managed.UserType(called["type", name], type_of(parents[name]))
        return types[name]

    found = Problem(decode_name(problem.name), environment, initial_defaults={managed.BoolType(): False})
    fluents = {}
    for name, kinds in domain.predicates:
        signature = OrderedDict((f"x{i}", type_of(kind)) for i, kind in enumerate(kinds))
        fluents[name] = Fluent(called["fluent", name], managed.BoolType(), signature, environment)
        found.add_fluent(fluents[name], default_initial_value=False)
    named = (*domain.constants, *problem.objects)
    objects = {name: Object(called["object", name], type_of(kind), environment) for name, kind in named}
    found.add_objects(objects.values())

    def expression(literal: Literal, bound: dict[str, Any]) -> Any:
        return fluents[literal.predicate](*(bound.get(word) or objects[word] for word in literal.arguments))

    for schema in domain.schemas:
        parameters = OrderedDict((variable.removeprefix("?"), type_of(kind)) for variable, kind in schema.parameters)
        action = InstantaneousAction(called["action", schema.name], parameters, environment)
        bound = {variable: action.parameter(variable.removeprefix("?")) for variable, _ in schema.parameters}
        for literal in schema.pre:
            action.add_precondition(expression(literal, bound))
        for literals, value in ((schema.add, True), (schema.delete, False)):
            for literal in literals:
                action.add_effect(expression(literal, bound), value)
        found.add_action(action)
    for literal in problem.init:
        found.set_initial_value(expression(literal, {}), True)
    for literal in problem.goal:
        found.add_goal(expression(literal, {}))
    return found


def names_of(domain: LiftedDomain, problem: LiftedProblem) -> dict[tuple[str, str], str]:
    """What everything is called: as in the log; of two things with one name the later one says what it is."""
    things = [
        *(("action", schema.name) for schema in domain.schemas),
        *(("object", name) for name, _ in (*domain.constants, *problem.objects)),
        *(("fluent", name) for name, _ in domain.predicates),
        *(("type", name) for name, _ in domain.types),
    ]
    found: dict[tuple[str, str], str] = {}
    taken = {OBJECT}
    for kind, name in dict.fromkeys(things):
        word = decode_name(name)
        while word in taken:
            word += f"-{kind}"
        taken.add(word)
        found[kind, name] = word
    return found


def as_lifted(model: StripsModel, init: State = frozenset()) -> tuple[LiftedDomain, LiftedProblem]:
    """A ground model as a domain without objects, and the problem that begins in a state."""

    def literals(atoms: State) -> tuple[Literal, ...]:
        return tuple(Literal(encode_name(atom)) for atom in sorted(atoms))

    schemas = tuple(
        Schema(encode_name(a.name), (), literals(a.pre), (), literals(a.add), literals(a.delete - a.add))
        for a in model.actions
    )
    predicates = tuple((encode_name(atom), ()) for atom in model.atoms)
    domain = LiftedDomain(encode_name(model.name), (), (), predicates, schemas, typed=False)
    return domain, LiftedProblem("problem", domain.name, (), literals(init), ())
