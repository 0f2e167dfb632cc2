"""What a user can ask of a model: reach these atoms, come to the state after this trace, make that action applicable.

A goal may say that atoms be false. Planners want positive goals, so `pose` adds the complement of such an atom: `!p` is
true exactly where p is false.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from trace2strips.errors import ModelError, suggest
from trace2strips.model.strips import Atom, State, StripsAction, StripsModel, StripsProblem, walk
from trace2strips.model.world import WorldModel

NOT = "!"  # written before an atom that is to be false
START = "start"  # the initial state of traces that do not tell theirs
Names = str | Iterable[str]  # several, or one text with spaces, commas or semicolons between them
WORD = re.compile(r"(?:[^\s,;()\[\]]|\([^()]*\)|\[[^\[\]]*\])+|[()\[\]]")  # on, on(a, b), (on a b), ["on", "a", "b"]
CALL = re.compile(r"(!?)([^()\[\]]+)\(([^()]*)\)")
MOST_WORDS = 12  # of one name


@dataclass(frozen=True)
class Goal:
    """Atoms that must be true and atoms that must be false."""

    true: frozenset[Atom] = frozenset()
    false: frozenset[Atom] = frozenset()

    def __post_init__(self) -> None:
        for atom in sorted(self.true & self.false):
            raise ModelError(
                f"the goal contradicts itself: {atom!r} is to be true and false", hint="drop one of the two"
            )

    def holds(self, state: State) -> bool:
        return self.true <= state and not self.false & state

    def __and__(self, other: Goal) -> Goal:
        return Goal(self.true | other.true, self.false | other.false)


def goal_of(model: StripsModel, names: Names) -> Goal:
    """From atoms by name; `!p` asks for p to be false. A name with a real `!` in front is taken as it is."""
    words = split_names(names, {*model.atoms, *(NOT + atom for atom in model.atoms)})
    negative = [word for word in words if word.startswith(NOT) and word not in model.atom_index]
    positive = [word for word in words if word not in negative]
    return Goal(model.state(positive), model.state(word.removeprefix(NOT) for word in negative))


def split_names(values: Names, known: Container[str]) -> list[str]:
    """Each value is a name itself, or several with spaces, commas or semicolons between them. What stands in brackets
    belongs together; names with spaces are found if they are known and not each of their words is one."""
    return [name for value in ([values] if isinstance(values, str) else values) for name in names_in(value, known)]


def names_in(value: str, known: Container[str]) -> Iterator[str]:
    if value in known:
        yield value
        return
    spans = [match.span() for match in WORD.finditer(value)]
    alone = [value[begin:end] in known for begin, end in spans]
    i = 0
    while i < len(spans):
        ends = (
            j
            for j in range(min(len(spans), i + MOST_WORDS), i + 1, -1)
            if value[spans[i][0] : spans[j - 1][1]] in known and not all(alone[i:j])
        )
        j = next(ends, i + 1)
        yield as_known(value[spans[i][0] : spans[j - 1][1]], known)
        i = j


def as_known(name: str, known: Container[str]) -> str:
    """`stack(a,b)` as the known names write it: `stack(a, b)` or, where they are lists, `["stack", "a", "b"]`."""
    found = None if name in known else CALL.fullmatch(name)
    if found is None:
        return name
    sign, schema, inside = found.groups()
    parts = [schema.strip(), *(part.strip() for part in inside.split(",") if part.strip())]
    written = (f"{parts[0]}({', '.join(parts[1:])})", json.dumps(parts, ensure_ascii=False))
    return next((sign + one for one in written if sign + one in known), name)


def initial_state(source: StripsModel | WorldModel, names: Names | None) -> State:
    """By atoms, or by the name of a learned initial state; without a name, where all training traces began.

    Atoms that training was told and that the learned model came to do without change nothing.
    """
    if isinstance(source, WorldModel):
        model, states, told = source.model, source.states, source.vocabulary.init_atoms
    else:
        model, states, told = source, {}, ()
    if names is None:
        if START in states:
            return states[START]
        raise ModelError(
            "where to start is not said",
            hint="--init s0 names one of the learned initial states" if states else "--init ATOM … or --problem FILE",
        )
    words = split_names(names, {*model.atoms, *states, *told})
    if len(words) == 1 and words[0] in states:
        return states[words[0]]
    if states and not any(word in model.atom_index for word in words):
        raise ModelError(f"unknown initial state {words[0]!r}" if words else "no initial state is named",
                         hint=suggest(words[0] if words else "", states, "initial states"))  # fmt: skip
    if isinstance(source, WorldModel):
        model.state(word for word in words if word not in told)  # the others must be atoms of the model
        return source.told(words)
    return model.state(words)


def state_after(model: StripsModel, init: State, trace: Sequence[str]) -> Goal:
    """Exactly the state that the trace leads to from `init`."""
    state = init
    for i, (before, applicable) in enumerate(walk(model, trace, init)):
        if not applicable:
            missing = min(model.action(trace[i]).pre - before)
            raise ModelError(
                f"action {i + 1} of the example, {trace[i]!r}, cannot be applied: {missing!r} is false there",
                hint="an example must be a trace that works in the model",
            )
        state = model.action(trace[i]).progress(before)
    return Goal(state, frozenset(model.atoms) - state)


def applicability(model: StripsModel, name: str) -> Goal:
    """A state in which the action can be applied."""
    return Goal(model.action(name).pre)


def pose(model: StripsModel, init: State, goal: Goal, name: str = "problem") -> StripsProblem:
    """The problem for a planner. Only atoms that the goal wants false get a complement."""
    complement: dict[Atom, Atom] = {}
    for atom in sorted(goal.false):
        twin = NOT + atom
        while twin in model.atom_index or twin in complement.values():
            twin = NOT + twin
        complement[atom] = twin
    if not complement:
        return StripsProblem(model, init, goal.true, name)

    def twins(atoms: Iterable[Atom]) -> frozenset[Atom]:
        return frozenset(complement[atom] for atom in atoms if atom in complement)

    actions = tuple(
        StripsAction(a.name, a.pre, a.add | twins(a.delete), a.delete | twins(a.add)) for a in model.actions
    )
    extended = StripsModel((*model.atoms, *complement.values()), actions, model.name)
    return StripsProblem(extended, init | twins(goal.false - init), goal.true | twins(goal.false), name)
