"""Learner `lifted-strips`: the lifted STRIPS Transformer, by gradients alone.

Training begins again from another seed, later with more spare heads, while training labels are wrong; of the models
that explain them all the smallest of a few is taken.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import comb, perm
from typing import Any

import numpy as np

from trace2strips.errors import TraceError, UserError
from trace2strips.learners.learner import Job, Learned, basic_figures, one_sided, refuse_negative_steps
from trace2strips.learners.lifted_transformer.extraction import (
    Model,
    read_model,
    softened,
    without_idle_effects,
    world_of,
)
from trace2strips.learners.lifted_transformer.layout import lay_out
from trace2strips.learners.lifted_transformer.network import PARTS, LiftedNetwork, LiftedTheta
from trace2strips.learners.runs import content_hash
from trace2strips.learners.training import Report, TrainingSettings, train
from trace2strips.learners.transformer.network import NetworkSettings
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.lifted_learner import LiftedLearner
from trace2strips.learners.windows.memory import first_told
from trace2strips.learners.windows.relations import with_relations
from trace2strips.learners.windows.simulation import wrong_traces
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.names import understand

FIRST, MOST = 2, 4  # objects that a predicate may be about
MOST_PARAMETERS = 1_000_000


@dataclass(frozen=True)
class LiftedPreset:
    """How it is trained."""

    network: NetworkSettings
    steps: int = 3_000  # of one attempt
    again: int = 500  # steps to find out whether a head is needless
    batch: int = 32
    validate_every: int = 500
    attempts: int = 10  # at most
    explained: int = 3  # so many models that explain all labels are enough to choose from


PRESET = LiftedPreset(NetworkSettings(rate=0.1))


@dataclass(frozen=True)
class Attempt:
    """One round of training, and what was read out of it."""

    lifted: LiftedWorld
    errors: int  # training traces
    theta: LiftedTheta
    heads: int
    report: Report

    @property
    def rank(self) -> tuple[int, ...]:
        """The fewest errors, then the fewest predicates, preconditions, and effects on what is invented. Of effects on
        what is told more are better: gradients made them, and something starts as told to change."""
        told = [predicate.start == "told" for predicate in self.lifted.predicates]
        effects = [told[number] for action in self.lifted.actions for number, _ in (*action.add, *action.delete)]
        needs = sum(len(action.pre) for action in self.lifted.actions)
        return self.errors, len(told), needs, effects.count(False), -effects.count(True)


@dataclass(frozen=True)
class LiftedStrips(LiftedLearner):
    """`separator`: what stands between an action's name and its arguments; None: found out, '': there are none.
    `arity`: predicates are about at most so many objects. `steps`: of one attempt at training."""

    name = "lifted-strips"
    separator: str | None = None
    arity: int = FIRST
    steps: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.arity <= MOST:
            raise UserError(f"atoms about {self.arity} objects", hint=f"0 to {MOST}")
        refuse_negative_steps(self.steps)

    def told_by(self, dataset: Dataset) -> LiftedStrips:
        return self if self.separator is not None else replace(self, separator=dataset.separator)

    def check(self, dataset: Dataset) -> None:
        super().check(dataset)
        actions = dataset.vocabulary.actions
        naming = understand(actions, self.separator)
        arguments = [max(pattern, default=-1) + 1 for _, pattern in {naming.schema(name)[0] for name in actions}]
        each = range(self.arity + 1)
        parameters = sum(
            comb(own, r) * perm(other, r) for own in arguments for other in arguments for r in each if r <= other
        )
        if parameters > MOST_PARAMETERS:
            raise TraceError(
                f"{parameters:,} parameters for {len(arguments):,} kinds of actions, at most {MOST_PARAMETERS:,}",
                hint="do names hold arguments? --separator says what stands before them",
            )

    def steps_for(self, actions: int) -> int:
        return PRESET.steps if self.steps is None else self.steps

    def meaning(self) -> Mapping[str, Any]:
        return asdict(PRESET)

    def learn(self, dataset: Dataset, job: Job) -> Learned:
        clock = time.perf_counter()
        carried = 0.0
        done: list[Attempt] = []
        for number in range(1, (PRESET.attempts if self.steps != 0 else 1) + 1):
            done.append(self.attempt(dataset, job, number))
            carried += done[-1].report.carried
            if sum(attempt.errors == 0 for attempt in done) == PRESET.explained:
                break
        best = min(done, key=lambda attempt: attempt.rank)
        lifted = with_relations(best.lifted, worked(dataset), dataset.vocabulary.init_atoms)
        lifted = replace(lifted, example=first_told(dataset))
        warnings = one_sided(dataset)
        if best.errors:
            warnings.append(f"{best.errors} of {len(dataset)} training traces are not explained by the model")
        world = lifted.world(dataset.vocabulary)
        figures = replace(
            basic_figures(dataset, best.errors, time.perf_counter() - clock + carried),
            warnings=tuple(warnings),
            steps=sum(attempt.report.step for attempt in done),
            attempts=len(done),
            network_train_accuracy=best.report.best if self.steps != 0 else None,
            heads=best.heads,
            arity=self.arity,
        ).with_model(world)
        weights = {name: getattr(best.theta, name) for name in PARTS}
        data = content_hash(dataset)
        return Learned(self, job.seed, data, dataset.vocabulary, world, figures, weights, lifted=lifted)

    def attempt(self, dataset: Dataset, job: Job, number: int) -> Attempt:
        """From a seed of its own; every second one has one more spare head for whoever may need one."""
        seed = job.seed + 10_007 * (number - 1)
        layout = lay_out(dataset, understand(dataset.vocabulary.actions, self.separator), self.arity, (number + 1) // 2)
        network = LiftedNetwork(layout, dataset, PRESET.network, seed)
        settings = TrainingSettings(self.steps_for(0), PRESET.batch, PRESET.validate_every, seed)
        checkpoint = None if job.folder is None else job.folder / f"checkpoint-{number}.safetensors"

        def tell(report: Report) -> None:
            report.attempt = number
            job.tell("training", report)

        report = train(network, dataset, settings, checkpoint, tell)
        model = read_model(network.theta, layout, dataset)
        if self.steps != 0 and not model.errors(dataset):
            model = self.shrink(model, dataset, seed)
        lifted = without_idle_effects(world_of(model), dataset)
        theta = LiftedTheta(*(part.theta[0].copy() for part in network.parts))
        return Attempt(lifted, int(wrong_traces(lifted, dataset).sum()), theta, len(layout.heads), report)

    def shrink(self, model: Model, dataset: Dataset, seed: int) -> Model:
        """Try to do without each invented head: leave it out and train the others a little more."""
        steps = min(PRESET.again, self.steps_for(0))
        settings = TrainingSettings(steps, PRESET.batch, PRESET.validate_every, seed)
        gone = 0
        while gone < len(model.layout.heads):
            if model.layout.heads[gone].told is None:
                layout, theta = softened(model, gone)
                network = LiftedNetwork(layout, dataset, PRESET.network, seed, theta)
                train(network, dataset, settings)
                smaller = read_model(network.theta, layout, dataset)
                if not smaller.errors(dataset):
                    model, gone = smaller, -1
            gone += 1
        return model


def worked(dataset: Dataset) -> dict[str, int]:
    """How often each action that was tried did work."""
    vocabulary = dataset.vocabulary
    tried = np.bincount(dataset.tokens, minlength=len(vocabulary))
    times = np.bincount(dataset.tokens[~dataset.inapplicable], minlength=len(vocabulary))
    pairs = enumerate(zip(vocabulary.kinds.tolist(), vocabulary.subjects, strict=True))
    return {subject: int(times[i]) for i, (kind, subject) in pairs if kind == Kind.ACTION and tried[i]}
