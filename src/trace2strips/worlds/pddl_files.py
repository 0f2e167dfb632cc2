"""A domain of the user's own: a lifted PDDL domain file and one or more problem files over the same objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import PddlError, with_file
from trace2strips.files import read_text
from trace2strips.model.lifted import Literal
from trace2strips.pddl import format_problem, ground, parse_domain, parse_problem
from trace2strips.pddl.grounding import goal_atom
from trace2strips.worlds.domain import Columns, Domain, Family


class PddlFiles(Family):
    """Initial states and goals are those of the problem files, drawn at random; nothing is held back from training."""

    name = "pddl"
    sizes = {}
    size_form = ""
    minimum = ()
    splits = False

    def __init__(self, domain_path: Path, problem_paths: Sequence[Path]) -> None:
        super().__init__()
        self.files = (domain_path.name, *(path.name for path in problem_paths))  # type: ignore[misc]
        self.pddl = read_text(domain_path)  # type: ignore[misc]
        domain = parse_domain(self.pddl, str(domain_path))
        problems = [parse_problem(read_text(path), domain, str(path)) for path in problem_paths]
        first = problems[0]
        for path, problem in zip(problem_paths, problems, strict=True):
            if dict(problem.objects) != dict(first.objects):
                raise PddlError(
                    f"its objects differ from those of {problem_paths[0]}", file=path,
                    hint="all problems of one domain must share their objects",
                )  # fmt: skip
        inits = [frozenset(problem.init) for problem in problems]
        # what differs between the problems is part of the state, even where no action changes it
        self.varying = frozenset(x.predicate for some in inits for x in frozenset.union(*inits) - some)  # type: ignore[misc]
        everything = tuple(dict.fromkeys(fact for problem in problems for fact in problem.init))
        goals = tuple(dict.fromkeys(fact for problem in problems for fact in problem.goal))
        self.union = replace(first, init=everything, goal=goals)
        self.typed = domain.typed
        fluent = domain.changing | self.varying
        task = ground(domain, replace(self.union, goal=()), self.varying)
        facts = {Literal(words[0], words[1:]): atom for atom in task.model.atoms for words in [task.origin[atom]]}
        for path, problem in zip(problem_paths, problems, strict=True):  # a goal out of reach is its own file's error
            for fact in problem.goal:
                with_file(path, partial(goal_atom, fact, facts, set(task.statics), fluent))
        self.inits = [frozenset(fact for fact in problem.init if fact.predicate in fluent) for problem in problems]
        self.goals = [frozenset(fact for fact in problem.goal if fact.predicate in fluent) for problem in problems]
        self.given = replace(first, init=tuple(self.inits[0]), goal=tuple(self.goals[0]))  # type: ignore[misc]

    def problem(self) -> str:
        return format_problem(self.union, self.typed)

    def initial_atom(self, literal: Literal) -> bool:
        return any(literal in init for init in self.inits)

    def goal_atom(self, literal: Literal) -> bool:
        return any(literal in goal for goal in self.goals)

    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        states = self.rows(self.inits, column)
        return states[rng.integers(len(states), size=count)]

    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """A goal of a problem with this initial state; of several such problems, any."""
        goals: dict[bytes, list[Bool[np.ndarray, " atoms"]]] = {}
        for state, goal in zip(self.rows(self.inits, column), self.rows(self.goals, column), strict=True):
            goals.setdefault(state.tobytes(), []).append(goal)
        fitting = [goals[state.tobytes()] for state in init]
        return np.stack([some[rng.integers(len(some))] for some in fitting]) if fitting else init.copy()

    def rows(self, facts: Sequence[frozenset[Literal]], column: Columns) -> Bool[np.ndarray, "problems atoms"]:
        rows = np.zeros((len(facts), len(column)), dtype=bool)
        for row, literals in zip(rows, facts, strict=True):
            row[[column(x.predicate, *x.arguments) for x in literals]] = True
        return rows

    def count_states(self) -> int | None:
        return None


def domain_from_files(domain_path: str | Path, problem_paths: Sequence[str | Path]) -> Domain:
    """Read, check and ground; raises PddlError with file and line."""
    if not problem_paths:
        raise PddlError("a PDDL domain needs a problem file for its objects and initial state", file=domain_path,
                        hint="--problem FILE")  # fmt: skip
    path = Path(domain_path)
    return Domain(path.stem, PddlFiles(path, [Path(p) for p in problem_paths]))
