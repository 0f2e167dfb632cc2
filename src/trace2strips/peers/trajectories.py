"""AMLGym's trajectories: states and actions in turn. What was refused is `(:refused …)`, which AMLGym has no word for.

(:trajectory (:state (clear b1) …) (:action (pick_up b1)) (:state (holding b1) …) (:refused (stack b1 b1)) …)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trace2strips.files import read_text
from trace2strips.pddl.parsing import Node, parse_expression
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import Domain, World
from trace2strips.worlds.pddl_files import PddlFiles

Words = tuple[str, ...]


@dataclass(frozen=True)
class Trajectory:
    """States, one more than actions; a refused action has the number of the state in which it was tried."""

    states: tuple[frozenset[Words], ...]
    actions: tuple[Words, ...]
    refused: tuple[tuple[int, Words], ...] = ()
    problem: str = ""  # the name of the file that has its objects, if it is known

    def __str__(self) -> str:
        def parts() -> Iterator[str]:
            for number, state in enumerate(self.states):
                yield f"(:state {' '.join(sorted(map(listed, state)))})"
                yield from (f"(:refused {listed(words)})" for at, words in self.refused if at == number)
                if number < len(self.actions):
                    yield f"(:action {listed(self.actions[number])})"

        return "(:trajectory\n\n" + "\n\n".join(parts()) + "\n\n)\n"

    def trace(self) -> Trace:
        """What we learn from: names, what worked, the initial atoms. The later states are not looked at."""
        tried: list[tuple[Words, bool]] = []
        for number in range(len(self.states)):
            tried += [(words, False) for at, words in self.refused if at == number]
            tried += [(self.actions[number], True)] if number < len(self.actions) else []
        names, ok = tuple(called(words) for words, _ in tried), tuple(worked for _, worked in tried)
        return Trace(names, ok, frozenset(map(called, self.states[0])))


def listed(words: Words) -> str:
    return f"({' '.join(words)})"


def called(words: Words) -> str:
    """In the form name(argument, …), which is read as such whatever the words are."""
    return f"{words[0]}({', '.join(words[1:])})"


def read_trajectory(path: str | Path) -> Trajectory:
    """Raises PddlError with file and line."""
    return parse_trajectory(read_text(Path(path)), str(path))


def parse_trajectory(text: str, file: str | None = None) -> Trajectory:
    whole = parse_expression(text, file, (":trajectory", ":observation"))
    states: list[frozenset[Words]] = []
    actions: list[Words] = []
    refused: list[tuple[int, Words]] = []
    for part in whole.items[1:]:
        match part.head:
            case ":state" if len(states) == len(actions):
                states.append(frozenset(words_of(atom) for atom in part.items[1:] if atom.head != "not"))
            case ":action" if len(states) == len(actions) + 1 and len(part.items) == 2:
                actions.append(words_of(part.items[1]))
            case ":refused" if len(states) == len(actions) + 1 and len(part.items) == 2:
                refused.append((len(states) - 1, words_of(part.items[1])))
            case _:
                part.fail("states and actions do not stand in turn", hint="(:state …) (:action (…)) (:state …)")
    if len(states) != len(actions) + 1:
        whole.fail("the last action has no state after it", hint="(:state …) (:action (…)) (:state …)")
    return Trajectory(tuple(states), tuple(actions), tuple(refused))


def words_of(node: Node) -> Words:
    return tuple(item.word for item in node.items) or node.fail("an empty list")


def trajectories(world: World, traces: Dataset) -> list[Trajectory]:
    """Sampled traces with the states that the hidden world was in, for those who learn from states. As they are
    sampled, traces come instance after instance."""
    found: list[Trajectory] = []
    every = len(world.instances)
    for number, domain in enumerate(world.instances):
        here = len(range(number, len(traces), every))
        found += [played(domain, traces[i]) for i in range(len(found), len(found) + here)]
    return found


def played(domain: Domain, trace: Trace) -> Trajectory:
    family = domain.family
    assert isinstance(family, PddlFiles)
    origin, model = family.task.origin, domain.model
    fixed = {(fact.predicate, *fact.arguments) for fact in family.task.statics}

    def shown(state: frozenset[str]) -> frozenset[Words]:
        return frozenset({origin[atom] for atom in state if atom not in family.task.opposites} | fixed)

    state = frozenset(trace.init or ())
    states, actions, refused = [shown(state)], list[Words](), list[tuple[int, Words]]()
    for name, worked in zip(trace.actions, trace.ok, strict=True):
        words = tuple(origin[name])
        if not worked:
            refused.append((len(actions), words))
            continue
        action = model.action(name)
        state = (state - action.delete) | action.add
        actions.append(words)
        states.append(shown(state))
    return Trajectory(tuple(states), tuple(actions), tuple(refused), family.files[1])
