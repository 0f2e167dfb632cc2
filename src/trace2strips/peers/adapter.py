"""Ourselves as algorithms of AMLGym: `get_algorithm("Trace2Strips")` once this module is imported.

Both learn by `windows` from action names, what worked, and the initial atoms. Later states are looked at for one thing:
what has not changed. AMLGym's other algorithms learn from states and never see a refusal; we need refusals.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from amlgym.algorithms import registry
from amlgym.algorithms.ActiveAlgorithmAdapter import ActiveAlgorithmAdapter
from amlgym.algorithms.PassiveAlgorithmAdapter import PassiveAlgorithmAdapter
from amlgym.modeling.trajectory import Trajectory as Played

from trace2strips.errors import TraceError
from trace2strips.learners.learning import learn
from trace2strips.learners.windows.lifted_learner import lifted_of
from trace2strips.pddl import format_domain
from trace2strips.pddl.parsing import read_domain
from trace2strips.peers.signatures import in_words_of
from trace2strips.peers.trajectories import Trajectory, Words, read_trajectory

REFERENCE = {
    "Authors": "trace2strips",
    "Title": "The version space of a log: what every STRIPS model that fits it agrees on",
    "URL": "https://pypi.org/project/trace2strips",
}
ATTEMPTS = 50  # of an agent, before it starts anew


@dataclass
class Trace2Strips(PassiveAlgorithmAdapter):  # type: ignore[misc]
    """Learns from trajectories that show refusals: `(:refused (stack a b))`, or an action that leaves the state as it
    is, as a simulator logs it."""

    seed: int = 0
    _reference: ClassVar[dict[str, str]] = REFERENCE

    def learn(self, domain_path: str, trajectory_paths: Sequence[str]) -> str:
        """A PDDL domain with the schemas and predicates of `domain_path`, whose own conditions are not used."""
        found = [with_refusals(read_trajectory(path)) for path in trajectory_paths]
        if not any(trajectory.refused for trajectory in found):
            raise TraceError(
                "these trajectories show no refused action", file=next(iter(trajectory_paths), None),
                hint="write (:refused (name object …)) where one was tried, or let Trace2StripsAgent try",
            )  # fmt: skip
        return learned_domain(domain_path, found, self.seed)


@dataclass
class Trace2StripsAgent(ActiveAlgorithmAdapter):  # type: ignore[misc]
    """Tries actions at random in a simulator: half of the time one that has worked before, else any. It starts anew
    after 50 attempts, since where nothing can be undone a long trace shows little."""

    _reference: ClassVar[dict[str, str]] = REFERENCE

    def learn(self, simulator: Any, max_steps: int = 100, seed: int = 123) -> tuple[str, Played]:
        """The learned domain, and everything that was tried; the state after a refusal is None."""
        rng = random.Random(seed)
        problem = simulator._problem
        fluents = {fluent: literal_words(fluent) for fluent in problem.initial_values}
        choices = {
            action: [tuple(problem.objects(parameter.type)) for parameter in action.parameters]
            for action in problem.actions
        }
        choices = {action: objects for action, objects in choices.items() if all(objects)}
        worked: dict[Any, None] = {}
        found: list[Trajectory] = []
        states: list[Any] = [simulator.get_initial_state()]
        tried: list[Any] = []
        for begin in range(0, max_steps, ATTEMPTS):
            state = simulator.get_initial_state()
            shown = [true_atoms(state, fluents)]
            actions, refused = list[Words](), list[tuple[int, Words]]()
            for _ in range(min(ATTEMPTS, max_steps - begin)):
                attempt = rng.choice(list(worked)) if worked and rng.random() < 0.5 else self.any_of(choices, rng)
                action, objects = attempt
                words = (action.name, *(str(one) for one in objects))
                following = (
                    simulator.apply(state, action, objects) if simulator.is_applicable(state, action, objects) else None
                )
                if following is None:
                    refused.append((len(actions), words))
                else:
                    state, worked[attempt] = following, None
                    actions.append(words)
                    shown.append(true_atoms(state, fluents))
                states.append(following)
                tried.append(action(*objects))
            found.append(Trajectory(tuple(shown), tuple(actions), tuple(refused)))
        return learned_domain(self.input_domain_path, found, seed), Played(states, tried)

    def any_of(self, choices: dict[Any, list[tuple[Any, ...]]], rng: random.Random) -> tuple[Any, tuple[Any, ...]]:
        """A schema first, so that one with many instances is not tried more often."""
        action = rng.choice(list(choices))
        return action, tuple(rng.choice(objects) for objects in choices[action])


def with_refusals(trajectory: Trajectory) -> Trajectory:
    """An action that leaves the state as it is was refused."""
    states, actions, refused = [trajectory.states[0]], list[Words](), list[tuple[int, Words]]()
    told: dict[int, list[Words]] = {}
    for at, words in trajectory.refused:
        told.setdefault(at, []).append(words)
    for number in range(len(trajectory.states)):
        refused += [(len(actions), words) for words in told.get(number, ())]
        if number == len(trajectory.actions):
            break
        if trajectory.states[number + 1] == trajectory.states[number]:
            refused.append((len(actions), trajectory.actions[number]))
        else:
            actions.append(trajectory.actions[number])
            states.append(trajectory.states[number + 1])
    return Trajectory(tuple(states), tuple(actions), tuple(refused), trajectory.problem)


def learned_domain(signature: str, found: Sequence[Trajectory], seed: int) -> str:
    learned = learn([trajectory.trace() for trajectory in found], seed=seed)
    return format_domain(in_words_of(read_domain(signature), lifted_of(learned), found))


def true_atoms(state: Any, fluents: Mapping[Any, Words]) -> frozenset[Words]:
    return frozenset(words for fluent, words in fluents.items() if state.get_value(fluent).is_true())


def literal_words(fluent: Any) -> Words:
    """`on(a, b)` of unified-planning."""
    return (fluent.fluent().name, *(str(argument) for argument in fluent.args))


registry |= {cls.__name__.lower(): cls for cls in (Trace2Strips, Trace2StripsAgent)}
