"""Learners `strips`, the STRIPS Transformer by gradients alone, and `strips+completion`, its last bits settled exactly.

Training is the same in both; what is read out of the parameters is not: `strips` binarises them and drops what no
label needs, `strips+completion` takes them as a guess for completion.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

import numpy as np
from jaxtyping import Int64

from trace2strips.errors import UserError
from trace2strips.explorer.contents import Attention
from trace2strips.explorer.reading import choose_traces, walk_in
from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.heads import world_model
from trace2strips.learners.completion.learner import completion_seconds, refuse_few_heads, refuse_no_heads, shortcomings
from trace2strips.learners.layout import Rows
from trace2strips.learners.learner import (
    Job,
    Learned,
    Learner,
    Predictor,
    WorldPredictor,
    basic_figures,
    one_sided,
    refuse_negative_steps,
    refuse_unknown,
)
from trace2strips.learners.training import LARGE, Report, TrainingSettings, train
from trace2strips.learners.transformer.alone import Alone
from trace2strips.learners.transformer.exploring import attention_of
from trace2strips.learners.transformer.extraction import extract, guess_of, heads_of
from trace2strips.learners.transformer.network import NetworkSettings, StripsNetwork
from trace2strips.learners.transformer.parameters import SHARED, Layout, Theta
from trace2strips.learners.transformer.presets import BEFORE_COMPLETION, PRESETS, Preset
from trace2strips.learners.transformer.retraining import retrain_told
from trace2strips.model.vocabulary import Kind
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import wrong_traces

FORMS = ("factored", "attention")

SECONDS_OF_STEP, SECONDS_OF_ACTION = 1.2e-3, 4.6e-5  # of training: at all, and for each ground action


@dataclass(frozen=True)
class Attempt:
    """One round of training, and what was read out of it."""

    world: WorldModel
    errors: int
    theta: Theta
    report: Report
    shortcomings: tuple[str, ...]


class Transformer(Learner):
    """What both learners share. `form` is factored (ours) or attention (the paper's); a head is an atom."""

    form: str
    heads: int | None
    steps: int | None

    @property
    @abstractmethod
    def chosen(self) -> Preset:
        """How to train."""

    @abstractmethod
    def read(self, theta: Theta, layout: Layout, completion: Completion, dataset: Dataset, seed: int) -> WorldModel:
        """The world that trained parameters stand for."""

    def __post_init__(self) -> None:
        refuse_unknown(self.form, FORMS, "form")
        refuse_no_heads(self.heads)
        refuse_negative_steps(self.steps)

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        refuse_few_heads(self.heads_for(dataset), Rows(dataset.vocabulary))

    def steps_for(self, actions: int) -> int:
        return self.chosen.steps if self.steps is None else self.steps

    def expected_seconds(self, dataset: Dataset) -> float:
        """About, on two cores (benchmarks/scale.py)."""
        actions = len(dataset.vocabulary.actions)
        return self.steps_for(actions) * (SECONDS_OF_STEP + SECONDS_OF_ACTION * actions)

    def meaning(self) -> Mapping[str, Any]:
        return asdict(self.chosen)

    def heads_for(self, dataset: Dataset) -> int | None:
        if self.heads is None and self.chosen.heads is not None:
            return self.chosen.heads[len(dataset.vocabulary.actions) > LARGE]
        return self.heads

    def lay_out(self, dataset: Dataset) -> Layout:
        """Aligned heads for the named atoms; spare heads, private to the actions that are refused most, or shared."""
        vocabulary, wanted = dataset.vocabulary, self.heads_for(dataset)
        spare = len(vocabulary.actions) if wanted is None else wanted - len(Rows(vocabulary).aligned)
        return Layout(vocabulary, owners(dataset, spare) if self.chosen.private else np.full(spare, SHARED))

    def network_settings(self, dataset: Dataset) -> NetworkSettings:
        return replace(self.chosen.network, form=self.form)

    def learn(self, dataset: Dataset, job: Job) -> Learned:
        clock = time.perf_counter()
        layout = self.lay_out(dataset)
        actions = len(dataset.vocabulary.actions)
        steps, batch = self.steps_for(actions), self.chosen.batch[actions > LARGE]
        completion = Completion(dataset, layout)
        best: Attempt | None = None
        carried = 0.0
        for attempt in range(1, (self.chosen.attempts if steps else 1) + 1):
            seed = job.seed + 10_007 * (attempt - 1)  # a new start: other heads find other atoms
            network = StripsNetwork(layout, dataset, self.network_settings(dataset), seed)
            plan = TrainingSettings(steps, batch, self.chosen.validate_every, seed, patience=self.chosen.patience)
            checkpoint = None if job.folder is None else job.folder / f"checkpoint-{attempt}.safetensors"

            def tell(stage: str, report: Report, attempt: int = attempt) -> None:
                report.attempt = attempt
                job.tell(stage, report)

            report = train(network, dataset, plan, checkpoint, lambda r, tell=tell: tell("training", r))  # type: ignore[misc]
            carried += report.carried
            tell("completion", report)
            world = self.read(network.theta, layout, completion, dataset, seed)
            errors = int(wrong_traces(world.over_tokens(), dataset).sum())
            if best is None or errors < best.errors:
                theta = Theta(*(part.theta.copy() for part in (network.query, network.key, network.value)))
                lacks = tuple(shortcomings(dataset, errors, completion, self.heads))
                best = Attempt(world, errors, theta, report, lacks)
            if errors == 0 or completion.noise or completion.several_at_once:  # these would be the same again
                break
        assert best is not None
        figures = replace(
            basic_figures(dataset, best.errors, time.perf_counter() - clock + carried),
            warnings=(*one_sided(dataset), *best.shortcomings),
            steps=best.report.step,
            attempts=attempt,
            network_train_accuracy=best.report.best if steps else None,
            heads=layout.heads,
        ).with_model(best.world)
        weights = {"query": best.theta.query, "key": best.theta.key, "value": best.theta.value}
        return Learned.of(self, job, dataset, best.world, figures, weights)

    def predictor(self, learned: Learned) -> Predictor:
        return WorldPredictor(learned.need_world())

    def attention(self, learned: Learned, traces: Dataset | None) -> Attention | None:
        dataset = walk_in(learned.need_world(), learned.vocabulary) if traces is None else traces
        if dataset is None or learned.weights is None or not choose_traces(dataset):
            return None
        return attention_of(self.form, learned.weights, learned.vocabulary, dataset.in_words_of(learned.vocabulary))


@dataclass(frozen=True)
class Strips(Transformer):
    """The STRIPS Transformer by gradients alone. `rate` is the learning rate where it is not the preset's."""

    name = "strips"
    form: str = "factored"
    preset: str = "fast"
    heads: int | None = None
    steps: int | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        refuse_unknown(self.preset, tuple(PRESETS), "preset")
        if self.rate is not None and not 0 < self.rate < inf:
            raise UserError(f"the rate {self.rate}", hint="a number above 0")
        super().__post_init__()

    @property
    def chosen(self) -> Preset:
        return PRESETS[self.preset]

    def network_settings(self, dataset: Dataset) -> NetworkSettings:
        """The preset's values; the paper's start depends on the encoding."""
        settings = super().network_settings(dataset)
        if self.preset == "paper":
            wide = (0.0, 1.0) if dataset.vocabulary.init_states else (0.0, 0.1)
            settings = replace(settings, query_range=wide, key_range=wide)
        return settings if self.rate is None else replace(settings, rate=self.rate)

    def read(self, theta: Theta, layout: Layout, completion: Completion, dataset: Dataset, seed: int) -> WorldModel:
        heads = heads_of(theta, layout)
        alone = None
        if self.chosen.alone and self.heads is None:  # who limits the heads wants no further ones
            alone = Alone(completion.histories, heads, seed)
            retrain_told(alone)
            alone.improve()
        return extract(heads, layout, completion, dataset, alone)


@dataclass(frozen=True)
class StripsCompletion(Transformer):
    """A short training of the STRIPS Transformer, then completion; again from another seed while errors are left."""

    name = "strips+completion"
    form: str = "factored"
    heads: int | None = None
    steps: int | None = None

    def expected_seconds(self, dataset: Dataset) -> float:
        return super().expected_seconds(dataset) + completion_seconds(dataset)

    @property
    def chosen(self) -> Preset:
        return BEFORE_COMPLETION

    def read(self, theta: Theta, layout: Layout, completion: Completion, dataset: Dataset, seed: int) -> WorldModel:
        return world_model(completion.run(guess_of(theta, layout), limit=self.heads), layout)


def owners(dataset: Dataset, spare: int) -> Int64[np.ndarray, " spare"]:
    """The actions that get a private head: those refused most often first, round after round."""
    vocabulary = dataset.vocabulary
    first = vocabulary.first[Kind.ACTION]
    refused = np.bincount(dataset.tokens[dataset.inapplicable], minlength=len(vocabulary))
    order = np.argsort(-refused[first : first + len(vocabulary.actions)], kind="stable")
    return np.resize(order, spare) if len(order) else np.full(spare, SHARED)
