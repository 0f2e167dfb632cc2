"""Learners `sb`, `sinusoidal` and `rope`: train a decoder, then read a model out of it by state probing.

PyTorch is an extra and imported only when one of them is at work.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool

from trace2strips.errors import TraceError, UserError
from trace2strips.explorer.contents import Attention
from trace2strips.explorer.reading import choose_traces, walk_in
from trace2strips.learners.decoder.presets import DECODER_PRESETS, DecoderPreset
from trace2strips.learners.decoder.settings import LOOKED_AT, DecoderSettings
from trace2strips.learners.learner import (
    Job,
    Learned,
    Learner,
    WorldPredictor,
    basic_figures,
    refuse_negative_steps,
    refuse_unknown,
)
from trace2strips.learners.training import LARGE, TrainingSettings, train
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces import Dataset

if TYPE_CHECKING:
    from trace2strips.learners.decoder.network import Decoder

PROBED = 125_000  # actions of training traces that are probed: half of them work, a few hundred times each


@dataclass(frozen=True)
class DecoderLearner(Learner):
    """What the three share. `network_only`: traces need no final values, and no model is read out."""

    preset: str = "fast"
    heads: int | None = None
    steps: int | None = None
    network_only: bool = False

    def __post_init__(self) -> None:
        refuse_unknown(self.preset, tuple(DECODER_PRESETS), "preset")
        refuse_negative_steps(self.steps)
        _ = self.decoder_settings

    @property
    def chosen(self) -> DecoderPreset:
        return DECODER_PRESETS[self.preset]

    @property
    def decoder_settings(self) -> DecoderSettings:
        """The preset's sizes, with as many heads as the user wants."""
        chosen = self.chosen.decoder[self.name]
        return chosen if self.heads is None else replace(chosen, heads=self.heads)

    def steps_for(self, actions: int) -> int:
        return self.chosen.steps[self.name][actions > LARGE] if self.steps is None else self.steps

    def meaning(self) -> Mapping[str, Any]:
        return asdict(self.chosen)

    def check(self, dataset: Dataset) -> None:
        need_torch()
        super().check(dataset)
        if not dataset.vocabulary.test_atoms and not self.network_only:
            raise TraceError(
                f"the traces tell no final values, from which {self.name} learns what the atoms are",
                hint="--network-only learns the network without a model; --learner completion needs no final values; "
                "'trace2strips sample --suffix all' tells them",
            )

    def learn(self, dataset: Dataset, job: Job) -> Learned:
        from trace2strips.learners.decoder.probing import extract_by_probing, with_actions
        from trace2strips.learners.decoder.training import DecoderNetwork

        clock = time.perf_counter()
        actions = len(dataset.vocabulary.actions)
        steps, batch = self.steps_for(actions), self.chosen.batch[actions > LARGE]
        network = DecoderNetwork(dataset, self.decoder_settings, self.chosen.optimiser, steps, job.seed)
        checkpoint = None if job.folder is None else job.folder / "checkpoint-1.safetensors"
        # A network that has just learned the training set does not yet hold on longer traces: it goes on until it does,
        # which it finds out itself (`training`), or to the end.
        plan = TrainingSettings(steps, batch, self.chosen.validate_every, job.seed, LOOKED_AT, certify=False)
        report = train(network, dataset, plan, checkpoint, lambda r: job.tell("training", r))
        accuracy = report.best if steps else network.evaluate(dataset)
        errors = round((1 - accuracy) * len(dataset))
        figures = replace(
            basic_figures(dataset, errors, time.perf_counter() - clock + report.carried),
            train_accuracy=accuracy,
            steps=network.steps,
            heads=self.decoder_settings.heads,
        )
        if self.network_only:
            return Learned.of(self, job, dataset, None, figures, network.weights())
        job.tell("probing", report)
        since = time.perf_counter()
        traces = with_actions(dataset, PROBED)
        probed = extract_by_probing(network.decoder, dataset, traces)
        errors = int(WorldPredictor(probed.world).wrong_traces(dataset).sum())
        sure = probed.counts.summary()
        unexplained = f"{errors} of {len(dataset)} training traces are not explained by the model"
        figures = replace(
            figures,
            model_train_accuracy=1 - errors / len(dataset),
            model_train_errors=errors,
            probing_seconds=time.perf_counter() - since,
            probed_traces=len(traces),
            least_sure_precondition=sure["least_sure_precondition"],
            least_sure_effect=sure["least_sure_effect"],
            warnings=(unexplained,) if errors else (),
        ).with_model(probed.world)
        return Learned.of(self, job, dataset, probed.world, figures, network.weights())

    def predictor(self, learned: Learned) -> DecoderPredictor:
        return DecoderPredictor(self, learned.vocabulary, learned.weights or {}, learned.figures.heads)

    def attention(self, learned: Learned, traces: Dataset | None) -> Attention | None:
        if traces is None and learned.world is not None:
            traces = walk_in(learned.world, learned.vocabulary)
        if traces is None or not choose_traces(traces) or find_spec("torch") is None:
            return None
        decoder = self.predictor(learned).decoder
        from trace2strips.learners.decoder.exploring import attention_of

        return attention_of(decoder, traces.in_words_of(learned.vocabulary))


class StickBreaking(DecoderLearner):
    """The Stick-Breaking Transformer: stick-breaking attention, no positions."""

    name = "sb"


class Sinusoidal(DecoderLearner):
    """The baseline with softmax attention and sines and cosines of the position."""

    name = "sinusoidal"


class Rope(DecoderLearner):
    """The baseline with softmax attention and rotated queries and keys."""

    name = "rope"


@dataclass(frozen=True)
class DecoderPredictor:
    """The network itself predicts."""

    learner: DecoderLearner
    vocabulary: Vocabulary
    weights: Mapping[str, np.ndarray]
    heads: int | None

    @property
    def decoder(self) -> Decoder:
        """The trained network, with the sizes it was trained with: a preset may have changed since."""
        need_torch()
        from trace2strips.learners.decoder.network import load_decoder

        chosen = self.learner.decoder_settings
        chosen = chosen if self.heads is None else replace(chosen, heads=self.heads)
        return load_decoder(self.weights, chosen.shaped_like(self.weights))

    def wrong_traces(self, dataset: Dataset) -> Bool[np.ndarray, " traces"]:
        decoder = self.decoder
        from trace2strips.learners.decoder.inference import right_traces

        return ~right_traces(decoder, dataset.in_words_of(self.vocabulary))

    def refused(self, dataset: Dataset) -> Bool[np.ndarray, " positions"]:
        decoder = self.decoder
        from trace2strips.learners.decoder.inference import probabilities

        return probabilities(decoder, dataset.in_words_of(self.vocabulary)) >= 0.5


def decoder_of(learned: Learned) -> Decoder:
    """The trained decoder, ready for `inference.Session` or `probing`."""
    if not isinstance(learned.predictor, DecoderPredictor):
        raise UserError(f"{learned.learner.name} has no decoder", hint="sb, sinusoidal or rope")
    return learned.predictor.decoder


def need_torch() -> None:
    """The decoders' library is an extra."""
    if find_spec("torch") is None:
        raise UserError("this learner needs PyTorch", hint="pip install 'trace2strips[networks]'")
