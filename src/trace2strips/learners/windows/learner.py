"""Learner `windows`: the version space of the log, and one small lifted model in it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import TraceError, UserError, suggest
from trace2strips.learners.learner import Job, Learned, Learner, Predictor, basic_figures, check_starts, one_sided
from trace2strips.learners.training import Report
from trace2strips.learners.windows.collection import collect_windows
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.instances import over_actions, pddl_files, read_problem, world_about
from trace2strips.learners.windows.lifted import LiftedWorld, lift
from trace2strips.learners.windows.predicates import Search
from trace2strips.learners.windows.projection import arity_of, count_tokens
from trace2strips.learners.windows.relations import with_relations
from trace2strips.learners.windows.simulation import wrong_traces
from trace2strips.learners.windows.summary import Summary, summarise
from trace2strips.learners.windows.support import without_needless
from trace2strips.model.strips import StripsProblem
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.traces.names import PLAIN, Naming, Schema, understand

MOST_TOKENS = 8_192  # bits of a window, 1 kB: with more a log of any size is too much for a laptop
FIRST, MOST = 2, 4  # objects that an atom may be about: two suffice for nearly all domains, four is what fits a laptop


@dataclass(frozen=True)
class Windows(Learner):
    """`separator`: what stands between an action's name and its arguments; None: found out, '': there are none.
    `arity`: atoms are about at most so many objects; None: two, and more where a refusal stays inexplicable."""

    name = "windows"
    separator: str | None = None
    arity: int | None = None

    def __post_init__(self) -> None:
        if self.arity is not None and not 0 <= self.arity <= MOST:
            raise UserError(f"atoms about {self.arity} objects", hint=f"0 to {MOST}")

    def told_by(self, dataset: Dataset) -> Windows:
        return self if self.separator is not None else replace(self, separator=dataset.separator)

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        naming = understand(dataset.vocabulary.actions, self.separator)
        arity = FIRST if self.arity is None else self.arity
        if (tokens := count_tokens(schemas_in(dataset, naming), arity)) > MOST_TOKENS:
            if naming == PLAIN:
                message = f"{tokens:,} different actions without arguments, at most {MOST_TOKENS:,} can be learned"
                hint = "do names hold arguments? --separator says what stands before them"
            else:
                message = f"{tokens:,} ways to act on up to {arity} objects, at most {MOST_TOKENS:,} can be learned"
                hint = f"--arity {arity - 1}, or fewer kinds of actions" if arity else "fewer kinds of actions"
            raise TraceError(message, hint=hint)

    def learn(self, dataset: Dataset, job: Job) -> Learned:
        clock = time.perf_counter()
        naming = understand(dataset.vocabulary.actions, self.separator)
        job.tell("windows", Report())
        summary = self.summarise(dataset, naming)
        job.tell("predicates", Report())
        found = lift(Search(summary).run(), summary.projection, summary.types, naming)
        lifted = with_objects(without_needless(found, dataset), dataset)
        errors = int(wrong_traces(lifted, dataset).sum())
        world = lifted.world(dataset.vocabulary)
        warnings = one_sided(dataset)
        if summary.inexplicable:
            count = len(summary.inexplicable)
            told = ", if the told atoms say all of the start" if dataset.vocabulary.has_init_false else ""
            hint = "(hint: trace2strips check --strips)"
            warnings.append(f"{count} refusals that no STRIPS model can explain{told} {hint}")
        elif errors:
            warnings.append(f"{errors} of {len(dataset)} training traces are not explained by the small model")
        figures = replace(
            basic_figures(dataset, errors, time.perf_counter() - clock), warnings=tuple(warnings)
        ).with_model(world)
        return replace(Learned.of(self, job, dataset, world, figures), lifted=lifted)

    def summarise(self, dataset: Dataset, naming: Naming, own: bool = False) -> Summary:
        """With the smallest arity that explains the log. `own`: told atoms need not say all of the start, so that each
        trace that tells some starts in its own way."""
        arity = FIRST if self.arity is None else self.arity
        while True:
            encoding = encode(dataset, naming, arity)
            summary = summarise(collect_windows(dataset, encoding, own), dataset.vocabulary)
            largest = max((arity_of(schema) for schema in summary.projection.asked), default=0)
            if not summary.inexplicable or self.arity is not None or arity >= min(MOST, largest):
                return summary
            arity += 1
            if count_tokens(summary.projection.schemas, arity) > MOST_TOKENS:
                return summary

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

    def world_over(self, learned: Learned, actions: Iterable[str], atoms: Iterable[str]) -> WorldModel:
        return over_actions(lifted_of(learned), learned.vocabulary, actions, atoms)

    def about_same_objects(self, learned: Learned, actions: Iterable[str], others: Iterable[str]) -> list[str]:
        words = lifted_of(learned).naming.words
        known = {name for other in others for name in words(other)[1:]}
        return [action for action in actions if known.issuperset(words(action)[1:])]

    def read_problem(self, learned: Learned, text: str, file: str) -> StripsProblem:
        return read_problem(lifted_of(learned), text, file)

    def pddl_files(self, learned: Learned) -> dict[str, str]:
        return pddl_files(lifted_of(learned), learned.vocabulary)

    def predictor(self, learned: Learned) -> Predictor:
        return LiftedPredictor(lifted_of(learned))


def lifted_of(learned: Learned) -> LiftedWorld:
    assert isinstance(learned.lifted, LiftedWorld)
    return learned.lifted


def with_objects(lifted: LiftedWorld, dataset: Dataset) -> LiftedWorld:
    """With what planners need to know of objects: which may stand together, and an example of a start."""
    vocabulary = dataset.vocabulary
    counts = np.bincount(dataset.tokens[~dataset.inapplicable].astype(np.int64), minlength=len(vocabulary))
    worked = {name: int(counts[vocabulary.number(Kind.ACTION, name)]) for name in vocabulary.actions}
    begin = np.flatnonzero(vocabulary.kinds[dataset.tokens] == Kind.INIT_FALSE)[:1]
    if not len(begin):
        return with_relations(lifted, worked, vocabulary.init_atoms)
    first = dataset[int(np.searchsorted(dataset.offsets, begin[0], side="right")) - 1]
    return replace(with_relations(lifted, worked, vocabulary.init_atoms), example=tuple(sorted(first.init or ())))


def schemas_in(dataset: Dataset, naming: Naming) -> set[Schema]:
    return {naming.schema(name)[0] for name in dataset.vocabulary.actions}


@dataclass(frozen=True)
class LiftedPredictor:
    """The lifted model predicts, whatever objects the traces have."""

    lifted: LiftedWorld

    def wrong_traces(self, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
        return wrong_traces(self.lifted, dataset)
