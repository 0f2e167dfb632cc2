"""Models, domains and problems as PDDL text, in the form that all planners share: lower case, `:strips`, explicit empty
lists, positive preconditions.
"""

from __future__ import annotations

from collections.abc import Sequence

from trace2strips.model.lifted import EITHER, LiftedDomain, LiftedProblem
from trace2strips.model.strips import StripsModel, StripsProblem
from trace2strips.pddl.names import encode_name


def format_model(model: StripsModel) -> str:
    """The propositional domain, in the form that every planner accepts."""
    lines = [f"(define (domain {encode_name(model.name)})", "  (:requirements :strips)", "  (:predicates"]
    lines += [f"    ({encode_name(atom)})" for atom in model.atoms]
    lines[-1] += ")"
    order = model.atom_index.__getitem__
    for action in model.actions:
        pre = [f"({encode_name(a)})" for a in sorted(action.pre, key=order)]
        effects = [f"({encode_name(a)})" for a in sorted(action.add, key=order)]
        effects += [f"(not ({encode_name(a)}))" for a in sorted(action.delete, key=order)]
        lines += [
            f"  (:action {encode_name(action.name)}",
            "    :parameters ()",
            f"    :precondition ({' '.join(['and', *pre])})",
            f"    :effect ({' '.join(['and', *effects])}))",
        ]
    return "\n".join(lines) + ")\n"


def format_model_problem(problem: StripsProblem) -> str:
    """The propositional problem that goes with `format_model`."""
    order = problem.model.atom_index.__getitem__
    init = " ".join(f"({encode_name(a)})" for a in sorted(problem.init, key=order))
    goal = " ".join(["and", *(f"({encode_name(a)})" for a in sorted(problem.goal, key=order))])
    return (
        f"(define (problem {encode_name(problem.name)})\n  (:domain {encode_name(problem.model.name)})\n"
        f"  (:init {init})\n  (:goal ({goal})))\n"
    )


def format_domain(domain: LiftedDomain) -> str:
    """A lifted domain as PDDL; `parse_domain` gives the same domain back."""
    needs = [":strips"]
    if domain.typed:
        needs.append(":typing")
    if any(x.predicate == "=" for s in domain.schemas for x in (*s.pre, *s.negative_pre)):
        needs.append(":equality")
    if any(s.negative_pre for s in domain.schemas):
        needs.append(":negative-preconditions")
    lines = [f"(define (domain {domain.name})", f"  (:requirements {' '.join(needs)})"]
    if domain.types:
        lines.append(f"  (:types {format_typed(domain.types, True)})")
    if domain.constants:
        lines.append(f"  (:constants {format_typed(domain.constants, domain.typed)})")
    lines.append("  (:predicates")
    for name, kinds in domain.predicates:
        parameters = format_typed([(f"?x{i}", kind) for i, kind in enumerate(kinds)], domain.typed)
        lines.append(f"    ({' '.join(filter(None, (name, parameters)))})")
    lines[-1] += ")"
    for schema in domain.schemas:
        pre = [*map(str, schema.pre), *(f"(not {literal})" for literal in schema.negative_pre)]
        effect = [*map(str, schema.add), *(f"(not {literal})" for literal in schema.delete)]
        lines += [
            f"  (:action {schema.name}",
            f"    :parameters ({format_typed(schema.parameters, domain.typed)})",
            f"    :precondition ({' '.join(['and', *pre])})",
            f"    :effect ({' '.join(['and', *effect])}))",
        ]
    return "\n".join(lines) + ")\n"


def format_problem(problem: LiftedProblem, typed: bool = True) -> str:
    """A lifted problem as PDDL; `parse_problem` gives the same problem back."""
    goal = [*map(str, problem.goal), *(f"(not {literal})" for literal in problem.negative_goal)]
    return (
        f"(define (problem {problem.name})\n  (:domain {problem.domain})\n"
        f"  (:objects {format_typed(problem.objects, typed)})\n"
        f"  (:init {' '.join(map(str, problem.init))})\n"
        f"  (:goal ({' '.join(['and', *goal])})))\n"
    )


def format_typed(pairs: Sequence[tuple[str, str]], typed: bool) -> str:
    return " ".join(f"{name} - {format_kind(kind)}" if typed else name for name, kind in pairs)


def format_kind(kind: str) -> str:
    parts = kind.split(EITHER)
    return kind if len(parts) == 1 else f"(either {' '.join(parts)})"
