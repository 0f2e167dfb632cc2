"""The states that a small model can reach, and which action leads from one to another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trace2strips.errors import ModelError
from trace2strips.model.strips import State, StripsModel

MOST_DRAWN = 60  # states: more are no picture
MOST_COUNTED = 20_000  # states that are counted to say how many there are


@dataclass(frozen=True)
class StateGraph:
    """States in the order in which they are found, shortest way first; the first `starts` of them are where it begins.
    An edge is (from, to, actions)."""

    states: tuple[State, ...]
    starts: int
    edges: tuple[tuple[int, int, tuple[str, ...]], ...]

    @property
    def distances(self) -> tuple[int, ...]:
        """How many actions it takes to come to each state."""
        found = [0] * self.starts + [-1] * (len(self.states) - self.starts)
        for begin, end, _ in self.edges:  # in the order of their begins, which is that of their distances
            if found[end] < 0:
                found[end] = found[begin] + 1
        return tuple(found)

    def labels(self) -> list[list[str]]:
        """What is true in each state and not in all of them."""
        always = frozenset.intersection(*self.states)
        return [sorted(state - always) for state in self.states]


def explore(model: StripsModel, starts: Iterable[State], most: int = MOST_DRAWN) -> StateGraph:
    """All states within reach. More than `most` are refused, with their number."""
    number: dict[int, int] = {}
    for start in starts:
        number.setdefault(as_bits(model, start), len(number))
    begins = len(number)
    actions = [
        (a.name, as_bits(model, a.pre), as_bits(model, a.add), as_bits(model, a.delete - a.add)) for a in model.actions
    ]
    waiting = list(number)
    edges: dict[tuple[int, int], list[str]] = {}
    for state in waiting:  # grows
        for name, pre, add, delete in actions:
            if not pre & ~state:
                after = state & ~delete | add
                if after not in number:
                    number[after] = len(number)
                    waiting.append(after)
                if len(number) <= most:
                    edges.setdefault((number[state], number[after]), []).append(name)
        if len(number) > MOST_COUNTED:
            break
    if len(number) > most:
        count = f"more than {MOST_COUNTED:,}" if len(number) > MOST_COUNTED else f"{len(number):,}"
        hint = f"--max-states {len(number)}" if len(number) <= MOST_COUNTED else "compare it or plan in it instead"
        raise ModelError(f"the model has {count} states, and at most {most:,} are drawn", hint=hint)
    found = tuple(frozenset(atom for i, atom in enumerate(model.atoms) if state >> i & 1) for state in number)
    return StateGraph(found, begins, tuple((i, j, tuple(names)) for (i, j), names in sorted(edges.items())))


def as_bits(model: StripsModel, atoms: State) -> int:
    return sum(1 << model.atom_index[atom] for atom in atoms)
