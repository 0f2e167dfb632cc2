"""`Family`: what a benchmark family must say of itself. `Domain`: a family at one size, grounded, ready to sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from trace2strips.bits import hash_rows, pack, stable_seed
from trace2strips.errors import DomainError, PddlError, shorten
from trace2strips.model.lifted import LiftedDomain, LiftedProblem, Literal
from trace2strips.model.strips import StripsModel, StripsProblem, state_of
from trace2strips.pddl import GroundTask, ground, parse_domain, parse_problem
from trace2strips.pddl.grounding import reach
from trace2strips.worlds.walks import NOT_BALANCED, Balance, walk_out

# Initial states are dealt to the splits by their hash, so that the test traces and the planning problems of the
# init-atoms encoding start where no training trace starts.
SPLIT_BUCKETS = {"plan": range(0, 2), "test": range(2, 5), "train": range(5, 16)}
BUCKETS = 16
WALKS = 4  # random walks for each initial state that they shall find
MAX_ROUNDS = 200  # draws without one fitting state before a domain counts as too small to be split


class Columns:
    """The numbers of the ground atoms: `column("on", "b1", "b2")`; `len(column)` is |F|."""

    def __init__(self, index: dict[tuple[str, ...], int]) -> None:
        self.index = index

    def __call__(self, *words: str) -> int:
        return self.index[words]

    def __len__(self) -> int:
        return len(self.index)


class Family(ABC):
    """One benchmark family at one size. Atoms are columns of Boolean matrices; `Domain` numbers them."""

    name: ClassVar[str]
    pddl: ClassVar[str]  # the lifted domain
    sizes: ClassVar[dict[str, tuple[int, ...]]]  # the paper's label → size
    size_form: ClassVar[str]  # how a size is written after the colon, for error messages
    minimum: ClassVar[tuple[int, ...]]
    varying: ClassVar[frozenset[str]] = frozenset()  # predicates no action changes, but problems differ in
    goal_predicates: ClassVar[frozenset[str]]
    splits: ClassVar[bool] = True  # whether initial states are dealt to train, test and planning
    unsure: ClassVar[frozenset[Literal]] = frozenset()  # of the atoms of `problem`, those that some initial states lack
    joiner: ClassVar[str | None] = None  # what stands between the words of a name; None: what suits them
    walk: ClassVar[int] = 0  # up to so many random steps lead from what `draw` gives to where traces start
    files: ClassVar[tuple[str, ...]] = ()  # what it was read from, where it was read: it is no benchmark then
    given: ClassVar[LiftedProblem | None] = None  # the first problem file, without statics, where problems are files

    def __init__(self, *size: int) -> None:
        self.size = size

    @classmethod
    def parse_size(cls, text: str) -> tuple[int, ...]:
        parts = text.split("x")
        # nine digits are too large already, and Python refuses to read thousands
        numbers = [int(part.lstrip("0")[:9] or 0) for part in parts if part.isdecimal()]
        if len(numbers) != len(parts) or len(numbers) != len(cls.minimum):
            raise DomainError(f"{text!r} is no size of {cls.name}", hint=f"write {cls.name}:{cls.size_form}")
        if any(n < least for n, least in zip(numbers, cls.minimum, strict=True)):
            least = "x".join(map(str, cls.minimum))
            raise DomainError(f"{cls.name}:{text} is too small", hint=f"the smallest is {cls.name}:{least}")
        if max(numbers) > 100:
            raise DomainError(
                f"{cls.name}:{shorten(text)} is too large to ground", hint="at most 100 in each direction"
            )
        return tuple(numbers)

    @abstractmethod
    def problem(self) -> str:
        """Objects, statics and one initial state as PDDL, from which every action is reachable."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int, column: Columns) -> Bool[np.ndarray, "count atoms"]:
        """Random initial states."""

    @abstractmethod
    def draw_goals(
        self, rng: np.random.Generator, init: Bool[np.ndarray, "count atoms"], column: Columns
    ) -> Bool[np.ndarray, "count atoms"]:
        """For each initial state a goal that can be reached from it."""

    @abstractmethod
    def count_states(self) -> int | None:
        """How many states can be reached from all initial states together; None where nobody can count them."""

    def initial_atom(self, literal: Literal) -> bool:
        """Whether the atom holds in some initial state that `draw` can make."""
        return True

    def goal_atom(self, literal: Literal) -> bool:
        """Whether the atom occurs in some goal that `draw_goals` can make."""
        return literal.predicate in self.goal_predicates


class Domain:
    """A hidden model to learn: M = ⟨F, A⟩ with a distribution over initial states and goals."""

    def __init__(self, name: str, family: Family) -> None:
        self.name = name
        self.family = family

    def __repr__(self) -> str:
        return f"Domain({self.name!r})"

    @cached_property
    def lifted(self) -> LiftedDomain:
        return parse_domain(self.family.pddl, f"{self.family.name}.pddl")

    @cached_property
    def example(self) -> LiftedProblem:
        return parse_problem(self.family.problem(), self.lifted, f"{self.name}-problem.pddl")

    @cached_property
    def task(self) -> GroundTask:
        return ground(self.lifted, self.example, self.family.varying, self.family.unsure, self.family.joiner)

    @property
    def model(self) -> StripsModel:
        return self.task.model

    @cached_property
    def initial_atoms(self) -> tuple[str, ...]:
        """The atoms with an `init-p` action: those that hold in some initial state."""
        return tuple(atom for atom in self.model.atoms if self.family.initial_atom(self.literal(atom)))

    @cached_property
    def goal_atoms(self) -> tuple[str, ...]:
        """The atoms that can occur in a goal."""
        return tuple(atom for atom in self.model.atoms if self.family.goal_atom(self.literal(atom)))

    @cached_property
    def reachable_actions(self) -> tuple[str, ...]:
        """The actions that can ever apply, deletes ignored, from all initial states together (maze: 48 of 80)."""
        actions = self.model.actions
        applied = reach([a.pre for a in actions], [a.add for a in actions], set(self.initial_atoms))
        return tuple(actions[i].name for i in applied)

    def literal(self, name: str) -> Literal:
        predicate, *arguments = self.task.origin[name]
        return Literal(predicate, tuple(arguments))

    @cached_property
    def column(self) -> Columns:
        return Columns({self.task.origin[atom]: i for i, atom in enumerate(self.model.atoms)})

    def draw_states(
        self, rng: np.random.Generator, count: int, split: str | None = None
    ) -> Bool[np.ndarray, "count atoms"]:
        """Random initial states, of one split only where the domain is large enough to be split."""
        if split is None or not self.family.splits:
            return self.draw(rng, count)
        found: list[Bool[np.ndarray, "_ atoms"]] = []
        missing, empty_rounds = count, 0
        while missing > 0:
            states = self.draw(rng, max(64, 2 * missing))
            fitting = states[np.isin(bucket(states), SPLIT_BUCKETS[split])][:missing]
            empty_rounds = 0 if len(fitting) else empty_rounds + 1
            if empty_rounds == MAX_ROUNDS:  # a handful of initial states in all: every split shares them
                return self.draw(rng, count)
            found.append(fitting)
            missing -= len(fitting)
        return np.concatenate(found) if found else self.draw(rng, 0)

    def draw(self, rng: np.random.Generator, count: int) -> Bool[np.ndarray, "count atoms"]:
        """Initial states of the family, and random walks out of them where it says so."""
        if not self.family.walk or not count:
            return self.family.draw(rng, count, self.column)
        states = self.family.draw(rng, WALKS * count, self.column)
        met = walk_out(self.model, states, self.family.walk, rng, self.balance(self.model))
        different = np.unique(met, axis=0)  # here what walks rarely meet counts as much
        rare = different[rng.integers(len(different), size=count)]
        return np.where(rng.random((count, 1)) < 0.5, rare, met[:count])

    def balance(self, model: StripsModel) -> Balance:
        """Where traces start on walks, rare kinds of attempts are as frequent as others, for some or all actions."""
        return Balance.of(model, self.task.origin) if self.family.walk else NOT_BALANCED

    def state_set(self, count: int) -> Bool[np.ndarray, "count atoms"]:
        """S_I of the init-state encoding: fixed for a domain and a number, shared by train, test and planning."""
        rng = np.random.default_rng(stable_seed(f"{self.name} states:{count}"))
        seen: dict[bytes, int] = {}
        kept: list[Bool[np.ndarray, " atoms"]] = []
        for _ in range(MAX_ROUNDS):
            for row in self.draw(rng, 4 * count):
                if seen.setdefault(row.tobytes(), len(seen)) == len(kept) and len(kept) < count:
                    kept.append(row)
            if len(kept) == count:
                return np.stack(kept)
        raise DomainError(f"{self.name} has only {len(kept)} initial states, not {count}", hint="ask for fewer states")

    def problems(self, count: int = 100, init: str = "atoms", seed: int = 0) -> list[StripsProblem]:
        """Planning problems: initial states that no training trace starts from, or those of S_I; reachable goals."""
        rng = np.random.default_rng([stable_seed(f"{self.name} problems {init}"), seed])
        if init == "atoms":
            states = self.draw_states(rng, count, "plan")
        else:
            pool = self.state_set(int(init.removeprefix("states:")))
            states = pool[rng.integers(len(pool), size=count)]
        goals = self.family.draw_goals(rng, states, self.column)
        return [
            StripsProblem(self.model, state_of(self.model, state), state_of(self.model, goal), f"{self.name}-{i}")
            for i, (state, goal) in enumerate(zip(states, goals, strict=True))
        ]

    def first_problem(self) -> StripsProblem:
        """One problem to show: that of the first problem file, or the first planning problem."""
        given = self.family.given
        if given is None:
            return self.problems(1)[0]

        def names(literals: tuple[Literal, ...]) -> frozenset[str]:
            return frozenset(self.model.atoms[self.column(x.predicate, *x.arguments)] for x in literals)

        return StripsProblem(self.model, names(given.init), names(given.goal), given.name)

    def problem_of(self, lifted: LiftedProblem) -> StripsProblem:
        """A problem file over the lifted domain as a problem over F. It must have the domain's own objects."""
        if dict(lifted.objects) != dict(self.example.objects):
            raise PddlError(
                f"its objects differ from those of {self.name}", hint=f"{len(self.example.objects)} objects are known: "
                + shorten(" ".join(name for name, _ in self.example.objects), 100),
            )  # fmt: skip
        fluent = self.lifted.changing | self.family.varying
        facts = {self.literal(atom): atom for atom in self.model.atoms}
        init = [fact for fact in lifted.init if fact.predicate in fluent]
        for fact in init:
            if fact not in facts:
                raise PddlError(f"the initial atom {fact} can never be true in {self.name}")
        told = {atom for atom, fact in self.task.opposites.items() if fact not in lifted.init}
        opposite = {fact: atom for atom, fact in self.task.opposites.items()}
        goal = {facts.get(fact) for fact in lifted.goal if fact not in self.task.statics}
        goal |= {opposite.get(fact) for fact in lifted.negative_goal if fact in facts or fact in self.task.statics}
        if None in goal:
            never = [str(x) for x in lifted.goal if x not in facts and x not in self.task.statics]
            never += [f"(not {x})" for x in lifted.negative_goal if x not in opposite]
            raise PddlError(f"the goal {never[0]} can never become true in {self.name}", hint="check goal and init")
        start = told | {facts[fact] for fact in init}
        return StripsProblem(self.model, frozenset(start), frozenset(filter(None, goal)), lifted.name)

    def lifted_problem(self, problem: StripsProblem) -> LiftedProblem:
        """The same problem over the lifted domain, statics and all, for planners and simulators that want it."""

        def literals(atoms: frozenset[str]) -> tuple[Literal, ...]:
            return tuple(self.literal(atom) for atom in sorted(atoms))

        init = (*self.task.statics, *literals(problem.init))
        return LiftedProblem(problem.name, self.lifted.name, self.example.objects, init, literals(problem.goal))


def bucket(states: Bool[np.ndarray, "count atoms"]) -> Int[np.ndarray, " count"]:
    """A number below BUCKETS for each state, the same on every machine."""
    return (hash_rows(pack(states)) % np.uint64(BUCKETS)).astype(np.int64)
