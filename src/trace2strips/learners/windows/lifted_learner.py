"""What all learners of lifted worlds share: whatever `LiftedWorld` alone answers, for any objects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import TraceError, suggest
from trace2strips.learners.learner import Learned, Learner, Predictor, check_starts
from trace2strips.learners.rules import Rules
from trace2strips.learners.verdicts import missing
from trace2strips.learners.windows.instances import over_actions, pddl_files, read_problem, world_about
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.simulation import simulate, wrong_traces
from trace2strips.learners.windows.wording import rules_of
from trace2strips.model.goals import Names, split_names
from trace2strips.model.lifted import LiftedDomain, LiftedProblem
from trace2strips.model.strips import StripsProblem
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.pddl import parse_problem
from trace2strips.traces import Dataset
from trace2strips.traces.names import call_words, understand
from trace2strips.traces.states import false_atoms
from trace2strips.traces.trace import Trace


class LiftedLearner(Learner):
    """Learns schemas and predicates. `separator`: what stands between an action's name and its arguments; None: found
    out, '': there are none."""

    any_objects = True
    separator: str | None

    def unknown_names(self, known: Vocabulary, used: Vocabulary) -> Bool[np.ndarray, " tokens"]:
        """Objects may be new, and so may be what is told of them; schemas and named starts are known or not."""
        naming = understand(known.actions, self.separator)
        schemas = {
            (kind, naming.schema(name)[0])
            for kind, names in ((Kind.ACTION, known.actions), (Kind.TEST_ATOM, known.test_atoms))
            for name in names
        }
        found = super().unknown_names(known, used)
        for i, (number, subject) in enumerate(zip(used.kinds.tolist(), used.subjects, strict=True)):
            kind = Kind(number)
            if kind in (Kind.ACTION, Kind.TEST_ATOM):
                found[i] = (kind, naming.schema(subject)[0]) not in schemas
            elif kind == Kind.INIT_ATOM:
                found[i] = False
        return found

    def known_actions(self, known: Vocabulary, actions: Iterable[str]) -> set[str]:
        naming = understand(known.actions, self.separator)
        schemas = {schema for schema, _ in map(naming.schema, known.actions)}
        return {action for action in actions if naming.schema(action)[0] in schemas}

    def check_names(self, known: Vocabulary, used: Vocabulary) -> None:
        """Other objects than those of training are welcome; actions, final atoms and named starts must be known."""
        check_starts(known, used)
        naming = understand(known.actions, self.separator)
        for mine, theirs, what in (
            (known.actions, used.actions, "action"),
            (known.test_atoms, used.test_atoms, "atom"),
        ):
            schemas = {schema for schema, _ in map(naming.schema, mine)}
            for name in theirs:
                if naming.schema(name)[0] not in schemas:
                    raise TraceError(f"unknown {what} {name!r}", hint=suggest(name, mine, f"{what}s"))

    def read_lifted(self, record: Mapping[str, Any] | None) -> LiftedWorld:
        if record is None:
            raise ValueError("no lifted world")
        return LiftedWorld.from_json(record)

    def world_about(self, learned: Learned, names: Collection[str]) -> WorldModel:
        return world_about(lifted_of(learned), learned.need_world(), names)

    def atoms_of(self, learned: Learned, actions: Names) -> list[str]:
        lifted = lifted_of(learned)
        schemas = {action.schema: action for action in lifted.actions}
        known = learned.need_world().model.action_index
        found = []
        for name in split_names(actions, known):
            schema, objects = lifted.naming.schema(name)
            if name not in known and schema in schemas:
                found += [lifted.atom(p, [objects[i] for i in places]) for p, places in schemas[schema].pre]
        return found

    def world_over(self, learned: Learned, actions: Iterable[str], atoms: Iterable[str]) -> WorldModel:
        return over_actions(lifted_of(learned), learned.vocabulary, actions, atoms)

    def about_same_objects(self, learned: Learned, actions: Iterable[str], others: Iterable[str]) -> list[str]:
        words = lifted_of(learned).naming.words
        known = {name for other in others for name in words(other)[1:]}
        return [action for action in actions if known.issuperset(words(action)[1:])]

    def read_problem(self, learned: Learned, text: str, file: str) -> StripsProblem:
        return read_problem(lifted_of(learned), text, file)

    def as_lifted(self, learned: Learned) -> tuple[LiftedDomain, LiftedProblem]:
        lifted = lifted_of(learned)
        domain = lifted.domain()
        files = pddl_files(lifted, learned.vocabulary)
        text = next((text for name, text in sorted(files.items()) if name.startswith("problem")), None)
        if text is None:  # nobody knows where traces begin
            return domain, LiftedProblem("problem", domain.name, (), (), ())
        return domain, parse_problem(text, domain, "problem.pddl")

    def example_start(self, learned: Learned) -> Names | None:
        return lifted_of(learned).example

    def rules(self, learned: Learned) -> Rules:
        return rules_of(lifted_of(learned), learned.support, learned.vocabulary.init_states)

    def predicate_of(self, learned: Learned, atom: str) -> str:
        """`on(a, b)` as the log writes it, or `on(x, y)` as rules do."""
        lifted = lifted_of(learned)
        names = {predicate.name for predicate in lifted.predicates}
        words = (lifted.naming.words(atom)[0], call_words(atom)[0])
        return next((word for word in words if word in names), atom)

    def wrong_positions(self, learned: Learned, dataset: Dataset) -> Bool[np.ndarray, " positions"]:
        _, refused = simulate(lifted_of(learned), dataset)
        return (refused != dataset.inapplicable) & (dataset.vocabulary.kinds[dataset.tokens] >= Kind.ACTION)

    def kind_of(self, learned: Learned, action: str) -> str:
        return lifted_of(learned).naming.words(action)[0]

    def predictor(self, learned: Learned) -> Predictor:
        return LiftedPredictor(lifted_of(learned))

    def explain_verdict(
        self, learned: Learned, trace: Trace, name: str, is_final: bool, verdict: str
    ) -> tuple[str, ...]:
        return missing(false_atoms(lifted_of(learned).over_tokens, trace, name, is_final))

    def pddl_files(self, learned: Learned) -> dict[str, str]:
        return pddl_files(lifted_of(learned), learned.vocabulary)


def lifted_of(learned: Learned) -> LiftedWorld:
    assert isinstance(learned.lifted, LiftedWorld)
    return learned.lifted


@dataclass(frozen=True)
class LiftedPredictor:
    """The lifted model predicts, whatever objects the traces have."""

    lifted: LiftedWorld

    def wrong_traces(self, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
        return wrong_traces(self.lifted, dataset)

    def refused(self, dataset: Dataset) -> Bool[np.ndarray, " positions"]:
        return simulate(self.lifted, dataset)[1]
