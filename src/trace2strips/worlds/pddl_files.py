"""A world of the user's own: a lifted PDDL domain file and problem files, each an instance with objects of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import permutations
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import PddlError, shorten, with_file
from trace2strips.files import read_text
from trace2strips.model.lifted import LiftedDomain, LiftedProblem, Literal
from trace2strips.model.strips import StripsAction, StripsModel, StripsProblem, state_of
from trace2strips.pddl import format_problem, ground, parse_domain, parse_problem
from trace2strips.pddl.grounding import words_of
from trace2strips.pddl.names import find_joiner
from trace2strips.worlds.domain import Columns, Domain, Family


class PddlFiles(Family):
    """Problems over the same objects and static facts. Initial states are theirs, or up to `walk` random steps away;
    goals are theirs. Final values are told of the goals' own atoms, with walks of all atoms of their predicates.
    """

    name = "pddl"
    sizes = {}
    size_form = ""
    minimum = ()
    splits = False

    def __init__(
        self, text: str, domain: LiftedDomain, problems: Sequence[LiftedProblem], files: Sequence[str],
        joiner: str | None, walk: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.files = tuple(files)  # type: ignore[misc]
        self.pddl = text  # type: ignore[misc]
        self.joiner, self.walk = joiner, walk  # type: ignore[misc]
        self.splits = walk > 0  # type: ignore[misc]
        self.domain, self.problems = domain, tuple(problems)
        first, fluent = problems[0], domain.changing
        inits = [frozenset(fact for fact in problem.init if fact.predicate in fluent) for problem in problems]
        self.inits = inits
        self.unsure = frozenset.union(*inits) - frozenset.intersection(*inits)  # type: ignore[misc]
        goals, negative = (
            tuple(dict.fromkeys(fact for problem in problems for fact in getattr(problem, part)))
            for part in ("goal", "negative_goal")
        )
        everything = tuple(dict.fromkeys(fact for problem in problems for fact in problem.init))
        self.union = replace(first, init=everything, goal=goals, negative_goal=negative)
        self.task = ground(domain, self.union, (), self.unsure, joiner)
        self.goals = [frozenset(map(self.goal_literal, wanted)) - {None} for wanted in map(wanted_of, problems)]
        self.predicates = {goal.predicate for wanted in self.goals for goal in wanted if goal is not None}
        self.given = replace(first, init=tuple(self.inits[0]), goal=tuple(filter(None, self.goals[0])))  # type: ignore[misc]

    def goal_literal(self, wanted: tuple[Literal, bool]) -> Literal | None:
        """The atom of F that a literal of a goal asks for; None where it holds always."""
        literal, true = wanted
        if not true:
            found = [atom for atom, fact in self.task.opposites.items() if fact == literal]
            return None if not found else Literal(self.task.origin[found[0]][0], literal.arguments)
        return None if literal in self.task.statics else literal

    def problem(self) -> str:
        return format_problem(self.union, self.domain.typed)

    def initial_atom(self, literal: Literal) -> bool:
        """With walks whatever can be reached."""
        fact = self.opposite_of(literal)
        holds = [literal in init if fact is None else fact not in init for init in self.inits]
        return any(holds) or (self.walk > 0 and self.task_atom(literal) not in self.task.out_of_reach)

    def task_atom(self, literal: Literal) -> str:
        return self.names[literal]

    @cached_property
    def names(self) -> dict[Literal, str]:
        found = ((atom, self.task.origin[atom]) for atom in self.task.model.atoms)
        return {Literal(words[0], tuple(words[1:])): atom for atom, words in found}

    def opposite_of(self, literal: Literal) -> Literal | None:
        return self.task.opposites.get(self.names[literal])

    def goal_atom(self, literal: Literal) -> bool:
        if self.walk:
            return literal.predicate in self.predicates
        return any(literal in goal for goal in self.goals)

    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        states = self.start_rows(column)
        return states[rng.integers(len(states), size=count)]

    def start_rows(self, column: Columns) -> Bool[np.ndarray, "problems atoms"]:
        """The initial states of the problems, in their order."""
        rows = self.rows(self.inits, column)
        for atom, fact in self.task.opposites.items():
            words = (fact.predicate, *fact.arguments)
            false = ~rows[:, column(*words)] if words in column.index else fact not in self.task.statics
            rows[:, column(*self.task.origin[atom])] = false
        return rows

    def goal_rows(self, column: Columns) -> Bool[np.ndarray, "problems atoms"]:
        return self.rows([frozenset(filter(None, goal)) for goal in self.goals], column)

    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """A goal of a problem with this initial state; of several such problems, any."""
        goals: dict[bytes, list[Bool[np.ndarray, " atoms"]]] = {}
        for state, goal in zip(self.start_rows(column), self.goal_rows(column), strict=True):
            goals.setdefault(state.tobytes(), []).append(goal)
        every = [goal for some in goals.values() for goal in some]
        fitting = [goals.get(state.tobytes(), every) for state in init]
        return np.stack([some[rng.integers(len(some))] for some in fitting]) if fitting else init.copy()

    def rows(self, facts: Sequence[frozenset[Literal]], column: Columns) -> Bool[np.ndarray, "problems atoms"]:
        rows = np.zeros((len(facts), len(column)), dtype=bool)
        for row, literals in zip(rows, facts, strict=True):
            row[[column(x.predicate, *x.arguments) for x in literals]] = True
        return rows

    def count_states(self) -> int | None:
        return None


def wanted_of(problem: LiftedProblem) -> list[tuple[Literal, bool]]:
    return [*((fact, True) for fact in problem.goal), *((fact, False) for fact in problem.negative_goal)]


def given_problems(domain: Domain) -> list[StripsProblem]:
    """The problems of a domain's files, each once; none for a benchmark domain, which makes its problems."""
    family = domain.family
    if not isinstance(family, PddlFiles):
        return []
    model, starts, goals = domain.model, family.start_rows(domain.column), family.goal_rows(domain.column)
    return [
        StripsProblem(model, state_of(model, start), state_of(model, goal), Path(file).stem)
        for start, goal, file in zip(starts, goals, family.files[1:], strict=True)
    ]


@dataclass(frozen=True)
class World:
    """One lifted domain and its instances, which differ in objects or static facts. A benchmark domain has one."""

    name: str
    instances: tuple[Domain, ...]
    remarks: tuple[str, ...] = ()  # what a user should know of the files, a line each

    @cached_property
    def model(self) -> StripsModel:
        """All instances in one: what one name does is the same in all of them."""
        if len(self.instances) == 1:
            return self.instances[0].model
        atoms = dict.fromkeys(atom for one in self.instances for atom in one.model.atoms)
        actions: dict[str, StripsAction] = {}
        for action in (action for one in self.instances for action in one.model.actions):
            known = actions.get(action.name, action)
            lists = (getattr(known, part) | getattr(action, part) for part in ("pre", "add", "delete"))
            actions[action.name] = StripsAction(action.name, *lists)
        return StripsModel(tuple(atoms), tuple(actions.values()), name=self.instances[0].model.name)

    @property
    def only(self) -> Domain:
        """The one instance, for work that is about one set of objects."""
        if len(self.instances) > 1:
            problem = self.instances[1].family.files[1]
            raise PddlError("its objects or static facts differ from those of the first problem", file=problem,
                            hint="give one problem at a time")  # fmt: skip
        return self.instances[0]

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the domain file and of all problem files."""
        first = self.instances[0].family.files[:1]
        return (*first, *(file for one in self.instances for file in one.family.files[1:]))


def world_from_files(domain_path: str | Path, problem_paths: Sequence[str | Path], walk: int = 0) -> World:
    """Read, check and ground; raises PddlError with file and line."""
    if not problem_paths:
        raise PddlError("a PDDL domain needs a problem file for its objects and initial state", file=domain_path,
                        hint="--problem FILE")  # fmt: skip
    path, paths = Path(domain_path), [Path(p) for p in problem_paths]
    text = read_text(path)
    domain = parse_domain(text, str(path))
    problems = [parse_problem(read_text(p), domain, str(p)) for p in paths]
    world = domain.name if path.stem == "domain" else path.stem  # as many call all their files
    joiner = find_joiner(words_of(domain, [name for p in problems for name, _ in (*p.objects, *domain.constants)]))
    groups: dict[tuple[frozenset[tuple[str, str]], frozenset[Literal]], list[int]] = {}
    for number, problem in enumerate(problems):
        statics = frozenset(fact for fact in problem.init if fact.predicate not in domain.changing)
        groups.setdefault((frozenset(problem.objects), statics), []).append(number)
    instances, remarks = [], [*domain.remarks, *(text for p in problems for text in p.remarks)]
    for group in groups.values():
        some, files = [problems[i] for i in group], [path.name, *(paths[i].name for i in group)]
        family = with_file(paths[group[0]], partial(PddlFiles, text, domain, some, files, joiner, walk))
        name = world if len(groups) == 1 else f"{world}-{paths[group[0]].stem}"
        instances.append(Domain(name, family))
        for i, goal in zip(group, family.goals, strict=True):
            never = [str(x) for x in goal if x is not None and family.names[x] in family.task.out_of_reach]
            remarks += [f"{paths[i]}: the goal {shorten(atom)} can never become true" for atom in sorted(never)[:1]]
    if clash := differing_fact(domain, problems):
        fact, has, lacks = clash
        remarks.append(
            f"{paths[has]} has {shorten(str(fact))}, {paths[lacks]} has the same objects without it: what was tried in "
            "one counts for the other too, also where certain is said; names of their own keep objects apart"
        )
    return World(world, tuple(instances), tuple(remarks))


def differing_fact(domain: LiftedDomain, problems: Sequence[LiftedProblem]) -> tuple[Literal, int, int] | None:
    """A static fact over objects that two problems share by name and that only one of the two has, and the numbers of
    the two. Traces do not tell static facts."""
    statics = [{fact for fact in problem.init if fact.predicate not in domain.changing} for problem in problems]
    objects = [{name for name, _ in problem.objects} for problem in problems]
    constants = {name for name, _ in domain.constants}
    for has, lacks in permutations(range(len(problems)), 2):
        shared = objects[has] & objects[lacks] | constants
        for fact in sorted(statics[has] - statics[lacks], key=str):
            if shared.issuperset(fact.arguments):
                return fact, has, lacks
    return None


def domain_from_files(domain_path: str | Path, problem_paths: Sequence[str | Path]) -> Domain:
    """A world of one instance."""
    return world_from_files(domain_path, problem_paths).only
