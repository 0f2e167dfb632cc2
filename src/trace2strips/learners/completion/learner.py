"""Learner `completion`: effects, preconditions and atoms straight from the labels, no network."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from trace2strips.errors import UserError
from trace2strips.learners.completion.completion import Completion as Search
from trace2strips.learners.completion.heads import world_model
from trace2strips.learners.layout import Rows
from trace2strips.learners.learner import (
    Job,
    Learned,
    Learner,
    Predictor,
    WorldPredictor,
    basic_figures,
    one_sided,
)
from trace2strips.learners.training import Report
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces

SECONDS_OF_ACTION, SECONDS_OF_TRACE = 0.25, 2e-5  # for each ground action: at all, and for each trace


@dataclass(frozen=True)
class Completion(Learner):
    """`heads`: at most so many atoms; None: as many as are needed."""

    name = "completion"
    heads: int | None = None

    def __post_init__(self) -> None:
        refuse_no_heads(self.heads)

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        refuse_few_heads(self.heads, Rows(dataset.vocabulary))

    def learn(self, dataset: Dataset, job: Job) -> Learned:
        clock = time.perf_counter()
        job.tell("completion", Report())
        layout = Rows(dataset.vocabulary)
        search = Search(dataset, layout)
        world = world_model(search.run(limit=self.heads), layout)
        errors = int(wrong_traces(world.over_tokens(), dataset).sum())
        figures = replace(
            basic_figures(dataset, errors, time.perf_counter() - clock),
            warnings=(*one_sided(dataset), *shortcomings(dataset, errors, search, self.heads)),
        )
        return Learned.of(self, job, dataset, world, figures.with_model(world))

    def expected_seconds(self, dataset: Dataset) -> float:
        return completion_seconds(dataset)

    def predictor(self, learned: Learned) -> Predictor:
        return WorldPredictor(learned.need_world())


def completion_seconds(dataset: Dataset) -> float:
    """About, on two cores: worlds differ by a factor of four (benchmarks/scale.py)."""
    return len(dataset.vocabulary.actions) * (SECONDS_OF_ACTION + SECONDS_OF_TRACE * len(dataset))


def refuse_no_heads(heads: int | None) -> None:
    if heads is not None and heads < 1:
        raise UserError(f"{heads} heads are too few", hint="at least one per atom")


def refuse_few_heads(heads: int | None, layout: Rows) -> None:
    aligned = len(layout.aligned)
    if heads is not None and heads < aligned:
        raise UserError(
            f"{heads} heads are too few: the traces name {aligned} atoms already",
            hint=f"--heads {aligned + 1} or more",
        )


def shortcomings(dataset: Dataset, errors: int, search: Search, heads: int | None) -> list[str]:
    """What completion could not do, a sentence each."""
    found = []
    if search.over_limit:
        found.append(
            f"{heads} heads are too few: at least {search.over_limit} more atoms are needed to explain all refusals"
        )
    elif errors:
        found.append(f"{errors} of {len(dataset)} training traces are not explained by the model")
    if search.noise > 0:
        found.append(f"the labels are noisy: about {search.noise:.1%} of the final values do not fit the rest")
    return found
