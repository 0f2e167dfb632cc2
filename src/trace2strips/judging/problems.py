"""A planning problem for a source from a PDDL problem file, in the model's own atoms or in those of the hidden domain,
grounded or lifted. (By atoms, or by the name of an initial state: `model.goals`.)
"""

from __future__ import annotations

from pathlib import Path

from trace2strips.errors import PddlError, with_file
from trace2strips.files import read_text
from trace2strips.judging.plan_outcomes import align, start_names
from trace2strips.judging.sources import Source
from trace2strips.learners.learner import Learned
from trace2strips.model.lifted import LiftedProblem
from trace2strips.model.strips import State, StripsProblem
from trace2strips.pddl import ground, parse_expression, parse_model_problem, parse_problem
from trace2strips.worlds import Domain


def read_source_problem(source: Source, path: Path) -> StripsProblem:
    """A problem file in the model's own atoms, or in those of the hidden domain, grounded or lifted."""

    def read() -> StripsProblem:
        text = read_text(path)
        declared, lifted = outline(text, path)
        domain = source.domain
        if lifted and source.learned is not None and declared == source.model.name:
            found = source.learned.learner.read_problem(source.learned, text, str(path))
            if found is not None:
                return found
        if domain is None or (declared == source.model.name and not lifted):
            return parse_model_problem(text, source.model, str(path))
        if lifted:
            read = parse_problem(text, domain.lifted, str(path))
            if source.learned is not None and source.encoding == "atoms" and other_objects(domain, read):
                return of_another_size(source.learned, domain, read)
            problem = domain.problem_of(read)
        else:
            problem = parse_model_problem(text, domain.model, str(path))
        return problem if source.world is None else align(problem, source.world, start_of(source, problem.init))

    return with_file(path, read)


def other_objects(domain: Domain, problem: LiftedProblem) -> bool:
    return dict(problem.objects) != dict(domain.example.objects)


def of_another_size(learned: Learned, domain: Domain, problem: LiftedProblem) -> StripsProblem:
    """A problem of the hidden domain over other objects than training had: its actions are those that can be tried."""
    hidden = ground(domain.lifted, problem, domain.family.varying).problem
    world = learned.learner.world_over(learned, hidden.model.action_index, hidden.model.atoms)
    if world is learned.world:
        domain.problem_of(problem)  # says which objects are known
    return align(hidden, world)


def outline(text: str, path: Path) -> tuple[str, bool]:
    """The domain that a problem file says it is for, and whether it has objects."""
    declared, lifted = "", False
    for section in parse_expression(text, str(path)).items[2:]:
        if section.head == ":domain" and len(section.items) == 2:
            declared = section.items[1].word
        lifted |= section.head == ":objects" and len(section.items) > 1
    return declared, lifted


def start_of(source: Source, init: State) -> str | None:
    """The `init-s` of a hidden initial state; None where initial states are told atom by atom."""
    assert source.domain is not None
    names = start_names(source.domain, source.encoding)
    if names and init not in names:
        raise PddlError(
            "its initial state is none of those the model was trained on",
            hint=f"the model knows {len(names)} initial states; learn from init-atoms traces for others",
        )
    return names.get(init)
